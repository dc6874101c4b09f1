"""Run TeX over many documents at once, and read where every glyph and rule stands, in which box, behind which mark.

What does not compile or does not fit is dropped, the rest is kept. In DVI files virtual fonts stay closed, so a glyph
keeps the code it has in TeX's own encoding, which says what character it is. Lengths are points, counted from the left
and top edge of the paper.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from matplotlib.dviread import Tfm, find_tex_file

from unrender.errors import DataError, MissingExtraError
from unrender.training.page.blocks import Paper
from unrender.training.page.source import Source, write_source
from unrender.training.page.styles import Style
from unrender.typesetting import MISSING_FILE, run_latex

DVI = "pages.dvi"
_SECONDS_PER_RUN = 60
_ROUNDS = 6
_BLOCK = re.compile(r"^unrender block (\d+)")
_TROUBLE = re.compile(r"^(?:! |Overfull \\hbox)")
MARK = b"unrender "
_POINT = 65536.0  # TeX's scaled points
_INCH = 72.27  # DVI files begin one inch from the edges
_FIX = 1 << 20
_SET_CHAR, _SET, _SET_RULE, _PUT, _PUT_RULE, _BOP, _EOP, _PUSH, _POP = 128, 128, 132, 133, 137, 139, 140, 141, 142
_RIGHT, _W0, _X0, _DOWN, _Y0, _Z0, _FONT_NUMBER, _FONT, _SPECIAL, _FONT_DEF, _PRE, _POST = (
    143, 147, 152, 157, 161, 166, 171, 235, 239, 243, 247, 248
)  # fmt: skip
_BOP_LENGTH, _PRE_LENGTH = 44, 13


@dataclass(frozen=True)
class Font:
    """A font as the file names it: `size` in points, the metrics of its glyphs as shares of the size."""

    name: str
    size: float
    metrics: dict[int, tuple[float, float, float]]  # width, height, depth


class Glyph(NamedTuple):
    """One glyph: `x` is its left, `y` its base line; `stack` numbers the boxes it stands in, outermost first."""

    x: float
    y: float
    width: float
    height: float
    depth: float
    code: int
    font: Font
    stack: tuple[int, ...]

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Return left, top, right, bottom."""
        return self.x, self.y - self.height, self.x + self.width, self.y + self.depth


class Rule(NamedTuple):
    """One rule: left, top, right, bottom."""

    left: float
    top: float
    right: float
    bottom: float


class Mark(NamedTuple):
    """A mark, with the number of glyphs and rules before it and the boxes around it."""

    text: str
    glyphs: int
    rules: int
    stack: tuple[int, ...]


@dataclass
class DviPage:
    """What stands on one page, in the order of the file."""

    glyphs: list[Glyph] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)


@dataclass(frozen=True)
class Compiled:
    """Pages of one run and the source whose marks they carry; `dropped` counts the blocks that had to go."""

    source: Source
    pages: list[DviPage]
    dvi: Path
    dropped: int
    names: tuple[str, ...]  # of the papers in it


def compile_papers(papers: Sequence[Paper], style: Style, folder: Path) -> list[Compiled]:
    """Set all papers in one run; when TeX cannot get through, halve until the culprit stands alone."""
    compiled = _compile(papers, style, folder)
    if compiled is not None:
        return [compiled]
    if len(papers) <= 1:
        return []
    middle = len(papers) // 2
    first, second = folder / "first", folder / "second"
    return [*compile_papers(papers[:middle], style, first), *compile_papers(papers[middle:], style, second)]


def _compile(papers: Sequence[Paper], style: Style, folder: Path) -> Compiled | None:
    folder.mkdir(parents=True, exist_ok=True)
    dropped: frozenset[tuple[int, int]] = frozenset()
    for _ in range(_ROUNDS):
        source = write_source(papers, style, dropped)
        troubled = _run_latex(source, folder)
        if troubled is None:
            return None
        if not troubled:
            return Compiled(
                source, read_dvi(folder / DVI), folder / DVI, len(dropped), tuple(paper.name for paper in papers)
            )
        dropped |= {source.owners[number] for number in troubled}
    return None


def _run_latex(source: Source, folder: Path) -> set[int] | None:
    """Compile; return the numbers of the blocks with errors or too wide, or None when the run as a whole failed."""
    (folder / DVI).unlink(missing_ok=True)
    log = run_latex(source.text(), folder / DVI, _SECONDS_PER_RUN)
    if log is None:
        return None
    opening, _, _ = log.partition("unrender block")
    missing = MISSING_FILE.search(opening)
    if missing is not None:
        raise MissingExtraError(
            f"TeX has no {missing[1]}, needed for the font {source.style.font}; install texlive-fonts-extra"
        )
    if re.search(r"^! ", opening, flags=re.MULTILINE):
        return None
    troubled = _troubled(log)
    return troubled if troubled or (folder / DVI).exists() else None


def _troubled(log: str) -> set[int]:
    current, troubled = -1, set[int]()
    for line in log.splitlines():
        begun = _BLOCK.match(line)
        if begun is not None:
            current = int(begun[1])
        elif current >= 0 and _TROUBLE.match(line):
            troubled.add(current)
    return troubled


def read_dvi(path: Path) -> list[DviPage]:
    """Read all pages."""
    machine = _Machine(path.read_bytes())
    machine.run()
    return machine.pages


