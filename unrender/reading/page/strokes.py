"""The strokes of a page, and what the layout network says that they are."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.engines import Cells
from unrender.images.measures import find_runs, find_strokes
from unrender.reading.page.margins import leader_dots, mark_leaders
from unrender.reading.page.places import Boxes, Kind, Rectangle, find_lines
from unrender.reading.page.straight import INK, Straight

FURNITURE = (Kind.HEADER, Kind.FOOTER, Kind.FOLIO)
PROSE = (Kind.TEXT, Kind.HEADING, Kind.CAPTION, Kind.FOOTNOTE)
_UNLIKELY = 0.6  # of a stroke to be nothing: above, it is dirt, a rule or a number in the margin
_SPECK = 0.12  # of the letters' height: smaller strokes are dirt
RULE_LENGTH, RULE_WIDTH = 6.0, 0.5  # the same: a stroke so long and so thin is a rule
_THIN, _THIN_PIXELS = 0.15, 2.0  # the same, and in pixels: of a rule that is no straight line
_HOLLOW = 0.2  # share of its box that a frame's ink fills at most
_WHOLE_LENGTH, _FEWEST_RULES = 0.8, 3  # share of a grid's length that its rules have at least; how many they are
_LEAST_LEFT = 0.4  # the same: smaller strokes that seem nothing are dirt
_TOUCHED = 0.8  # the same: how near the ink is that such a stroke belongs to
_BULLET, _UNROUND, _ROUND = (0.35, 0.9), 0.12, 0.6  # the same: how large bullets are, how uneven; how full of ink
_BULLET_GAP, _BULLET_ROOM = 0.4, 4.0  # the same: from a bullet to its line, and how far from it there is nothing else
_FEWEST_LEFT = 6  # strokes in a line that is text though it seems nothing


@dataclass(frozen=True)
class Grid:
    """Rules that cross one another: the frame of a table, and where its columns part."""

    box: Rectangle
    edges: tuple[float, ...]


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
    rules: NDArray[np.bool_]  # strokes that are lines of ink, or frames
    grids: tuple[Grid, ...] = ()

    def decide(self, chosen: NDArray[np.bool_] | NDArray[np.int64], kind: int) -> None:
        """Say of what kind some strokes surely are."""
        self.kinds[chosen] = kind
        self.likely[chosen] = np.eye(self.likely.shape[1], dtype=np.float32)[kind]


def look_at(straight: Straight, cells: Cells, scale: float) -> Strokes:
    """Find the strokes and ask the cells what they are."""
    boxes, numbers = find_strokes(straight.gray < INK)
    filled = np.bincount(numbers[numbers >= 0], minlength=len(boxes))
    sizes = np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])
    large = sizes >= max(1.0, _SPECK * straight.letters)
    grids = tuple(_find_grids(boxes, numbers, filled, straight.letters))
    boxes, filled = boxes[large], filled[large]
    leaders = leader_dots(boxes, straight.letters)
    cells = mark_leaders(cells, boxes, leaders, straight.letters, scale)
    likely = mean_in(cells.kinds, boxes, scale)
    kinds = likely[:, 1:].argmax(axis=1) + 1
    kinds[likely[:, Kind.NOTHING] > _UNLIKELY] = Kind.NOTHING
    rules = find_rules(boxes, filled, straight.letters) & (kinds != Kind.FORMULA)
    _adopt_bullets(boxes, filled, kinds, likely, straight.letters)
    _adopt(boxes, kinds, likely, rules, straight.letters)
    return Strokes(boxes, likely, kinds, straight.letters, cells, scale, leaders, rules, grids)


def _find_grids(boxes: Boxes, numbers: NDArray[np.int64], filled: NDArray[np.int64], letters: float) -> Iterator[Grid]:
    """Find the strokes that are at least three level rules and three upright ones, all of one length."""
    widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    hollow = (np.minimum(widths, heights) > RULE_LENGTH / 2 * letters) & (filled < _HOLLOW * widths * heights)
    for number in np.flatnonzero(hollow).tolist():
        left, top, right, bottom = boxes[number].tolist()
        ink = numbers[top:bottom, left:right] == number
        level = find_runs(np.asarray(ink.mean(axis=1) > _WHOLE_LENGTH))
        upright = find_runs(np.asarray(ink.mean(axis=0) > _WHOLE_LENGTH))
        if min(len(level), len(upright)) >= _FEWEST_RULES:
            edges = tuple(left + (first + last) / 2 for first, last in upright[1:-1])
            yield Grid((left, top, right, bottom), edges)


def _adopt(
    boxes: Boxes, kinds: NDArray[np.int64], likely: NDArray[np.float32], rules: NDArray[np.bool_], letters: float
) -> None:
    """Leave no words out: a stroke that seems nothing is of the kind of the ink it touches, and a line of them is text.

    What stands alone is dirt, or a number in the margin.
    """
    sizes = np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])
    left_out = np.flatnonzero((kinds == Kind.NOTHING) & ~rules & (sizes > _LEAST_LEFT * letters))
    known = np.flatnonzero((kinds != Kind.NOTHING) & ~rules)
    for one in left_out if known.size else ():
        left, top, right, bottom = boxes[one].tolist()
        aside = np.maximum(boxes[known, 0] - right, left - boxes[known, 2])
        down = np.maximum(boxes[known, 1] - bottom, top - boxes[known, 3])
        near = np.maximum(0, aside) + np.maximum(0, down)
        best = int(near.argmin())
        if near[best] < _TOUCHED * letters:
            kinds[one], likely[one] = kinds[known[best]], likely[known[best]]
    alone = [int(one) for one in left_out if kinds[one] == Kind.NOTHING]
    for line in find_lines(boxes, alone, letters) if len(alone) >= _FEWEST_LEFT else ():
        if len(line.strokes) >= _FEWEST_LEFT:
            members = list(line.strokes)
            kinds[members] = Kind.TEXT
            likely[members, Kind.TEXT] = likely[members, Kind.NOTHING]
            likely[members, Kind.NOTHING] = 0


def _adopt_bullets(
    boxes: Boxes, filled: NDArray[np.int64], kinds: NDArray[np.int64], likely: NDArray[np.float32], letters: float
) -> None:
    """Make a bullet a part of the line that it stands before, a little way off, whatever it seems."""
    widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    sizes = np.maximum(widths, heights)
    round_ = (np.abs(widths - heights) <= max(1.0, _UNROUND * letters)) & (filled > _ROUND * widths * heights)
    for one in np.flatnonzero(round_ & (sizes > _BULLET[0] * letters) & (sizes < _BULLET[1] * letters)).tolist():
        left, top, right, bottom = boxes[one].tolist()
        middle = (top + bottom) / 2
        level = (boxes[:, 1] < middle) & (boxes[:, 3] > middle)
        before = level & (boxes[:, 2] <= left) & (boxes[:, 2] > left - _BULLET_ROOM * letters)
        behind = np.flatnonzero(level & (boxes[:, 0] > right) & (boxes[:, 0] < right + _BULLET_ROOM * letters))
        if before.any() or not behind.size:
            continue
        first = int(behind[boxes[behind, 0].argmin()])
        if boxes[first, 0] - right > _BULLET_GAP * letters and kinds[first] in PROSE:
            kinds[one], likely[one] = kinds[first], likely[first]


def find_rules(boxes: Boxes, filled: NDArray[np.int64], letters: float) -> NDArray[np.bool_]:
    """Say which strokes are rules or frames; `filled` pixels of each are ink."""
    widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    long = widths >= RULE_LENGTH * letters
    thin = filled <= max(_THIN_PIXELS, _THIN * letters) * (widths + heights)  # one with hooks at its ends too
    upright = (widths <= RULE_WIDTH * letters) & (heights >= RULE_LENGTH / 2 * letters)
    hollow = (heights >= RULE_LENGTH / 2 * letters) & (filled < _HOLLOW * widths * heights)
    return np.asarray((long & ((heights <= RULE_WIDTH * letters) | thin | hollow)) | upright)


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
