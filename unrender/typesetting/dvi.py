"""Where TeX put every glyph and rule, in which box and behind which mark: read from a DVI file.

Virtual fonts stay closed, so a glyph keeps the code it has in TeX's own encoding, which says what character it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from unrender.errors import DataError

Box = tuple[float, float, float, float]  # left, top, right, bottom
Key = tuple[str, int]  # font family, character code
POINTS_PER_INCH = 72.27
_MARK = b"unrender "
_POINT = 65536.0  # TeX's scaled points
_FIX = 1 << 20
_SET, _SET_RULE, _PUT, _PUT_RULE, _BOP, _EOP, _PUSH, _POP = 128, 132, 133, 137, 139, 140, 141, 142
_FONT_NUMBER, _FONT, _SPECIAL, _FONT_DEF, _PRE, _POST = 171, 235, 239, 243, 247, 248
# The first command of each kind that moves, what remembers the distance, and whether it moves across or down.
_MOVES = ((166, "z", 1), (161, "y", 1), (157, "", 1), (152, "x", 0), (147, "w", 0), (143, "", 0))
_BOP_LENGTH, _PRE_LENGTH = 44, 13
_SYMBOLS, _MINUS = "cmsy", 0  # below this sign TeX keeps room in which there is no ink


@dataclass(frozen=True)
class PlacedGlyph:
    """One glyph of a page in pixels: `x` is its left, `y` its base line, counted downwards.

    `stack` numbers the boxes it stands in, outermost first.
    """

    key: Key
    size: float  # of the font
    x: float
    y: float
    width: float
    height: float
    depth: float
    stack: tuple[int, ...] = ()

    @property
    def box(self) -> Box:
        return self.x, self.y - self.height, self.x + self.width, self.y + self.depth


@dataclass(frozen=True)
class Rule:
    """A fraction bar, root bar or line in pixels: `x` is its left, `y` its top."""

    x: float
    y: float
    width: float
    height: float

    @property
    def box(self) -> Box:
        return self.x, self.y, self.x + self.width, self.y + self.height


class Mark(NamedTuple):
    """A mark, with the number of glyphs and rules before it and the boxes around it."""

    text: str
    glyphs: int
    rules: int
    stack: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """Where TeX put everything of one page, in the order of the file."""

    glyphs: tuple[PlacedGlyph, ...]
    rules: tuple[Rule, ...]
    marks: tuple[Mark, ...] = ()

    def bounds(self) -> Box:
        """Return left, top, right, bottom of all boxes."""
        return union([*(glyph.box for glyph in self.glyphs), *(rule.box for rule in self.rules)])

    def at_origin(self) -> "Layout":
        """Return the page without the paper at its left and above it."""
        left, top, _, _ = self.bounds()
        glyphs = tuple(replace(glyph, x=glyph.x - left, y=glyph.y - top) for glyph in self.glyphs)
        rules = tuple(replace(rule, x=rule.x - left, y=rule.y - top) for rule in self.rules)
        return Layout(glyphs, rules, self.marks)


def union(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around all; an empty one when there are none."""
    every = list(boxes) or [(0.0, 0.0, 0.0, 0.0)]
    lefts, tops, rights, bottoms = zip(*every, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def read_dvi(path: Path, dpi: float) -> list[Layout]:
    """Read all pages, in pixels from the left and top edge of the paper."""
    machine = _Machine(path.read_bytes(), dpi)
    machine.run()
    return [Layout(tuple(page.glyphs), tuple(page.rules), tuple(page.marks)) for page in machine.pages]


@dataclass(frozen=True)
class _Font:
    """A font as the file names it: `size` in points, the metrics of its glyphs as shares of the size."""

    family: str
    size: float
    metrics: dict[int, tuple[float, float, float]]  # width, height, depth


@dataclass
class _Page:
    glyphs: list[PlacedGlyph] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)


@cache
def _metrics(name: str) -> dict[int, tuple[float, float, float]]:
    from matplotlib.dviread import Tfm, find_tex_file

    try:
        tfm = Tfm(find_tex_file(f"{name}.tfm"))
    except FileNotFoundError as error:
        raise DataError(f"TeX set a page in {name}, but {name}.tfm is not found") from error
    metrics: dict[int, tuple[float, float, float]] = {}
    for code in range(256):
        found = tfm.get_metrics(code)
        if found is not None:
            empty = name.startswith(_SYMBOLS) and code == _MINUS
            depth = 0.0 if empty else found.tex_depth / _FIX
            metrics[code] = found.tex_width / _FIX, found.tex_height / _FIX, depth
    return metrics


