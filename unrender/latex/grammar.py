"""What may follow a piece of a formula, token by token, so that a decoder writes nothing but well-formed LaTeX.

It is a little stricter than the parser: scripts and accents take braces, columns are l, c, r and |, lengths stand in
braces. States are immutable and remembered by what was written, so a step costs the same however long the formula is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unrender.latex.tables import (
    ALWAYS_BRACED,
    ARITY,
    DELIMITERS,
    DROPPED,
    DROPPED_WITH_ARGUMENT,
    INFIX,
    LENGTH_ARGUMENT,
    OPTIONAL_ARGUMENT,
    SIZED,
    SKIPS,
    TEXT,
)

Mask = NDArray[np.bool_]
Kind = Literal["top", "group", "fence", "option", "array", "columns", "length"]
_ARRAY = "\\begin{array}", "\\end{array}"
_COLUMNS = frozenset("lcr|")
_MOST_FRAMES = 24
_REMEMBERED = 4096
_CLOSED_BY = {"group": "}", "columns": "}", "length": "}", "option": "]", "array": _ARRAY[1]}


@dataclass(frozen=True)
class _Frame:
    """Something open: what has been attached to its last node, and how many arguments its commands still need."""

    kind: Kind
    sub: bool = False
    sup: bool = False
    needs: tuple[tuple[str, int], ...] = ()  # commands, outermost first, with the number of arguments to come
    filled: bool = False  # columns: one at least


@dataclass(frozen=True)
class _State:
    frames: tuple[_Frame, ...] = (_Frame("top"),)
    last: str = ""  # the token before, where it decides alone what may follow


class Grammar:
    """The constraint over one vocabulary; `end` is the id of the token that ends a formula."""

    def __init__(self, vocabulary: Sequence[str], end: int) -> None:
        self._vocabulary = list(vocabulary)
        self._end = end
        self._states: dict[tuple[int, ...], tuple[_State, Mask]] = {}
        self._masks: dict[_State, Mask] = {}

    def __call__(self, tokens: Sequence[int]) -> Mask:
        """Return which tokens (V,) may follow `tokens`."""
        return self._reach(tuple(tokens))[1]

    def _reach(self, tokens: tuple[int, ...]) -> tuple[_State, Mask]:
        known = self._states.get(tokens)
        if known is None:
            state = _after(self._reach(tokens[:-1])[0], self._vocabulary[tokens[-1]]) if tokens else _State()
            known = state, self._mask(state)
            if len(self._states) >= _REMEMBERED:
                self._states.clear()
            self._states[tokens] = known
        return known

    def _mask(self, state: _State) -> Mask:
        mask = self._masks.get(state)
        if mask is None:
            mask = np.array([_allowed(state, token) for token in self._vocabulary])
            mask[self._end] = len(state.frames) == 1 and not state.frames[0].needs and not state.last
            if len(self._masks) >= _REMEMBERED:
                self._masks.clear()
            self._masks[state] = mask
        return mask


def _allowed(state: _State, token: str) -> bool:
    frame = state.frames[-1]
    if token.startswith("<") and len(token) > 1:  # special tokens
        return False
    if state.last in SIZED:
        return token in DELIMITERS
    if state.last in LENGTH_ARGUMENT or state.last == _ARRAY[0]:
        return token == "{"
    if frame.kind == "columns":
        return token in _COLUMNS or (token == "}" and frame.filled)
    if frame.kind == "length":
        return token == "}" if frame.filled and token == "}" else token.isalnum() or token in (".", "-")
    if token in SKIPS or token in INFIX or token in DROPPED_WITH_ARGUMENT:
        return False
    if _opens(token) and len(state.frames) >= _MOST_FRAMES:
        return False
    if frame.needs:
        command, _ = frame.needs[-1]
        if command in ("_", "^") or command in ALWAYS_BRACED:
            return token == "{"
        return _is_argument(token)
    if token in ("_", "^", "'"):
        return not (frame.sub if token == "_" else frame.sup)
    return _fits(frame, token)


def _is_argument(token: str) -> bool:
    closing = token in ("}", "&", "\\\\", "_", "^", "'", "\\hline") or token in DROPPED
    return not (
        closing or (token.startswith(("\\right", "\\end{")) and token not in ("\\rightarrow", "\\rightharpoonup"))
    )


def _fits(frame: _Frame, token: str) -> bool:
    """Whether a token that closes or parts something may stand in this frame."""
    if token in ("}", "]") and frame.kind == "option":
        return token == "]"
    if token == "}":
        return frame.kind == "group"
    if _is_right(token):
        return frame.kind == "fence"
    if token.startswith("\\end{") or token in ("&", "\\hline"):
        return frame.kind == "array" and token in ("&", "\\hline", _ARRAY[1])
    if token.startswith("\\begin{"):
        return token == _ARRAY[0]
    return token != "\\\\" or frame.kind in ("array", "top")


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
        return _State((*frames[:-1], replace(frame, filled=True)))
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
        return _State((*frames, _Frame("group")))
    if token == "[" and frame.needs and frame.needs[-1][0] in OPTIONAL_ARGUMENT:
        return _State((*frames, _Frame("option")))
    if _is_left(token):
        return _State((*frames, _Frame("fence")))
    if token in SIZED or token in LENGTH_ARGUMENT or token == _ARRAY[0]:
        return _State(frames, token)
    if token in ("&", "\\\\", "\\hline") and frame.kind == "array":
        return _State((*below, _Frame("array")))
    if token == "'":
        return _State((*below, replace(frame, sup=True)))
    arity = 1 if token in ("_", "^") or token in TEXT else ARITY.get(token, 0)
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
