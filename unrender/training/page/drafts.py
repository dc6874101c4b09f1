"""From the raw sets to papers: real papers as blocks, ordinary prose as book pages and letters.

What cannot be read is left out block by block. Numbers, headings, captions and footnotes are given here, not by TeX,
so everything that is printed is known beforehand, but for the page numbers.
"""

import json
import lzma
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np

from unrender.errors import DataError
from unrender.training.formula.texts import paper_hash
from unrender.training.page.manuscript import Block, Kind, Paper, code_rows, letter_parts, names
from unrender.training.page.prose import (
    BOLD,
    ITALIC,
    NOTE,
    Atom,
    italicised,
    parse_formula,
    parse_prose,
    plain_atoms,
)  # fmt: skip
from unrender.training.page.styles import Style

DOCUMENTS, PROSE = "arxiv-documents.jsonl.xz", "openstax-prose.tsv.xz"
_BLOCKS = 45  # of an excerpt: three to five pages
_RUN_IN = 4  # headings of this level stand in the line of their paragraph
_NOTES, _CODES, _FLOATING, _WIDE = 0.05, 0.02, 0.6, 0.12
_UNNUMBERED = frozenset({"remark", "proof", "example"})
_CELL_BREAK = re.compile(r"\\\\|&|\\begin\{|\\end\{|\\.|[{}]", re.DOTALL)
_DEPTHS = {"{": 1, "}": -1, r"\begin{": 2, r"\end{": 0}  # an environment's name stands in braces too
_SHORT_HEAD = 60  # characters of a running head
_COLUMNS, _ROWS = 9, 25  # of the largest table
_PARAGRAPHS = 14  # of a book excerpt
_NOTE_LENGTH = 220

Raw = Mapping[str, object]


@dataclass(frozen=True)
class Excerpt:
    """Some consecutive blocks of one document, not yet read; `first` says that they open it."""

    name: str
    blocks: tuple[Raw, ...]
    first: bool
    prose: bool = False

    @property
    def group(self) -> int:
        """The hash of the document, by which sets are split."""
        return paper_hash(self.name)


