"""From TeX's output back to the document: every page as blocks of lines of characters and symbols with their boxes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from unrender.training.page.alignment import Segment, Sign, align_formula, align_text, decode
from unrender.training.page.compilation import Compiled
from unrender.training.page.manuscript import FURNITURE, ROWED, Block, Kind
from unrender.training.page.prose import Atom
from unrender.training.page.source import Source
from unrender.training.page.styles import Style
from unrender.typesetting.dvi import Box, Mark, PlacedGlyph, union

_END, _FOLIO, _LINE_NUMBER = "end", "folio", "linenumber"
SPANNING = -1
_OVERLAP = 20.0  # points by which a line reaches into both columns if it spans them


@dataclass(frozen=True)
class Part:
    """What one line shows of an atom; `begins` and `ends`: the atom does so here."""

    atom: Atom
    signs: tuple[Sign, ...]
    begins: bool
    ends: bool


@dataclass(frozen=True)
class Line:
    """One line of a block, or one row of a table, code or display; `size` is that of its letters in points."""

    parts: tuple[Part, ...]
    box: Box
    size: float
    row: int = 0


@dataclass(frozen=True)
class Piece:
    """What one column of a page shows of a block; `column` is -1 for what spans them all."""

    number: int
    block: Block
    lines: tuple[Line, ...]
    box: Box
    column: int
    continued: bool = False  # the block began on an earlier page or column
    continues: bool = False


@dataclass(frozen=True)
class Page:
    """One page in reading order; `doubtful` counts the words whose glyphs were not understood."""

    pieces: tuple[Piece, ...]
    style: Style
    group: int
    number: int  # in its DVI file
    doubtful: int = 0


def assemble(compiled: Compiled, groups: Sequence[int]) -> list[Page]:
    """Return the pages of a run; `groups` are those of its papers."""
    return _Assembly(compiled, groups).pages()


@dataclass
class _Found:
    """What was found of one atom, in the order of the file."""

    block: int
    atom: int
    order: list[int] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)


@dataclass
class _Row:
    """A line being put together."""

    block: int
    page: int
    order: int
    row: int
    parts: list[Part] = field(default_factory=list)
    size: float = 0.0


class _Assembly:
    def __init__(self, compiled: Compiled, groups: Sequence[int]) -> None:
        self._source: Source = compiled.source
        self._blocks = list(compiled.source.blocks)
        self._compiled = compiled
        self._groups = groups
        self._doubtful = [0] * len(compiled.pages)
        self._rows: dict[tuple[int, int, int], _Row] = {}
        self._ruled: dict[tuple[int, int], list[Box]] = {}  # rules of tables and figures, by block and page

    def pages(self) -> list[Page]:
        for found in self._walk():
            block = self._blocks[found.block]
            if block.kind != Kind.FIGURE:
                self._place(found, block.atoms[found.atom])
            if block.kind in (Kind.FIGURE, Kind.TABLE):
                for segment in found.segments:
                    self._ruled.setdefault((found.block, segment.page), []).extend(rule.box for rule in segment.rules)
                if block.kind == Kind.FIGURE:
                    key = (found.segments[0].page, found.block, 0)
                    self._rows[key] = _Row(found.block, key[0], found.order[0], 0)
        pages = [self._pieces(number) for number in range(len(self._compiled.pages))]
        return [
            Page(tuple(pieces), self._source.style, self._group(pieces), number, self._doubtful[number])
            for number, pieces in enumerate(_linked(pages))
        ]

    def _walk(self) -> list[_Found]:
        """Collect what stands behind the marks of each atom."""
        found: dict[tuple[int, int, int], _Found] = {}
        body: int | None = None  # the last mark of the running text
        for number, page in enumerate(self._compiled.pages):
            marks = [Mark(_END, 0, 0, ()), *page.marks]  # a page may open in the middle of a word
            stops = [*((mark.glyphs, mark.rules) for mark in page.marks), (len(page.glyphs), len(page.rules))]
            for order, (mark, (glyphs, rules)) in enumerate(zip(marks, stops, strict=True)):
                meaning = self._meaning(mark.text, page.glyphs[mark.glyphs : glyphs], body)
                if meaning is None:
                    continue
                block, atom, token = meaning
                if mark.text.isdigit() and block not in self._source.inserted:
                    body = int(mark.text)
                kind = self._blocks[block].kind
                entry = found.setdefault((block, atom, number if kind in FURNITURE else -1), _Found(block, atom))
                stack = mark.stack if mark.text.isdigit() or not entry.segments else entry.segments[0].stack
                entry.order.append(order)
                entry.segments.append(
                    Segment(token, number, stack, page.glyphs[mark.glyphs : glyphs], page.rules[mark.rules : rules])
                )
        return list(found.values())

    def _meaning(self, text: str, glyphs: Sequence[PlacedGlyph], body: int | None) -> tuple[int, int, int] | None:
        if text == _FOLIO:
            self._blocks.append(Block(kind=Kind.FOLIO, atoms=(Atom(text="".join(map(decode, glyphs))),)))
            return len(self._blocks) - 1, 0, 0
        if text == _END:  # what follows was begun before a footnote, a float or the page's head came between
            return None if body is None or not glyphs else self._source.meanings[body]
        return None if text == _LINE_NUMBER else self._source.meanings[int(text)]

    def _place(self, found: _Found, atom: Atom) -> None:
        """Divide an atom among the lines it stands in."""
        kind = self._blocks[found.block].kind
        signs = align_formula(atom.tokens, found.segments) if atom.tokens else align_text(atom.text, found.segments)
        if signs is None:
            first = found.segments[0]
            self._doubtful[first.page] += 1
            signs = [Sign(character, None, (first.page, first.stack[-1])) for character in atom.text]
        orders = {
            segment.page: order for segment, order in zip(reversed(found.segments), reversed(found.order), strict=True)
        }
        size = max((glyph.size for segment in found.segments for glyph in segment.glyphs), default=0.0)
        runs = [list(run) for _, run in groupby(signs, key=lambda sign: sign.place)]
        for index, run in enumerate(runs):
            page, line = run[0].place
            key = (page, found.block, -1 - atom.row) if kind in ROWED else (page, found.block, line)
            row = self._rows.setdefault(key, _Row(found.block, page, orders.get(page, 0), atom.row))
            row.parts.append(Part(atom, tuple(run), begins=index == 0, ends=index == len(runs) - 1))
            row.size = max(row.size, size)

    def _pieces(self, page: int) -> list[Piece]:
        rows = sorted((row for row in self._rows.values() if row.page == page), key=lambda row: row.order)
        lines = [(row.block, self._line(row)) for row in rows]
        placed = [(number, line, self._column(line.box, number)) for number, line in lines if line.box[2] > line.box[0]]
        pieces: list[Piece] = []
        for (number, column), members in groupby(placed, key=lambda entry: (entry[0], entry[2])):
            block_lines = tuple(line for _, line, _ in members)
            box = union(line.box for line in block_lines)
            block = self._blocks[number]
            ruled = self._ruled.get((number, page), [])
            shown = tuple(line for line in block_lines if line.parts)
            pieces.append(Piece(number, block, shown, union([box, *ruled]), column))
        return pieces

    def _line(self, row: _Row) -> Line:
        boxes = [sign.box for part in row.parts for sign in part.signs if sign.box is not None]
        if not row.parts:
            boxes = self._ruled.get((row.block, row.page), [])
        return Line(tuple(row.parts), union(boxes), row.size, row.row)

    def _column(self, box: Box, number: int) -> int:
        style = self._source.style
        middle = style.width / 2
        if style.columns == 1:
            return 0
        block = self._blocks[number]
        if block.wide or block.kind in FURNITURE or (box[0] < middle - _OVERLAP and box[2] > middle + _OVERLAP):
            return SPANNING
        return int((box[0] + box[2]) / 2 > middle)

    def _group(self, pieces: Sequence[Piece]) -> int:
        owners = [self._source.owners[piece.number][0] for piece in pieces if piece.number < len(self._source.owners)]
        return self._groups[owners[0]] if owners else 0


def _linked(pages: Sequence[Sequence[Piece]]) -> list[list[Piece]]:
    """Say of each piece whether its block began before it and goes on after it."""
    every = [piece for page in pages for piece in page]
    first = {piece.number: index for index, piece in reversed(list(enumerate(every)))}
    last = {piece.number: index for index, piece in enumerate(every)}
    linked: list[list[Piece]] = []
    index = 0
    for page in pages:
        linked.append([])
        for piece in page:
            alone = piece.block.kind in FURNITURE
            begun, unfinished = first[piece.number] < index, index < last[piece.number]
            linked[-1].append(replace(piece, continued=begun and not alone, continues=unfinished and not alone))
            index += 1
    return linked
