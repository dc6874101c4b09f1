"""How large symbols are, and pictures of any size brought to the size a model knows."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from unrender.images.measures import stroke_boxes, symbol_height
from unrender.images.pixels import place
from unrender.models.formula import SYMBOLS, formula
from unrender.typesetting import Style
from unrender.typesetting.pictures import typeset


def _letters(height: int, *, dark: bool = False) -> Image.Image:
    """Draw five crosses of a height, a long bar and a speck."""
    paper, ink = (0, 255) if dark else (255, 0)
    image = Image.new("L", (height * 12, height * 3), paper)
    draw = ImageDraw.Draw(image)
    thick = max(1, height // 8)
    for number in range(5):
        left = height * (1 + 2 * number)
        draw.line([left, height, left + height - 1, 2 * height - 1], ink, thick)
        draw.line([left, 2 * height - 1, left + height - 1, height], ink, thick)
    draw.rectangle([height, height * 5 // 2, height * 11, height * 5 // 2 + thick], ink)
    draw.point([2, 2], ink)
    return image


def test_strokes_that_touch_at_a_corner_are_one() -> None:
    ink = np.zeros((4, 6), dtype=bool)
    ink[0, 0] = ink[1, 1] = ink[2, 0] = True
    ink[1, 4:6] = True
    assert sorted(map(tuple, stroke_boxes(ink).tolist())) == [(0, 0, 2, 3), (4, 1, 6, 2)]


def test_arms_that_meet_only_below_are_one_stroke() -> None:
    ink = np.array([[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]], dtype=bool)
    assert stroke_boxes(ink).tolist() == [[0, 0, 5, 3]]


def test_a_picture_without_ink_has_no_strokes() -> None:
    assert len(stroke_boxes(np.zeros((3, 3), dtype=bool))) == 0


@pytest.mark.parametrize("height", [6, 11, 30, 200])
def test_bars_and_specks_do_not_count(height: int) -> None:
    found = symbol_height(_letters(height))
    assert found == pytest.approx(height, rel=0.15, abs=1)


def test_tall_brackets_do_not_count() -> None:
    image = _letters(10)
    draw = ImageDraw.Draw(image)
    for left in (2, 116):
        draw.rectangle([left, 0, left + 1, 29], 0)
    assert symbol_height(image) == pytest.approx(10, abs=1)


def test_thin_strokes_do_not_fall_apart() -> None:
    drawn = typeset([r"z _ { 5 } \to z _ { 1 } z _ { 2 } z _ { 3 }"], Style())[0]
    assert drawn is not None
    assert symbol_height(Image.fromarray(drawn)) == pytest.approx(8, abs=1)


def test_a_bar_alone_tells_nothing() -> None:
    assert symbol_height(Image.fromarray(np.pad(np.zeros((2, 40), np.uint8), 5, constant_values=255))) is None


@pytest.mark.parametrize("height", [4, 25, 45])
def test_symbols_of_any_size_reach_the_model_at_the_size_it_knows(height: int) -> None:
    prep = replace(formula(10).image, height=4000, width=8000)
    pixels, placement = place(_letters(height), prep)
    assert placement.scale_y == pytest.approx(prep.zoom * SYMBOLS[1] / height, rel=0.2)
    assert pixels.shape[1] < 80 * prep.zoom


def test_symbols_of_about_the_usual_size_are_enlarged_as_all_are() -> None:
    prep = formula(10).image
    assert place(_letters(12), replace(prep, zoom=1.0))[1].scale_x == 1
    assert place(_letters(12), prep)[1].scale_x == pytest.approx(prep.zoom, rel=0.02)


def test_light_on_dark_is_measured_too() -> None:
    assert place(_letters(40, dark=True), formula(10).image)[1].scale_x < 0.5
