"""From next-token scores to finished sequences: one loop feeds a run, lets finished texts leave and waiting ones enter.

So a long text does not hold up the short ones, and the tail of one batch never runs alone. NumPy only, so the loop
serves every engine. Shapes: B rows, T new tokens, P prompt tokens, V vocabulary, N memory positions. Rows never
influence one another: a batch gives each text the tokens that it would get alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.paths import BeamPaths, Decoded, EarlyStopping, GreedyPath, Path
from unrender.decoding.rules import ALTERNATIVES, Constraint, Guard, Ids, Rules, Scores
from unrender.errors import ModelError

Pixels = NDArray[np.float32]


class DecoderRun(Protocol):
    """One batch being decoded; owns the image memory and the key/value cache.

    A run that also has an `attention` attribute, (B, N) for the scores last returned, gets it recorded per token.
    """

    def step(self, tokens: Ids) -> Scores:
        """Feed (B, T) new tokens; return (B, V) scores for the one that follows."""
        ...

    def reorder(self, rows: Ids) -> None:
        """Make row i of the batch a copy of the present row rows[i]; the batch may shrink or grow."""
        ...


class Engine(Protocol):
    """Whoever computes a model: torch or ONNX."""

    def start(self, pixels: Pixels, sizes: Ids | None = None) -> DecoderRun:
        """Encode (B, C, H, W) pixels; `sizes` (B, 2) is each image's height and width without padding."""
        ...


class JoinableRun(DecoderRun, Protocol):
    """A run that takes up more images while it decodes."""

    def join(self, image: Pixels) -> int:
        """Add a last row, at its beginning, for one (C, H, W) image; return how much memory N the image gave."""
        ...


@runtime_checkable
class Speller(Protocol):
    """An engine whose encoder names characters by itself."""

    def spell(self, image: Pixels) -> Scores:
        """Return scores (N, V) of the characters along one (C, H, W) image."""
        ...


@runtime_checkable
class JoinableEngine(Engine, Protocol):
    """An engine whose runs can be joined."""

    def begin(self) -> JoinableRun:
        """Start a decoding of no images yet."""
        ...


@dataclass(eq=False, kw_only=True)
class Text:
    """One text being decoded, and who follows it.

    `feed` holds the tokens that each of its rows is fed next, at first the prompt. `wanted` is asked after each step:
    a text that nobody wants any more leaves the batch unfinished. `hear` is told the best tokens so far.
    """

    path: Path
    feed: list[list[int]]  # (rows, tokens)
    memory: int | None = None  # how much of the batch's attention is its own; None: all
    wanted: Callable[[], bool] = lambda: True
    hear: Callable[[Sequence[int]], None] | None = None
    stopped: bool = field(default=False, init=False)  # it was not wanted any more

    @property
    def over(self) -> bool:
        return self.path.done or self.stopped

    def advance(self, scores: Scores, attention: Scores | None, count: int) -> list[int]:
        """Take the scores after `count` tokens of the feed; return which of the present rows the next ones go on from.

        Scores count only after the whole prompt.
        """
        rest = [row[count:] for row in self.feed]
        if rest[0]:
            self.feed = rest
            return list(range(len(rest)))
        seen = None if attention is None else attention[:, : self.memory].copy()  # not the whole batch's
        kept = self.path.advance(scores, seen)
        self.feed = [[token] for _, token in kept]
        if self.hear is not None:
            self.hear(self.path.tokens)
        return [row for row, _ in kept]


class Intake(Protocol):
    """Who brings texts into the batch."""

    @property
    def run(self) -> DecoderRun:
        """The run that holds the rows of the texts that have entered and are not over."""
        ...

    def enter(self, active: int) -> Sequence[Text]:
        """Add rows to the run beside those of `active` texts; none if there is no room or nobody waits."""
        ...


def search(intake: Intake) -> Iterator[Text]:
    """Decode whatever enters and yield each text as soon as it is over; end when no text is left and none enters."""
    active: list[Text] = []
    while True:
        active += intake.enter(len(active))
        if not active:
            return
        run = intake.run
        counts = {len(text.feed[0]) for text in active}
        count = counts.pop() if len(counts) == 1 else 1  # a prompt goes in whole where all rows have as much to be fed
        fed = [row[:count] for text in active for row in text.feed]
        scores, attention = _step(run, np.array(fed, dtype=np.int64))
        parents, offset = list[int](), 0
        for text in active:
            rows = slice(offset, offset + len(text.feed))
            going = text.advance(scores[rows], None if attention is None else attention[rows], count)
            text.stopped = not text.path.done and not text.wanted()
            parents += [] if text.stopped else [offset + row for row in going]
            offset = rows.stop
        run.reorder(np.array(parents, dtype=np.int64))
        yield from (text for text in active if text.over)
        active = [text for text in active if not text.over]


def greedy(
    run: DecoderRun,
    prompt: Ids,
    *,
    end: int,
    max_tokens: int,
    forbidden: Sequence[int] = (),
    constraint: Constraint | None = None,
    alternatives: int = ALTERNATIVES,
    guard: Guard | None = None,
) -> list[Decoded]:
    """Take the best token at each step until every row of the (B, P) prompt has produced `end`.

    At most `max_tokens` new tokens are taken, the end token included. A row leaves the batch when it is done.
    """
    rules = Rules(end, max_tokens, tuple(forbidden), constraint, alternatives)
    return _search_rows(run, prompt, lambda: GreedyPath(rules, guard))


def beam(
    run: DecoderRun,
    prompt: Ids,
    *,
    beams: int,
    end: int,
    max_tokens: int,
    length_penalty: float = 1.0,
    early_stopping: EarlyStopping = False,
    forbidden: Sequence[int] = (),
    constraint: Constraint | None = None,
) -> list[Decoded]:
    """Return the best sequence found for each row of the (B, P) prompt, with up to `beams` - 1 runners-up."""
    rules = Rules(end, max_tokens, tuple(forbidden), constraint, ALTERNATIVES)
    return _search_rows(run, prompt, lambda: BeamPaths(rules, beams, length_penalty, early_stopping))


@dataclass(frozen=True)
class _Once:
    """Brings in the rows that a run begins with."""

    run: DecoderRun
    texts: list[Text]

    def enter(self, active: int) -> list[Text]:
        entering = self.texts.copy()
        self.texts.clear()
        return entering


def _search_rows(run: DecoderRun, prompt: Ids, new_path: Callable[[], Path]) -> list[Decoded]:
    texts = [Text(path=new_path(), feed=[row]) for row in prompt.tolist()]
    for _ in search(_Once(run, texts.copy())):
        pass
    return [text.path.result() for text in texts]


def _step(run: DecoderRun, tokens: Ids) -> tuple[Scores, Scores | None]:
    """Feed a run and return its scores and, where it gives any, its attention."""
    scores = run.step(tokens)
    if np.isnan(scores.max()):  # a maximum with something that is not a number is none either
        raise ModelError("the model computed scores that are not numbers; its weights are damaged or overflow")
    return scores, getattr(run, "attention", None)
