"""The rows of a receipt as a person sees them: what stands at one height, with its amounts and what it speaks of."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from unrender.reading.receipt import keywords
from unrender.reading.receipt.values import AMOUNT, is_currency_word, parse_amount
from unrender.words import Word, group_rows


@dataclass(frozen=True)
class Money:
    """An amount on the page: its words, its value, and where in the row's text it begins."""

    words: tuple[int, ...]  # indices in the list of words
    value: float
    text: str
    start: int


@dataclass(frozen=True)
class Row:
    """Words side by side; `indices` are their places in the list of words."""

    indices: tuple[int, ...]
    words: tuple[Word, ...]

    @cached_property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @cached_property
    def folded(self) -> str:
        return keywords.fold(self.text)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each word begins in the text."""
        starts, at = [], 0
        for word in self.words:
            starts.append(at)
            at += len(word.text) + 1
        return tuple(starts)

    @cached_property
    def amounts(self) -> tuple[Money, ...]:
        found = []
        for match in AMOUNT.finditer(self.text):
            value = parse_amount(match[0])
            if value is not None:
                found.append(Money(self.inside(match.start(), match.end()), value, match[0].strip(), match.start()))
        return tuple(found)

    @property
    def label(self) -> str:
        """What stands before the last amount, folded."""
        return self.folded[: self.amounts[-1].start] if self.amounts else self.folded

    def inside(self, start: int, end: int) -> tuple[int, ...]:
        """Return the indices of the words that a stretch of the text touches."""
        touched = []
        for index, word, at in zip(self.indices, self.words, self.starts, strict=True):
            if at < end and at + len(word.text) > start:
                touched.append(index)
        return tuple(touched)

    def without_amounts(self) -> str:
        """Return the text before the first amount, without a currency at its end."""
        text = self.text[: self.amounts[0].start] if self.amounts else self.text
        parts = text.split()
        while parts and is_currency_word(parts[-1]):
            parts.pop()
        return " ".join(parts)


def find_rows(words: Sequence[Word]) -> list[Row]:
    """Group words into rows, from top to bottom."""
    groups = group_rows([word.box for word in words], range(len(words)))
    return [Row(tuple(group), tuple(words[index] for index in group)) for group in groups]
