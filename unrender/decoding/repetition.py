"""Notice that a decoder has fallen into a loop, while it decodes and afterwards (seed 001, 3.2 and its section 5.4).

A decoder that repeats itself is steady: its best scores stop varying. The variance of the best score over a short
window, and how much that variance itself varies, tell a loop from text. The thresholds are those of Nougat's code;
its paper names others (6.75 / 15 ** 2 = 0.03 afterwards).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Guard:
    """When to call a sequence repetitive."""

    window: int = 15  # scores in one variance
    steady_steps: int = 200  # variances compared while decoding
    threshold_while: float = 0.015
    threshold_after: float = 0.045
    grace_factor: float = 1.15  # a suspected row may go on to grace_factor * length + grace_tokens
    grace_tokens: int = 350
    shortest: int = 10  # variances in the shortest tail that is judged
    cut_factor: float = 1.08  # the loop begins a little after the first steady window
    cut_tokens: int = 120
    cut_share: float = 0.9  # a cut later than this share of the tokens is not worth making
    hopeless: int = 30  # steady from before this token: nothing is kept

    def __post_init__(self) -> None:
        if self.window < 2 or self.steady_steps < 2:
            raise ConfigError("the guard's window and steady_steps must be at least 2")


class GuardState:
    """What the guard remembers of one row."""

    def __init__(self, guard: Guard, max_tokens: int) -> None:
        self._guard = guard
        self._last_position = max_tokens - 1
        self._best_scores: list[float] = []
        self._variances: list[float] = []
        self._stop_at: int | None = None

    @property
    def stopped(self) -> bool:
        """Whether the row has been steady for so long that it should stop."""
        return self._stop_at is not None and len(self._best_scores) >= self._stop_at

    def push(self, best_score: float) -> None:
        """Note the best score of one step."""
        guard = self._guard
        self._best_scores.append(best_score)
        recent = self._best_scores[-guard.window :]
        if len(recent) < 2:
            return
        self._variances.append(float(np.var(recent, ddof=1)) / len(recent))
        steady = self._variances[-guard.steady_steps :]
        if len(steady) < guard.steady_steps or np.var(steady, ddof=1) >= guard.threshold_while:
            self._stop_at = None
        elif self._stop_at is None:
            grace = len(self._best_scores) * guard.grace_factor + guard.grace_tokens
            self._stop_at = int(min(grace, self._last_position))

    def cut(self) -> int | None:
        """Return how many tokens of the unfinished row to keep, or None if it does not repeat itself."""
        position = find_repetition(np.array(self._best_scores), self._guard)
        if position is None and self.stopped:
            return len(self._best_scores)
        return position


def find_repetition(best_scores: NDArray[np.float64], guard: Guard) -> int | None:
    """Return where a sequence that never ended began to repeat itself, or None."""
    count = len(best_scores)
    if count - guard.window < guard.shortest:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(best_scores, guard.window)[:-1]
    tails = _tail_variances(windows.var(axis=1) / guard.window)[1 : 1 - guard.shortest]
    steady = np.flatnonzero(tails < guard.threshold_after)
    if len(steady) < 2 or steady[-1] != len(tails) - 1 or np.any(np.diff(steady) > 1):
        return None
    first = int(steady[0])
    position = int(max(first, 1) * guard.cut_factor + guard.cut_tokens)
    if position / count > guard.cut_share:
        return None
    return 0 if first < guard.hopeless else position


def _tail_variances(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variance of values[i:] for every i, in linear time."""
    centred = values[::-1] - values.mean()
    counts = np.arange(1, len(values) + 1)
    means = np.cumsum(centred) / counts
    squares = np.cumsum(centred**2) / counts
    variances: NDArray[np.float64] = np.maximum(squares - means**2, 0.0)[::-1]
    return variances
