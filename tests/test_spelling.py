"""Reading without steps: from scores along the picture to characters."""

import numpy as np
import pytest

from unrender.decoding.paths import best_path

BLANK = 0


def scores(*best: int, vocabulary: int = 5) -> np.ndarray:
    table = np.zeros((len(best), vocabulary), dtype=np.float32)
    table[np.arange(len(best)), best] = 9.0
    return table


def test_repeats_are_one_character_and_a_blank_parts_doubles():
    assert best_path(scores(0, 3, 3, 0, 3, 4, 4, 0), BLANK).tokens == (3, 3, 4)


def test_nothing_but_blanks_is_an_empty_text():
    found = best_path(scores(0, 0, 0), BLANK)
    assert (found.tokens, found.complete) == ((), True)


def test_a_character_stands_where_it_was_named():
    first, second = best_path(scores(0, 3, 3, 0, 4), BLANK).attention
    assert first.tolist() == [0, 1, 1, 0, 0]
    assert second.tolist() == [0, 0, 0, 0, 1]


def test_alternatives_leave_out_the_character_itself_and_the_blank():
    table = scores(3)
    table[0, 2] = 8.0
    [others] = best_path(table, BLANK).alternatives
    assert others[0].token == 2
    assert {other.token for other in others}.isdisjoint({3, BLANK})


def test_the_whole_path_counts_for_confidence():
    found = best_path(scores(0, 3, 0), BLANK)
    assert sum(found.log_probabilities) + found.end_log_probability == pytest.approx(found.score)
