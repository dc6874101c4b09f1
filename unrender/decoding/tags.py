"""What may follow in Donut's tags (seed 000): they always balance, and a date or an amount is written as one.

`<s_key>` opens, `</s_key>` closes, `<sep/>` parts the items of a list. A constraint of the search: NumPy only.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_SEPARATOR = "<sep/>"
_TAG = re.compile(r"<(/?)s_([^<>]+)>")
_AMOUNT = re.compile(r"(?:[A-Z$€£]{1,3} ?)?-?\d[\d,]{0,10}\.\d\d")
_AMOUNT_BEGUN = re.compile(r"(?:[A-Z$€£]{1,3} ?)?(?:-?(?:\d[\d,]{0,10}(?:\.\d{0,2})?)?)?")
_TWO = tuple(f"{number:02}" for number in range(100))
_DAY, _MONTH = (*_TWO[1:32], *map(str, range(1, 10))), (*_TWO[1:13], *map(str, range(1, 10)))
_YEAR = tuple(str(year) for year in range(1950, 2100))
_NAMES = (
    "JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER "
    "JAN FEB MAR APR JUN JUL AUG SEP SEPT OCT NOV DEC"
).split()
_DATES: tuple[tuple[Sequence[str], ...], ...] = (
    *(
        form
        for part in ("/", "-", ".", " ")
        for form in (
            (_DAY, (part,), _MONTH, (part,), (*_YEAR, *_TWO)),
            (_MONTH, (part,), _DAY, (part,), (*_YEAR, *_TWO)),
            (_DAY, (part,), _NAMES, (part,), (*_YEAR, *_TWO)),
            (_YEAR, (part,), _MONTH, (part,), _DAY),
        )
    ),
    (_NAMES, (" ",), _DAY, (", ", " "), _YEAR),
    (_YEAR, _TWO[1:13], _TWO[1:32]),
)


class Rule(Protocol):
    """What the tags of one name may hold, as a model's config says it."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def single(self) -> bool: ...
    @property
    def longest(self) -> int: ...


@dataclass
class _Open:
    """A tag that is open: what its present item holds so far."""

    name: str
    text: str = ""
    names: set[str] = field(default_factory=set)  # of the tags closed in the present item


class TagGrammar:
    """Says which tokens may follow; at the top level there are only tags, and `end` once one of them is closed."""

    def __init__(self, tokens: Sequence[str], end: int, most: int, rules: Sequence[Rule] = ()) -> None:
        """Keep to `most` tokens, the end token included: all tags are closed before them."""
        self._tokens, self._end, self._most = tokens, end, most
        self._rules: Mapping[str, Rule] = {rule.name: rule for rule in rules}
        self._opening: dict[str, int] = {}
        self._closing: dict[str, int] = {}
        for index, token in enumerate(tokens):
            tag = _TAG.fullmatch(token)
            if tag:
                (self._closing if tag[1] else self._opening)[tag[2]] = index
        self._opening = {name: index for name, index in self._opening.items() if name in self._closing}
        self._characters = np.array([len(token) == 1 for token in tokens], dtype=bool)
        self._indices = {token: index for index, token in enumerate(tokens) if len(token) == 1}
        self._separator = tokens.index(_SEPARATOR) if _SEPARATOR in tokens else None

    def within(self, most: int) -> "TagGrammar":
        """Return the same grammar for texts of at most so many tokens."""
        return TagGrammar(self._tokens, self._end, most, tuple(self._rules.values()))

    def __call__(self, written: Sequence[int]) -> NDArray[np.bool_]:
        """Return (V,): what may follow these tokens."""
        stack = self._read(written)
        allowed = np.zeros(len(self._tokens), dtype=bool)
        here = stack[-1]
        left = self._most - len(written)
        if left <= len(stack):  # just enough to close what is open, and to end
            allowed[self._closing[here.name] if len(stack) > 1 else self._end] = True
            return allowed
        rule = self._rules.get(here.name)
        if not here.text:  # no tag belongs in a text
            inside = left > len(stack) + 1 and (rule is None or rule.kind == "text")
            for name, index in self._opening.items() if inside else ():
                other = self._rules.get(name)
                allowed[index] = not (other is not None and other.single and name in here.names)
        if len(stack) == 1:
            allowed[self._end] = bool(here.names)
            return allowed
        if not here.names:
            self._allow_text(allowed, here.text, rule)
        if rule is None or rule.kind == "text" or not here.text or fits(rule.kind, here.text):
            allowed[self._closing[here.name]] = True
        if self._separator is not None and (here.text or here.names) and not (rule is not None and rule.single):
            allowed[self._separator] = True
        if not allowed.any():  # a date that has become too long
            allowed[self._closing[here.name]] = True
        return allowed

    def _allow_text(self, allowed: NDArray[np.bool_], text: str, rule: Rule | None) -> None:
        if rule is None or rule.kind == "text":
            if rule is None or not rule.longest or len(text) < rule.longest:
                allowed |= self._characters
            return
        if rule.kind == "date":
            allowed[[self._indices[letter] for letter in _next_of_date(text) if letter in self._indices]] = True
            return
        for character, index in self._indices.items():
            allowed[index] = bool(_AMOUNT_BEGUN.fullmatch(text + character))

    def _read(self, written: Sequence[int]) -> list[_Open]:
        """Return the tags that are open, the innermost last; what does not belong is passed over."""
        stack = [_Open("")]
        for token in written:
            piece = self._tokens[token]
            tag = _TAG.fullmatch(piece)
            if piece == _SEPARATOR:
                stack[-1] = _Open(stack[-1].name)
            elif tag is None:
                stack[-1].text += piece if len(piece) == 1 else ""
            elif not tag[1]:
                stack.append(_Open(tag[2]))
            elif len(stack) > 1 and stack[-1].name == tag[2]:
                stack.pop()
                stack[-1].names.add(tag[2])
        return stack


def fits(kind: str, text: str) -> bool:
    """Say whether a text is a date, or an amount of money with cents."""
    if kind == "date":
        return any(_spell(text.upper(), form)[1] for form in _DATES)
    return bool(_AMOUNT.fullmatch(text))


def _next_of_date(text: str) -> frozenset[str]:
    """Return the characters that a date may go on with."""
    found = frozenset[str]().union(*(_spell(text.upper(), form)[0] for form in _DATES))
    return found | frozenset(letter.lower() for letter in found)


def _spell(text: str, parts: Sequence[Sequence[str]]) -> tuple[frozenset[str], bool]:
    """Follow a text through one of each of the parts in turn; return what may follow, and whether it is the whole."""
    if not parts:
        return frozenset(), not text
    following, whole = set[str](), False
    for option in parts[0]:
        if text.startswith(option):
            inner = _spell(text[len(option) :], parts[1:])
            following |= inner[0]
            whole = whole or inner[1]
        elif option.startswith(text):
            following.add(option[len(text)])
    return frozenset(following), whole
