"""What ink a reading accounts for: every token's attention is traced to the strokes it rests on.

So a token's box is that of its strokes rather than of the cells it was seen in, and strokes that no token rests on
were not read. Shapes: S strokes, N cells of the grid, row by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.images.symbol_size import find_strokes
from unrender.reading.grid import Grid

Attention = NDArray[np.float32]
Boxes = NDArray[np.int64]

_DARK = 0.8  # of the way from the darkest to the paper
_MEMBER = 0.4  # of the best stroke's attention: such a stroke may belong to the same symbol
_ABOVE = 0.5  # of the narrower one's width: strokes that overlap so far stand above one another
_LOOKED = 0.3  # of the strongest cell: a weaker cell was not looked at
_SPECK = 0.3  # of a symbol's height: smaller strokes are dots, and may be dirt
_WIDE_LOOK = 1  # cells around those looked at


@dataclass(frozen=True)
class Ink:
    """The strokes of one view: their boxes (S, 4) in its pixels, and how much of each lies in each cell (S, N)."""

    boxes: Boxes
    amounts: NDArray[np.float32]
    grid: Grid

    @classmethod
    def of(cls, pixels: NDArray[np.float32], grid: Grid) -> "Ink":
        """Find the strokes of (C, H, W) pixels, dark on light."""
        gray = pixels.mean(axis=0)
        boxes, numbers = find_strokes(gray < gray.min() + _DARK * (gray.max() - gray.min()))
        rows, columns = np.nonzero(numbers >= 0)
        cells = rows // grid.cell_height * grid.columns + columns // grid.cell_width
        amounts = np.zeros((len(boxes), grid.rows * grid.columns), dtype=np.float32)
        np.add.at(amounts, (numbers[rows, columns], cells), 1.0)
        return cls(boxes, amounts, grid)

    def shares(self, attention: Attention) -> NDArray[np.float32]:
        """Return how much of a token's attention rests on each stroke (S,); a cell's goes by the ink in it."""
        cells = attention[self.grid.special :]
        ink = self.amounts.sum(axis=0)
        seen = np.where(ink > 0, cells / np.maximum(ink, 1), 0)
        return np.asarray(self.amounts @ seen, dtype=np.float32)

    def trace(self, attentions: Sequence[Attention]) -> list[tuple[int, int, int, int] | None]:
        """Return the box of the symbol that each token rests on; of a stroke that several share, the part looked at."""
        members = [self._members(attention) for attention in attentions]
        owners = np.bincount([best for best, *_ in filter(None, members)], minlength=len(self.boxes))
        return [
            None if not strokes else self._bounds(strokes, attention, shared=bool(owners[strokes[0]] > 1))
            for strokes, attention in zip(members, attentions, strict=True)
        ]

    def unread(self, attentions: Sequence[Attention], symbol: float) -> Boxes:
        """Return the boxes (U, 4) of the strokes that no token looked at, specks left out."""
        looked = np.zeros(self.amounts.shape[1], dtype=bool)
        for attention in attentions:
            cells = attention[self.grid.special :]
            looked |= cells >= _LOOKED * cells.max()
        total = self.amounts.sum(axis=1)
        read = (self.amounts * looked).sum(axis=1) > 0
        sides = np.maximum(self.boxes[:, 2] - self.boxes[:, 0], self.boxes[:, 3] - self.boxes[:, 1])
        return self.boxes[~read & (sides > _SPECK * symbol) & (total > 0)]

    def _members(self, attention: Attention) -> list[int]:
        """Return the strokes of one token's symbol, the one it rests on most first."""
        shares = self.shares(attention)
        if not shares.size or shares.max() <= 0:
            return []
        best = int(shares.argmax())
        others = np.flatnonzero(shares >= _MEMBER * shares[best])
        return [best, *(int(one) for one in others if one != best and self._stacked(best, int(one)))]

    def _stacked(self, one: int, other: int) -> bool:
        left = max(self.boxes[one, 0], self.boxes[other, 0])
        right = min(self.boxes[one, 2], self.boxes[other, 2])
        narrow = min(self.boxes[index, 2] - self.boxes[index, 0] for index in (one, other))
        return bool(right - left >= _ABOVE * narrow)

    def _bounds(self, strokes: Sequence[int], attention: Attention, *, shared: bool) -> tuple[int, int, int, int]:
        boxes = self.boxes[list(strokes)]
        left, top = boxes[:, :2].min(axis=0)
        right, bottom = boxes[:, 2:].max(axis=0)
        if shared:
            cells = attention[self.grid.special :].reshape(self.grid.rows, self.grid.columns)
            rows, columns = np.nonzero(cells >= _LOOKED * cells.max())
            left = max(left, (columns.min() - _WIDE_LOOK) * self.grid.cell_width)
            top = max(top, (rows.min() - _WIDE_LOOK) * self.grid.cell_height)
            right = min(right, (columns.max() + 1 + _WIDE_LOOK) * self.grid.cell_width)
            bottom = min(bottom, (rows.max() + 1 + _WIDE_LOOK) * self.grid.cell_height)
        return int(left), int(top), int(right), int(bottom)
