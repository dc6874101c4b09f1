"""Runs without a model, for tests of everything that decodes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.rules import Ids, Scores

END = 2


class ScriptedRun:
    """Scores highest, at step i, the i-th token of each row's script; the last one for ever after."""

    def __init__(self, *scripts: Sequence[int], vocabulary: int = 16, margin: float = 10.0) -> None:
        self.rows = [tuple(script) for script in scripts]
        self.fed: list[Ids] = []  # what each step was given
        self._vocabulary, self._margin = vocabulary, margin

    def step(self, tokens: Ids) -> Scores:
        assert tokens.shape[0] == len(self.rows), f"{tokens.shape[0]} rows were fed to a batch of {len(self.rows)}"
        place = len(self.fed)
        self.fed.append(tokens)
        scores = np.tile(-np.arange(self._vocabulary, dtype=np.float32), (len(self.rows), 1))
        for row, script in enumerate(self.rows):
            scores[row, script[min(place, len(script) - 1)]] = self._margin
        return scores

    def reorder(self, rows: Ids) -> None:
        self.rows = [self.rows[row] for row in rows]


class HistoryRun:
    """Random scores that depend on a row's seed and on all it was fed, so a wrong reorder changes the result."""

    def __init__(self, *seeds: int, vocabulary: int = 12, spread: float = 2.0) -> None:
        self.histories: list[tuple[int, ...]] = [(seed,) for seed in seeds]
        self.attention: NDArray[np.float32] = np.zeros((len(seeds), 1), dtype=np.float32)
        self.rows_computed = 0
        self._vocabulary, self._spread = vocabulary, spread

    def step(self, tokens: Ids) -> Scores:
        assert tokens.shape[0] == len(self.histories)
        self.rows_computed += len(tokens)
        pairs = zip(self.histories, tokens.tolist(), strict=True)
        self.histories = [(*history, *new) for history, new in pairs]
        self.attention = np.array([[len(history)] for history in self.histories], dtype=np.float32)
        drawn = [np.random.default_rng(history).normal(size=self._vocabulary) for history in self.histories]
        return (self._spread * np.stack(drawn)).astype(np.float32)

    def reorder(self, rows: Ids) -> None:
        self.histories = [self.histories[row] for row in rows]


class PlayedRun:
    """Plays back given scores (T, V), the same for every row: for tests of the repetition guard."""

    def __init__(self, scores: NDArray[np.float32], rows: int = 1) -> None:
        self._scores, self._rows, self._place = scores, rows, 0

    def step(self, tokens: Ids) -> Scores:
        assert tokens.shape[0] == self._rows
        self._place += 1
        return np.tile(self._scores[self._place - 1], (self._rows, 1))

    def reorder(self, rows: Ids) -> None:
        self._rows = len(rows)
