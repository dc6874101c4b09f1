"""Reading without steps: the likeliest character at each place of the memory (CTC), repeats and blanks left out.

Shapes: N memory vectors, V vocabulary.
"""

from itertools import groupby
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unrender.decoding import Pixels
from unrender.decoding.paths import Decoded
from unrender.decoding.rules import ALTERNATIVES, Alternative, Scores


@runtime_checkable
class Speller(Protocol):
    """An engine whose encoder names characters by itself."""

    def spell(self, image: Pixels) -> Scores:
        """Return scores (N, V) of the characters along one (C, H, W) image."""
        ...


def best_path(scores: Scores, blank: int, alternatives: int = ALTERNATIVES) -> Decoded:
    """Read the best path through scores (N, V); a character's place is where it was named."""
    logs = scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)
    best = logs.argmax(axis=-1)
    peaks = logs.max(axis=-1)
    tokens, sure, others, places = [], [], [], []
    for token, run in groupby(range(len(best)), key=lambda index: int(best[index])):
        named = list(run)
        if token == blank:
            continue
        peak = max(named, key=lambda index: float(peaks[index]))
        tokens.append(token)
        sure.append(float(peaks[peak]))
        others.append(_others(logs[peak], (token, blank), alternatives))
        place = np.zeros(len(best), dtype=np.float32)
        place[named] = 1.0
        places.append(place)
    total = float(peaks.sum())
    return Decoded(
        tuple(tokens),
        complete=True,
        log_probabilities=tuple(sure),
        end_log_probability=min(0.0, total - sum(sure)),
        alternatives=tuple(others),
        attention=tuple(places),
        score=total,
    )


def _others(logs: NDArray[np.float32], taken: tuple[int, ...], count: int) -> tuple[Alternative, ...]:
    order = [int(token) for token in np.argsort(logs)[::-1][: count + len(taken)] if token not in taken]
    return tuple(Alternative(token, float(np.exp(logs[token]))) for token in order[:count])
