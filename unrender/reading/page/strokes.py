"""The strokes of a page, what the layout network says that they are, and which are not to be read.

Numbers of lines are small strokes one above the other, with paper on both sides; leaders, as in a table of contents,
are dots at one distance from one another.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unrender.engines import Cells
from unrender.images.measures import find_runs, stroke_boxes
from unrender.reading.page.places import Boxes, Kind, Rectangle, find_lines
from unrender.reading.page.straight import INK, Straight

FURNITURE = (Kind.HEADER, Kind.FOOTER, Kind.FOLIO)
_UNLIKELY = 0.6  # of a stroke to be nothing: above, it is dirt, a rule or a number in the margin
_SPECK = 0.12  # of the letters' height: smaller strokes are dirt
_TOGETHER = 2.0  # the same: what stands nearer in a line is of one kind
_PAPER = 255
_BIN = 0.5  # times the height of small letters: how finely places across the page are told apart
_LARGE = 1.2  # the same: how high the digits, or what is left of them, are at most
_TOUCHING = 3.0  # the same: how wide digits are that touch
_WIDEST = 4.0  # the same: of the numbers
_FEWEST = 8  # of them
_REACH = 0.25  # of the page's height, at least, that they are spread over
_DOT, _DOT_STEP = 0.5, 3.0  # times the height of small letters: how large the dots of leaders are, how far apart
_LEVEL, _UNEVEN = 0.15, 0.12  # the same: how far their feet and their distances differ at most
_UNEVEN_PIXELS = 1.5
_FEWEST_DOTS = 5
_ABOVE, _BELOW, _APART, _NUMBER = 1.8, 0.5, 6.0, 10.0  # times small letters: around the feet of a line with leaders
_OTHERS = 0.12  # share of other strokes that may stand between them: what spans the columns


@dataclass(frozen=True)
class Strokes:
    """The strokes of a page: their boxes, how likely each kind is for each (strokes, kinds), and the kind."""

    boxes: Boxes
    likely: NDArray[np.float32]
    kinds: NDArray[np.int64]
    letters: float
    cells: Cells
    scale: float  # cells per pixel
    leaders: NDArray[np.bool_]  # strokes that are dots between a title and its page's number

    def decide(self, chosen: NDArray[np.bool_] | NDArray[np.int64], kind: int) -> None:
        """Say of what kind some strokes surely are."""
        self.kinds[chosen] = kind
        self.likely[chosen] = np.eye(self.likely.shape[1], dtype=np.float32)[kind]


def look_at(straight: Straight, cells: Cells, scale: float) -> Strokes:
    """Find the strokes and ask the cells what they are."""
    boxes = stroke_boxes(straight.gray < INK)
    sizes = np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])
    boxes = boxes[sizes >= max(1.0, _SPECK * straight.letters)]
    leaders = leader_dots(boxes, straight.letters)
    cells = mark_leaders(cells, boxes, leaders, straight.letters, scale)
    likely = mean_in(cells.kinds, boxes, scale)
    kinds = likely[:, 1:].argmax(axis=1) + 1
    kinds[likely[:, Kind.NOTHING] > _UNLIKELY] = Kind.NOTHING
    return Strokes(boxes, likely, kinds, straight.letters, cells, scale, leaders)


def agree_in_lines(page: Strokes, members: NDArray[np.int64]) -> None:
    """Let the words of a line that stand together be all of the body or all of one running head or foot."""
    if not np.isin(page.kinds[members], FURNITURE).any():
        return
    for line in find_lines(page.boxes, members.tolist(), page.letters):
        strokes = np.array(line.strokes)[page.boxes[list(line.strokes), 0].argsort()]
        edges = np.maximum.accumulate(page.boxes[strokes, 2])
        far = page.boxes[strokes[1:], 0] - edges[:-1] > _TOGETHER * page.letters
        for group in np.split(strokes, np.flatnonzero(far) + 1):
            kinds = page.kinds[group]
            if np.isin(kinds, FURNITURE).any() and (kinds != kinds[0]).any():
                votes = np.bincount(kinds, page.boxes[group, 2] - page.boxes[group, 0])
                page.decide(group, int(votes.argmax()))


def mean_in(maps: NDArray[np.float32], boxes: Boxes, scale: float) -> NDArray[np.float32]:
    """Return the mean of each map (K, H, W) in each box: (boxes, K)."""
    _, rows, columns = maps.shape
    sums = np.pad(maps.astype(np.float64).cumsum(axis=1).cumsum(axis=2), ((0, 0), (1, 0), (1, 0)))
    left, top = (np.clip((boxes[:, side] * scale).astype(int), 0, most - 1) for side, most in ((0, columns), (1, rows)))
    right, bottom = (
        np.clip(np.ceil(boxes[:, side] * scale).astype(int), start + 1, most)
        for side, most, start in ((2, columns, left), (3, rows, top))
    )
    total = sums[:, bottom, right] - sums[:, top, right] - sums[:, bottom, left] + sums[:, top, left]
    return np.asarray((total / ((bottom - top) * (right - left))).T, dtype=np.float32)


def find_inside(boxes: Boxes, box: Rectangle) -> NDArray[np.bool_]:
    """Say which boxes have their middle in a rectangle."""
    across, down = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    return np.asarray((across >= box[0]) & (across <= box[2]) & (down >= box[1]) & (down <= box[3]))


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
    """Say which strokes are dots in a row of at least five, each as far from the next."""
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
    for start, stop in find_runs(~quiet):
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
