"""How sure a reading is, by its tokens, by the other looks and by the ink."""

import math
from dataclasses import replace

import pytest

from unrender import checkpoints
from unrender.decoding.calibration import AS_IT_IS
from unrender.decoding.paths import Decoded
from unrender.latex.stroke_counts import count_strokes
from unrender.reading.certainty import Certainty
from unrender.tokens import open_tokenizer


@pytest.fixture(scope="module")
def certainty() -> Certainty:
    loaded = checkpoints.load("formula")
    config = replace(loaded.text_config, usual_doubt=0.1, doubt_of_looks=2.0, doubt_of_ink=0.4)
    return Certainty(config, open_tokenizer(loaded.folder, loaded.text_config))


def ids(certainty: Certainty, text: str) -> tuple[int, ...]:
    found = [certainty.tokenizer.find(piece) for piece in text.split()]
    assert None not in found
    return tuple(one for one in found if one is not None)


def reading(certainty: Certainty, text: str) -> Decoded:
    tokens = ids(certainty, text)
    return Decoded(tokens, complete=True, log_probabilities=(-0.1,) * len(tokens), end_log_probability=-0.1)


@pytest.mark.parametrize(
    ("formula", "strokes"),
    [
        (r"x = 1", 4),
        (r"\frac { a } { b }", 3),
        (r"\sqrt { x _ { i } }", 4),
        (r"\sin x \leq \ldots", 10),
        (r"\left( \begin{array} { c c } a & b \\ \end{array} \right)", 4),
    ],
)
def test_strokes_are_counted_as_they_are_printed(formula: str, strokes: int) -> None:
    assert count_strokes(formula.split()) == strokes


def test_looks_that_show_something_else_and_ink_that_does_not_add_up_are_doubts(certainty: Certainty) -> None:
    read = reading(certainty, "a + b")
    same, other = ids(certainty, "a ~ + b"), ids(certainty, "a + d")
    sure = certainty.confidence(read, (), 3, AS_IT_IS)
    assert certainty.confidence(read, (read.tokens, same), 3, AS_IT_IS) == sure
    assert certainty.confidence(read, (same, other), 3, AS_IT_IS) == pytest.approx(sure * math.exp(-1.0))
    assert certainty.confidence(read, (), 4, AS_IT_IS) == pytest.approx(sure * math.exp(-0.4))
    assert certainty.confidence(read, (), None, AS_IT_IS) == sure


def test_braces_and_spaces_do_not_count(certainty: Certainty) -> None:
    plain, braced = reading(certainty, "a + b"), reading(certainty, "{ a } ~ + b")
    assert certainty.confidence(braced, (), 3, AS_IT_IS) == certainty.confidence(plain, (), 3, AS_IT_IS)
    doubtful = [0.0 if piece in "{}~" else -0.1 for piece in "{ a } ~ + b".split()]
    surer = replace(braced, log_probabilities=tuple(doubtful))
    assert certainty.confidence(surer, (), 3, AS_IT_IS) == certainty.confidence(braced, (), 3, AS_IT_IS)
    assert certainty.confidence(replace(plain, log_probabilities=(-0.1, -2.0, -0.1)), (), 3, AS_IT_IS) < 0.2


def test_readings_are_tidied_with_the_looks_they_are_compared_with(certainty: Certainty) -> None:
    boxed = reading(certainty, r"\begin{array} { c } a \end{array}")
    tidied = certainty.tidied(replace(boxed, looks=(boxed.tokens,)))
    assert tidied.tokens == ids(certainty, "{ a }")
    assert tidied.looks == (tidied.tokens,)
