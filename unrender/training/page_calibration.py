"""Confidences that mean what they say: for each field a slope and an offset of the log-odds, fitted on others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from unrender.calibration import fit_line
from unrender.metrics import calibration_error
from unrender.receipts import FIELDS, Calibration, Found

_FOLDS = 5


@dataclass(frozen=True)
class Judged:
    """A field that was found, and whether it was right."""

    found: Found
    right: bool


def fit_calibration(judged: Sequence[Judged]) -> Calibration:
    """Fit slope and offset of each field; a field that was never found keeps its scores."""
    slopes, offsets = [], []
    for name in FIELDS:
        mine = [one for one in judged if one.found.name == name]
        slope, offset = fit_line([_log_odds(one.found.score) for one in mine], [one.right for one in mine])
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


def _log_odds(score: float) -> float:
    kept = min(1 - 1e-6, max(1e-6, score))
    return math.log(kept / (1 - kept))
