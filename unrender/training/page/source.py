"""Documents as TeX with a mark in front of every word and symbol, and a table of what each mark means."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from unrender.training.formula.pointing import mark
from unrender.training.page.manuscript import INSERTED, Block, Kind, Paper, row_count
from unrender.training.page.prose import Atom, write_atom
from unrender.training.page.styles import Style, preamble

_SHAPES = {
    "": r"\par %s\par",
    "noindent": r"\par\noindent %s\par",
    "abstract": r"\par{\small\leftskip=1.5em\rightskip=1.5em\parfillskip=0pt plus 1fil %s\par}\medskip",
    "right": r"\par{\raggedleft\parindent=0pt %s\par}",
    "center": r"\par{\centering\parindent=0pt %s\par}",
    "quote": r"\par{\leftskip=2em\rightskip=2em\noindent %s\par}",
}
_HEADINGS = (r"\headinga{%s}", r"\headingb{%s}", r"\headingc{%s}")
_ITEM_INDENT = "2.2em"
_JUSTIFIED = r"\leftskip=0pt\rightskip=0pt\parfillskip=0pt plus 1fil\noindent"
_LONG_CAPTION = 12  # words; shorter ones are centred


class Meaning(NamedTuple):
    """What a mark stands before: a token or the whole of an atom of a block."""

    block: int
    atom: int
    token: int


@dataclass
class Source:
    """The TeX of one run; `owners` says which paper and which of its blocks each numbered block is or is part of."""

    style: Style
    blocks: list[Block] = field(default_factory=list)
    owners: list[tuple[int, int]] = field(default_factory=list)
    meanings: list[Meaning] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    inserted: set[int] = field(default_factory=set)  # blocks that stand outside the running text

    def text(self) -> str:
        return "\n".join([preamble(self.style), r"\begin{document}", *self.pieces, r"\clearpage\end{document}", ""])

    def number(self, block: Block, owner: tuple[int, int], *, floats: bool) -> int:
        self.blocks.append(block)
        self.owners.append(owner)
        number = len(self.blocks) - 1
        if floats or block.kind in INSERTED:
            self.inserted.add(number)
        return number


def write_source(papers: Sequence[Paper], style: Style, dropped: frozenset[tuple[int, int]] = frozenset()) -> Source:
    """Write all papers but the dropped blocks (number of the paper, number of the block)."""
    source = Source(style)
    for index, paper in enumerate(papers):
        source.pieces.append(rf"\clearpage\setcounter{{page}}{{{1 + paper.group % 40}}}")
        for command, kind, atoms in (
            ("runninghead", Kind.HEADER, paper.header),
            ("runningfoot", Kind.FOOTER, paper.footer),
        ):
            words = _Writer(source, (index, -1)).words(Block(kind=kind, atoms=atoms))
            source.pieces.append(rf"\gdef\{command}{{{words}\E}}")
        kept = [number for number in range(len(paper.blocks)) if (index, number) not in dropped]
        spanning = style.columns > 1
        for wide, numbers in groupby(kept, key=lambda number: spanning and _heads(paper.blocks[number])):
            written = [_Writer(source, (index, number)).block(paper.blocks[number]) for number in numbers]
            source.pieces += [r"\twocolumn[{%", *written, r"\bigskip}]"] if wide else written
    return source


def _heads(block: Block) -> bool:
    """Whether a block stands above both columns of a first page."""
    return block.wide and not block.floats


class _Writer:
    """Writes one block and what hangs in it."""

    def __init__(self, source: Source, owner: tuple[int, int]) -> None:
        self._source = source
        self._owner = owner
        self._floats = False

    def block(self, block: Block) -> str:
        return rf"\B{{{len(self._source.blocks)}}}" + self._body(block)

    def words(self, block: Block) -> str:
        """Write the atoms of a block one after the other."""
        return "".join(self._each(block))

    def _each(self, block: Block) -> list[str]:
        """Write each atom with the space before it and the footnote behind it."""
        number = self._source.number(block, self._owner, floats=self._floats)
        written: list[str] = []
        for index, atom in enumerate(block.atoms):
            space = "" if atom.glued or not index else " "
            written.append(space + self._atom(atom, number, index))
            if atom.note is not None:
                written[-1] += rf"\N{{{self.words(block.notes[atom.note])}}}"
        return written

    def _body(self, block: Block) -> str:
        if block.kind == Kind.TITLE:
            return rf"\par{{\centering\LARGE\bfseries {self.words(block)}\par}}\bigskip"
        if block.kind == Kind.HEADING:
            return _HEADINGS[min(block.level, len(_HEADINGS)) - 1] % self.words(block)
        if block.kind == Kind.ITEM:
            return self._item(block)
        if block.kind == Kind.FORMULA:
            return self._formula(block)
        if block.kind in (Kind.TABLE, Kind.FIGURE):
            return self._float(block)
        if block.kind == Kind.CAPTION:
            short = r"\centering" if len(block.atoms) < _LONG_CAPTION else _JUSTIFIED
            return rf"\par{{\small {short} {self.words(block)}\par}}"
        if block.kind == Kind.CODE:
            return self._code(block)
        return _SHAPES[block.shape] % self.words(block)

    def _atom(self, atom: Atom, block: int, index: int) -> str:
        text, count = write_atom(atom, len(self._source.meanings))
        self._source.meanings += [Meaning(block, index, part) for part in range(count)]
        return text

    def _item(self, block: Block) -> str:
        label, *words = self._each(block)
        mark_end = label.index("}") + 1  # the mark stands outside the label's box, in the line itself
        return (
            rf"\par{{\noindent\hangindent={_ITEM_INDENT}\hangafter=1 {label[:mark_end]}"
            rf"\makebox[{_ITEM_INDENT}][l]{{{label[mark_end:]}}}{''.join(words).lstrip()}\par}}"
        )

    def _formula(self, block: Block) -> str:
        number = self._source.number(block, self._owner, floats=self._floats)
        rows: list[str] = []
        for _, members in groupby(enumerate(block.atoms), key=lambda pair: pair[1].row):
            cells: list[str] = []
            tag = ""
            for index, atom in members:
                first = len(self._source.meanings)
                if atom.tokens:
                    cells.append(rf"\special{{unrender {first}}}" + mark(atom.tokens, first))
                    self._source.meanings += [Meaning(number, index, part) for part in range(len(atom.tokens))]
                else:
                    self._source.meanings.append(Meaning(number, index, 0))
                    tag = rf"\tag*{{\special{{unrender {first}}}{atom.text}}}"
            rows.append(" & ".join(cells) + tag)
        name = "equation*" if len(rows) == 1 and "&" not in rows[0] else block.shape or "align*"
        return rf"\begin{{{name}}}" + "\n" + "\\\\\n".join(rows) + "\n" + rf"\end{{{name}}}"

    def _float(self, block: Block) -> str:
        self._floats = block.floats
        above = [part for part in block.parts if part.shape == "above"]
        below = [part for part in block.parts if part.shape != "above"]
        inner = self._picture(block) if block.kind == Kind.FIGURE else self._table(block)
        before, after = ("".join(self._body(part) for part in parts) for parts in (above, below))
        body = rf"\centering {before}\par\vspace{{4pt}}{inner}\par\vspace{{4pt}}{after}\E"
        if not block.floats:
            return rf"\par\begin{{center}}{body}\end{{center}}"
        name = ("figure" if block.kind == Kind.FIGURE else "table") + ("*" if block.wide else "")
        return rf"\begin{{{name}}}[{block.shape or 'tb'}]{body}\end{{{name}}}"

    def _picture(self, block: Block) -> str:
        number = self._source.number(block, self._owner, floats=self._floats)
        first = len(self._source.meanings)
        self._source.meanings.append(Meaning(number, 0, 0))
        columns = 2 if block.wide else 1
        width = block.width * (self._source.style.column_width * columns)
        return (
            rf"\U{{{first}}}\special{{color push gray 0.85}}\rule{{{width:.1f}pt}}{{{block.height:.1f}pt}}"
            r"\special{color pop}"
        )

    def _table(self, block: Block) -> str:
        number = self._source.number(block, self._owner, floats=self._floats)
        outer = rf"\special{{unrender {len(self._source.meanings)}}}"  # the rule above is the table's
        cells = [["" for _ in range(_columns(block))] for _ in range(row_count(block.atoms))]
        for index, atom in enumerate(block.atoms):
            space = "" if atom.glued or not cells[atom.row][atom.column] else " "
            cells[atom.row][atom.column] += space + self._atom(atom, number, index)
        look = self._source.style.rules
        bar = "|" if look == "grid" else ""
        columns = bar + bar.join(("l" if column == 0 else "c") for column in range(_columns(block))) + bar
        rows = [" & ".join(row) + r"\\" for row in cells]
        return (
            rf"{{\small\leavevmode{outer}\begin{{tabular}}{{{columns}}}"
            + "\n".join(_ruled(rows, look))
            + r"\end{tabular}}"
        )

    def _code(self, block: Block) -> str:
        number = self._source.number(block, self._owner, floats=self._floats)
        rows = []
        for index, atom in enumerate(block.atoms):
            first = len(self._source.meanings)
            self._source.meanings.append(Meaning(number, index, 0))
            letters = "".join(r"\ " if letter == " " else rf"\char{ord(letter)}{{}}" for letter in atom.text)
            rows.append(rf"\par\noindent\hbox{{\ttfamily\U{{{first}}}{letters}\strut}}")
        return r"\par\medskip{\small\parskip=0pt " + "".join(rows) + r"\par}\medskip"


def _columns(block: Block) -> int:
    return 1 + max(atom.column for atom in block.atoms)


def _ruled(rows: Sequence[str], look: str) -> Iterator[str]:
    """Put rules between the rows of a table."""
    top, middle, bottom = {
        "booktabs": (r"\toprule", r"\midrule", r"\bottomrule"),
        "grid": (r"\hline", r"\hline", r"\hline"),
        "lines": (r"\hline", r"\hline", r"\hline"),
        "none": ("", "", ""),
    }[look]
    yield top + rows[0]
    for index, row in enumerate(rows[1:]):
        yield (middle if index == 0 or look == "grid" else "") + row
    yield bottom
