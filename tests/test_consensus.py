"""Which of several readings is believed."""

import math

from hypothesis import given
from hypothesis import strategies as some

from unrender.decoding.paths import Decoded
from unrender.reading.consensus import rank_readings


def reading(tokens: str, sure: float, complete: bool = True) -> Decoded:
    """A reading whose every token has the same probability."""
    logs = (math.log(sure),) * len(tokens)
    return Decoded(tuple(map(ord, tokens)), complete, log_probabilities=logs, end_log_probability=math.log(sure))


def ranked(*readings: Decoded) -> list[str]:
    return ["".join(map(chr, readings[place].tokens)) for place in rank_readings(readings)]


def test_the_reading_that_the_others_confirm_is_believed():
    assert (
        ranked(reading("zzzzz", 0.82), reading("abcde", 0.8), reading("abxde", 0.8), reading("abcdf", 0.8))[0]
        == "abcde"
    )


def test_one_that_is_much_surer_is_believed_against_the_others():
    assert ranked(reading("zzzzz", 0.95), reading("abcde", 0.7), reading("abxde", 0.7))[0] == "zzzzz"


def test_of_readings_that_are_as_sure_the_longer_is_believed():
    assert ranked(reading("abd", 0.9), reading("abcd", 0.9))[0] == "abcd"
    assert ranked(reading("abd", 0.95), reading("abcd", 0.8))[0] == "abd"


def test_a_row_read_twice_earns_nothing():
    assert ranked(reading("(abcd/efgh/)", 0.9), reading("(abcd/efgh/efgh/)", 0.9))[0] == "(abcd/efgh/)"


def test_the_same_tokens_are_listed_once_by_their_surest():
    readings = [reading("ab", 0.5), reading("ab", 0.9), reading("cd", 0.6)]
    assert rank_readings(readings) == [1, 2]


def test_one_with_strokes_that_are_not_there_is_believed_only_if_all_have_them():
    long, short = reading("v_v", 0.95), reading("v", 0.7)
    assert rank_readings([long, short]) == [0, 1]
    assert rank_readings([long, short], [1, 0]) == [1, 0]
    assert rank_readings([long, short], [1, 1]) == [0, 1]


def test_what_was_not_completed_comes_last():
    assert ranked(reading("ab", 0.9, complete=False), reading("cd", 0.3)) == ["cd", "ab"]
    assert ranked(reading("ab", 0.9, complete=False)) == ["ab"]


@given(some.lists(some.tuples(some.text("abc", max_size=6), some.floats(0.05, 1.0), some.booleans()), min_size=1))
def test_every_text_is_ranked_once_whatever_the_order(drawn):
    places = rank_readings([reading(*one) for one in drawn])
    assert sorted(drawn[place][0] for place in places) == sorted({tokens for tokens, *_ in drawn})
