"""Lines, pieces and paragraphs as pictures with labels: tokens, each with the box it stands in.

All letters are as large as those of 12 points at 100 dpi, which is what the formula reader was trained on.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unrender.formats.marked import BREAK, CELL, DISPLAY, HEADINGS, MATH, SPACE, STYLES, token_of
from unrender.tokens import LatexTokenizer
from unrender.training.data import Gray, Sample
from unrender.training.page.alignment import Sign
from unrender.training.page.manuscript import Kind
from unrender.training.page.prose import MONO, PLAIN
from unrender.training.page.rasters import in_pixels
from unrender.training.page.recovery import Line, Page, Part, Piece
from unrender.training.photographs import rescale
from unrender.typesetting.dvi import POINTS_PER_INCH, Box, union

LINES, PIECES, PARAGRAPHS = "lines", "pieces", "paragraphs"
READER_DPI, READER_POINTS = 100.0, 12.0
OVERSAMPLING = 2.0
MAX_TOKENS = {LINES: 250, PIECES: 500, PARAGRAPHS: 1000}
_MARGIN = 2  # pixels around the ink, in the reduced picture
_PIECE_LINES = (2, 3)
_LINES_PER_PIECE = 4  # of so many lines, two or three become a piece
_MOST_LINES = 16  # of a paragraph
NOWHERE = -1


class Label(NamedTuple):
    """Tokens and their boxes in points; None where a token leaves no ink."""

    tokens: list[str]
    boxes: list[Box | None]


def has_places(lines: Sequence[Line]) -> bool:
    """Whether it is known where every character stands."""
    return all(_is_known(part) for line in lines for part in line.parts)


def label_of(piece: Piece, lines: Sequence[Line]) -> Label:
    """Return the label of some consecutive lines of a block."""
    writer = _Writer(piece)
    for number, line in enumerate(lines):
        if number:
            writer.mark(BREAK)
        writer.line(line)
    writer.close()
    return Label(writer.tokens, writer.boxes)


def _is_known(part: Part) -> bool:
    return bool(part.atom.tokens) or all(sign.box is not None or sign.text in " _" for sign in part.signs)


class _Writer:
    """Writes parts one after the other; remembers which style and whether a formula is open."""

    def __init__(self, piece: Piece) -> None:
        self.tokens: list[str] = []
        self.boxes: list[Box | None] = []
        self._kind = piece.block.kind
        self._style = PLAIN
        self._open = False
        self._math = DISPLAY if self._kind == Kind.FORMULA else MATH
        self._last: Box | None = None
        if self._kind in (Kind.TITLE, Kind.HEADING) and not piece.continued:
            self.mark(HEADINGS[0] if self._kind == Kind.TITLE else HEADINGS[min(piece.block.level, 3)])

    def mark(self, token: str) -> None:
        self.tokens.append(token)
        self.boxes.append(None)
        if token == BREAK:
            self._last = None

    def close(self) -> None:
        """Close what is open at the end of the last line."""
        self._formula(opened=False)
        self._close_style(PLAIN)

    def line(self, line: Line) -> None:
        """Write the parts of a line; a formula or style that goes on in the next line stays open."""
        before: Part | None = None
        for part, after in zip(line.parts, [*line.parts[1:], None], strict=True):
            style = self._style_of(part, after)
            self._close_style(style)
            self._gap(before, part)
            if style not in (PLAIN, self._style):
                self.mark(STYLES[style][0])
            self._style = style
            if part.atom.tokens:
                self._formula(opened=True)
            self._signs(part.signs, formula=bool(part.atom.tokens))
            goes_on = self._kind == Kind.FORMULA and after is not None and bool(after.atom.tokens)
            if part.ends and not goes_on:
                self._formula(opened=False)
            before = part

    def _close_style(self, style: str) -> None:
        if self._style not in (PLAIN, style):
            self.mark(STYLES[self._style][1])
            self._style = PLAIN

    def _formula(self, *, opened: bool) -> None:
        if opened != self._open:
            self.mark(self._math[0] if opened else self._math[1])
            self._open = opened

    def _style_of(self, part: Part, after: Part | None) -> str:
        """Return the style of a part; a formula between words of one style does not interrupt it."""
        if part.atom.tokens:
            within = after is not None and after.atom.text and self._plain_style(after.atom.style) == self._style
            return self._style if within or not part.ends else PLAIN
        return self._plain_style(part.atom.style)

    def _plain_style(self, style: str) -> str:
        """Leave out what the kind of block says already."""
        if self._kind == Kind.CODE:
            return MONO
        return PLAIN if self._kind in (Kind.TITLE, Kind.HEADING) and style != "note" else style

    def _gap(self, before: Part | None, part: Part) -> None:
        """Write what stands between two atoms of a line."""
        if before is None:
            return
        if self._kind == Kind.TABLE and before.atom.column != part.atom.column:
            for _ in range(part.atom.column - before.atom.column):
                self.mark(CELL)
            return
        if part.atom.glued or (self._kind == Kind.FORMULA and part.atom.tokens):
            return
        ahead = next((sign.box for sign in part.signs if sign.box is not None), None)
        self.tokens.append(SPACE)
        self.boxes.append(_between(self._last, ahead))

    def _signs(self, signs: Sequence[Sign], *, formula: bool) -> None:
        for sign in signs:
            if sign.text == " " and self._last is None and not formula:
                continue  # how far a line is indented, the picture of the line does not show
            self.tokens.append(sign.text if formula else token_of(sign.text))
            self.boxes.append(sign.box)
            self._last = sign.box or self._last


def _between(before: Box | None, after: Box | None) -> Box | None:
    """Return the gap between two signs of a line."""
    if before is None or after is None or after[0] <= before[2]:
        return None
    return before[2], min(before[1], after[1]), after[0], max(before[3], after[3])


def drawing_dpi(page: Page) -> float:
    """Return the resolution at which the page's letters are twice as large as the reader's."""
    return OVERSAMPLING * READER_DPI * READER_POINTS / page.style.points


def cut_samples(
    page: Page, gray: Gray, dpi: float, tokenizer: LatexTokenizer, rng: np.random.Generator
) -> Iterator[tuple[str, Sample]]:
    """Yield every line of a page, some groups of lines, and whole paragraphs, each with the name of its set."""
    for piece in page.pieces:
        if piece.block.kind == Kind.FIGURE:
            continue
        for name, lines in _groups(piece.lines, rng):
            sample = cut(piece, lines, gray, dpi, tokenizer, page.group) if has_places(lines) else None
            if sample is not None and len(sample.tokens) <= MAX_TOKENS[name]:
                yield name, sample


def _groups(lines: Sequence[Line], rng: np.random.Generator) -> Iterator[tuple[str, Sequence[Line]]]:
    yield from ((LINES, [line]) for line in lines)
    count = -(-len(lines) // _LINES_PER_PIECE) if len(lines) > 1 else 0
    for _ in range(count):
        length = min(len(lines), int(rng.integers(_PIECE_LINES[0], _PIECE_LINES[1] + 1)))
        start = int(rng.integers(len(lines) - length + 1))
        yield PIECES, lines[start : start + length]
    if _PIECE_LINES[1] < len(lines) <= _MOST_LINES:
        yield PARAGRAPHS, lines


def cut(
    piece: Piece, lines: Sequence[Line], gray: Gray, dpi: float, tokenizer: LatexTokenizer, group: int
) -> Sample | None:
    """Cut some lines out of a page; None when the vocabulary lacks something or there is nothing to see."""
    label = label_of(piece, lines)
    text = " ".join(label.tokens)
    size = max(line.size for line in lines)
    if not label.tokens or size <= 0 or tokenizer.unknown(text):
        return None
    factor = min(1.0, READER_DPI * READER_POINTS / (size * dpi))
    edge = round(_MARGIN / factor)
    left, top, right, bottom = in_pixels(union(line.box for line in lines), dpi)
    left, top = max(0, left - edge), max(0, top - edge)
    part = gray[top : bottom + edge, left : right + edge]
    if part.size == 0:
        return None
    picture = rescale(part, factor)
    boxes = np.array([box or (np.nan,) * 4 for box in label.boxes]) * (dpi / POINTS_PER_INCH)
    boxes -= np.array([left, top, left, top])
    down, across = picture.shape[0] / part.shape[0], picture.shape[1] / part.shape[1]
    boxes *= np.array([across, down, across, down])
    return Sample(picture, tuple(tokenizer.encode(text)), group, _rounded(boxes, picture.shape))


def _rounded(boxes: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.int16]:
    """Return whole pixels inside the picture, -1 where a token has no place."""
    height, width = shape[:2]
    inside = np.clip(boxes, 0, np.array([width, height, width, height]))
    return np.where(np.isnan(boxes), NOWHERE, np.rint(inside)).astype(np.int16)
