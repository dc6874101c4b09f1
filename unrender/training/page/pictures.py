"""Lines, pieces and paragraphs as pictures with labels, all with letters of one size.

Letters are as large as those of 12 points at 100 dpi, which is what the formula reader was trained on.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from unrender.tokens import LatexTokenizer
from unrender.training.data import Gray, Sample
from unrender.training.page.assembly import Line, Page, Piece, union
from unrender.training.page.blocks import FIGURE
from unrender.training.page.drawing import POINTS_PER_INCH, in_pixels, shrink
from unrender.training.page.labels import has_places, label_of

LINES, PIECES, PARAGRAPHS = "lines", "pieces", "paragraphs"
READER_DPI, READER_POINTS = 100.0, 12.0
OVERSAMPLING = 2.0
MAX_TOKENS = {LINES: 250, PIECES: 500, PARAGRAPHS: 1000}
_MARGIN = 2  # pixels around the ink, in the reduced picture
_PIECE_LINES = (2, 3)
_LINES_PER_PIECE = 4  # of so many lines, two or three become a piece
_MOST_LINES = 16  # of a paragraph
NOWHERE = -1


def drawing_dpi(page: Page) -> float:
    """Return the resolution at which the page's letters are twice as large as the reader's."""
    return OVERSAMPLING * READER_DPI * READER_POINTS / page.style.points


def cut_samples(
    page: Page, gray: Gray, dpi: float, tokenizer: LatexTokenizer, rng: np.random.Generator
) -> Iterator[tuple[str, Sample]]:
    """Yield every line of a page, some groups of lines, and whole paragraphs, each with the name of its set."""
    for piece in page.pieces:
        if piece.block.kind == FIGURE:
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
    picture = shrink(part, factor)
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
