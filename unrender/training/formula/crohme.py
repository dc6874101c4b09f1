"""Formulas of real pens: CROHME's training strokes as pictures, with the places of their tokens.

A file names the symbol that each group of strokes is and, in its MathML, the order in which symbols are read. That
order is the label's, so each token finds its strokes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from unrender.images.pen_strokes import PEN, InkFile, InkSymbol, Points, vary
from unrender.latex.canonical import bare
from unrender.latex.commands import SILENT
from unrender.models.config import ImagePrep
from unrender.training.data import Gray
from unrender.training.formula.excerpts import Matched, exchange, take_part
from unrender.training.formula.glyphs import ROOT, Piece
from unrender.training.formula.pens import Manner, bounds, place, put, take_manner, wobble
from unrender.training.formula.pointing import Boxes
from unrender.training.formula.texts import unify
from unrender.training.formula.writers import SPELLING, Hand, Writers

DRAWINGS = 3  # of one file: as it is, then slanted, turned, stretched and bent
LENT_DRAWINGS = 3  # and in which half of the symbols are other people's
PARTS = 3  # as much of it as is a formula by itself
EXCHANGED_DRAWINGS = 2  # and some symbols are others of like shape
_LENT = 0.5
_STRETCHED = frozenset(r"( ) [ ] | / \{ \} \int \sum \prod".split())  # signs as tall as what they stand at
_TALL = 1.5  # typical symbols
_STAYING = frozenset({ROOT, "-"})
_SLANT, _TURN, _STRETCH = 0.2, 0.07, 0.16
_SPELLED = {"-": (r"\frac", "-"), r"\lt": ("<",), r"\gt": (">",), "COMMA": (",",), r"\ldots": (r"\ldots", r"\dots")}
_WORD = r"\operatorname"
_ENOUGH = 0.8  # of the symbols have to be found in the label, or nothing is claimed


def label(text: str) -> str | None:
    """Return a formula as a hand shows it: truths also have braces, sizes of brackets and fonts that it does not."""
    return unify(bare(text)) if unify(text) else None


def match(tokens: Sequence[str], symbols: Sequence[InkSymbol]) -> dict[int, tuple[int, float, float]]:
    """Say which symbol each visible token is, and from which share of its width to which: words are one symbol."""
    units = _units(tokens)
    names = [_spell(symbol.label) for symbol in symbols]
    blocks = SequenceMatcher(None, [name for name, _ in units], names, autojunk=False).get_matching_blocks()
    pairs = [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]
    if len(pairs) < _ENOUGH * len(symbols):
        return {}
    found = {}
    for unit, symbol in pairs:
        places = units[unit][1]
        for number, token in enumerate(places):
            found[token] = symbol, number / len(places), (number + 1) / len(places)
    return found


def _units(tokens: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Return what one symbol of a file stands for: a visible token, or the letters of a word."""
    units: list[tuple[str, list[int]]] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token == _WORD and "}" in tokens[index:]:
            end = tokens.index("}", index)
            letters = [inner for inner in range(index + 2, end) if tokens[inner] not in SILENT]
            units.append(("\\" + "".join(tokens[letter] for letter in letters), letters))
            index = end
        elif token not in SILENT:
            units.append((_spell(token), [index]))
        index += 1
    return units


def _spell(name: str) -> str:
    """Return the one spelling of what a file and a label call differently."""
    return next((first for first, others in _SPELLED.items() if name in others), name)


def pictures(
    ink: InkFile, tokens: Sequence[str], prep: ImagePrep, rng: np.random.Generator, writers: Writers | None = None
) -> Iterator[tuple[Gray, Boxes, tuple[str, ...]]]:
    """Draw a formula in several ways, as large as the reader sees it, then parts of it; say where tokens stand."""
    whole = Matched(tuple(tokens), ink, match(tokens, ink.symbols))
    for number in range(DRAWINGS):
        yield from _draw(whole, prep, rng, varied=number > 0)
    for _ in range(LENT_DRAWINGS if writers else 0):
        yield from _draw(_lend(whole, writers, rng), prep, rng)
    for number in range(PARTS):
        part = take_part(whole, rng)
        if part is not None:
            yield from _draw(_lend(part, writers, rng) if number % 2 else part, prep, rng)
    for _ in range(EXCHANGED_DRAWINGS if writers and whole.symbols else 0):
        yield from _draw(_lend(whole, writers, rng, exchanged=True), prep, rng)


