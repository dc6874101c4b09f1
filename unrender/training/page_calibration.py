"""Confidences that mean what they say: for each field a slope and an offset of the log-odds, fitted on others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.metrics import calibration_error
from unrender.receipts import FIELDS, Calibration, Found

_STEPS = 200
_RIDGE = 1.0  # pulls the slope towards 1 and the offset towards 0, as if by so many more examples
_FOLDS = 5
_LONGEST_STEP = 0.3  # keeps Newton's method from leaping over the valley


@dataclass(frozen=True)
class Judged:
    """A field that was found, and whether it was right."""

    found: Found
    right: bool


def fit_calibration(judged: Sequence[Judged]) -> Calibration:
    """Fit slope and offset of each field by Newton's method; a field that was never found keeps its scores."""
    slopes, offsets = [], []
    for name in FIELDS:
        mine = [one for one in judged if one.found.name == name]
        slope, offset = _fit(
            np.array([_log_odds(one.found.score) for one in mine]), np.array([one.right for one in mine])
        )
        slopes.append(slope)
        offsets.append(offset)
    return Calibration(tuple(slopes), tuple(offsets))


def cross_validated_error(judged: Sequence[Judged]) -> float:
    """Return the calibration error on examples that the calibration has not seen, by five folds."""
    confidences, rights = [], []
    for fold in range(_FOLDS):
        fitted = fit_calibration([one for place, one in enumerate(judged) if place % _FOLDS != fold])
        for one in judged[fold::_FOLDS]:
            confidences.append(fitted.confidence(one.found))
            rights.append(one.right)
    return float(calibration_error(confidences, rights))


def _fit(odds: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[float, float]:
    if not len(odds):
        return 1.0, 0.0
    design = np.stack([odds, np.ones_like(odds)], axis=1)
    start = values = np.array([1.0, 0.0])
    for _ in range(_STEPS):
        shares = 1 / (1 + np.exp(-np.clip(design @ values, -30, 30)))
        slope = design.T @ (shares - right) + _RIDGE * (values - start)
        bend = (design * (shares * (1 - shares))[:, None]).T @ design + _RIDGE * np.eye(2)
        step = np.clip(np.linalg.solve(bend, slope), -_LONGEST_STEP, _LONGEST_STEP)
        values = values - step
        if np.abs(step).max() < 1e-9:
            break
    return float(values[0]), float(values[1])


def _log_odds(score: float) -> float:
    kept = min(1 - 1e-6, max(1e-6, score))
    return math.log(kept / (1 - kept))
