"""Confidences that mean what they say: a slope and an offset of the log-odds, fitted on readings judged right or wrong.

A model's own probability of a text is a good order but a poor promise; two numbers, stored in its config.json, mend it.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Line = tuple[float, float]  # slope and offset of the log-odds
AS_IT_IS: Line = (1.0, 0.0)
_STEPS = 200
_RIDGE = 1.0  # pulls the slope towards 1 and the offset towards 0, as if by so many more examples
_LONGEST_STEP = 0.3  # keeps Newton's method from leaping over the valley
_LEAST_DOUBT = 0.05  # nats of a text without any other
_FARTHEST = 50.0  # log-odds beyond are all the same


def confidence_of(log_probability: float, line: Line) -> float:
    """Return the calibrated confidence of a text of this log-probability."""
    if line == AS_IT_IS:
        return math.exp(log_probability)
    return 1 / (1 + math.exp(-_clipped(line[0] * log_odds(log_probability) + line[1])))


def without_usual_doubt(log_probabilities: Sequence[float], usual: float) -> float:
    """Return the log-probability of a text, without the doubt that every token has, right or wrong.

    A model trained with smoothed labels is never quite sure; over a long text that would add up.
    """
    if not usual:
        return sum(log_probabilities)
    return -_LEAST_DOUBT - sum(max(0.0, -one - usual) for one in log_probabilities)


def log_odds(log_probability: float) -> float:
    """Return log(p / (1 - p)) without leaving the logarithm."""
    complement = -math.expm1(min(log_probability, 0.0))
    return _clipped(log_probability - math.log(complement)) if complement > 0 else _FARTHEST


def fit_line(odds: Sequence[float], right: Sequence[bool]) -> Line:
    """Fit slope and offset by Newton's method; without examples everything stays as it is."""
    if not odds:
        return AS_IT_IS
    design: NDArray[np.float64] = np.stack([np.asarray(odds, dtype=np.float64), np.ones(len(odds))], axis=1)
    start = values = np.array(AS_IT_IS)
    for _ in range(_STEPS):
        shares = 1 / (1 + np.exp(-np.clip(design @ values, -30, 30)))
        slope = design.T @ (shares - np.asarray(right)) + _RIDGE * (values - start)
        bend = (design * (shares * (1 - shares))[:, None]).T @ design + _RIDGE * np.eye(2)
        step = np.clip(np.linalg.solve(bend, slope), -_LONGEST_STEP, _LONGEST_STEP)
        values = values - step
        if np.abs(step).max() < 1e-9:
            break
    return float(values[0]), float(values[1])


def _clipped(odds: float) -> float:
    return min(_FARTHEST, max(-_FARTHEST, odds))
