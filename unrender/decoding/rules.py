"""What may follow, and how likely it is: the rules that hold for every text of a search.

Shapes: V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.errors import ConfigError

Ids = NDArray[np.int64]
Scores = NDArray[np.float32]
Constraint = Callable[[Sequence[int]], NDArray[np.bool_] | None]  # new tokens so far -> (V,) allowed; None: all

ALTERNATIVES = 3  # kept for each token unless the caller says otherwise
_STRETCH = 64  # scores of which only the highest is looked at at first


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

        `forbidden` never forbids the end token; a constraint may.
        """
        mask = None if self.constraint is None else self.constraint(tokens)
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
