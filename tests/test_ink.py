"""Which strokes a reading accounts for."""

import numpy as np

from unrender.reading.ink import Grid, Ink, most_tokens, pair

GRID = Grid(rows=2, columns=4, cell_height=8, cell_width=8)


def picture(*boxes: tuple[int, int, int, int]) -> np.ndarray:
    pixels = np.zeros((1, 16, 32), dtype=np.float32)  # paper is 0, ink is dark
    for left, top, right, bottom in boxes:
        pixels[0, top:bottom, left:right] = -3
    return pixels


def looking_at(*cells: int) -> np.ndarray:
    attention = np.zeros(8, dtype=np.float32)
    attention[list(cells)] = 1 / len(cells)
    return attention


def test_a_token_has_the_box_of_the_stroke_it_rests_on():
    ink = Ink.of(picture((1, 1, 7, 12), (20, 2, 30, 6)), GRID)
    assert ink.trace([looking_at(0), looking_at(2)]) == [(1, 1, 7, 12), (20, 2, 30, 6)]


def test_a_dot_beside_a_digit_gets_the_token_that_the_digit_leaves():
    ink = Ink.of(picture((0, 0, 5, 8), (6, 6, 8, 8)), GRID)
    digit, dot = ink.trace([looking_at(0), looking_at(0)])
    assert {digit, dot} == {(0, 0, 5, 8), (6, 6, 8, 8)}


def test_neighbours_get_their_strokes_from_left_to_right():
    ink = Ink.of(picture((0, 6, 2, 8), (3, 0, 8, 8)), GRID)  # a comma before a letter, both in one cell
    assert ink.trace([looking_at(0), looking_at(0)]) == [(0, 6, 2, 8), (3, 0, 8, 8)]


def test_strokes_go_to_the_tokens_that_rest_on_them_best_together():
    affinities = np.array([[0.5, 0.45], [0.45, 0.1]], dtype=np.float32)  # the best pair alone would leave the other 0.1
    assert pair(affinities) == [1, 0]


def test_a_stroke_that_nobody_owns_joins_its_neighbour():
    ink = Ink.of(picture((1, 2, 7, 3), (1, 5, 7, 6)), GRID)  # an equals sign
    assert ink.trace([looking_at(0)]) == [(1, 2, 7, 6)]


def test_tokens_without_attention_have_no_box():
    assert Ink.of(picture((1, 1, 7, 7)), GRID).trace([None]) == [None]


def test_two_tokens_on_one_stroke_share_it():
    ink = Ink.of(picture((0, 2, 32, 6)), GRID)
    whole, part = ink.trace([looking_at(0, 1, 2, 3), looking_at(3)])
    assert whole == (0, 2, 32, 6)
    assert part == (24, 2, 32, 6)


def test_symbols_that_touch_have_the_ink_nearest_to_where_each_was_seen():
    ink = Ink.of(picture((2, 2, 14, 10)), GRID)  # two digits in one stroke
    assert ink.trace([looking_at(0), looking_at(1)]) == [(2, 2, 8, 10), (8, 2, 14, 10)]


def test_dots_that_stand_apart_are_one_symbol():
    ink = Ink.of(picture((1, 4, 3, 6), (8, 4, 10, 6), (15, 4, 17, 6)), GRID)
    assert ink.trace([looking_at(0, 1, 2)]) == [(1, 4, 17, 6)]


def test_strokes_that_nobody_looked_at_are_unread():
    ink = Ink.of(picture((1, 1, 7, 7), (17, 9, 23, 15)), GRID)
    assert ink.unread([looking_at(0)]).tolist() == [False, True]
    assert ink.unread([looking_at(0), looking_at(6)]).tolist() == [False, False]


def test_specks_do_not_count_as_unread():
    ink = Ink.of(picture((1, 1, 7, 8), (9, 1, 15, 8), (28, 14, 29, 15)), GRID)
    assert not ink.unread([looking_at(0), looking_at(1)]).any()


def test_a_blank_view_has_no_ink():
    ink = Ink.of(np.zeros((1, 16, 32), dtype=np.float32), GRID)
    assert ink.unread([looking_at(0)]).tolist() == []
    assert ink.trace([looking_at(0)]) == [None]


def test_the_ink_there_is_bounds_the_tokens():
    little = most_tokens(picture((1, 1, 7, 7)), GRID)
    assert little < most_tokens(picture((1, 1, 7, 7), (9, 1, 30, 14)), GRID)
    assert little < 30
