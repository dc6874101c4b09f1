"""From attention to a box on the page."""

import numpy as np
import pytest

from unrender.documents import Box
from unrender.images.opening import Placement
from unrender.models.config import CnnConfig, SwinConfig, ViTConfig
from unrender.reading.ink import Grid, grid_of

GRID = Grid(rows=4, columns=6, cell_height=8, cell_width=4)


def attention_on(*cells: tuple[int, int], special: int = 0) -> np.ndarray:
    weights = np.full((GRID.rows, GRID.columns), 0.01, np.float32)
    for row, column in cells:
        weights[row, column] = 0.5
    return np.concatenate([np.ones(special, np.float32), weights.ravel()])


def test_one_cell_gives_its_own_box():
    assert GRID.locate(attention_on((2, 3)), Placement()) == Box(12, 16, 16, 24)


def test_neighbouring_cells_join_and_distant_ones_do_not():
    box = GRID.locate(attention_on((1, 1), (1, 2), (3, 5)), Placement())
    assert box == Box(4, 8, 12, 16)


def test_the_box_is_in_pixels_of_the_page():
    placement = Placement(left=100, top=50, scale_x=0.5, scale_y=0.5, shift_x=4, shift_y=8)
    assert GRID.locate(attention_on((2, 3)), placement) == Box(116, 66, 124, 82)


def test_special_positions_are_no_place():
    grid = Grid(rows=4, columns=6, cell_height=8, cell_width=4, special=2)
    assert grid.locate(attention_on((0, 0), special=2), Placement()) == Box(0, 0, 4, 8)


def test_attention_that_does_not_fit_the_grid_gives_no_box():
    assert GRID.locate(np.ones(7, np.float32), Placement()) is None
    assert GRID.locate(np.zeros(24, np.float32), Placement()) is None


@pytest.mark.parametrize(
    ("encoder", "positions"),
    [
        (SwinConfig(), 28 * 21),
        (ViTConfig(), 1 + 56 * 42),
        (ViTConfig(distilled=True), 2 + 56 * 42),
        (CnnConfig(), (896 // 8) * (672 // 4)),
    ],
)
def test_the_grid_has_as_many_positions_as_the_encoder_gives(encoder, positions):
    grid = grid_of(encoder, 896, 672)
    assert grid.special + grid.rows * grid.columns == positions
