"""What a document consists of before TeX sets it: blocks of atoms, and where their lines go."""

from collections.abc import Sequence
from dataclasses import dataclass

from unrender.training.page.prose import Atom

TITLE, HEADING, TEXT, ITEM, FORMULA, TABLE, FIGURE, CAPTION, CODE, FOOTNOTE, HEADER, FOOTER, FOLIO = (
    "title", "heading", "text", "item", "formula", "table", "figure", "caption", "code", "footnote", "header", "footer",
    "page number",
)  # fmt: skip
FURNITURE = frozenset({HEADER, FOOTER, FOLIO})  # what a page repeats
INSERTED = FURNITURE | {FOOTNOTE}  # what stands outside the running text, besides what floats
ROWED = frozenset({TABLE, FORMULA, CODE})  # whose lines are rows of the source


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block; `shape` says how it is set: indented, centred, flush right, as an abstract, floating ..."""

    kind: str
    atoms: tuple[Atom, ...] = ()
    level: int = 0  # of a heading
    shape: str = ""
    notes: tuple["Block", ...] = ()  # the footnotes that hang in it
    floats: bool = False
    parts: tuple["Block", ...] = ()  # a figure's or table's caption, set together with it
    width: float = 1.0  # of a figure, in columns
    height: float = 0.0  # of a figure, in points
    wide: bool = False  # across both columns


@dataclass(frozen=True)
class Paper:
    """An excerpt of a document; `group` is the hash of its paper, so that a paper is never split between sets."""

    name: str
    group: int
    blocks: tuple[Block, ...]
    header: tuple[Atom, ...] = ()
    footer: tuple[Atom, ...] = ()


def row_count(atoms: Sequence[Atom]) -> int:
    return 1 + max((atom.row for atom in atoms), default=-1)
