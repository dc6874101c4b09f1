"""An engine that can be stopped between two steps, and that tells what it is reading."""

import copy
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.search import DecoderRun, Engine, Ids, Scores
from unrender.reading.reader import Reader

Check = Callable[[], None]  # raises to stop the work
Hear = Callable[[str], None]  # the text of the best path so far


def watch(reader: Reader, check: Check, hear: Hear | None = None) -> Reader:
    """Return a reader on the same weights that calls `check` before each step.

    With `hear`, for batches of one image, it also tells the text so far: that of the best path when there are beams.
    """
    watched = copy.copy(reader)
    tokenizer = reader.tokenizer
    told = None if hear is None else lambda tokens: hear(tokenizer.decode(tokens))
    watched.engine = _WatchedEngine(reader.engine, check, told)
    return watched


class _WatchedEngine:
    def __init__(self, engine: Engine, check: Check, told: Callable[[Sequence[int]], None] | None) -> None:
        self._engine, self._check, self._told = engine, check, told

    def start(self, pixels: NDArray[np.float32], sizes: Ids | None = None) -> DecoderRun:
        self._check()
        return _WatchedRun(self._engine.start(pixels, sizes), self._check, self._told)


class _WatchedRun:
    """Passes everything on; the first row is the best path, because searches keep their paths sorted."""

    def __init__(self, run: DecoderRun, check: Check, told: Callable[[Sequence[int]], None] | None) -> None:
        self._run, self._check, self._told = run, check, told
        self._paths: list[tuple[int, ...]] | None = None  # of each row, without the prompt

    def step(self, tokens: Ids) -> Scores:
        self._check()
        if self._told is not None:
            if self._paths is None:  # these are the prompt
                self._paths = [() for _ in tokens]
            else:
                self._paths = [(*path, *new) for path, new in zip(self._paths, tokens.tolist(), strict=True)]
                self._told(self._paths[0])
        return self._run.step(tokens)

    def reorder(self, rows: Ids) -> None:
        if self._paths is not None:
            self._paths = [self._paths[row] for row in rows]
        self._run.reorder(rows)

    @property
    def attention(self) -> NDArray[np.float32] | None:
        seen: NDArray[np.float32] | None = getattr(self._run, "attention", None)
        return seen
