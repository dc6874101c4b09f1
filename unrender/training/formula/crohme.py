"""Formulas of real pens: CROHME's training strokes as pictures, with the places of their tokens.

A file names the symbol that each group of strokes is and, in its MathML, the order in which symbols are read. That
order is the label's, so each token finds its strokes.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unrender.images.pen_strokes import PEN, InkFile, InkSymbol, Points, vary
from unrender.latex.canonical import bare
from unrender.latex.commands import SILENT
from unrender.models.config import ImagePrep
from unrender.training.data import Gray
from unrender.training.formula.glyphs import ROOT, Piece
from unrender.training.formula.pens import Manner, bounds, place, put, take_manner, wobble
from unrender.training.formula.pointing import Boxes
from unrender.training.formula.texts import unify
from unrender.training.formula.writers import SPELLING, Hand, Writers

DRAWINGS = 3  # of one file: as it is, then slanted, turned, stretched and bent
LENT_DRAWINGS = 3  # and in which half of the symbols are other people's
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
) -> Iterator[tuple[Gray, Boxes]]:
    """Draw a formula in several ways, as large as the reader sees it; say where tokens stand."""
    matched = match(tokens, ink.symbols)
    for number in range(DRAWINGS + (LENT_DRAWINGS if writers else 0)):
        write = _as_it_is if number == 0 else partial(_otherwise, _way(rng), int(rng.integers(1 << 32)))
        drawn = lend(ink, writers.hand(rng), rng) if writers and number >= DRAWINGS else ink
        boxes = np.full((len(tokens), 4), math.nan)
        for token, (symbol, start, end) in matched.items():
            left, top, right, bottom = bounds(tuple(map(write, drawn.symbols[symbol].strokes)))
            boxes[token] = left + start * (right - left), top, left + end * (right - left), bottom
        if found := place(tuple(map(write, drawn.strokes)), boxes, vary(PEN, rng), prep):
            yield found


def lend(ink: InkFile, hand: Hand, rng: np.random.Generator) -> InkFile:
    """Write about half of the symbols as somebody else does, where they stand and as large as they are."""
    sizes = [max(right - left, bottom - top) for left, top, right, bottom in map(_box, ink.symbols)]
    typical = float(np.median(sizes)) if sizes else 0.0
    manner = replace(take_manner(rng), slant=0.0, unrest=0.02)
    symbols = [_lent(symbol, hand, manner, typical, rng) for symbol in ink.symbols]
    grouped = {id(points) for symbol in ink.symbols for points in symbol.strokes}
    alone = (points for points in ink.strokes if id(points) not in grouped)
    strokes = (*(points for symbol in symbols for points in symbol.strokes), *alone)
    return replace(ink, strokes=strokes, symbols=tuple(symbols))


def _lent(symbol: InkSymbol, hand: Hand, manner: Manner, typical: float, rng: np.random.Generator) -> InkSymbol:
    """Take a symbol from another hand, or leave it as it is; roots, bars, and what nobody else has written, stay."""
    name = SPELLING.get(symbol.label, symbol.label)
    own = hand.take(name) if typical and name not in _STAYING and rng.random() < _LENT else None
    if own is None:
        return symbol
    left, top, right, bottom = _box(symbol)
    tall = name in _STRETCHED and bottom - top > _TALL * typical
    piece = Piece(name, (left, top, right, bottom), typical, stretched=tall)
    return replace(symbol, strokes=put(piece, own, manner, rng))


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