def read_documents(path: Path) -> Iterator[Excerpt]:
    """Cut every paper into excerpts."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            blocks = [block for block in record["blocks"] if block["kind"] != "gap"]
            for start in range(0, len(blocks), _BLOCKS):
                yield Excerpt(record["paper"], tuple(blocks[start : start + _BLOCKS]), first=start == 0)


def read_prose(path: Path) -> Iterator[Excerpt]:
    """Cut every book into excerpts; its chapters are what is split between the sets, for books are few."""
    paragraphs: dict[str, list[Raw]] = {}
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            book, _, text = line.rstrip("\n").partition("\t")
            paragraphs.setdefault(book, []).append({"kind": "plain", "text": text})
    for book, blocks in paragraphs.items():
        for start in range(0, len(blocks), _PARAGRAPHS):
            yield Excerpt(f"{book} {start}", tuple(blocks[start : start + _PARAGRAPHS]), first=start == 0, prose=True)


def draft(excerpt: Excerpt, style: Style, rng: np.random.Generator) -> Paper:
    """Turn an excerpt into the blocks that TeX will set."""
    return _Draft(excerpt, style, rng).paper()


@dataclass
class _Draft:
    excerpt: Excerpt
    style: Style
    rng: np.random.Generator
    counts: dict[str, int] = field(default_factory=dict)
    sections: list[int] = field(default_factory=lambda: [0, 0, 0])
    run_in: tuple[Atom, ...] = ()
    blocks: list[Block] = field(default_factory=list)

    def paper(self) -> Paper:
        title = " ".join(self.excerpt.name.replace("_", " ").split())
        if self.style.kind == "letter":
            self.blocks += letter_parts(self.rng, opening=True)
        elif self.excerpt.first and not self.excerpt.prose:
            self._front(title)
        if not self.excerpt.first:
            self.sections[0], self.counts["equation"] = (int(number) for number in self.rng.integers(1, 30, 2))
            self.sections[0] %= 7
        for raw in self.excerpt.blocks:
            try:
                self._take(raw)
            except DataError:
                continue
        if self.style.kind == "letter":
            self.blocks += letter_parts(self.rng, opening=False)
        head = _readable(title[:_SHORT_HEAD].rsplit(" ", 1)[0]) or plain_atoms("Preprint")
        foot = plain_atoms(str(self.rng.choice(["Preprint", "Draft of June 3", "Submitted", "Confidential"])))
        return Paper(self.excerpt.name, self.excerpt.group, tuple(self.blocks), header=head, footer=foot)

    def _front(self, title: str) -> None:
        atoms = _readable(title)
        if not atoms:
            return
        self.blocks.append(Block(kind=Kind.TITLE, atoms=atoms, wide=True))
        self.blocks.append(Block(kind=Kind.TEXT, atoms=plain_atoms(names(self.rng)), shape="center", wide=True))

    def _take(self, raw: Raw) -> None:
        takers: dict[str, Callable[[Raw], None]] = {
            "heading": self._heading, "paragraph": self._paragraph, "plain": self._plain, "equation": self._equation,
            "equations": self._equations, "list": self._list, "table": self._table, "figure": self._figure,
        }  # fmt: skip
        takers[str(raw["kind"])](raw)
        if self.style.kind == "paper" and self.rng.random() < _CODES:
            self.blocks.append(Block(kind=Kind.CODE, atoms=code_rows(self.rng)))

    def _heading(self, raw: Raw) -> None:
        level = max(1, int(cast(int, raw["level"])))
        atoms = parse_prose(str(raw["text"]))
        if not atoms:
            return
        if level >= _RUN_IN:
            self.run_in = tuple(replace(atom, style=BOLD) if atom.text else atom for atom in atoms)
            return
        self.sections[level - 1] += 1
        self.sections[level:] = [0] * (len(self.sections) - level)
        if self.style.numbered:
            number = ".".join(str(max(1, count)) for count in self.sections[:level])
            atoms = (Atom(text=number + ("." if self.style.dotted else "")), *atoms)
        self.blocks.append(Block(kind=Kind.HEADING, atoms=atoms, level=level))

    def _paragraph(self, raw: Raw) -> None:
        atoms = parse_prose(str(raw["text"]))
        label = str(raw.get("label", ""))
        if label:
            atoms = self._labelled(label, atoms)
        if not atoms:
            return
        atoms, self.run_in = (*self.run_in, *atoms), ()
        after_display = bool(self.blocks) and self.blocks[-1].kind == Kind.FORMULA and not label
        shape = "noindent" if label or (after_display and self.rng.random() < 0.8) else ""
        notes: tuple[Block, ...] = ()
        if self.rng.random() < _NOTES:
            atoms, notes = self._noted(atoms)
        self.blocks.append(Block(kind=Kind.TEXT, atoms=atoms, shape=shape, notes=notes))

    def _labelled(self, label: str, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        name = label.capitalize()
        if label == "proof":
            return (Atom(text="Proof.", style=ITALIC), *atoms)
        if label not in _UNNUMBERED or self.rng.random() < 0.5:
            name += f" {self._count('theorem')}"
        body = atoms if label in ("remark", "definition", "example") else italicised(atoms)
        return (*(Atom(text=word, style=BOLD) for word in f"{name}.".split()), *body)

    def _noted(self, atoms: tuple[Atom, ...]) -> tuple[tuple[Atom, ...], tuple[Block, ...]]:
        """Hang a footnote, a sentence from elsewhere in the document, behind some word."""
        texts = [str(raw["text"]) for raw in self.excerpt.blocks if raw["kind"] == "paragraph"]
        words = [index for index, atom in enumerate(atoms) if atom.text]
        text = texts[int(self.rng.integers(len(texts)))].partition(". ")[0]
        if not words or len(text) > _NOTE_LENGTH:
            return atoms, ()
        index = words[int(self.rng.integers(len(words)))]
        number = str(self._count("note"))
        note = Block(kind=Kind.FOOTNOTE, atoms=(Atom(text=number, style=NOTE), *parse_prose(text + ".")))
        sign = Atom(text=number, style=NOTE, glued=True, note=0)
        return (*atoms[: index + 1], sign, *atoms[index + 1 :]), (note,)

    def _plain(self, raw: Raw) -> None:
        self.blocks.append(Block(kind=Kind.TEXT, atoms=plain_atoms(str(raw["text"]))))

    def _equation(self, raw: Raw) -> None:
        atoms = [Atom(tokens=parse_formula(str(raw["latex"])))]
        if raw.get("numbered"):
            atoms.append(Atom(text=f"({self._count('equation')})"))
        self.blocks.append(Block(kind=Kind.FORMULA, atoms=tuple(atoms)))

    def _equations(self, raw: Raw) -> None:
        atoms: list[Atom] = []
        numbered = self.rng.random() < 0.6
        for row, cells in enumerate(split_rows(str(raw["latex"]))):
            atoms += [
                Atom(tokens=parse_formula(cell), row=row, column=column) for column, cell in enumerate(cells) if cell
            ]
            if numbered:
                atoms.append(Atom(text=f"({self._count('equation')})", row=row))
        if not atoms or any(not atom.tokens and not atom.text for atom in atoms):
            raise DataError("a display has an empty row")
        self.blocks.append(Block(kind=Kind.FORMULA, atoms=tuple(atoms), shape=f"{raw['env']}*"))

    def _list(self, raw: Raw) -> None:
        pattern = str(self.rng.choice(["{}.", "({})", "{})"])) if raw["ordered"] else str(self.rng.choice(["•", "–"]))
        for number, item in enumerate(cast(Sequence[str], raw["items"]), start=1):
            atoms = parse_prose(item)
            if atoms:
                label = Atom(text=pattern.format(number))
                self.blocks.append(Block(kind=Kind.ITEM, atoms=(label, *atoms)))

    def _table(self, raw: Raw) -> None:
        rows = cast(Sequence[Sequence[str]], raw["rows"])
        if not 1 < len(rows) <= _ROWS or not 1 < max(map(len, rows)) <= _COLUMNS:
            raise DataError("a table is too large or too small")
        atoms = [
            replace(atom, row=row, column=column)
            for row, cells in enumerate(rows)
            for column, cell in enumerate(cells)
            for atom in parse_prose(cell)
        ]
        if not atoms:
            raise DataError("a table is empty")
        place = "above" if self.rng.random() < 0.5 else ""
        caption = self._caption("Table", str(raw.get("caption", "")), place)
        floats = bool(self.rng.random() < _FLOATING)
        self.blocks.append(Block(kind=Kind.TABLE, atoms=tuple(atoms), parts=caption, floats=floats))

    def _figure(self, raw: Raw) -> None:
        caption = self._caption("Figure", str(raw.get("caption", "")), "")
        floats = bool(self.rng.random() < _FLOATING)
        wide = floats and self.style.columns > 1 and bool(self.rng.random() < _WIDE)
        self.blocks.append(
            Block(
                kind=Kind.FIGURE, parts=caption, floats=floats, wide=wide, width=float(self.rng.uniform(0.5, 0.95)),
                height=float(self.rng.uniform(70, 210)),
            )
        )  # fmt: skip

    def _caption(self, name: str, text: str, place: str) -> tuple[Block, ...]:
        number = f"{self._count(name)}{'.' if self.style.dotted else ':'}"
        style = BOLD if self.style.dotted else ""
        label = (Atom(text=name, style=style), Atom(text=number, style=style))
        try:
            return (Block(kind=Kind.CAPTION, atoms=(*label, *parse_prose(text)), shape=place),)
        except DataError:
            return (Block(kind=Kind.CAPTION, atoms=label, shape=place),)

    def _count(self, name: str) -> int:
        self.counts[name] = self.counts.get(name, 0) + 1
        return self.counts[name]


def split_rows(source: str) -> list[list[str]]:
    """Divide aligned equations into rows and cells; what stands in braces or environments stays whole."""
    rows, cell, depth, last = [[""]], "", 0, 0
    for match in _CELL_BREAK.finditer(source):
        cell += source[last : match.start()]
        last = match.end()
        depth += _DEPTHS.get(match[0], 0)
        if depth == 0 and match[0] in ("&", r"\\"):
            rows[-1][-1] = cell.strip()
            cell = ""
            rows[-1].append("") if match[0] == "&" else rows.append([""])
        else:
            cell += match[0]
    rows[-1][-1] = (cell + source[last:]).strip()
    return [row for row in rows if any(row)]


def _readable(text: str) -> tuple[Atom, ...]:
    try:
        return plain_atoms(text)
    except DataError:
        return ()
