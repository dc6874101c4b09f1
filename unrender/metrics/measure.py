"""A metric's value together with the counts behind it, so that a bootstrap can say how sure it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]
Statistic = Callable[[Counts], float]
_COUNTS_AT_ONCE = 5_000_000  # bounds the memory of a bootstrap


@dataclass(frozen=True)
class Interval:
    """Where a value lies with the given confidence."""

    low: float
    high: float


@dataclass(frozen=True)
class Measure:
    """A metric over a set of samples: `statistic` of the column sums of `counts` (samples, columns)."""

    value: float
    counts: Counts = field(repr=False, compare=False)
    statistic: Statistic = field(repr=False, compare=False)

    def __float__(self) -> float:
        return self.value

    @property
    def samples(self) -> int:
        return len(self.counts)

    def interval(self, rng: "np.random.Generator", *, rounds: int = 1000, confidence: float = 0.95) -> Interval:
        """Return the percentile bootstrap interval: the samples are drawn with replacement `rounds` times."""
        samples = self.samples
        if samples == 0:
            return Interval(self.value, self.value)
        values: list[float] = []
        rounds_at_once = max(1, _COUNTS_AT_ONCE // samples)
        while len(values) < rounds:
            times = min(rounds_at_once, rounds - len(values))
            drawn = rng.multinomial(samples, np.full(samples, 1 / samples), size=times)
            values += [self.statistic(sums) for sums in drawn @ self.counts]
        tail = (1 - confidence) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        return Interval(float(low), float(high))


def measure(rows: Sequence[Sequence[float]], columns: int, statistic: Statistic) -> Measure:
    """Build a Measure from one row of counts a sample."""
    counts = np.array(rows, dtype=np.float64).reshape(len(rows), columns)
    return Measure(statistic(counts.sum(axis=0)), counts, statistic)


def ratio(sums: Counts) -> float:
    """Return the first sum over the second; a second sum of 0 counts as 1."""
    return float(sums[0] / (sums[1] or 1.0))


def f1(sums: Counts) -> float:
    """Return the F1 of what is right, what was found and what is there; 0 where there is nothing."""
    right, found, there = sums
    return float(2 * right / (found + there)) if found + there else 0.0


def mean_of(values: Sequence[float]) -> Measure:
    """Average values, one a sample."""
    return measure([(value, 1.0) for value in values], 2, ratio)


def calibration_error(confidences: Sequence[float], correct: Sequence[bool], *, bins: int = 10) -> Measure:
    """Expected calibration error: in bins of equal width, |mean confidence - share correct|, weighted by size."""
    indices = np.minimum((np.asarray(confidences, dtype=np.float64) * bins).astype(np.int64), bins - 1)
    rows = np.zeros((len(confidences), bins + 1))
    rows[np.arange(len(confidences)), indices] = np.asarray(confidences) - np.asarray(correct, dtype=np.float64)
    rows[:, -1] = 1.0
    return measure(rows.tolist(), bins + 1, _calibration_error)


def _calibration_error(sums: Counts) -> float:
    return float(np.abs(sums[:-1]).sum() / (sums[-1] or 1.0))