class _Machine:
    """The registers of DVI and the commands that change them."""

    def __init__(self, data: bytes, dpi: float) -> None:
        self.pages: list[_Page] = []
        self._data, self._dpi, self._scale = data, dpi, dpi / POINTS_PER_INCH
        self._offset = 0
        self._fonts: dict[int, _Font] = {}
        self._boxes = 0
        self._begin_page()

    def _begin_page(self) -> None:
        self._at = [0, 0]  # across and down, in scaled points
        self._distances: dict[str, int] = {}
        self._saved: list[tuple[list[int], dict[str, int]]] = []
        self._stack: tuple[int, ...] = ()

    def run(self) -> None:
        data = self._data
        font, page = _Font("", 0.0, {}), _Page()
        while True:
            code = data[self._offset]
            self._offset += 1
            if code < _SET:
                self._glyph(page, font, code, moves=True)
            elif code < _SET_RULE:
                self._glyph(page, font, self._number(code - _SET + 1), moves=True)
            elif _PUT <= code < _PUT_RULE:
                self._glyph(page, font, self._number(code - _PUT + 1), moves=False)
            elif code in (_SET_RULE, _PUT_RULE):
                self._rule(page, moves=code == _SET_RULE)
            elif _PUSH <= code < _FONT_NUMBER:
                self._move(code)
            elif _FONT_NUMBER <= code < _FONT:
                font = self._fonts[code - _FONT_NUMBER]
            elif _FONT <= code < _SPECIAL:
                font = self._fonts[self._number(code - _FONT + 1)]
            elif _SPECIAL <= code < _FONT_DEF:
                self._special(page, self._number(code - _SPECIAL + 1))
            elif code == _BOP:
                page = _Page()
                self._offset += _BOP_LENGTH
                self._begin_page()
            elif code == _EOP:
                self.pages.append(page)
            elif code == _POST:
                return
            else:
                self._define(code)

    def _number(self, length: int, *, signed: bool = False) -> int:
        self._offset += length
        return int.from_bytes(self._data[self._offset - length : self._offset], "big", signed=signed)

    def _place(self) -> tuple[float, float]:
        """Return where on the paper this is; DVI files begin one inch from its edges."""
        across, down = (side / _POINT * self._scale + self._dpi for side in self._at)
        return across, down

    def _glyph(self, page: _Page, font: _Font, code: int, *, moves: bool) -> None:
        width, height, depth = font.metrics.get(code, (0.0, 0.0, 0.0))
        size = font.size * self._scale
        extent = width * size, height * size, depth * size
        page.glyphs.append(PlacedGlyph((font.family, code), size, *self._place(), *extent, self._stack))
        if moves:
            self._at[0] += round(width * font.size * _POINT)

    def _rule(self, page: _Page, *, moves: bool) -> None:
        height, width = self._number(4, signed=True), self._number(4, signed=True)
        if height > 0 and width > 0:
            left, bottom = self._place()
            across, down = (side / _POINT * self._scale for side in (width, height))
            page.rules.append(Rule(left, bottom - down, across, down))
        if moves:
            self._at[0] += width

    def _move(self, code: int) -> None:
        if code == _PUSH:
            self._saved.append((self._at.copy(), self._distances.copy()))
            self._boxes += 1
            self._stack = (*self._stack, self._boxes)
        elif code == _POP:
            self._at, self._distances = self._saved.pop()
            self._stack = self._stack[:-1]
        else:
            first, name, axis = next(move for move in _MOVES if code >= move[0])
            if not name:
                self._at[axis] += self._number(code - first + 1, signed=True)
                return
            if code > first:
                self._distances[name] = self._number(code - first, signed=True)
            self._at[axis] += self._distances.get(name, 0)

    def _special(self, page: _Page, length: int) -> None:
        text = self._data[self._offset : self._offset + length]
        self._offset += length
        if text.startswith(_MARK):
            name = text[len(_MARK) :].decode("ascii")
            page.marks.append(Mark(name, len(page.glyphs), len(page.rules), self._stack))

    def _define(self, code: int) -> None:
        """Take what names a font or opens the file; pass over the rest."""
        if _FONT_DEF <= code < _PRE:
            number = self._number(code - _FONT_DEF + 1)
            self._offset += 4
            size = self._number(4) / _POINT
            self._offset += 4
            length = self._number(1) + self._number(1)
            name = self._data[self._offset : self._offset + length].decode("ascii")
            self._offset += length
            self._fonts[number] = _Font(name.rstrip("0123456789"), size, _metrics(name))
        elif code == _PRE:
            self._offset += _PRE_LENGTH
            self._offset += self._number(1)
