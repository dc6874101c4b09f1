"""Where on the page a token was seen: from its attention over the image memory to a box.

Shapes: N memory positions = special tokens, then rows x columns cells, row by row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.documents import Box
from unrender.images.opening import Placement
from unrender.models.config import CnnConfig, EncoderConfig, SwinConfig, ViTConfig

_PRESENT = 0.5  # of the strongest cell: weaker cells are not part of the place
_REACH = 2  # cells around the strongest one that may be


@dataclass(frozen=True)
class Grid:
    """How memory positions lie over the pixels of one batch."""

    rows: int
    columns: int
    cell_height: int
    cell_width: int
    special: int = 0  # leading positions that are no place

    @property
    def positions(self) -> int:
        return self.special + self.rows * self.columns

    def locate(self, attention: NDArray[np.float32], placement: Placement) -> Box | None:
        """Return the box of the cells that (N,) attention rests on; None when it rests nowhere."""
        if attention.shape != (self.positions,) or not attention.any():
            return None
        cells = attention[self.special :].reshape(self.rows, self.columns)
        row, column = divmod(int(cells.argmax()), self.columns)
        top, left = max(0, row - _REACH), max(0, column - _REACH)
        near = cells[top : row + _REACH + 1, left : column + _REACH + 1]
        rows, columns = np.nonzero(near >= _PRESENT * cells[row, column])
        x0, y0 = (left + columns.min()) * self.cell_width, (top + rows.min()) * self.cell_height
        x1, y1 = (left + columns.max() + 1) * self.cell_width, (top + rows.max() + 1) * self.cell_height
        return box_of(placement, float(x0), float(y0), float(x1), float(y1))


def box_of(placement: Placement, x0: float, y0: float, x1: float, y1: float) -> Box:
    """Return the box on the page of a box in the prepared pixels."""
    ends = [placement.to_image(x0, y0), placement.to_image(x1, y1)]
    across, down = sorted(x for x, _ in ends), sorted(y for _, y in ends)
    return Box(across[0], down[0], across[1], down[1])


def grid_of(encoder: EncoderConfig, height: int, width: int) -> Grid:
    """Return the grid that an encoder lays over pixels of this size."""
    if isinstance(encoder, ViTConfig):
        return _grid(height, width, encoder.patch, encoder.patch, special=2 if encoder.distilled else 1)
    if isinstance(encoder, SwinConfig):
        cell = encoder.patch << (len(encoder.depths) - 1)
        return _grid(height, width, cell, cell)
    return _grid(height, width, *_stride(encoder))


def _grid(height: int, width: int, cell_height: int, cell_width: int, special: int = 0) -> Grid:
    return Grid(-(-height // cell_height), -(-width // cell_width), cell_height, cell_width, special)


def _stride(encoder: CnnConfig) -> tuple[int, int]:
    down, across = 1, 1
    for height, width in encoder.strides:
        down, across = down * height, across * width
    return down, across