@cache
def _metrics(name: str) -> dict[int, tuple[float, float, float]]:
    try:
        tfm = Tfm(find_tex_file(f"{name}.tfm"))
    except FileNotFoundError as error:
        raise DataError(f"TeX set a page in {name}, but {name}.tfm is not found") from error
    found = ((code, tfm.get_metrics(code)) for code in range(256))
    return {
        code: (metric.tex_width / _FIX, metric.tex_height / _FIX, metric.tex_depth / _FIX)
        for code, metric in found
        if metric is not None
    }


class _Machine:
    """The registers of DVI and the commands that change them."""

    def __init__(self, data: bytes) -> None:
        self.pages: list[DviPage] = []
        self._data = data
        self._offset = 0
        self._fonts: dict[int, Font] = {}
        self._boxes = 0
        self._begin_page()

    def _begin_page(self) -> None:
        self._h = self._v = self._w = self._x = self._y = self._z = 0
        self._saved: list[tuple[int, int, int, int, int, int]] = []
        self._stack: tuple[int, ...] = ()

    def run(self) -> None:
        data = self._data
        font, page = Font("", 0.0, {}), DviPage()
        while True:
            code = data[self._offset]
            self._offset += 1
            if code < _SET_CHAR:
                self._glyph(page, font, code, moves=True)
            elif code < _SET_RULE:
                self._glyph(page, font, self._unsigned(code - _SET + 1), moves=True)
            elif _PUT <= code < _PUT_RULE:
                self._glyph(page, font, self._unsigned(code - _PUT + 1), moves=False)
            elif code in (_SET_RULE, _PUT_RULE):
                self._rule(page, moves=code == _SET_RULE)
            elif _PUSH <= code < _FONT_NUMBER:
                self._move(code)
            elif code < _FONT and code >= _FONT_NUMBER:
                font = self._fonts[code - _FONT_NUMBER]
            elif _FONT <= code < _SPECIAL:
                font = self._fonts[self._unsigned(code - _FONT + 1)]
            elif _SPECIAL <= code < _FONT_DEF:
                self._special(page, self._unsigned(code - _SPECIAL + 1))
            elif code == _BOP:
                page = DviPage()
                self._offset += _BOP_LENGTH
                self._begin_page()
            elif code == _EOP:
                self.pages.append(page)
            elif code == _POST:
                return
            else:
                self._define(code)

    def _unsigned(self, length: int) -> int:
        self._offset += length
        return int.from_bytes(self._data[self._offset - length : self._offset], "big")

    def _signed(self, length: int) -> int:
        self._offset += length
        return int.from_bytes(self._data[self._offset - length : self._offset], "big", signed=True)

    def _glyph(self, page: DviPage, font: Font, code: int, *, moves: bool) -> None:
        width, height, depth = font.metrics.get(code, (0.0, 0.0, 0.0))
        size = font.size
        x, y = self._h / _POINT + _INCH, self._v / _POINT + _INCH
        page.glyphs.append(Glyph(x, y, width * size, height * size, depth * size, code, font, self._stack))
        if moves:
            self._h += round(width * size * _POINT)

    def _rule(self, page: DviPage, *, moves: bool) -> None:
        height, width = self._signed(4), self._signed(4)
        if height > 0 and width > 0:
            left, bottom = self._h / _POINT + _INCH, self._v / _POINT + _INCH
            page.rules.append(Rule(left, bottom - height / _POINT, left + width / _POINT, bottom))
        if moves:
            self._h += width

    def _move(self, code: int) -> None:
        if code == _PUSH:
            self._saved.append((self._h, self._v, self._w, self._x, self._y, self._z))
            self._boxes += 1
            self._stack = (*self._stack, self._boxes)
        elif code == _POP:
            self._h, self._v, self._w, self._x, self._y, self._z = self._saved.pop()
            self._stack = self._stack[:-1]
        elif code < _W0:
            self._h += self._signed(code - _RIGHT + 1)
        elif code < _X0:
            self._w = self._w if code == _W0 else self._signed(code - _W0)
            self._h += self._w
        elif code < _DOWN:
            self._x = self._x if code == _X0 else self._signed(code - _X0)
            self._h += self._x
        elif code < _Y0:
            self._v += self._signed(code - _DOWN + 1)
        elif code < _Z0:
            self._y = self._y if code == _Y0 else self._signed(code - _Y0)
            self._v += self._y
        else:
            self._z = self._z if code == _Z0 else self._signed(code - _Z0)
            self._v += self._z

    def _special(self, page: DviPage, length: int) -> None:
        text = self._data[self._offset : self._offset + length]
        self._offset += length
        if text.startswith(MARK):
            name = text[len(MARK) :].decode("ascii")
            page.marks.append(Mark(name, len(page.glyphs), len(page.rules), self._stack))

    def _define(self, code: int) -> None:
        """Take what names a font or opens the file; pass over the rest."""
        if _FONT_DEF <= code < _PRE:
            number = self._unsigned(code - _FONT_DEF + 1)
            self._offset += 4
            size = self._unsigned(4) / _POINT
            self._offset += 4
            length = self._unsigned(1) + self._unsigned(1)
            name = self._data[self._offset : self._offset + length].decode("ascii")
            self._offset += length
            self._fonts[number] = Font(name, size, _metrics(name))
        elif code == _PRE:
            self._offset += _PRE_LENGTH
            self._offset += self._unsigned(1)
