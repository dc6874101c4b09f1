"""Other formulas out of one that somebody wrote: a part of it, or other symbols of like shape in their places."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from unrender.images.pen_strokes import InkFile
from unrender.latex.commands import ARITY, OPTIONAL_ARGUMENT, SILENT
from unrender.training.formula.texts import unify

# Symbols of one row are about as large and stand as high, so one can be written where another was.
_ALIKE = tuple(
    frozenset(row.split())
    for row in (
        "0 1 2 3 4 5 6 7 8 9",
        r"a c e m n o r s u v w x z \alpha \sigma \pi \omega \infty",
        r"b d f h k l t i \beta \theta \lambda \delta",
        r"g j p q y \gamma \mu \phi \rho \eta",
        r"A B C D E F G H I J K L M N O P Q R S T U V W X Y Z \Delta \Gamma \Sigma \Omega",
        r"= \neq \leq \geq < >",
    )
)
_EXCHANGED = 0.35  # chance of a symbol that has others like it
_SCRIPTS = ("_", "^")
_TRIES = 8


class Matched(NamedTuple):
    """A label and a file: which symbol each visible token is, and from which share of its width to which."""

    tokens: tuple[str, ...]
    ink: InkFile
    symbols: Mapping[int, tuple[int, float, float]]


def take_part(whole: Matched, rng: np.random.Generator) -> Matched | None:
    """Take a part of a formula that is a formula by itself, at random; None where there is none."""
    spans = list(_spans(whole.tokens))
    for index in rng.permutation(len(spans))[:_TRIES]:
        start, stop = spans[int(index)]
        text = " ".join(whole.tokens[start:stop])
        if _known(whole, start, stop) and unify(text) == text:
            return _cut(whole, start, stop)
    return None


def exchange(whole: Matched, rng: np.random.Generator) -> dict[int, str]:
    """Say which tokens are to be others of like shape."""
    found = {}
    for index, (_, start, end) in whole.symbols.items():
        token = whole.tokens[index]
        row = next((row for row in _ALIKE if token in row), None)
        if row is not None and (start, end) == (0.0, 1.0) and rng.random() < _EXCHANGED:
            others = sorted(row - {token})
            found[index] = others[int(rng.integers(len(others)))]
    return found


def _spans(tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield what stands between any two places of one level, but for the whole and what is one symbol."""
    if any(token.startswith(("\\begin", "\\left", "\\right")) for token in tokens):
        return
    for start, stop in _levels(tokens, 0, len(tokens)):
        pieces = list(_pieces(tokens, start, stop))
        for first in range(len(pieces)):
            for last in range(first, len(pieces)):
                span = pieces[first][0], pieces[last][1]
                if span != (0, len(tokens)) and span[1] - span[0] > 1:
                    yield span


def _levels(tokens: Sequence[str], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the whole and the insides of all groups that are not words."""
    yield start, stop
    for index in range(start, stop):
        if tokens[index] == "{" and (index == 0 or not tokens[index - 1].startswith("\\operatorname")):
            yield index + 1, _end(tokens, index) - 1


def _pieces(tokens: Sequence[str], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield symbols and commands with all that belongs to them, scripts included."""
    index = start
    while index < stop:
        first = index
        index = _end(tokens, index)
        while index < stop and tokens[index] in _SCRIPTS:
            index = _end(tokens, index + 1)
        yield first, index


def _end(tokens: Sequence[str], index: int) -> int:
    """Return where a symbol, a group or a command with its arguments ends."""
    if index >= len(tokens):
        return index
    token, index = tokens[index], index + 1
    if token == "{":
        depth = 1
        while depth and index < len(tokens):
            depth += (tokens[index] == "{") - (tokens[index] == "}")
            index += 1
        return index
    if token in OPTIONAL_ARGUMENT and index < len(tokens) and tokens[index] == "[":
        index = tokens.index("]", index) + 1 if "]" in tokens[index:] else index
    for _ in range(ARITY.get(token, 0)):
        index = _end(tokens, index)
    return index


def _known(whole: Matched, start: int, stop: int) -> bool:
    """Say whether the strokes of every visible token are known."""
    seen = [index for index in range(start, stop) if whole.tokens[index] not in SILENT]
    return bool(seen) and all(index in whole.symbols for index in seen)


def _cut(whole: Matched, start: int, stop: int) -> Matched:
    inside = {index: place for index, place in whole.symbols.items() if start <= index < stop}
    kept = sorted({symbol for symbol, _, _ in inside.values()})
    ink_symbols = tuple(whole.ink.symbols[symbol] for symbol in kept)
    strokes = tuple(points for symbol in ink_symbols for points in symbol.strokes)
    tokens = whole.tokens[start:stop]
    symbols = {index - start: (kept.index(symbol), left, right) for index, (symbol, left, right) in inside.items()}
    return Matched(tokens, InkFile(" ".join(tokens), strokes, ink_symbols), symbols)
