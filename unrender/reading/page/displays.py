"""Displayed formulas as LaTeX: rows one below the other, and the numbers beside them as tags."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from unrender.formats.marked import DISPLAY, MARKERS, MATH, character_of, write_formula

_RELATIONS = frozenset(
    "= < > \\le \\leq \\ge \\geq \\approx \\equiv \\sim \\to \\in \\ll \\gg \\propto \\simeq".split()
)
_STOPS = (".", ",", ";", ":")
_TAG = re.compile(r"[(\[]([A-Za-z]?[.\d]{1,7}[a-z\u2019]?)[)\]]$|^([.\d]{1,6})$")
_NUMBER_INSIDE = re.compile(r"[,.;] \( (?:[\d.a-z] ){1,6}\)$")
_OPENING, _CLOSING = frozenset(["{", "\\{", "(", "["]), frozenset(["}", "\\}", ")", "]"])


def write_display(rows: Sequence[Sequence[str]]) -> str:
    """Write the rows of a display, each the tokens of its line."""
    parts = [_parts(row) for row in rows]
    parts = [(formula, tag) for formula, tag in parts if formula or tag]
    if not parts:
        return ""
    if len(parts) == 1:
        return _row(*parts[0])
    name = "align" if any(tag for _, tag in parts) else "aligned"
    written = " \\\\\n".join(_row(_aligned(formula), tag) for formula, tag in parts)
    return f"\\begin{{{name}}}\n{written}\n\\end{{{name}}}"


def _parts(row: Sequence[str]) -> tuple[list[str], str]:
    """Part a row into the tokens of the formula and the number behind it."""
    formula: list[str] = []
    outside: list[str] = []
    inside = False
    for token in row:
        if token in (DISPLAY[0], MATH[0]):
            inside = True
        elif token in (DISPLAY[1], MATH[1]):
            inside = False
        elif token not in MARKERS:
            (formula if inside else outside).append(token)
    words = "".join(character_of(token) for token in outside).strip()
    numbered = _TAG.search(words)
    if numbered is None and not words and _ends_with_number(formula):
        start = len(formula) - 1 - formula[::-1].index("(")
        return formula[:start], "".join(formula[start + 1 : -1])
    rest = words[: numbered.start()].strip() if numbered else words
    if rest:
        formula += [rest] if rest in _STOPS else ["\\text{", rest, "}"] if formula else outside
    return formula, (numbered[1] or numbered[2]) if numbered else ""


def _ends_with_number(formula: Sequence[str]) -> bool:
    """Say whether a formula's number was read as a part of it: digits in brackets behind a comma or full stop."""
    text = " ".join(formula)
    return _NUMBER_INSIDE.search(text) is not None


def _aligned(tokens: Sequence[str]) -> list[str]:
    """Put the sign of alignment before the first relation that stands in no bracket."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token in _OPENING) - (token in _CLOSING)
        if depth == 0 and token in _RELATIONS:
            return [*tokens[:index], "&", *tokens[index:]]
    return list(tokens)


def _row(tokens: Sequence[str], tag: str) -> str:
    sides = "".join(f" {token} " if token == "&" else token for token in _sides(tokens)).strip()
    return sides + (rf" \tag{{{tag}}}" if tag else "")


def _sides(tokens: Sequence[str]) -> Iterator[str]:
    """Write what stands on either side of the sign of alignment, and the sign."""
    for is_sign, part in groupby(tokens, key=lambda token: token == "&"):
        yield "&" if is_sign else write_formula(list(part))
