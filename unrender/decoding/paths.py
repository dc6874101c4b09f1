"""One text in the making: what may follow, the best path or the best few, and the finished sequence.

Greedy search (seed 000, algorithm 2) is one path, beam search (seed 004, 4.2.3) several. Both take the scores of their
rows and answer with the rows that go on, so one loop drives either. `best_path` needs no steps: the likeliest character
at each place of the memory (CTC), repeats and blanks left out. Shapes: V vocabulary, N memory positions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.rules import ALTERNATIVES, Alternative, Guard, GuardState, Rules, Scores, highest, log_sum_of
from unrender.errors import ConfigError

EarlyStopping = bool | Literal["never"]
Status = Literal["complete", "limit", "repetition"]


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
    looks: tuple[tuple[int, ...], ...] = field(default=(), compare=False)  # what each look read, if there were several

    @property
    def sureness(self) -> float:
        """The geometric mean of the tokens' probabilities, the end's included; 0 if it did not come."""
        if not self.complete:
            return 0.0
        return math.exp((sum(self.log_probabilities) + self.end_log_probability) / (len(self.log_probabilities) + 1))

    @property
    def weakest(self) -> float:
        """The least of the tokens' probabilities, the end's included; 0 if it did not come."""
        return math.exp(min((*self.log_probabilities, self.end_log_probability))) if self.complete else 0.0

    @property
    def status(self) -> Status:
        if self.cut is not None:
            return "repetition"
        return "complete" if self.complete else "limit"


class Path(Protocol):
    """How one text is looked for; owns all its state, so that texts can come and go."""

    done: bool

    @property
    def tokens(self) -> Sequence[int]:
        """The best tokens so far."""
        ...

    def advance(self, scores: Scores, attention: Scores | None) -> list[tuple[int, int]]:
        """Take (rows, V) scores and (rows, N) attention; return (present row, token) of each row that goes on."""
        ...

    def result(self) -> Decoded:
        """Return the finished sequence."""
        ...


@dataclass(frozen=True, slots=True)
class _Step:
    """A path's newest token, with what was known when it was taken, and the step before it."""

    token: int
    log_probability: float
    alternatives: tuple[Alternative, ...]
    attention: Scores | None
    before: "_Step | None"


class GreedyPath:
    """Greedy search: the best token at each step."""

    def __init__(self, rules: Rules, guard: Guard | None) -> None:
        self.tokens: list[int] = []
        self.done = False
        self._rules = rules
        self._guard = None if guard is None else GuardState(guard, rules.max_tokens)
        self._last: _Step | None = None

    def advance(self, scores: Scores, attention: Scores | None) -> list[tuple[int, int]]:
        """Take the best allowed token of the one row."""
        rules = self._rules
        allowed = rules.allow(scores[0], self.tokens)
        token = int(allowed.argmax())
        if not np.isfinite(allowed[token]):
            self.done = True
            return []
        log_sum = log_sum_of(scores[0])
        others = rules.without(rules.others(allowed, log_sum), token)
        seen = None if attention is None else attention[0]
        self._last = _Step(token, float(allowed[token] - log_sum), others, seen, self._last)
        if token == rules.end:
            self.done = True
            return []
        self.tokens.append(token)
        if self._guard is not None:
            self._guard.push(float(allowed[token]))
        self.done = len(self.tokens) >= rules.max_tokens or (self._guard is not None and self._guard.stopped)
        return [] if self.done else [(0, token)]

    def result(self) -> Decoded:
        decoded = _decoded(self._last, self._rules.end)
        if self._guard is None or decoded.complete:
            return decoded
        return _cut(decoded, self._guard.cut())


