"""The rows of a receipt as a person sees them: what stands at one height, with its amounts and what it speaks of.

Amounts of money and days are read as they are printed in seven countries, with the months of six languages.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from unrender.reading.receipt import keywords
from unrender.reading.receipt.keywords import fold
from unrender.words import Word, group_rows

CURRENCIES = {
    "EUR": ("EUR", "EURO", "EUROS", "€"),
    "GBP": ("GBP", "£"),
    "USD": ("USD", "US$"),
    "MYR": ("RM", "MYR"),
    "SGD": ("SGD", "S$"),
    "CHF": ("CHF", "SFR"),
    "AUD": ("AUD", "A$"),
    "CAD": ("CAD", "C$"),
    "PLN": ("PLN", "ZŁ"),
    "SEK": ("SEK",),
    "DKK": ("DKK",),
    "INR": ("INR", "₹"),
    "JPY": ("JPY", "¥"),
}
_SIGNS = {sign: code for code, signs in CURRENCIES.items() for sign in signs} | {"$": "USD"}
_SIGN = "|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True))
_PRINTED = re.compile(rf"(?<![A-Z])({_SIGN})(?![A-Z])", re.IGNORECASE)
AMOUNT = re.compile(
    rf"(?<![\d.,])(?:-(?={_SIGN}))?(?:(?:{_SIGN})\s?)?-?\d{{1,3}}(?:[.,']?\d{{3}})*[.,]\d\d(?![\d%])(?:\s?(?:{_SIGN})(?![A-Z]))?(?![.,/:-]\d)",
    re.IGNORECASE,
)
_MINUS = re.compile(rf"-(?:{_SIGN})\s?$", re.IGNORECASE)  # before the currency
_BARE = re.compile(r"-?\d[\d.,']*[.,]\d\d(?!\d)")
_NAMES = (  # English, German, French, Spanish, Italian and Dutch, folded; any beginning of three letters or more
    "JANUARY JANUAR JANVIER ENERO GENNAIO JANUARI",
    "FEBRUARY FEBRUAR FEVRIER FEBRERO FEBBRAIO FEBRUARI",
    "MARCH MARZ MAERZ MARS MARZO MAART MRT",
    "APRIL AVRIL ABRIL APRILE",
    "MAY MAI MAYO MAGGIO MEI",
    "JUNE JUNI JUIN JUNIO GIUGNO",
    "JULY JULI JUILLET JULIO LUGLIO",
    "AUGUST AOUT AGOSTO AUGUSTUS",
    "SEPTEMBER SEPTEMBRE SEPTIEMBRE SETTEMBRE SEPT",
    "OCTOBER OKTOBER OCTOBRE OCTUBRE OTTOBRE",
    "NOVEMBER NOVEMBRE NOVIEMBRE",
    "DECEMBER DEZEMBER DECEMBRE DICIEMBRE DICEMBRE",
)
_MONTHS = {
    name[:length]: number
    for number, names in enumerate(_NAMES, start=1)
    for name in names.split()
    for length in range(3, len(name) + 1)
} | {"JUI": 6, "MAR": 3}
_ANY_MONTH = f"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})"
_MONTH = rf"{_ANY_MONTH}(?![A-Z])"
DATE = re.compile(
    rf"""(?<![\d])(?:
      (?P<y1>(?:19|20)\d\d)(?P<s1>[-/.])(?P<m1>\d{{1,2}})(?P=s1)(?P<d1>\d{{1,2}})
    | (?P<d2>\d{{1,2}})\s?(?P<s2>[-/.])\s?(?P<m2>\d{{1,2}})\s?[-/.]\s?(?P<y2>(?:19|20)\d\d|\d\d(?!,\d))
    | (?P<d3>\d{{1,2}})(?:ST|ND|RD|TH|ER)?[-/.,\s]*(?:DE\s+)?
      (?P<m3>{_ANY_MONTH})[-/.,'\s]*(?:DE\s+)?(?P<y3>(?:19|20)\d\d|\d\d)
    | (?P<m4>{_MONTH})[-/.,\s]*(?P<d4>\d{{1,2}})(?:ST|ND|RD|TH|ER)?[-/.,'\s]+(?P<y4>(?:19|20)\d\d)
    | (?P<y5>20\d\d)(?P<m5>[01]\d)(?P<d5>[0-3]\d)
    )(?!\d(?!\d?:\d\d))""",
    re.VERBOSE,
)
_TIME = re.compile(
    r"(?<![\d:.,])([01]?\d|2[0-3])\s?[:h]\s?([0-5]\d)(?:\s?[:m]\s?([0-5]\d))?(?![\d])\s?([AP]\.?M)?", re.IGNORECASE
)
_NOON = 12
_CENTURY = 2000


@dataclass(frozen=True)
class Money:
    """An amount on the page: its words, its value, and where in the row's text it begins."""

    words: tuple[int, ...]  # indices in the list of words
    value: float
    text: str
    start: int


@dataclass(frozen=True)
class Row:
    """Words side by side; `indices` are theirs in the list of words."""

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


def parse_amount(text: str) -> float | None:
    """Read an amount of money with two decimals; None if there is none."""
    match = _BARE.search(text)
    if match is None:
        return None
    digits = match[0].replace(",", ".").replace("'", "")
    whole, _, cents = digits.rpartition(".")
    minus = "-" if _MINUS.search(text[: match.start()]) else ""
    return float(f"{minus}{whole.replace('.', '')}.{cents}")


def is_currency_word(text: str) -> bool:
    """Say whether a word is nothing but a currency."""
    return text.upper().strip(":.") in _SIGNS


def find_currency(texts: Iterable[str]) -> str | None:
    """Return the ISO code of the currency that stands in the first text that has one."""
    for text in texts:
        found = _PRINTED.search(text)
        if found is not None:
            return _SIGNS[found[1].upper()]
    return None


def parse_date(text: str, *, month_first: bool = False) -> date | None:
    """Read a date, the day before the month where both are numbers unless told otherwise; None for no such day."""
    match = DATE.search(fold(text))
    if match is None:
        return None
    parts = {name[0]: value for name, value in match.groupdict().items() if value}
    named = not parts["m"].isdigit()
    month = _MONTHS[parts["m"]] if named else int(parts["m"])
    day, year = int(parts["d"]), int(parts["y"])
    year += _CENTURY if year < 100 else 0
    american = month_first and not named and match["y1"] is None and match["y5"] is None
    for m, d in ((day, month), (month, day)) if american else ((month, day), (day, month)):
        try:
            return date(year, m, d)
        except ValueError:
            continue
    return None


def parse_time(text: str) -> str | None:
    """Read a time of day as HH:MM; None if there is none."""
    found = _TIME.search(text)
    if found is None:
        return None
    hour = int(found[1])
    if found[4] and hour <= _NOON:
        hour = hour % _NOON + (_NOON if found[4][0] in "Pp" else 0)
    return f"{hour:02d}:{found[2]}"
