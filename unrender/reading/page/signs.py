"""Signs of a line in a PDF's text layer, and formulas written from those that are set in fonts of formulas.

Only what is plain is written: letters, signs, and what stands higher or lower behind them in smaller type. Fractions,
roots and accents are for the model to read.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from unrender.formats.marked import MATH
from unrender.latex.characters import LETTERS, SIGNS

_SMALL = 0.85  # of the height of what they stand at: scripts
_UNEVEN = 0.25  # the same: how far the middles of signs of one line differ
_JOINTS = frozenset("()[]=+-/|0123456789. ")  # signs of text fonts that may stand inside a formula
_STOPS = frozenset(".,;:")  # they end a sentence or a part of it, whatever their font
_OPENING, _CLOSING = frozenset("(["), frozenset(")]")
_TOKENS = {
    **{character: token for token, (character, role) in reversed(SIGNS.items()) if role != "large"},
    **{character: f"\\{name}" for name, character in LETTERS.items()},
    "{": "\\{",
    "}": "\\}",
}
_PLAIN = re.compile(r"[A-Za-z0-9=+()\[\]/|,.;:!<>*-]")
_SPELLINGS = {"−": "-", "∗": "*", "′": "'"}


@dataclass(frozen=True)
class Sign:
    """A character of the layer; `formula`: it is set in a font of formulas. `top` and `bottom` are its line's."""

    text: str
    formula: bool = False
    top: float = 0.0
    bottom: float = 0.0

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def token(self) -> str | None:
        """The token that prints this sign in a formula; None where it is not known."""
        plain = unicodedata.normalize("NFKC", self.text)
        plain = _SPELLINGS.get(plain, plain)
        return plain if _PLAIN.fullmatch(plain) else _TOKENS.get(plain)


def split_formulas(signs: Sequence[Sign]) -> Iterator[tuple[list[Sign], bool]]:
    """Part a line into text and formulas; what joins two parts of a formula belongs to it."""
    inside = [sign.formula for sign in signs]
    for start, stop in _gaps(inside):
        between = signs[start:stop]
        if all(sign.text in _JOINTS for sign in between) and any(sign.text != " " for sign in between):
            inside[start:stop] = [True] * (stop - start)
    for index, sign in enumerate(signs[1:], start=1):
        before = signs[index - 1]
        script = sign.text.isalnum() and sign.height < _SMALL * before.height and before.formula
        inside[index] |= inside[index - 1] and (script or _closes(signs, inside, index))
    for index in range(len(signs) - 1, -1, -1):
        last = index + 1 == len(signs) or not inside[index + 1]
        inside[index] &= not (last and signs[index].text in _STOPS)
    for is_formula, run in groupby(zip(signs, inside, strict=True), key=lambda pair: pair[1]):
        yield [sign for sign, _ in run], is_formula


def _gaps(inside: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Give from where to where there is text between two signs of formulas."""
    known = [index for index, one in enumerate(inside) if one]
    for one, other in pairwise(known):
        if other > one + 1:
            yield one + 1, other


def _closes(signs: Sequence[Sign], inside: Sequence[bool], index: int) -> bool:
    """Say whether a bracket closes one that the formula before it opens."""
    if signs[index].text not in _CLOSING:
        return False
    start = index
    while start and inside[start - 1]:
        start -= 1
    texts = [sign.text for sign in signs[start:index]]
    return sum(text in _OPENING for text in texts) > sum(text in _CLOSING for text in texts)


def are_level(signs: Sequence[Sign]) -> bool:
    """Say whether signs of one size stand on one line."""
    tallest = max((sign.height for sign in signs), default=0.0)
    middles = [(sign.top + sign.bottom) / 2 for sign in signs if sign.height >= _SMALL * tallest and sign.text != " "]
    return not middles or max(middles) - min(middles) <= _UNEVEN * tallest


def write_formula_tokens(signs: Sequence[Sign]) -> list[str] | None:
    """Return the tokens of a formula with its markers; None where a sign is unknown or stands as in no plain one."""
    shown = [sign for sign in signs if sign.text.strip()]
    if not are_level(shown):
        return None
    tokens: list[str] = []
    tallest = max((sign.height for sign in shown), default=0.0)
    for small, run in groupby(shown, key=lambda sign: sign.height < _SMALL * tallest):
        members = list(run)
        parts = [members] if not small else list(_scripts(members, shown, tallest))
        if small and not tokens:
            return None
        for number, part in enumerate(parts):
            kept = _spelled(part)
            if kept is None:
                return None
            if not kept:
                continue
            tokens += kept if not small else ["_" if number == 0 else "^", "{", *kept, "}"]
    brackets = sum(token in _OPENING for token in tokens), sum(token in _CLOSING for token in tokens)
    return [MATH[0], *tokens, MATH[1]] if tokens and brackets[0] == brackets[1] else None


def _spelled(signs: Sequence[Sign]) -> list[str] | None:
    """Return the tokens of signs that follow one another; letters of a font of text are upright ones."""
    spelled: list[str] = []
    for upright, run in groupby(signs, key=lambda sign: not sign.formula and sign.text.isalpha()):
        tokens = [sign.token for sign in run]
        known = [token for token in tokens if token]
        if len(known) < len(tokens):
            return None
        spelled += ["\\mathrm", "{", *known, "}"] if upright else known
    return spelled


def _scripts(members: Sequence[Sign], shown: Sequence[Sign], tallest: float) -> Iterator[list[Sign]]:
    """Give what stands lower than the large signs, then what stands higher."""
    large = [sign for sign in shown if sign.height >= _SMALL * tallest]
    middle = sum((sign.top + sign.bottom) / 2 for sign in large) / len(large)
    for lower in (True, False):
        yield [sign for sign in members if ((sign.top + sign.bottom) / 2 > middle) == lower]
