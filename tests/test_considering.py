"""Which lines of a picture are looked at, and whose reading is believed: ours, or that of a detector's lines."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from unrender.decoding.paths import Decoded
from unrender.images.lines import Strip
from unrender.images.opening import Placement
from unrender.models.config import Generation
from unrender.reading.considering import Aim, Look, Strips, consider, left_out, left_unread, surest_way
from unrender.reading.ink import Grid

SETTINGS = Generation(start=(1,), end=2, pad=0, max_tokens=9)
LINE = Strip.of((0, 0, 90, 10))
FOUND = Strip.of((0, 20, 90, 30))


def look(aim: Aim, sure: float, characters: int = 5) -> Look:
    logs = (math.log(sure),) * characters
    decoded = Decoded((4,) * characters, complete=True, log_probabilities=logs, end_log_probability=math.log(sure))
    return Look(decoded, Grid(1, 1, 1, 1), Placement(), np.zeros((1, 1, 1), np.float32), aim)


def considered(strips: Strips, *rounds: Sequence[tuple[float, int]]) -> tuple[list[tuple[Aim, ...]], tuple[Look, ...]]:
    """Answer each round of looks that is asked for; return what was asked for and what is believed."""
    considering = consider(SETTINGS, strips)
    asked = [next(considering)]
    try:
        for answers in rounds:
            looks = [look(aim, *answer) for aim, answer in zip(asked[-1], answers, strict=True)]
            asked.append(considering.send(looks))
    except StopIteration as known:
        return asked, known.value
    raise AssertionError(f"it still asks for {asked[-1]}")


def test_no_detector_is_asked_where_the_lines_are_read_surely():
    def never() -> tuple[tuple[Strip, ...], ...]:
        raise AssertionError

    _, believed = considered(Strips(((LINE,),), never), [(0.95, 5)])
    assert [one.aim.strip for one in believed] == [LINE]


def test_a_detector_is_asked_where_the_lines_are_doubtful_and_the_surer_reading_taken():
    strips = Strips(((LINE,),), lambda: ((FOUND,),))
    asked, believed = considered(strips, [(0.6, 5)], [(0.95, 5)])
    assert [aim.strip for aim in asked[1]] == [FOUND]
    assert [one.aim.strip for one in believed] == [FOUND]
    _, believed = considered(strips, [(0.8, 30)], [(0.7, 5)])
    assert [one.aim.strip for one in believed] == [LINE]


def test_a_detector_is_asked_where_no_line_was_found():
    _, believed = considered(Strips(((),), lambda: ((FOUND,),)), [(0.5, 3)])
    assert [one.aim.strip for one in believed] == [FOUND]


def test_the_picture_is_looked_at_whole_where_nobody_finds_a_line():
    asked, _ = considered(Strips(((),)), [(0.5, 3)])
    assert asked == [(Aim(first=True),)]


def test_a_turned_line_is_believed_if_it_is_surer_and_more_than_a_character_or_two():
    turned = LINE.turned(1)
    ways = ((LINE,), (turned,))
    looks = [look(Aim(strip=LINE), 0.6, 1), look(Aim(strip=turned), 0.9, 8)]
    assert surest_way(ways, looks) == (looks[1],)
    dash = [looks[0], look(Aim(strip=turned), 0.9, 1)]
    assert surest_way(ways, dash) == (dash[0],)


ROWS = replace(SETTINGS, rows=True, sure=0.95, doubtful=0.5, second_looks=(0.9,))
NOTHING = Decoded((), complete=True, end_log_probability=math.log(0.9))
UPPER, LOWER, RIGHT = (8, 8, 16, 24), (8, 40, 16, 56), (80, 8, 88, 24)


def drawn(aim: Aim, sure: float, *strokes: tuple[int, int, int, int], read: int = 99, printed: int = 0) -> Look:
    """A look at strokes of which the first so many were looked at, and whose tokens have so many in print."""
    pixels = np.zeros((1, 64, 96), dtype=np.float32)
    for left, top, right, bottom in strokes:
        pixels[0, top:bottom, left:right] = -3
    grid = Grid(8, 12, 8, 8)
    attention = np.zeros(grid.positions, dtype=np.float32)
    for left, top, right, bottom in strokes[:read]:
        attention.reshape(8, 12)[top // 8 : bottom // 8, left // 8 : right // 8] = 0.2
    one = look(aim, sure).decoded
    decoded = replace(one, attention=(attention,) * len(one.tokens))
    return Look(decoded, grid, Placement(), pixels, aim, (lambda tokens: printed) if printed else None)


def test_rows_are_looked_at_one_by_one_where_there_is_any_doubt():
    considering = consider(ROWS)
    [whole] = next(considering)
    [upper] = considering.send([drawn(whole, 0.8, UPPER, LOWER)])
    [lower] = considering.send([drawn(upper, 0.9, UPPER)])
    assert upper.region is not None
    assert lower.region is not None
    assert upper.region[3] < lower.region[1]
    with pytest.raises(StopIteration) as known:
        considering.send([drawn(lower, 0.9, LOWER)])
    assert [one.aim for one in known.value.value] == [upper, lower]


BELOW = [(left, 40, left + 8, 56) for left in (8, 24, 40)]


def test_rows_are_believed_where_the_whole_leaves_some_out_however_surely():
    considering = consider(replace(ROWS, unlikely=0.5))
    [whole] = next(considering)
    [upper] = considering.send([drawn(whole, 0.99, UPPER, *BELOW, read=1)])
    [lower] = considering.send([drawn(upper, 0.8, UPPER)])
    with pytest.raises(StopIteration) as known:
        considering.send([drawn(lower, 0.8, *BELOW)])
    assert [one.aim for one in known.value.value] == [upper, lower]


def test_rows_that_are_hardly_read_are_not_believed_even_then():
    considering = consider(replace(ROWS, unlikely=0.5, second_looks=()))
    [whole] = next(considering)
    [upper] = considering.send([drawn(whole, 0.99, UPPER, *BELOW, read=1)])
    [lower] = considering.send([drawn(upper, 0.3, UPPER)])
    [rest] = considering.send([drawn(lower, 0.3, *BELOW)])
    with pytest.raises(StopIteration) as known:
        considering.send([drawn(rest, 0.9, *BELOW)])
    assert [one.aim for one in known.value.value] == [whole, rest]


def test_a_number_far_to_the_right_is_looked_at_though_more_is_unread():
    strokes = [(8, 8, 16, 24), (24, 8, 32, 24), (32, 40, 40, 44), (80, 8, 84, 24), (85, 8, 88, 24), (89, 8, 92, 24)]
    considering = consider(replace(ROWS, second_looks=()))
    [whole] = next(considering)
    looked = drawn(whole, 0.99, *strokes, printed=3)
    unread = np.array([False, False, True, False, True, True])
    looked.__dict__["strokes"] = replace(looked.strokes, unread=unread)
    [beside] = considering.send([looked])
    assert beside.region is not None
    assert beside.region[0] > 60


def test_what_is_left_unread_beside_is_looked_at_by_itself():
    considering = consider(ROWS)
    [whole] = next(considering)
    [beside] = considering.send([drawn(whole, 0.99, UPPER, RIGHT, (64, 8, 72, 24), read=1)])
    assert beside.beside
    assert beside.region is not None
    assert beside.region[0] > UPPER[2]
    first, second = drawn(whole, 0.99, UPPER, RIGHT, (64, 8, 72, 24), read=1), drawn(beside, 0.9, RIGHT)
    assert set(left_unread([first])) == {RIGHT, (64, 8, 72, 24)}
    assert left_unread([first, second]) == ()


def test_a_reading_with_fewer_strokes_than_the_picture_is_looked_at_again():
    strokes = [(left, 8, left + 8, 24) for left in range(8, 88, 16)]
    considering = consider(ROWS)
    [whole] = next(considering)
    short = drawn(whole, 0.99, *strokes, printed=2)
    assert left_out([short]) == 3
    assert considering.send([short]) == (replace(whole, first=False, zoom=0.9),)
    enough = consider(ROWS)
    next(enough)
    with pytest.raises(StopIteration):
        enough.send([drawn(whole, 0.99, *strokes, printed=4)])


def test_strokes_in_doubt_are_looked_at_with_other_pens_too():
    settings = replace(ROWS, rows=False)
    for first in (drawn(Aim(first=True), 0.58, UPPER), replace(drawn(Aim(first=True), 0.9, UPPER), decoded=NOTHING)):
        considering = consider(settings)
        next(considering)
        aims = considering.send([replace(first, pens=2)])
        assert [(aim.zoom, aim.pen) for aim in aims] == [(0.9, 0), (1.0, 1), (1.0, 2)]
        looks = [drawn(aim, 0.9, UPPER) for aim in aims]
        with pytest.raises(StopIteration) as known:
            considering.send(looks)
        assert known.value.value[0].decoded == looks[0].decoded
        assert len(known.value.value[0].decoded.looks) == (4 if first.decoded.tokens else 3)


@pytest.mark.parametrize(("empty", "sees"), [(0, True), (1, True), (2, False), (4, False)])
def test_where_it_is_doubtful_whether_there_is_a_formula_most_looks_decide(empty, sees):
    considering = consider(replace(ROWS, unlikely=0.65, second_looks=(0.9, 1.07, 1.15, 1.3)))
    [whole] = next(considering)
    unsure = replace(NOTHING, end_log_probability=math.log(0.4))
    aims = considering.send([replace(drawn(whole, 0.9, UPPER), decoded=unsure)])
    looks = [drawn(aim, 0.9, UPPER) for aim in aims]
    looks[:empty] = [replace(look, decoded=NOTHING) for look in looks[:empty]]
    with pytest.raises(StopIteration) as known:
        considering.send(looks)
    [believed] = known.value.value
    assert believed.shows_nothing != sees


def test_a_picture_that_shows_nothing_is_not_looked_at_again():
    considering = consider(ROWS)
    [whole] = next(considering)
    with pytest.raises(StopIteration):
        considering.send([replace(drawn(whole, 0.9, UPPER), decoded=NOTHING)])


def test_strokes_are_invented_only_where_the_picture_has_one():
    def said(strokes: int) -> int:
        pixels = np.ones((1, 4, 40), np.float32)
        pixels[0, 1:3, 1 : 4 * strokes : 4] = 0.0
        one = look(Aim(), 0.9, characters=6)
        return replace(one, grid=Grid(1, 10, 4, 4), pixels=pixels, count=len).invented

    assert [said(strokes) for strokes in (1, 2, 8)] == [5, 0, 0]
    assert look(Aim(), 0.9).invented == 0  # nobody knows how many strokes its tokens have
