"""What may follow in Donut's tags (seed 000): they always balance, and a date or an amount is written as one.

`<s_key>` opens, `</s_key>` closes, `<sep/>` parts the items of a list. A constraint of the search: NumPy only.
"""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_SEPARATOR = "<sep/>"
_TAG = re.compile(r"<(/?)s_([^<>]+)>")
_LONGEST = {"date": 20, "amount": 16}  # characters
_DATE_CHARACTERS = frozenset("0123456789/-.,' ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_DATE = re.compile(r"(?=(?:.*\d){3}).*[\dA-Za-z]")  # a day and a year at least, and nothing that waits for more
_AMOUNT = re.compile(r"(?:[A-Z$€£]{1,3} ?)?-?\d[\d,]*(?:\.\d{1,3})?")  # noqa: RUF100
_AMOUNT_BEGUN = re.compile(r"(?:[A-Z$€£]{1,3} ?)?(?:-?(?:\d[\d,]*(?:\.\d{0,3})?)?)?")


class Rule(Protocol):
    """What the tags of one name may hold, as a model's config says it."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def single(self) -> bool: ...


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
        for place, token in enumerate(tokens):
            tag = _TAG.fullmatch(token)
            if tag:
                (self._closing if tag[1] else self._opening)[tag[2]] = place
        self._opening = {name: place for name, place in self._opening.items() if name in self._closing}
        self._characters = np.array([len(token) == 1 for token in tokens], dtype=bool)
        self._places = {token: place for place, token in enumerate(tokens) if len(token) == 1}
        self._separator = tokens.index(_SEPARATOR) if _SEPARATOR in tokens else None

    def within(self, most: int) -> "TagGrammar":
        """Return the same grammar for texts of at most so many tokens."""
        other = copy(self)
        other._most = most
        return other

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
            for name, place in self._opening.items() if inside else ():
                other = self._rules.get(name)
                allowed[place] = not (other is not None and other.single and name in here.names)
        if len(stack) == 1:
            allowed[self._end] = bool(here.names)
            return allowed
        if not here.names:
            self._allow_text(allowed, here.text, rule)
        if rule is None or rule.kind == "text" or not here.text or _is_whole(rule.kind, here.text):
            allowed[self._closing[here.name]] = True
        if self._separator is not None and (here.text or here.names) and not (rule is not None and rule.single):
            allowed[self._separator] = True
        if not allowed.any():  # a date that has become too long
            allowed[self._closing[here.name]] = True
        return allowed

    def _allow_text(self, allowed: NDArray[np.bool_], text: str, rule: Rule | None) -> None:
        if rule is None or rule.kind == "text":
            allowed |= self._characters
            return
        for character, place in self._places.items():
            allowed[place] = _may_go_on(rule.kind, text + character)

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
    begun = all(_may_go_on(kind, text[: place + 1]) for place in range(len(text)))
    return begun and _is_whole(kind, text) and (kind == "date" or "." in text)


def _is_whole(kind: str, text: str) -> bool:
    return bool((_DATE if kind == "date" else _AMOUNT).fullmatch(text))


def _may_go_on(kind: str, text: str) -> bool:
    """Say whether a date or an amount can begin like this."""
    if len(text) > _LONGEST[kind] or text.startswith(" "):
        return False
    return _DATE_CHARACTERS.issuperset(text) if kind == "date" else bool(_AMOUNT_BEGUN.fullmatch(text))