class BeamPaths:
    """Beam search: (score, path) of what is running and what has finished, best first.

    The rules are those of `generate(num_beams=...)` in transformers: a score is the sum of log-probabilities over
    length ** length_penalty, the end token counted; the search stops when no running path can beat the worst finished
    one, judged at the present length (False), at max_tokens ("never"), or as soon as `beams` have finished (True).
    """

    def __init__(self, rules: Rules, beams: int, length_penalty: float, early_stopping: EarlyStopping) -> None:
        if beams < 1:
            raise ConfigError(f"beams must be at least 1, got {beams}")
        self.done = False
        self._running: list[tuple[float, _Step | None]] = [(0.0, None)]
        self._finished: list[tuple[float, _Step | None]] = []
        self._rules, self._beams, self._penalty, self._early = rules, beams, length_penalty, early_stopping
        self._length = 0

    @property
    def tokens(self) -> list[int]:
        """The tokens of the best path that is running, or of the best one if all have finished."""
        return _tokens((self._running or self._finished)[0][1])

    def advance(self, scores: Scores, attention: Scores | None) -> list[tuple[int, int]]:
        """Extend every running path by one token."""
        rules = self._rules
        self._length += 1
        logs = scores - np.stack([log_sum_of(row) for row in scores])[:, None]
        for row, (_, path) in zip(logs, self._running, strict=True):
            row[:] = rules.allow(row, [] if rules.constraint is None else _tokens(path))
        others: dict[int, list[Alternative]] = {}  # of the parents that have children
        totals = logs + np.array([score for score, _ in self._running], dtype=np.float32)[:, None]
        kept, going = list[tuple[int, int]](), list[tuple[float, _Step | None]]()
        # At most `beams` of the best 2 * beams candidates are the end token, so `beams` can always go on.
        for rank, index in enumerate(highest(totals.ravel(), 2 * self._beams)):
            parent, token = divmod(int(index), logs.shape[1])
            total = float(totals[parent, token])
            if not np.isfinite(total) or len(going) == self._beams:
                break
            seen = None if attention is None else attention[parent]
            if parent not in others:
                others[parent] = rules.others(logs[parent], np.float32(0))
            alternatives = rules.without(others[parent], token)
            path = _Step(token, float(logs[parent, token]), alternatives, seen, self._running[parent][1])
            if token != rules.end and self._length < rules.max_tokens:
                kept.append((parent, token))
                going.append((total, path))
            elif rank < self._beams:  # an end further down the list is not good enough to count
                self._finished.append((self._rank(total, self._length), path))
        if not going and not self._finished:  # a constraint left no way on: the paths so far are what there is
            self._finished = self._running
        self._finished = sorted(self._finished, key=lambda pair: -pair[0])[: self._beams]
        self._running = going
        self.done = self._cannot_improve()
        return [] if self.done else kept

    def result(self) -> Decoded:
        best, *rest = (replace(_decoded(path, self._rules.end), score=score) for score, path in self._finished)
        return replace(best, runners_up=tuple(rest))

    def _cannot_improve(self) -> bool:
        if not self._running:
            return True
        if len(self._finished) < self._beams or self._early is True:
            return len(self._finished) >= self._beams
        to_the_limit = self._early == "never" and self._penalty > 0
        length = self._rules.max_tokens if to_the_limit else self._length
        return self._rank(self._running[0][0], length) <= self._finished[-1][0]

    def _rank(self, total: float, length: int) -> float:
        return float(total / length**self._penalty)


def _trace(path: _Step | None) -> list[_Step]:
    steps = []
    while path is not None:
        steps.append(path)
        path = path.before
    return steps[::-1]


def _tokens(path: _Step | None) -> list[int]:
    return [step.token for step in _trace(path)]


def _decoded(path: _Step | None, end: int) -> Decoded:
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


def best_path(scores: Scores, blank: int) -> Decoded:
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
        others.append(_others(logs[peak], (token, blank)))
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


def _others(logs: NDArray[np.float32], taken: tuple[int, ...]) -> tuple[Alternative, ...]:
    order = [int(token) for token in np.argsort(logs)[::-1][: ALTERNATIVES + len(taken)] if token not in taken]
    return tuple(Alternative(token, float(np.exp(logs[token]))) for token in order[:ALTERNATIVES])
