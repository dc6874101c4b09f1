"""Numbers of lines in the margin: small strokes one above the other, with paper on both sides."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unrender.images.pixels import stroke_boxes
from unrender.reading.page.lines import Boxes
from unrender.reading.page.straight import INK, Straight

_PAPER = 255
_BIN = 0.5  # times the height of small letters: how finely places across the page are told apart
_LARGE = 1.2  # the same: how high the digits, or what is left of them, are at most
_TOUCHING = 3.0  # the same: how wide digits are that touch
_WIDEST = 4.0  # the same: of the numbers
_FEWEST = 8  # of them
_REACH = 0.25  # of the page's height, at least, that they are spread over
_OTHERS = 0.12  # share of other strokes that may stand between them: what spans the columns


def without_line_numbers(straight: Straight) -> Straight:
    """Return the page with the numbers of its lines erased."""
    boxes = stroke_boxes(straight.gray < INK)
    found = boxes[line_numbers(boxes, straight.letters)]
    if not len(found):
        return straight
    gray = straight.gray.copy()
    for left, top, right, bottom in found.tolist():
        gray[max(0, top - 1) : bottom + 1, max(0, left - 1) : right + 1] = _PAPER
    return replace(straight, gray=gray)


def line_numbers(boxes: Boxes, letters: float) -> NDArray[np.bool_]:
    """Say which strokes are digits of line numbers."""
    found = np.zeros(len(boxes), dtype=bool)
    if len(boxes) < _FEWEST:
        return found
    heights, widths = boxes[:, 3] - boxes[:, 1], boxes[:, 2] - boxes[:, 0]
    small = (heights <= _LARGE * letters) & (widths <= _TOUCHING * letters)
    bins = ((boxes[:, 0] + boxes[:, 2]) / 2 / (_BIN * letters)).astype(np.int64)
    total, digits = (np.bincount(bins[chosen], minlength=bins.max() + 3) for chosen in (slice(None), small))
    usual = float(np.median(total[total > 0]))
    quiet = total <= max(1.0, _OTHERS * usual)
    spread = int(boxes[:, 3].max() - boxes[:, 1].min())
    for start, stop in _runs(~quiet):
        inside = (bins >= start) & (bins < stop)
        own = inside & small
        narrow = (stop - start) * _BIN <= _WIDEST
        if not narrow or digits[start:stop].sum() < max(_FEWEST, (1 - _OTHERS) * total[start:stop].sum()):
            continue
        if _rows(boxes[own], letters) >= _FEWEST and np.ptp(boxes[own, 1]) >= _REACH * spread:
            found |= own
    return found


def _rows(boxes: Boxes, letters: float) -> int:
    """Count the rows that strokes stand in, one above the other."""
    tops = np.sort(boxes[:, 1])
    return 1 + int((np.diff(tops) > letters).sum()) if len(tops) else 0


def _runs(busy: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.pad(busy, 1).astype(np.int8)))
    return [(int(one), int(other)) for one, other in edges.reshape(-1, 2)]
