"""What may follow a piece of a formula, token by token, so that a decoder writes nothing but well-formed LaTeX.

It is a little stricter than the parser: scripts and accents take braces, columns are l, c, r and |, lengths stand in
braces. It also ends what a decoder would not end by itself: a phrase is not written over and over, and when the room
runs out, what is open is closed. States are immutable and remembered by what was written, so a step costs the same
however long the formula is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unrender.latex.commands import (
    ALWAYS_BRACED,
    ARITY,
    DELIMITERS,
    DROPPED,
    DROPPED_WITH_ARGUMENT,
    INFIX,
    LENGTH_ARGUMENT,
    LONGEST_LENGTH,
    OPTIONAL_ARGUMENT,
    ROWS,
    SIZED,
    SKIPS,
    TEXT,
)

Mask = NDArray[np.bool_]
_Place = tuple[str | int, ...]  # all that a mask depends on
Kind = Literal["top", "group", "fence", "option", "array", "rows", "columns", "length"]
_ARRAY = "\\begin{array}", "\\end{array}"
_CELL_ENDS = frozenset(("&", "\\\\"))
_COLUMNS = frozenset("lcr|")
_MOST_FRAMES = 24
_REMEMBERED = 4096
_MOST_REPEATS = (12, 6, 4, 3)  # of phrases of 1, 2, 3 and more tokens: all but one label in 500 keep to each
_MOST_CELLS = 12  # of an array that are the same: a row of zeros is no loop
_MOST_LOOPS = 2  # a formula that runs into so many is lost, and is ended
_LONGEST_PHRASE = 24
_SPARE = 7  # tokens: the end, and more than any one token can open
_CLOSED_BY = {"group": "}", "rows": "}", "columns": "}", "length": "}", "option": "]", "array": _ARRAY[1]}


@dataclass(frozen=True)
class _Frame:
    """Something open: what has been attached to its last node, and how many arguments its commands still need."""

    kind: Kind
    sub: bool = False
    sup: bool = False
    needs: tuple[tuple[str, int], ...] = ()  # commands, outermost first, with the number of arguments to come
    filled: int = 0  # tokens of columns or a length


@dataclass(frozen=True)
class _State:
    frames: tuple[_Frame, ...] = (_Frame("top"),)
    last: str = ""  # the token before, where it decides alone what may follow


class Grammar:
    """The constraint over one vocabulary; `end` is the id of the token that ends a formula.

    A formula has at most `max_tokens`, its end included, if that is given.
    """

    def __init__(self, vocabulary: Sequence[str], end: int, max_tokens: int | None = None) -> None:
        self._vocabulary = list(vocabulary)
        self._end = end
        self._max_tokens = max_tokens
        self._cell_ends = frozenset(index for index, token in enumerate(vocabulary) if token in _CELL_ENDS)
        self._states: dict[tuple[int, ...], tuple[_State, Mask, int]] = {}
        self._masks: dict[_Place, Mask] = {}

    def __call__(self, tokens: Sequence[int]) -> Mask:
        """Return which tokens (V,) may follow `tokens`."""
        state, mask, loops = self._reach(tuple(tokens))
        full = self._max_tokens is not None and len(tokens) + _way_out(state) + _SPARE >= self._max_tokens
        if full or loops >= _MOST_LOOPS:
            return self._closing(state, mask)
        looping = self._next_in_loop(tokens)
        if looping is None or not mask[looping] or mask.sum() == 1:
            return mask
        other = mask.copy()
        other[looping] = False
        return other

    def closing(self, tokens: Sequence[int]) -> Mask:
        """Return which tokens (V,) close what `tokens` left open."""
        state, mask, _ = self._reach(tuple(tokens))
        return self._closing(state, mask)

    def _reach(self, tokens: tuple[int, ...]) -> tuple[_State, Mask, int]:
        """Return where `tokens` lead, what may follow there, and how many loops they ran into."""
        known = self._states.get(tokens)
        if known is None:
            state, loops = _State(), 0
            if tokens:
                before, _, loops = self._reach(tokens[:-1])
                state, loops = (
                    _after(before, self._vocabulary[tokens[-1]]),
                    loops + (self._next_in_loop(tokens) is not None),
                )
            known = state, self._mask(state), loops
            if len(self._states) >= _REMEMBERED:
                self._states.clear()
            self._states[tokens] = known
        return known

    def _next_in_loop(self, tokens: Sequence[int]) -> int | None:
        """Return the token that would begin a phrase once more that has been repeated enough, or None."""
        for length in range(1, min(_LONGEST_PHRASE, len(tokens) - 1) + 1):
            if tokens[-1] != tokens[-1 - length]:
                continue
            repeats = _MOST_REPEATS[min(length, len(_MOST_REPEATS)) - 1]
            if not self._cell_ends.isdisjoint(tokens[-length:]):
                repeats = max(repeats, _MOST_CELLS)
            tail = tokens[-length * repeats :]
            if len(tail) == length * repeats and all(token == tail[index % length] for index, token in enumerate(tail)):
                return tail[0]
        return None

    def _closing(self, state: _State, mask: Mask) -> Mask:
        """Keep to what brings the end nearer."""
        way, nearer = _way_out(state), np.zeros_like(mask)
        for token in np.flatnonzero(mask):
            if token == self._end or _way_out(_after(state, self._vocabulary[token])) < way:
                nearer[token] = True
        return nearer

    def _mask(self, state: _State) -> Mask:
        place = _place_of(state)
        mask = self._masks.get(place)
        if mask is None:
            mask = np.array([_allowed(state, token) for token in self._vocabulary])
            mask[self._end] = len(state.frames) == 1 and not state.frames[0].needs and not state.last
            if len(self._masks) >= _REMEMBERED:
                self._masks.clear()
            self._masks[place] = mask
        return mask


def _way_out(state: _State) -> int:
    """Return how many tokens close everything that is open."""
    tokens = 0
    if state.last:
        tokens = 1 if state.last in SIZED else 4 if state.last == _ARRAY[0] else 3
    pending = bool(state.last)  # what is being written is itself an argument that something waits for
    for frame in reversed(state.frames):
        tokens += 2 * (sum(count for _, count in frame.needs) - (pending and bool(frame.needs)))
        if frame.kind == "columns":
            tokens += 2 if frame.filled else 3
        elif frame.kind == "length":
            tokens += 1 if frame.filled else 2
        elif frame.kind != "top":
            tokens += 1
        pending = frame.kind != "option"
    return tokens


def _place_of(state: _State) -> _Place:
    """Return what `_allowed` looks at: states that agree in it allow the same tokens."""
    frame = state.frames[-1]
    waiting = frame.needs[-1][0] if frame.needs else ""
    deepest = len(state.frames) >= _MOST_FRAMES
    return state.last, frame.kind, frame.filled, frame.sub, frame.sup, waiting, deepest


def _allowed(state: _State, token: str) -> bool:
    frame = state.frames[-1]
    if token.startswith("<") and len(token) > 1:  # special tokens
        return False
    if state.last in SIZED:
        return token in DELIMITERS
    if state.last in LENGTH_ARGUMENT or state.last == _ARRAY[0]:
        return token == "{"
    if frame.kind == "columns":
        return token in _COLUMNS or (token == "}" and frame.filled > 0)
    if frame.kind == "length":
        if token == "}":
            return frame.filled > 0
        return frame.filled < LONGEST_LENGTH and (token.isalnum() or token in (".", "-"))
    if token in SKIPS or token in INFIX or token in DROPPED_WITH_ARGUMENT:
        return False
    if _opens(token) and len(state.frames) >= _MOST_FRAMES:
        return False
    if frame.needs:
        command, _ = frame.needs[-1]
        if command in ("_", "^") or command in ALWAYS_BRACED or command in ROWS:
            return token == "{"
        return _is_argument(token)
    if token in ("_", "^", "'"):
        return not (frame.sub if token == "_" else frame.sup)
    return _fits(frame, token)


def _is_argument(token: str) -> bool:
    closing = token in ("}", "&", "\\\\", "_", "^", "'", "\\hline") or token in DROPPED
    return not (closing or _is_right(token) or token.startswith("\\end{"))


def _fits(frame: _Frame, token: str) -> bool:
    """Whether a token that closes or parts something may stand in this frame."""
    if token in ("}", "]") and frame.kind == "option":
        return token == "]"
    if token == "}":
        return frame.kind in ("group", "rows")
    if _is_right(token):
        return frame.kind == "fence"
    if token.startswith("\\end{") or token in ("&", "\\hline"):
        return frame.kind == "array" and token in ("&", "\\hline", _ARRAY[1])
    if token.startswith("\\begin{"):
        return token == _ARRAY[0]
    return token != "\\\\" or frame.kind in ("array", "rows", "top")


def _is_right(token: str) -> bool:
    return token.startswith("\\right") and token[6:] in DELIMITERS


def _is_left(token: str) -> bool:
    return token.startswith("\\left") and token[5:] in DELIMITERS


def _opens(token: str) -> bool:
    return token in ("{", "[", _ARRAY[0]) or _is_left(token)


def _after(state: _State, token: str) -> _State:
    frames, frame = state.frames, state.frames[-1]
    if state.last in SIZED:
        return _State(_complete(frames))
    if state.last in LENGTH_ARGUMENT:
        return _State((*frames, _Frame("length")))
    if state.last == _ARRAY[0]:
        return _State((*frames, _Frame("columns")))
    if frame.kind in ("columns", "length") and token != "}":
        return _State((*frames[:-1], replace(frame, filled=frame.filled + 1)))
    if frame.kind == "columns":
        return _State((*frames[:-1], _Frame("array")))
    if token == _CLOSED_BY.get(frame.kind) and not frame.needs:
        return _State(frames[:-1] if frame.kind == "option" else _complete(frames[:-1]))
    if frame.kind == "fence" and _is_right(token):
        return _State(_complete(frames[:-1]))
    return _write(frames, token)


def _write(frames: tuple[_Frame, ...], token: str) -> _State:
    """Take in a token that closes nothing."""
    frame, below = frames[-1], frames[:-1]
    if token == "{":
        is_stack = bool(frame.needs) and frame.needs[-1][0] in ROWS
        return _State((*frames, _Frame("rows" if is_stack else "group")))
    if token == "[" and frame.needs and frame.needs[-1][0] in OPTIONAL_ARGUMENT:
        return _State((*frames, _Frame("option")))
    if _is_left(token):
        return _State((*frames, _Frame("fence")))
    if token in SIZED or token in LENGTH_ARGUMENT or token == _ARRAY[0]:
        return _State(frames, token)
    if token in ("&", "\\\\", "\\hline") and frame.kind in ("array", "rows"):
        return _State((*below, _Frame(frame.kind)))
    if token == "'":
        return _State((*below, replace(frame, sup=True)))
    arity = 1 if token in ("_", "^") or token in TEXT or token in ROWS else ARITY.get(token, 0)
    if arity:
        return _State((*below, replace(frame, needs=(*frame.needs, (token, arity)))))
    return _State(frames) if token in DROPPED else _State(_complete(frames))


def _complete(frames: tuple[_Frame, ...]) -> tuple[_Frame, ...]:
    """A node is complete: it is the argument of what waits for one, or stands by itself."""
    frame, below = frames[-1], frames[:-1]
    needs = frame.needs
    while needs:
        command, count = needs[-1]
        needs = needs[:-1]
        if count > 1:
            return (*below, replace(frame, needs=(*needs, (command, count - 1))))
        if command in ("_", "^"):
            return (
                *below,
                replace(frame, needs=needs, sub=frame.sub or command == "_", sup=frame.sup or command == "^"),
            )
    return (*below, _Frame(frame.kind))
