"""From next-token scores to finished sequences: greedy and beam search (seed 000, algorithm 2; seed 004, 4.2.3).

NumPy only, so one loop serves every engine. Shapes: B sequences, T new tokens, V vocabulary, N memory positions.
Rows never influence one another: a batch gives each row the tokens that a batch of one gives.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.repetition import Guard, GuardState
from unrender.errors import ConfigError, ModelError

Ids = NDArray[np.int64]
Scores = NDArray[np.float32]
Constraint = Callable[[Sequence[int]], NDArray[np.bool_] | None]  # new tokens so far -> (V,) allowed; None: all
Listener = Callable[[int, int], None]  # (row of the prompt, token just taken)
EarlyStopping = bool | Literal["never"]
Status = Literal["complete", "limit", "repetition"]

ALTERNATIVES = 3  # kept for each token unless the caller says otherwise
_STRETCH = 64  # scores of which only the highest is looked at at first


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

    def start(self, pixels: NDArray[np.float32], sizes: Ids | None = None) -> DecoderRun:
        """Encode (B, C, H, W) pixels; `sizes` (B, 2) is each image's height and width without padding."""
        ...


@dataclass(frozen=True)
class Alternative:
    """Another token that could have stood in the same place."""

    token: int
    probability: float


@dataclass(frozen=True)
class Decoded:
    """One finished sequence, without prompt and end token.

    Equality looks at the result (tokens, complete, cut), not at the measurements beside it.
    """

    tokens: tuple[int, ...]
    complete: bool  # False: max_tokens or the repetition guard came before the end token
    cut: int | None = None  # the sequence ran into a repetition; what followed this position was dropped
    log_probabilities: tuple[float, ...] = field(default=(), compare=False)  # one for each token
    end_log_probability: float = field(default=0.0, compare=False)  # of the end token, if it came
    alternatives: tuple[tuple[Alternative, ...], ...] = field(default=(), compare=False)  # best first
    attention: tuple[NDArray[np.float32], ...] = field(default=(), compare=False, repr=False)  # (N,) for each token
    score: float = field(default=0.0, compare=False)  # log-probability of the whole; beam: over length ** penalty
    runners_up: tuple["Decoded", ...] = field(default=(), compare=False)  # beam: the other finished ones, best first

    @property
    def sureness(self) -> float:
        """The geometric mean of the tokens' probabilities, the end's included; 0 if it did not come."""
        if not self.complete:
            return 0.0
        return math.exp((sum(self.log_probabilities) + self.end_log_probability) / (len(self.log_probabilities) + 1))

    @property
    def status(self) -> Status:
        if self.cut is not None:
            return "repetition"
        return "complete" if self.complete else "limit"


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
    listener: Listener | None = None,
) -> list[Decoded]:
    """Take the best token at each step until every row of the (B, P) prompt has produced `end`.

    At most `max_tokens` new tokens are taken, the end token included. A row leaves the batch when it is done.
    """
    rules = Rules(end, max_tokens, tuple(forbidden), constraint, alternatives)
    rows = [GreedyRow(rules, guard) for _ in prompt]
    active, tokens = list(range(len(rows))), prompt
    while active:
        scores, attention = step(run, tokens)
        for place, index in enumerate(active):
            token = rows[index].advance(scores[place], None if attention is None else attention[place])
            if listener is not None and token is not None:
                listener(index, token)
        staying = [place for place, index in enumerate(active) if not rows[index].done]
        if 0 < len(staying) < len(active):
            run.reorder(np.array(staying, dtype=np.int64))
        active = [active[place] for place in staying]
        tokens = np.array([[rows[index].tokens[-1]] for index in active], dtype=np.int64)
    return [row.result() for row in rows]


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
    alternatives: int = ALTERNATIVES,
) -> list[Decoded]:
    """Return the best sequence found for each row of the (B, P) prompt, with up to `beams` - 1 runners-up.

    The rules are those of `generate(num_beams=...)` in transformers: a score is the sum of log-probabilities over
    length ** length_penalty, the end token counted; a row stops when no running path can beat its worst finished
    one, judged at the present length (False), at max_tokens ("never"), or as soon as `beams` have finished (True).
    """
    if beams < 1:
        raise ConfigError(f"beams must be at least 1, got {beams}")
    rules = Rules(end, max_tokens, tuple(forbidden), constraint, alternatives)
    rows = [BeamRow(rules, beams, length_penalty, early_stopping) for _ in prompt]
    active, tokens = rows, prompt
    while active:
        scores, attention = step(run, tokens)
        offset, parents, chosen = 0, list[int](), list[int]()
        for row in active:
            block = slice(offset, offset + len(row.running))
            for parent, token in row.advance(scores[block], None if attention is None else attention[block]):
                parents.append(offset + parent)
                chosen.append(token)
            offset = block.stop
        active = [row for row in active if not row.done]
        if active:
            run.reorder(np.array(parents, dtype=np.int64))
        tokens = np.array(chosen, dtype=np.int64)[:, None]
    return [row.result() for row in rows]


