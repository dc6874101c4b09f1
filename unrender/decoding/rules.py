"""What may follow, and how likely it is: the rules that hold for every text of a search.

Shapes: V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unrender.errors import ConfigError

Ids = NDArray[np.int64]
Scores = NDArray[np.float32]
Constraint = Callable[[Sequence[int]], NDArray[np.bool_] | None]  # new tokens so far -> (V,) allowed; None: all
ALTERNATIVES = 3  # kept for each token unless the caller says otherwise
_STRETCH = 64  # scores of which only the highest is looked at at first


@runtime_checkable
class Closing(Protocol):
    """A constraint that knows the way to the end."""

    def closing(self, tokens: Sequence[int]) -> NDArray[np.bool_]:
        """Return which tokens (V,) bring the end nearer."""
        ...


@dataclass(frozen=True)
class Alternative:
    """Another token that could have stood in the same place."""

    token: int
    probability: float


@dataclass(frozen=True)
class Rules:
    """What holds for every text of a search."""

    end: int
    max_tokens: int
    forbidden: tuple[int, ...]
    constraint: Constraint | None
    alternatives: int

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ConfigError(f"max_tokens must be at least 1, got {self.max_tokens}")

    def allow(self, values: Scores, tokens: Sequence[int]) -> Scores:
        """Return (V,) values in which what may not follow `tokens` is minus infinity: a copy, if there is such.

        `forbidden` never forbids the end token; a constraint may. Where the end is likeliest but not allowed yet, only
        what brings it nearer is, if the constraint can tell: the next best token would be the beginning of nonsense.
        """
        mask = None if self.constraint is None else self.constraint(tokens)
        if mask is not None and not mask[self.end] and isinstance(self.constraint, Closing):
            mask = self.constraint.closing(tokens) if int(values.argmax()) == self.end else mask
        if not self.forbidden and mask is None:
            return values
        allowed = values.copy()
        allowed[[token for token in self.forbidden if token != self.end]] = -np.inf
        if mask is not None:
            allowed[~mask] = -np.inf
        return allowed

    def others(self, values: Scores, log_sum: np.float32) -> list[Alternative]:
        """Return the best tokens of (V,) values, which are log-probabilities once `log_sum` is taken from them.

        They are one more than is asked for, and never the end token.
        """
        if self.alternatives == 0:
            return []
        best = highest(values, self.alternatives + 2)
        best = best[(best != self.end) & np.isfinite(values[best])]
        pairs = zip(best.tolist(), np.exp(values[best] - log_sum).tolist(), strict=True)
        return [Alternative(token, probability) for token, probability in pairs]

    def without(self, others: list[Alternative], token: int) -> tuple[Alternative, ...]:
        return tuple(other for other in others if other.token != token)[: self.alternatives]


def log_sum_of(scores: Scores) -> np.float32:
    """Return log(sum(exp(scores))) of (V,) scores."""
    highest = scores.max()
    shifted = scores - highest
    return np.float32(highest + np.log(np.exp(shifted, out=shifted).sum()))


def highest(values: Scores, count: int) -> Ids:
    """Return the indices of the highest (V,) values, best first; equal values in order of index."""
    if count < len(values):
        peaks = values
        if count * _STRETCH < len(values):  # as many columns have a peak that high, so as many values are
            peaks = values[: len(values) // _STRETCH * _STRETCH].reshape(_STRETCH, -1).max(axis=0)
        threshold = np.partition(peaks, -count)[-count]
        indices = np.flatnonzero(values >= threshold)
    else:
        indices = np.arange(len(values))
    return indices[np.argsort(-values[indices], kind="stable")][:count]


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
