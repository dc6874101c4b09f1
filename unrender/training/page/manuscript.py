"""What a document consists of before TeX sets it: blocks of atoms, and where their lines go.

What no raw set holds is invented here too: names of authors, the frame of a letter, program code.
"""

import bisect
import colorsys
import fnmatch
import heapq
import inspect
import statistics
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType

import numpy as np

from unrender.training.page.prose import MONO, Atom, plain_atoms


class Kind(StrEnum):
    """What a block is."""

    TITLE = "title"
    HEADING = "heading"
    TEXT = "text"
    ITEM = "item"
    FORMULA = "formula"
    TABLE = "table"
    FIGURE = "figure"
    CAPTION = "caption"
    CODE = "code"
    FOOTNOTE = "footnote"
    HEADER = "header"
    FOOTER = "footer"
    FOLIO = "page number"


FURNITURE = frozenset({Kind.HEADER, Kind.FOOTER, Kind.FOLIO})  # what a page repeats
INSERTED = FURNITURE | {Kind.FOOTNOTE}  # what stands outside the running text, besides what floats
ROWED = frozenset({Kind.TABLE, Kind.FORMULA, Kind.CODE})  # whose lines are rows of the source
_GIVEN = (
    "Anna Björn Carla David Elena François Grace Hélène Ivan Jürgen Kofi Laura Miguel Noor Olga Paolo Rosa Søren "
    "Tomáš Wei"
).split()
_FAMILY = (
    "Ahmed Bauer Chen Dubois Eriksson Fischer García Hansen Ito Jones Kowalski Larsson Müller Novak Okafor Petrov "
    "Rossi Silva Tanaka Weber"
).split()
_PLACES = ("Institute of Physics", "Department of Mathematics", "School of Engineering", "Faculty of Science")
_STREETS = (
    "12 Mill Road",
    "48 Station Street",
    "7 Church Lane",
    "230 Park Avenue",
    "Hauptstraße 19",
    "3 rue de la Paix",
)
_TOWNS = ("Cambridge", "Springfield", "Zürich", "Montréal", "Oxford", "Göteborg")
_MONTHS = ("January", "March", "April", "June", "September", "November")
_CLOSINGS = ("Yours sincerely,", "Kind regards,", "With best wishes,", "Yours faithfully,")
_MODULES: tuple[ModuleType, ...] = (textwrap, bisect, heapq, statistics, fnmatch, colorsys)
_CODE_WIDTH, _CODE_ROWS = 46, (3, 14)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block; `shape` says how it is set: indented, centred, flush right, as an abstract, floating ..."""

    kind: Kind
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


def names(rng: np.random.Generator) -> str:
    """Invent the authors of a paper and where they work."""
    count = int(rng.integers(1, 5))
    people = ", ".join(f"{rng.choice(_GIVEN)} {rng.choice(_FAMILY)}" for _ in range(count))
    return f"{people} {rng.choice(_PLACES)}, {rng.choice(_TOWNS)}" if rng.random() < 0.7 else people


def letter_parts(rng: np.random.Generator, *, opening: bool) -> list[Block]:
    """Invent what stands above or below the text of a letter."""
    person = f"{rng.choice(_GIVEN)} {rng.choice(_FAMILY)}"
    if not opening:
        return [_block(str(rng.choice(_CLOSINGS)), "noindent"), _block(person, "noindent")]
    date = f"{int(rng.integers(1, 29))} {rng.choice(_MONTHS)} {int(rng.integers(1970, 2026))}"
    side = str(rng.choice(["right", "noindent"]))
    address = [person, str(rng.choice(_STREETS)), str(rng.choice(_TOWNS))]
    greeting = f"Dear {rng.choice(['Dr.', 'Ms.', 'Mr.', 'Professor'])} {rng.choice(_FAMILY)},"
    return [*(_block(line, side) for line in (*address, date)), _block(greeting, "noindent")]


def code_rows(rng: np.random.Generator) -> tuple[Atom, ...]:
    """Take some consecutive lines from Python's own library."""
    module = _MODULES[int(rng.integers(len(_MODULES)))]
    lines = [line.rstrip() for line in inspect.getsource(module).splitlines()]
    usable = [
        line for line in lines if line.strip() and line.isascii() and len(line) <= _CODE_WIDTH and '"' not in line
    ]
    count = int(rng.integers(*_CODE_ROWS))
    start = int(rng.integers(max(1, len(usable) - count)))
    chosen = usable[start : start + count]
    margin = min(len(line) - len(line.lstrip()) for line in chosen)
    return tuple(Atom(text=line[margin:], style=MONO, row=row) for row, line in enumerate(chosen))


def _block(text: str, shape: str) -> Block:
    return Block(kind=Kind.TEXT, atoms=plain_atoms(text), shape=shape)
