"""What stands beside the text and is not read: the numbers of lines, and the dots of leaders.

Numbers of lines are small strokes one above the other, apart from words or smaller than they are; leaders, as in a
table of contents, are dots at one distance from one another.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unrender.engines import Cells
from unrender.images.measures import find_runs, stroke_boxes
from unrender.reading.page.places import Boxes, Kind
from unrender.reading.page.straight import INK, Straight

_PAPER = 255
_BIN = 0.5  # times the height of small letters: how finely places across the page are told apart
_LARGE = 1.2  # the same: how high the digits, or what is left of them, are at most
_TOUCHING = 3.0  # the same: how wide digits are that touch
_WIDEST = 4.0  # the same: of the numbers
_FEWEST, _MOST_COLUMNS = 8, 3  # of them, and of their columns
_REACH = 0.25  # of the page's height, at least, that they are spread over
_CLOSE = 0.6  # times the height of small letters: what stands nearer to them is of one word with them
_DIFFERING = 0.15  # of their height: how much digits of one size differ
_LARGER = 1.2  # times their height: the letters beside digits that number lines
_TINY = 0.8  # the same: digits so low are no letters of a word, however near it stands
_DOT, _DOT_STEP = 0.5, 3.0  # times the height of small letters: how large the dots of leaders are, how far apart
_LEVEL, _UNEVEN = 0.15, 0.12  # the same: how far their feet and their distances differ at most
_UNEVEN_PIXELS = 1.5
_FEWEST_DOTS = 6  # a comma, three dots and a comma are five
_ABOVE, _BELOW, _APART, _NUMBER = 1.8, 0.5, 6.0, 10.0  # times small letters: around the feet of a line with leaders
_OTHERS = 0.12  # share of other strokes that may stand between them: what spans the columns


def without_line_numbers(straight: Straight) -> Straight:
    """Return the page with the numbers of its lines erased."""
    boxes = stroke_boxes(straight.gray < INK)
    return _without(straight, boxes[line_numbers(boxes, straight.letters)])


def without_leaders(straight: Straight) -> Straight:
    """Return the page with the dots erased that lead from a title to the number of its page."""
    boxes = stroke_boxes(straight.gray < INK)
    return _without(straight, boxes[leader_dots(boxes, straight.letters)])


def _without(straight: Straight, found: Boxes) -> Straight:
    if not len(found):
        return straight
    gray = straight.gray.copy()
    for left, top, right, bottom in found.tolist():
        gray[max(0, top - 1) : bottom + 1, max(0, left - 1) : right + 1] = _PAPER
    return replace(straight, gray=gray)


def mark_leaders(cells: Cells, boxes: Boxes, dots: NDArray[np.bool_], letters: float, scale: float) -> Cells:
    """Make a line of text, and the first of its block, of every line with a leader; there are `scale` cells to a pixel.

    Where many lines end in numbers one below the other, the network would see tables and formulas.
    """
    if not dots.any():
        return cells
    kinds, begins = cells.kinds.copy(), cells.begins.copy()
    for foot in np.unique(boxes[dots, 3]).tolist():
        own = boxes[dots & (boxes[:, 3] == foot)]
        top, bottom = foot - _ABOVE * letters, foot + _BELOW * letters
        inside = (boxes[:, 1] < foot) & (boxes[:, 1] > top - letters) & (boxes[:, 3] < bottom + letters)
        left = _reached(boxes[inside & (boxes[:, 0] < own[:, 0].min())], int(own[:, 0].min()), letters)
        right = own[:, 2].max() + _NUMBER * letters
        area = (
            slice(max(0, int(top * scale)), int(bottom * scale) + 1),
            slice(int(left * scale), int(right * scale) + 1),
        )
        kinds[:, *area], kinds[Kind.TEXT, *area], begins[area] = 0.0, 1.0, 1.0
    return replace(cells, kinds=kinds, begins=begins)


def _reached(boxes: Boxes, edge: int, letters: float) -> int:
    """Return how far strokes go on to the left of an edge without a wide gap."""
    for left, _, right, _ in boxes[(-boxes[:, 2]).argsort()].tolist():
        if right < edge - _APART * letters:
            break
        edge = min(edge, left)
    return edge


def leader_dots(boxes: Boxes, letters: float) -> NDArray[np.bool_]:
    """Say which strokes are dots in a row of at least six, each as far from the next."""
    found = np.zeros(len(boxes), dtype=bool)
    sizes = boxes[:, 2:] - boxes[:, :2]
    dots = np.flatnonzero((sizes <= _DOT * letters).all(axis=1))
    dots = dots[np.lexsort((boxes[dots, 0], boxes[dots, 3]))]
    rows = np.split(dots, np.flatnonzero(np.diff(boxes[dots, 3]) > max(1.0, _LEVEL * letters)) + 1)
    for row in rows:
        row = row[boxes[row, 0].argsort()]
        steps = np.diff(boxes[row, 0] + boxes[row, 2]) / 2
        even = np.abs(np.diff(steps)) <= max(_UNEVEN_PIXELS, _UNEVEN * letters)
        near = (steps[1:] < _DOT_STEP * letters) & (steps[:-1] < _DOT_STEP * letters)
        for start, stop in find_runs(even & near):
            if stop - start + 2 >= _FEWEST_DOTS:
                found[row[start : stop + 2]] = True
    return found


def line_numbers(boxes: Boxes, letters: float) -> NDArray[np.bool_]:
    """Say which strokes are digits of line numbers; more columns of digits than a page has of text are a table."""
    found = list(_number_columns(boxes, letters)) if len(boxes) >= _FEWEST else []
    lefts = np.sort([np.median(boxes[own, 0]) for own in found])  # of single digits: some stand in one column
    if not found or 1 + (np.diff(lefts) > _WIDEST * letters).sum() > _MOST_COLUMNS:
        return np.zeros(len(boxes), dtype=bool)
    return np.asarray(np.any(found, axis=0))


def _number_columns(boxes: Boxes, letters: float) -> Iterator[NDArray[np.bool_]]:
    """Find the columns of small strokes that may be numbers of lines."""
    heights, widths = boxes[:, 3] - boxes[:, 1], boxes[:, 2] - boxes[:, 0]
    small = (heights <= _LARGE * letters) & (widths <= _TOUCHING * letters)
    bins = ((boxes[:, 0] + boxes[:, 2]) / 2 / (_BIN * letters)).astype(np.int64)
    total, digits = (np.bincount(bins[chosen], minlength=bins.max() + 3) for chosen in (slice(None), small))
    quiet = total <= max(1.0, _OTHERS * float(np.median(total[total > 0])))
    spread = int(boxes[:, 3].max() - boxes[:, 1].min())
    numbered = ~quiet & (digits >= (1 - _OTHERS) * total)
    numbered[1:-1] |= quiet[1:-1] & numbered[:-2] & numbered[2:]  # between two digits
    for start, stop in find_runs(numbered):
        own = (bins >= start) & (bins < stop) & small
        if (stop - start) * _BIN <= _WIDEST and own.sum() >= _FEWEST:
            own = _alone(boxes, own, letters)
            if count_rows(boxes[own], letters) >= _FEWEST and np.ptp(boxes[own, 1]) >= _REACH * spread:
                yield own


def _alone(boxes: Boxes, own: NDArray[np.bool_], letters: float) -> NDArray[np.bool_]:
    """Return which of these strokes are no part of a word: they stand apart, or are smaller than what stands beside."""
    heights = boxes[:, 3] - boxes[:, 1]
    usual = float(np.median(heights[own]))
    alike = own & (np.abs(heights - usual) <= max(1.0, _DIFFERING * usual))
    near = _gaps(boxes[own], boxes[~own])
    beside = heights[~own][(near < _WIDEST * letters).any(axis=0)]
    smaller = usual <= _TINY * letters and (not beside.size or float(np.median(beside)) > _LARGER * usual)
    if smaller and alike.sum() >= (1 - 3 * _OTHERS) * own.sum():
        return np.asarray(alike)
    apart = own.copy()
    apart[own] = (near >= _CLOSE * letters).all(axis=1)
    return np.asarray(apart & (apart.sum() >= (1 - _OTHERS) * own.sum()))


def _gaps(boxes: Boxes, others: Boxes) -> NDArray[np.float64]:
    """Return how far each of the others is before or behind each box; infinite if they share no line."""
    beside = (boxes[:, None, 1] < others[None, :, 3]) & (boxes[:, None, 3] > others[None, :, 1])
    gaps = np.maximum(others[None, :, 0] - boxes[:, None, 2], boxes[:, None, 0] - others[None, :, 2])
    return np.where(beside, gaps, np.inf)


def count_rows(boxes: Boxes, letters: float) -> int:
    """Count the rows that strokes stand in, one above the other."""
    tops = np.sort(boxes[:, 1])
    return 1 + int((np.diff(tops) > letters).sum()) if len(tops) else 0
