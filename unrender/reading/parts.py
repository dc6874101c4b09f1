"""Which parts of a picture can be read by themselves: rows that stand below one another, and what nobody has read yet.

Shapes: S strokes, whose boxes (S, 4) are left, top, right and bottom in the picture.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unrender.images.lines import Region
from unrender.images.measures import percentile

Boxes = NDArray[np.float64]
Part = NDArray[np.int64]  # indices of strokes
_DOT = 0.4  # of a tall stroke: lower ones are dots and bars
_TALL = 75  # percentile
_GAP = 0.3  # of a symbol's height: rows are at least so far apart
_NEAR = 0.45  # of a symbol's height: what is lower than a symbol and so near belongs to its neighbour
_LOW, _SMALL = 0.5, 0.9  # of a symbol's height: dots are lower, and small letters
_LIMITS, _LARGE = 1.1, 1.2  # of a symbol's height: limits are at most so high, their operator is at least so high
_WIDE, _SPREAD = 0.8, 3.5  # of a symbol's height, an operator's least width; of that, the greatest of its limits
_FLAT, _LONG = 0.3, 0.8  # of its width a bar is at most high; of a symbol's height it is at least long
_APART = 2.0  # of a symbol's height: so far from a formula stands its number
_MARGIN = 0.25  # of a symbol's height, around a part


@dataclass(frozen=True)
class Strokes:
    """The strokes of a picture, and which of them no token looked at."""

    boxes: Boxes  # (S, 4)
    unread: NDArray[np.bool_]  # (S,)

    @cached_property
    def heights(self) -> NDArray[np.float64]:
        return np.asarray(self.boxes[:, 3] - self.boxes[:, 1])

    @cached_property
    def symbol(self) -> float:
        """How high a usual symbol is."""
        tall = self.heights[self.heights >= _DOT * percentile(self.heights, _TALL)]
        return percentile(tall, 50)

    def rows(self) -> tuple[Region, ...]:
        """Return the rows from top to bottom: what white paper parts, but for fractions, limits and dots."""
        if not len(self.boxes):
            return ()
        order = np.argsort(self.boxes[:, 1], kind="stable")
        bottoms = np.maximum.accumulate(self.boxes[order, 3])
        breaks = np.flatnonzero(self.boxes[order[1:], 1] - bottoms[:-1] >= _GAP * self.symbol) + 1
        parts = self._joined(np.split(order, breaks), self._at_bars)
        return tuple(self._region(part) for part in self._joined(parts, self._attached))

    def left_below(self) -> Region | None:
        """Return what was left unread below all that was read, as wide as the picture's ink."""
        return self._left(down=True)

    def left_beside(self) -> Region | None:
        """Return what was left unread to the right of all that was read."""
        return self._left(down=False)

    def apart_beside(self, counted: NDArray[np.bool_], count: int) -> Region | None:
        """Return what stands far to the right of all else, if so many of its strokes are among those `counted`."""
        order = np.argsort(self.boxes[:, 0], kind="stable")
        ends = np.maximum.accumulate(self.boxes[order, 2])
        breaks = np.flatnonzero(self.boxes[order[1:], 0] - ends[:-1] >= _APART * self.symbol) + 1
        if not breaks.size or counted[order[breaks[-1] :]].sum() != count:
            return None
        return self._region(order[breaks[-1] :])

    def _left(self, *, down: bool) -> Region | None:
        unread, read = self.boxes[self.unread], self.boxes[~self.unread]
        near, far = (1, 3) if down else (0, 2)
        if not len(unread) or not len(read):
            return None
        if (unread[:, near] + unread[:, far]).min() <= (read[:, near] + read[:, far]).max():
            return None
        return self._region(np.flatnonzero(self.unread), whole_width=down)

    def _joined(self, parts: list[Part], belongs: Callable[[Part, Part], bool]) -> list[Part]:
        """Join neighbours of which one belongs to the other."""
        joined = parts[:1]
        for part in parts[1:]:
            if belongs(part, joined[-1]) or belongs(joined[-1], part):
                joined[-1] = np.concatenate([joined[-1], part])
            else:
                joined.append(part)
        return joined

    def _at_bars(self, part: Part, row: Part) -> bool:
        """Whether whatever stands in a part has a bar of the row as its nearest neighbour above or below."""
        boxes = self.boxes[row]
        widths = boxes[:, 2] - boxes[:, 0]
        bars = (self.heights[row] <= _FLAT * widths) & (widths >= _LONG * self.symbol)
        for left, top, right, bottom in self.boxes[part].tolist():
            over = (boxes[:, 0] < (left + right) / 2) & ((left + right) / 2 < boxes[:, 2])
            distances = np.where(over, np.maximum(boxes[:, 1] - bottom, top - boxes[:, 3]), np.inf)
            if not over.any() or not bars[distances.argmin()]:
                return False
        return True

    def _attached(self, part: Part, row: Part) -> bool:
        """Whether a part is only dots, or limits of the row: lower than a symbol and near, or at a large operator."""
        highest = self.heights[part].max() / self.symbol
        boxes, own = self.boxes[row], self.boxes[part]
        gap = max(boxes[:, 1].min() - own[:, 3].max(), own[:, 1].min() - boxes[:, 3].max())
        if highest < _LOW or (highest < _SMALL and gap < _NEAR * self.symbol):
            return True
        widths = boxes[:, 2] - boxes[:, 0]
        left, right = own[:, 0].min(), own[:, 2].max()
        operators = (self.heights[row] >= _LARGE * self.symbol) & (widths >= _WIDE * self.symbol)
        centred = (boxes[:, 0] < (left + right) / 2) & ((left + right) / 2 < boxes[:, 2])
        return bool(highest < _LIMITS and (operators & centred & (right - left < _SPREAD * widths)).any())

    def _region(self, part: Part, *, whole_width: bool = False) -> Region:
        boxes, margin = self.boxes[part], _MARGIN * self.symbol
        across = self.boxes if whole_width else boxes
        left, top, right, bottom = across[:, 0].min(), boxes[:, 1].min(), across[:, 2].max(), boxes[:, 3].max()
        return (
            math.floor(left - margin),
            math.floor(top - margin),
            math.ceil(right + margin),
            math.ceil(bottom + margin),
        )
