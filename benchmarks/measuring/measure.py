"""Measure several ways of doing the same thing side by side: interleaved, with medians and their spread."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Clock = Callable[[], float]


@dataclass(frozen=True)
class Spread:
    """What was measured, in seconds or bytes: the median and the middle half around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


def clock(cpu_time: bool) -> Clock:
    """Return what tells the time: the wall clock or, on a busy machine and for one thread, the processor's own."""
    return time.process_time if cpu_time else time.perf_counter


def interleave(cases: Mapping[str, Callable[[], float]], repeat: int, *, warm: bool = True) -> dict[str, Spread]:
    """Call every case in turn, `repeat` times round; each returns what it measured. The first round is a rehearsal."""
    found: dict[str, list[float]] = {name: [] for name in cases}
    for round_ in range(repeat + warm):
        for name, case in cases.items():
            value = case()
            if round_ >= warm:
                found[name].append(value)
    return {name: Spread.of(values) for name, values in found.items()}
