"""Which lines of a picture are looked at, and whose reading is believed: ours, or that of a detector's lines."""

import math
from collections.abc import Sequence

import numpy as np

from unrender.decoding.paths import Decoded
from unrender.images.lines import Strip
from unrender.images.opening import Placement
from unrender.models.config import Generation
from unrender.reading.considering import Aim, Look, Strips, consider, surest_way
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