@dataclass(frozen=True)
class Rules:
    """What holds for every row of a batch."""

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
        best = _best(values, self.alternatives + 2)
        best = best[(best != self.end) & np.isfinite(values[best])]
        pairs = zip(best.tolist(), np.exp(values[best] - log_sum).tolist(), strict=True)
        return [Alternative(token, probability) for token, probability in pairs]

    def without(self, others: list[Alternative], token: int) -> tuple[Alternative, ...]:
        return tuple(other for other in others if other.token != token)[: self.alternatives]


@dataclass(frozen=True, slots=True)
class _Path:
    """A path's newest token, with what was known when it was taken, and the path before it."""

    token: int
    log_probability: float
    alternatives: tuple[Alternative, ...]
    attention: Scores | None
    before: "_Path | None"


class GreedyRow:
    """One sequence of a greedy batch: all its state, so that rows can come and go."""

    def __init__(self, rules: Rules, guard: Guard | None) -> None:
        self.tokens: list[int] = []
        self.done = False
        self._rules = rules
        self._guard = None if guard is None else GuardState(guard, rules.max_tokens)
        self._path: _Path | None = None

    def advance(self, scores: Scores, attention: Scores | None) -> int | None:
        """Take the best allowed token and return it; None when the row ends instead."""
        rules = self._rules
        allowed = rules.allow(scores, self.tokens)
        token = int(allowed.argmax())
        if not np.isfinite(allowed[token]):
            self.done = True
            return None
        log_sum = _log_sum(scores)
        others = rules.without(rules.others(allowed, log_sum), token)
        self._path = _Path(token, float(allowed[token] - log_sum), others, attention, self._path)
        if token == rules.end:
            self.done = True
            return None
        self.tokens.append(token)
        if self._guard is not None:
            self._guard.push(float(allowed[token]))
        self.done = len(self.tokens) >= rules.max_tokens or (self._guard is not None and self._guard.stopped)
        return token

    def result(self) -> Decoded:
        decoded = _decoded(self._path, self._rules.end)
        if self._guard is None or decoded.complete:
            return decoded
        return _cut(decoded, self._guard.cut())


