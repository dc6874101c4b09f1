"""Formulas out of formulas that somebody wrote."""

import numpy as np
import pytest

from unrender.images.pen_strokes import InkFile, InkSymbol
from unrender.latex.commands import SILENT
from unrender.training.formula.crohme import match
from unrender.training.formula.excerpts import Matched, exchange, take_part


def written(text: str) -> Matched:
    """Return a formula whose symbols stand in a row, each one stroke."""
    tokens = tuple(text.split())
    seen = ["-" if token == "\\frac" else token for token in tokens if token not in SILENT]
    symbols = tuple(InkSymbol(name, (np.array([[9.0 * n, 0.0], [9.0 * n + 5, 5.0]]),)) for n, name in enumerate(seen))
    ink = InkFile(text, tuple(symbol.strokes[0] for symbol in symbols), symbols)
    return Matched(tokens, ink, match(tokens, symbols))


def parts(text: str) -> set[str]:
    rng, whole = np.random.default_rng(0), written(text)
    found = [take_part(whole, rng) for _ in range(300)]
    for part in found:
        if part is not None:
            assert len(part.ink.strokes) == len(part.symbols)
            for index, (symbol, _, _) in part.symbols.items():
                assert part.ink.symbols[symbol].label in (part.tokens[index], "-")
    return {" ".join(part.tokens) for part in found if part is not None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b", {"a +", "+ b"}),
        ("x ^ { 2 } = y", {"x ^ { 2 }", "x ^ { 2 } =", "= y"}),
        ("\\frac { a b } { c }", {"a b"}),
        ("\\sqrt { x - 1 }", {"x - 1", "x -", "- 1"}),
        ("a", set()),
        ("\\left( a + b \\right)", set()),
    ],
)
def test_a_part_is_a_formula_by_itself(text, expected):
    assert parts(text) == expected


def test_nothing_is_taken_whose_strokes_are_not_known():
    whole = written("a + b = c d")
    known = {index: place for index, place in whole.symbols.items() if whole.tokens[index] != "="}
    found = [take_part(whole._replace(symbols=known), np.random.default_rng(seed)) for seed in range(60)]
    assert {" ".join(part.tokens) for part in found if part is not None} == {"a +", "a + b", "+ b", "c d"}


def test_symbols_become_others_of_like_shape():
    rng, whole = np.random.default_rng(0), written("a + 7 - X")
    others = [exchange(whole, rng) for _ in range(200)]
    assert set().union(*others) == {0, 2, 4}
    assert all(other[2] in "0123456789" and other[2] != "7" for other in others if 2 in other)
    assert all(not other[0].isdigit() and other[0] != "a" for other in others if 0 in other)
