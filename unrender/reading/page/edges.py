"""Where a formula in a line begins and ends: what is the text's and what is the formula's, next to its markers."""

import re
from collections.abc import Sequence

from unrender.formats.marked import MARKERS, MATH, SPACE, STYLES

_SCRIPTS = frozenset("^_")
# A formula does not begin with one of these: a number or a letter before it belongs to it.
_TIES = frozenset(
    "= < > \\le \\leq \\ge \\geq \\ne \\neq \\in \\notin \\to \\times \\cdot \\approx \\equiv \\sim \\simeq \\ll \\gg "
    "\\propto \\subset \\subseteq \\rightarrow".split()
)
_ITALIC = STYLES["italic"]
_BEFORE, _BEHIND = frozenset(["", SPACE, "(", "["]), frozenset(["", SPACE, ",", ";", ":", ")", "]", "-", "--"])
_WORDS = frozenset("aAIOyeo")  # words of one letter in some language
_ABBREVIATION, _ITALIC_WORD = re.compile(r"[a-z](?:\.[a-z])+"), re.compile(r"[A-Z]?[a-z]{4,}")
_WORD, _SUFFIX = 5, 3  # letters in a row that are a word, and behind a hyphen


def settle_edges(tokens: Sequence[str]) -> list[str]:
    """Move the edges of formulas: brackets and words of the text out, what a sign or script stands at in."""
    kept: list[str] = []
    index = 0
    while index < len(tokens):
        if tokens[index] != MATH[0] or MATH[1] not in tokens[index:]:
            kept.append(tokens[index])
            index += 1
            continue
        end = tokens.index(MATH[1], index)
        base = _base(kept, tokens[index + 1 : end])
        before, formula, behind = _parted([*base, *tokens[index + 1 : end]])
        kept += [*before, *([MATH[0], *formula, MATH[1]] if formula else []), *behind]
        index = end + 1
    return kept


def with_lone_letters(tokens: Sequence[str]) -> list[str]:
    """Make formulas of letters that stand alone in italics: it is how a formula of one letter is set."""
    opening, closing = STYLES["italic"]
    kept: list[str] = []
    italic = inside = False
    for index, token in enumerate(tokens):
        italic = (italic or token == opening) and token != closing
        inside = (inside or token == MATH[0]) and token != MATH[1]
        before, behind = _neighbours(tokens, index)
        alone = before in _BEFORE and behind in _BEHIND and not (before == "(" and behind == ")")
        if italic and not inside and alone and len(token) == 1 and token.isalpha() and token not in _WORDS:
            kept += [MATH[0], token, MATH[1]]
        else:
            kept.append(token)
    return _without_empty(kept)


def _neighbours(tokens: Sequence[str], index: int) -> tuple[str, str]:
    """Return what stands before and behind a token, whatever its style; nothing at the ends."""
    before = [token for token in tokens[max(0, index - 2) : index] if token not in _ITALIC]
    behind = [token for token in tokens[index + 1 : index + 3] if token not in _ITALIC]
    return before[-1] if before else "", behind[0] if behind else ""


def _without_empty(tokens: Sequence[str]) -> list[str]:
    """Leave out italics around a formula alone, or around nothing."""
    kept: list[str] = []
    for token in tokens:
        kept.append(token)
        if token == _ITALIC[1]:
            start = len(kept) - 1 - kept[::-1].index(_ITALIC[0]) if _ITALIC[0] in kept else 0
            inner = kept[start + 1 : -1]
            if inner[:1] == [MATH[0]] and inner.count(MATH[0]) == 1 and inner[-1] == MATH[1]:
                kept[start:] = inner
    return kept


def _base(kept: list[str], formula: Sequence[str]) -> list[str]:
    """Take off the end of the text what a formula's first sign or script stands at."""
    first = formula[0] if formula else ""
    if not (first in _TIES or first in _SCRIPTS) or (first in _SCRIPTS and kept[-1:] == [SPACE]):
        return []
    end = len(kept) - (kept[-1:] == [SPACE])
    start = end
    while start and kept[start - 1].isdigit():
        start -= 1
    if start == end:
        while start and len(kept[start - 1]) == 1 and kept[start - 1].isalpha():
            start -= 1
    word = kept[start:end]
    if not word or (start and kept[start - 1] not in (SPACE, "(", *MARKERS)):
        return []
    if word[0].isalpha() and len(word) > 1:
        if first not in _SCRIPTS:
            return []  # a word beside a relation is a word
        word = ["\\operatorname", "{", *word, "}"]
    del kept[start:]
    return word


def _parted(formula: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Part what stands between two markers into the text before, the formula, and the text behind."""
    whole = "".join(formula)
    if _ABBREVIATION.fullmatch(whole) or _ITALIC_WORD.fullmatch(whole):
        return [_ITALIC[0], *formula, _ITALIC[1]], [], []
    words = _words_at_end(formula)
    formula, behind = formula[: len(formula) - words], formula[len(formula) - words :]
    before: list[str] = []
    while formula and formula[-1] == ")" and formula.count(")") > formula.count("("):
        behind.insert(0, formula.pop())
    while formula and formula[0] == "(" and formula.count("(") > formula.count(")"):
        before.append(formula.pop(0))
    if formula[:1] == ["("] and formula[-1:] == [")"] and _is_one_symbol(formula[1:-1]):
        return [*before, "("], formula[1:-1], [")", *behind]
    return before, formula, behind


def _words_at_end(formula: Sequence[str]) -> int:
    """Count the tokens of a word that a formula ran into, the hyphen before it included."""
    letters = 0
    while letters < len(formula) and len(formula[-1 - letters]) == 1 and formula[-1 - letters].isalpha():
        letters += 1
    hyphen = letters < len(formula) - 1 and formula[-1 - letters] == "-"
    is_word = letters < len(formula) and letters >= (_SUFFIX if hyphen else _WORD)
    return letters + hyphen if is_word else 0


def _is_one_symbol(formula: Sequence[str]) -> bool:
    """Say whether there is one symbol, with or without scripts."""
    depth, symbols, script = 0, 0, False
    for token in formula:
        depth -= token == "}"
        if depth == 0 and token not in _SCRIPTS and token not in "{}'":
            symbols += not script
            script = False
        script = token in _SCRIPTS or (script and token == "{" and depth == 0)
        depth += token == "{"
        if token == "{" and depth == 1:
            script = False
    return symbols == 1
