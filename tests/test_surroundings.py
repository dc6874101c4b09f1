"""What surrounds a formula in a picture is not read with it."""

import numpy as np

from unrender.images.surroundings import erase_surroundings

Box = tuple[int, int, int, int]


def picture(*boxes: Box, height: int = 60, width: int = 120) -> np.ndarray:
    values = np.full((height, width), 255, dtype=np.uint8)
    for left, top, right, bottom in boxes:
        values[top:bottom, left:right] = 0
    return values


FORMULA: tuple[Box, ...] = ((40, 25, 46, 37), (50, 25, 56, 37), (60, 25, 66, 37))
LETTERS: tuple[Box, ...] = tuple((left, 0, left + 6, 8) for left in range(10, 100, 10))


def drawn_around(left: int, top: int, right: int, bottom: int) -> tuple[Box, ...]:
    return (left, top, right, top + 2), (left, bottom - 2, right, bottom), (left, top, left + 2, bottom), (
        right - 2, top, right, bottom,
    )  # fmt: skip


def test_a_box_around_a_formula_is_erased():
    boxed = picture(*FORMULA, *drawn_around(20, 10, 100, 50))
    assert np.array_equal(erase_surroundings(boxed), picture(*FORMULA))


def test_a_table_keeps_its_lines():
    table = picture(*FORMULA, *drawn_around(20, 10, 100, 50), (20, 20, 100, 22))
    assert np.array_equal(erase_surroundings(table), table)


def test_an_empty_box_stays():
    square = picture(*drawn_around(20, 10, 60, 50))
    assert np.array_equal(erase_surroundings(square), square)


def test_a_line_of_text_that_the_edge_cuts_is_erased_above_and_below():
    assert np.array_equal(erase_surroundings(picture(*FORMULA, *LETTERS)), picture(*FORMULA))
    turned = picture(*FORMULA, *LETTERS)[::-1]
    assert np.array_equal(erase_surroundings(turned), picture(*FORMULA)[::-1])


def test_a_formula_cropped_to_its_ink_stays():
    fraction = picture(*FORMULA, (38, 40, 68, 41), (50, 44, 56, 56))[25:56, 38:68]
    assert np.array_equal(erase_surroundings(fraction), fraction)
    ones: tuple[Box, ...] = ((0, 0, 6, 12), (10, 0, 16, 12), (20, 0, 26, 12))
    rows = tuple((left, top + down, right, bottom + down) for down in (0, 20, 40) for left, top, right, bottom in ones)
    matrix = picture(*rows, height=52, width=26)
    assert np.array_equal(erase_surroundings(matrix), matrix)


def test_a_line_below_everything_is_erased():
    line: Box = (28, 42, 108, 44)
    word = tuple((left, 25, left + 6, 37) for left in range(30, 100, 10))
    assert np.array_equal(erase_surroundings(picture(*word, line)), picture(*word))


def test_lines_that_are_part_of_a_formula_stay():
    pair = picture((38, 40, 68, 42), *FORMULA[:2])  # below two letters: as in \\underline{AB}
    equals = picture((20, 20, 60, 22), (20, 30, 60, 32))
    fraction = picture(*FORMULA, (10, 42, 110, 44), *((left, 48, left + 6, 58) for left in range(20, 100, 10)))
    shorter = picture(*((left, 25, left + 6, 37) for left in range(10, 110, 10)), (10, 42, 60, 44))
    for values in (pair, equals, fraction, shorter):
        assert np.array_equal(erase_surroundings(values), values)