class BeamRow:
    """One sequence of a beam batch: (score, path) of what is running and what has finished, best first."""

    def __init__(self, rules: Rules, beams: int, length_penalty: float, early_stopping: EarlyStopping) -> None:
        self.running: list[tuple[float, _Path | None]] = [(0.0, None)]
        self.done = False
        self._finished: list[tuple[float, _Path | None]] = []
        self._rules, self._beams, self._penalty, self._early = rules, beams, length_penalty, early_stopping
        self._length = 0

    def advance(self, scores: Scores, attention: Scores | None) -> list[tuple[int, int]]:
        """Extend the running paths by one token; return (parent, token) of those that go on."""
        rules = self._rules
        self._length += 1
        logs = scores - np.stack([_log_sum(row) for row in scores])[:, None]
        for row, (_, path) in zip(logs, self.running, strict=True):
            row[:] = rules.allow(row, [] if rules.constraint is None else _tokens(path))
        others: dict[int, list[Alternative]] = {}  # of the parents that have children
        totals = logs + np.array([score for score, _ in self.running], dtype=np.float32)[:, None]
        kept, going = list[tuple[int, int]](), list[tuple[float, _Path | None]]()
        # At most `beams` of the best 2 * beams candidates are the end token, so `beams` can always go on.
        for rank, place in enumerate(_best(totals.ravel(), 2 * self._beams)):
            parent, token = divmod(int(place), logs.shape[1])
            total = float(totals[parent, token])
            if not np.isfinite(total) or len(going) == self._beams:
                break
            seen = None if attention is None else attention[parent]
            if parent not in others:
                others[parent] = rules.others(logs[parent], np.float32(0))
            alternatives = rules.without(others[parent], token)
            path = _Path(token, float(logs[parent, token]), alternatives, seen, self.running[parent][1])
            if token != rules.end and self._length < rules.max_tokens:
                kept.append((parent, token))
                going.append((total, path))
            elif rank < self._beams:  # an end further down the list is not good enough to count
                self._finished.append((self._rank(total, self._length), path))
        if not going and not self._finished:  # a constraint left no way on: the paths so far are what there is
            self._finished = self.running
        self._finished = sorted(self._finished, key=lambda pair: -pair[0])[: self._beams]
        self.running = going
        self.done = self._cannot_improve()
        return [] if self.done else kept

    def result(self) -> Decoded:
        best, *rest = (replace(_decoded(path, self._rules.end), score=score) for score, path in self._finished)
        return replace(best, runners_up=tuple(rest))

    def _cannot_improve(self) -> bool:
        if not self.running:
            return True
        if len(self._finished) < self._beams or self._early is True:
            return len(self._finished) >= self._beams
        to_the_limit = self._early == "never" and self._penalty > 0
        length = self._rules.max_tokens if to_the_limit else self._length
        return self._rank(self.running[0][0], length) <= self._finished[-1][0]

    def _rank(self, total: float, length: int) -> float:
        return float(total / length**self._penalty)


def step(run: DecoderRun, tokens: Ids) -> tuple[Scores, Scores | None]:
    """Feed a run and return its scores and, where it gives any, its attention."""
    scores = run.step(tokens)
    if np.isnan(scores.max()):  # a maximum with something that is not a number is none either
        raise ModelError("the model computed scores that are not numbers; its weights are damaged or overflow")
    return scores, getattr(run, "attention", None)


def _log_sum(scores: Scores) -> np.float32:
    """Return log(sum(exp(scores))) of (V,) scores."""
    highest = scores.max()
    shifted = scores - highest
    return np.float32(highest + np.log(np.exp(shifted, out=shifted).sum()))


def _best(values: Scores, count: int) -> Ids:
    """Return the places of the highest (V,) values, best first; equal values in order of place."""
    if count < len(values):
        peaks = values
        if count * _STRETCH < len(values):  # as many columns have a peak that high, so as many values are
            peaks = values[: len(values) // _STRETCH * _STRETCH].reshape(_STRETCH, -1).max(axis=0)
        threshold = np.partition(peaks, -count)[-count]
        places = np.flatnonzero(values >= threshold)
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")][:count]


def _trace(path: _Path | None) -> list[_Path]:
    steps = []
    while path is not None:
        steps.append(path)
        path = path.before
    return steps[::-1]


def _tokens(path: _Path | None) -> list[int]:
    return [step.token for step in _trace(path)]


def _decoded(path: _Path | None, end: int) -> Decoded:
    steps = _trace(path)
    complete = bool(steps) and steps[-1].token == end
    taken = steps[:-1] if complete else steps
    return Decoded(
        tokens=tuple(step.token for step in taken),
        complete=complete,
        log_probabilities=tuple(step.log_probability for step in taken),
        end_log_probability=steps[-1].log_probability if complete else 0.0,
        alternatives=tuple(step.alternatives for step in taken),
        attention=tuple(step.attention for step in taken if step.attention is not None),
        score=sum(step.log_probability for step in steps),
    )


def _cut(decoded: Decoded, position: int | None) -> Decoded:
    if position is None:
        return decoded
    return replace(
        decoded,
        tokens=decoded.tokens[:position],
        cut=position,
        log_probabilities=decoded.log_probabilities[:position],
        alternatives=decoded.alternatives[:position],
        attention=decoded.attention[:position],
    )
