"""Whether a confidence means what it says."""

from collections.abc import Sequence

import numpy as np

from unrender.metrics.measure import Counts, Measure, mean_of, measure


def calibration_error(confidences: Sequence[float], correct: Sequence[bool], *, bins: int = 10) -> Measure:
    """Expected calibration error: in bins of equal width, |mean confidence - share correct|, weighted by size."""
    indices = np.minimum((np.asarray(confidences, dtype=np.float64) * bins).astype(np.int64), bins - 1)
    rows = np.zeros((len(confidences), bins + 1))
    rows[np.arange(len(confidences)), indices] = np.asarray(confidences) - np.asarray(correct, dtype=np.float64)
    rows[:, -1] = 1.0
    return measure(rows.tolist(), bins + 1, _calibration_error)


def brier_score(confidences: Sequence[float], correct: Sequence[bool]) -> Measure:
    """Mean of (confidence - 1 if right, 0 if wrong) squared."""
    return mean_of([(sure - float(right)) ** 2 for sure, right in zip(confidences, correct, strict=True)])


def _calibration_error(sums: Counts) -> float:
    return float(np.abs(sums[:-1]).sum() / (sums[-1] or 1.0))
