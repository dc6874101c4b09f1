"""Where tokens stand in pictures, and a loss that looks there."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from unrender.reading.ink import Grid
from unrender.training.batches import IGNORED
from unrender.training.data import Cache, CacheWriter, Sample
from unrender.training.formula.pointing import NOWHERE, Boxes, annotate, locate, mark
from unrender.training.objectives import misnamed, name_cells, off_target
from unrender.typesetting import Style
from unrender.typesetting.pictures import typeset


def _located(formula: str, *, display: bool = True) -> tuple[list[str], Boxes, np.ndarray]:
    picture = typeset([formula], Style(display=display))[0]
    assert picture is not None
    tokens = formula.split()
    return tokens, locate([tokens], [picture.shape])[0], picture


def test_every_symbol_has_a_box_with_ink_in_it_and_braces_have_none() -> None:
    tokens, boxes, picture = _located(r"x ^ { 2 } + \alpha = \frac { a } { b }")
    for token, (left, top, right, bottom) in zip(tokens, boxes.tolist(), strict=True):
        if token in "{}^":
            assert left == NOWHERE
        else:
            assert (picture[max(0, top) : bottom + 1, max(0, left) : right + 1] < 200).any(), token


def test_boxes_follow_the_order_of_the_picture() -> None:
    tokens, boxes, _ = _located("a + b - c")
    lefts = boxes[:, 0].tolist()
    assert lefts == sorted(lefts)
    assert len(tokens) == len(lefts)


def test_a_fraction_stands_at_its_bar() -> None:
    tokens, boxes, _ = _located(r"\frac { a + b } { c }")
    bar, above, below = boxes[0], boxes[tokens.index("a")], boxes[tokens.index("c")]
    assert above[3] <= bar[1] + 1
    assert bar[3] <= below[1] + 1
    assert bar[2] - bar[0] > boxes[tokens.index("c")][2] - boxes[tokens.index("c")][0]


def test_a_sum_stands_between_its_limits() -> None:
    tokens, boxes, _ = _located(r"\sum _ { i } ^ { n } x")
    operator, lower, upper = boxes[0], boxes[tokens.index("i")], boxes[tokens.index("n")]
    assert upper[3] <= operator[1] + 1
    assert operator[3] <= lower[1] + 1


def test_inline_pictures_are_told_from_displayed_ones() -> None:
    tokens, boxes, picture = _located(r"\sum _ { i } ^ { n } x", display=False)
    assert boxes[tokens.index("i")][0] > boxes[0][0]  # beside the operator, not below
    assert boxes[:, 3].max() <= len(picture) + 1


def test_a_picture_of_another_formula_gets_no_boxes() -> None:
    assert (locate([["x"]], [(20, 400)])[0] == NOWHERE).all()


def test_lengths_and_columns_are_not_marked() -> None:
    assert mark(r"\hspace { 1 c m } x".split()).count("special") == 1
    assert mark(r"\begin{array} { l r } a & b \end{array}".split()).count("special") == 2


def test_a_prepared_set_is_annotated(tmp_path: Path) -> None:
    vocabulary = ["<pad>", "<s>", "</s>", "<unk>", "a", "b", "+"]
    writer = CacheWriter(tmp_path, vocabulary)
    for formula in ("a + b", "b + a"):
        picture = typeset([formula], Style())[0]
        assert picture is not None
        writer.add(Sample(picture, tuple(vocabulary.index(token) for token in formula.split())))
    writer.close()
    assert (Cache(tmp_path).boxes(1) == NOWHERE).all()
    assert annotate(tmp_path) == 1.0
    cache = Cache(tmp_path)
    assert (cache.boxes(0) != NOWHERE).all()
    assert cache.boxes(1)[0, 0] < cache.boxes(1)[2, 0]


def test_looking_at_the_box_costs_nothing_and_looking_away_costs() -> None:
    boxes = torch.tensor([[[8.0, 0.0, 15.0, 7.0], [float("nan")] * 4]])
    grid = Grid(rows=2, columns=4, cell_height=8, cell_width=8)
    there, away = torch.zeros(1, 2, 8), torch.zeros(1, 2, 8)
    there[..., 1] = 1
    away[..., 6] = 1
    assert float(off_target(there, boxes, grid)) == 0
    assert float(off_target(away, boxes, grid)) > 1


def test_a_cell_is_named_after_the_smallest_box_over_its_centre() -> None:
    wide, narrow, nowhere = [0.0, 0.0, 31.0, 7.0], [8.0, 0.0, 15.0, 7.0], [float("nan")] * 4
    grid = Grid(rows=2, columns=4, cell_height=8, cell_width=8)
    targets = torch.tensor([[5, 6, 7, IGNORED]])
    named = name_cells(targets, torch.tensor([[wide, narrow, nowhere, nowhere]]), grid, nothing=9)
    assert named.tolist() == [[5, 6, 5, 5, 9, 9, 9, 9]]


def test_pictures_without_boxes_have_no_part_in_the_naming() -> None:
    grid = Grid(rows=1, columns=2, cell_height=8, cell_width=8)
    boxes = torch.full((2, 3, 4), float("nan"))
    boxes[0, 0] = torch.tensor([0.0, 0.0, 7.0, 7.0])
    targets = torch.tensor([[1, 2, IGNORED], [1, 1, 2]])
    scores = torch.zeros(2, 2, 4)
    assert float(misnamed(scores, targets, boxes, grid)) == pytest.approx(2 * math.log(4))  # two tokens count
    scores[0, 0, 1] = scores[0, 1, 3] = 100
    assert float(misnamed(scores, targets, boxes, grid)) == pytest.approx(0)