def _draw(
    matched: Matched, prep: ImagePrep, rng: np.random.Generator, *, varied: bool = True
) -> Iterator[tuple[Gray, Boxes, tuple[str, ...]]]:
    """Draw as it is or in another way; nothing, where that would be blots."""
    write = partial(_otherwise, _way(rng), int(rng.integers(1 << 32))) if varied else _as_it_is
    boxes = np.full((len(matched.tokens), 4), math.nan)
    for token, (symbol, start, end) in matched.symbols.items():
        left, top, right, bottom = bounds(tuple(map(write, matched.ink.symbols[symbol].strokes)))
        boxes[token] = left + start * (right - left), top, left + end * (right - left), bottom
    if found := place(tuple(map(write, matched.ink.strokes)), boxes, vary(PEN, rng), prep):
        yield (*found, matched.tokens)


def _lend(matched: Matched, writers: Writers | None, rng: np.random.Generator, *, exchanged: bool = False) -> Matched:
    """Have about half of the symbols written by somebody else, some of them as others of like shape."""
    if writers is None:
        return matched
    hand, tokens, names = writers.hand(rng), list(matched.tokens), {}
    for index, token in exchange(matched, rng).items() if exchanged else ():
        if hand.take(token) is not None:
            tokens[index] = names[matched.symbols[index][0]] = token
    return matched._replace(tokens=tuple(tokens), ink=lend(matched.ink, hand, rng, names))


def lend(
    ink: InkFile, hand: Hand, rng: np.random.Generator, names: Mapping[int, str] = MappingProxyType({})
) -> InkFile:
    """Write about half of the symbols as somebody else does, where they stand and as large as they are.

    `names` says which symbols become others.
    """
    sizes = [max(right - left, bottom - top) for left, top, right, bottom in map(_box, ink.symbols)]
    typical = float(np.median(sizes)) if sizes else 0.0
    manner = replace(take_manner(rng), slant=0.0, unrest=0.02)
    symbols = [_lent(symbol, names.get(index), hand, manner, typical, rng) for index, symbol in enumerate(ink.symbols)]
    grouped = {id(points) for symbol in ink.symbols for points in symbol.strokes}
    alone = (points for points in ink.strokes if id(points) not in grouped)
    strokes = (*(points for symbol in symbols for points in symbol.strokes), *alone)
    return replace(ink, strokes=strokes, symbols=tuple(symbols))


def _lent(
    symbol: InkSymbol, other: str | None, hand: Hand, manner: Manner, typical: float, rng: np.random.Generator
) -> InkSymbol:
    """Take a symbol from another hand, or leave it as it is; roots, bars, and what nobody else has written, stay."""
    name = other or SPELLING.get(symbol.label, symbol.label)
    lent = other is not None or (name not in _STAYING and rng.random() < _LENT)
    own = hand.take(name) if typical and lent else None
    if own is None:
        return symbol
    left, top, right, bottom = _box(symbol)
    tall = name in _STRETCHED and bottom - top > _TALL * typical
    piece = Piece(name, (left, top, right, bottom), typical, stretched=tall)
    return InkSymbol(name, put(piece, own, manner, rng))


def _box(symbol: InkSymbol) -> tuple[float, float, float, float]:
    return bounds(symbol.strokes)


def _as_it_is(points: Points) -> Points:
    return points


def _otherwise(way: NDArray[np.float64], seed: int, points: Points) -> Points:
    """Write a stroke in another way, always the same one for the same seed."""
    turned = points @ way
    return wobble(turned, float(np.ptp(turned, axis=0).max()), np.random.default_rng(seed))


def _way(rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a matrix that slants, turns and stretches a little."""
    angle = float(rng.uniform(-_TURN, _TURN))
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    slant = np.array([[1.0, 0.0], [float(rng.uniform(-_SLANT, _SLANT)), 1.0]])
    way: NDArray[np.float64] = slant @ turn @ np.diag([math.exp(float(rng.uniform(-_STRETCH, _STRETCH))), 1.0])
    return way
