"""Which parts of a picture are read by themselves."""

import numpy as np

from unrender.reading.parts import Strokes

Box = tuple[int, int, int, int]
UPPER: tuple[Box, ...] = ((0, 0, 8, 10), (12, 0, 20, 10))
LOWER: tuple[Box, ...] = ((0, 18, 8, 28), (12, 18, 20, 28))
FRACTION: tuple[Box, ...] = ((4, 0, 12, 10), (0, 15, 16, 16), (4, 21, 12, 31))


def strokes(*boxes: Box, unread: int = 0) -> Strokes:
    """Let the last so many be unread."""
    return Strokes(np.array(boxes, dtype=np.float64).reshape(-1, 4), np.arange(len(boxes)) >= len(boxes) - unread)


def moved(boxes: tuple[Box, ...], across: int, down: int) -> tuple[Box, ...]:
    return tuple((left + across, top + down, right + across, bottom + down) for left, top, right, bottom in boxes)


def test_what_white_paper_parts_is_rows_from_top_to_bottom():
    upper, lower = strokes(*LOWER, *UPPER).rows()
    assert upper == (-3, -3, 23, 13)
    assert lower == (-3, 15, 23, 31)


def test_limits_are_no_row():
    near, at_operator = (2, 14, 7, 22), (4, 29, 12, 38)
    assert len(strokes(*UPPER, near).rows()) == 1
    assert len(strokes((0, 0, 16, 22), *moved(UPPER, 20, 6), at_operator).rows()) == 1


def test_a_fraction_is_one_row():
    assert len(strokes(*FRACTION).rows()) == 1


def test_fractions_below_one_another_are_two_rows():
    assert len(strokes(*FRACTION, *moved(FRACTION, 0, 40)).rows()) == 2


def test_a_row_below_a_row_of_fractions_is_not_taken_for_their_denominators():
    assert len(strokes(*FRACTION, *moved(FRACTION, 30, 0), *moved(LOWER, 4, 22)).rows()) == 2


def test_dots_alone_are_no_row():
    assert len(strokes(*UPPER, (0, 20, 2, 22), (6, 20, 8, 22)).rows()) == 1


def test_a_picture_without_strokes_has_no_rows():
    assert strokes().rows() == ()


def test_what_is_left_beside_is_right_of_all_that_was_read():
    assert strokes(*UPPER, *moved(UPPER, 60, 0), unread=2).left_beside() == (57, -3, 83, 13)
    assert strokes(*UPPER, *moved(UPPER, 60, 0), unread=2).left_below() is None
    assert strokes(*moved(UPPER, 60, 0), *UPPER, unread=2).left_beside() is None


def test_a_number_far_beside_is_found_by_the_count_of_its_strokes():
    row = strokes(*UPPER, *moved(UPPER, 26, 0), *moved(UPPER, 90, 0))
    every = np.ones(6, dtype=np.bool_)
    assert row.apart_beside(every, 2) == (87, -3, 113, 13)
    assert row.apart_beside(every, 3) is None
    assert row.apart_beside(np.arange(6) < 5, 1) == (87, -3, 113, 13)
    assert strokes(*UPPER, *moved(UPPER, 30, 0)).apart_beside(every[:4], 2) is None


def test_what_is_left_below_is_as_wide_as_the_ink():
    assert strokes(*UPPER, *LOWER, unread=1).left_below() is None
    assert strokes(*UPPER, (12, 18, 20, 28), unread=1).left_below() == (-3, 15, 23, 31)
