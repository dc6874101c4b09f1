"""Confidences that mean what they say."""

import numpy as np

from unrender.metrics import calibration_error
from unrender.receipts import Calibration, Found
from unrender.training.page_calibration import Judged, cross_validated_error, fit_calibration


def judged(count: int = 4000) -> list[Judged]:
    """A reader that is far too sure: its log-odds are three times what they should be."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        truth = rng.normal(1.0, 1.0)
        right = rng.random() < 1 / (1 + np.exp(-truth))
        found.append(Judged(Found("total", "1.00", (0,), float(1 / (1 + np.exp(-3 * truth)))), bool(right)))
    return found


def error(examples: list[Judged], calibration: Calibration) -> float:
    return float(
        calibration_error([calibration.confidence(one.found) for one in examples], [one.right for one in examples])
    )


def test_a_reader_that_is_too_sure_is_brought_down():
    examples = judged()
    before, after = error(examples, Calibration()), error(examples, fit_calibration(examples))
    assert before > 0.1
    assert after < 0.04
    assert cross_validated_error(examples) < 0.04


def test_a_field_never_found_keeps_its_scores():
    calibration = fit_calibration(judged(50))
    assert (calibration.slopes[0], calibration.offsets[0]) == (1.0, 0.0)


def test_a_field_that_is_always_right_gets_finite_values():
    examples = [Judged(Found("date", "x", (0,), 0.9), True) for _ in range(20)]
    calibration = fit_calibration(examples)
    assert 0.9 < calibration.confidence(examples[0].found) < 1
