"""Decode many images in one batch that is kept full: who has finished leaves, who waits enters.

So a long text does not hold up the short ones, and the tail of one batch never runs alone. NumPy only; any engine whose
runs can be joined will do. Shapes: B rows, V vocabulary, N memory vectors.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.search import BeamRow, Decoded, DecoderRun, Engine, GreedyRow, Ids, Scores, step

Pixels = NDArray[np.float32]
Path = GreedyRow | BeamRow


class JoinableRun(DecoderRun, Protocol):
    """A run that takes up more images while it decodes."""

    def join(self, image: Pixels) -> int:
        """Add a last row, at its beginning, for one (C, H, W) image; return how much memory N the image gave."""
        ...


@runtime_checkable
class JoinableEngine(Engine, Protocol):
    """An engine whose runs can be joined."""

    def begin(self) -> JoinableRun:
        """Start a decoding of no images yet."""
        ...


def decode_continuously(
    engine: JoinableEngine, images: Iterable[Pixels], prompt: Ids, *, images_at_once: int, new_path: Callable[[], Path]
) -> Iterator[tuple[int, Decoded]]:
    """Yield the number and the text of each image as soon as it is finished; images are taken only when there is room.

    Every image begins with the (P,) prompt; `new_path` makes what decides on its tokens.
    """
    waiting, run = enumerate(images), engine.begin()
    active: list[_Active] = []
    while True:
        while len(active) < images_at_once and (following := next(waiting, None)) is not None:
            number, image = following
            active.append(_Active(number, new_path(), prompt, run.join(image)))
        if not active:
            return
        scores, attention = step(run, np.array([[token] for one in active for token in one.feed], dtype=np.int64))
        parents, offset = list[int](), 0
        for one in active:
            rows = slice(offset, offset + len(one.feed))
            going = one.advance(scores[rows], None if attention is None else attention[rows])
            parents += [offset + parent for parent in going]
            offset = rows.stop
        run.reorder(np.array(parents, dtype=np.int64))
        yield from ((one.number, one.path.result()) for one in active if one.path.done)
        active = [one for one in active if not one.path.done]


class _Active:
    """An image being decoded: the tokens its rows are fed next."""

    def __init__(self, number: int, path: Path, prompt: Ids, memory: int) -> None:
        self.number, self.path = number, path
        self.feed: list[int] = [int(prompt[0])]
        self._prompt, self._memory = prompt[1:].tolist(), memory

    def advance(self, scores: Scores, attention: Scores | None) -> list[int]:
        """Take (rows, V) scores; return which of the present rows the next ones go on from."""
        if self._prompt:
            self.feed = [self._prompt.pop(0)]
            return [0]
        seen = None if attention is None else attention[:, : self._memory].copy()  # not the whole batch's
        if isinstance(self.path, BeamRow):
            kept = self.path.advance(scores, seen)
        else:
            token = self.path.advance(scores[0], None if seen is None else seen[0])
            kept = [] if self.path.done or token is None else [(0, token)]
        self.feed = [token for _, token in kept]
        return [parent for parent, _ in kept]
