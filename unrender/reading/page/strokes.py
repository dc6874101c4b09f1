"""The strokes of a page, and what the layout network says that they are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.engines.segmentation import Cells
from unrender.images.pixels import stroke_boxes
from unrender.reading.page.lines import Boxes, find_lines
from unrender.reading.page.margins import leader_dots, mark_leaders
from unrender.reading.page.places import FOLIO, FOOTER, HEADER, NOTHING, Rectangle
from unrender.reading.page.straight import INK, Straight

FURNITURE = (HEADER, FOOTER, FOLIO)
_UNLIKELY = 0.6  # of a stroke to be nothing: above, it is dirt, a rule or a number in the margin
_SPECK = 0.12  # of the letters' height: smaller strokes are dirt
_TOGETHER = 2.0  # the same: what stands nearer in a line is of one kind


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
    kinds[likely[:, NOTHING] > _UNLIKELY] = NOTHING
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
