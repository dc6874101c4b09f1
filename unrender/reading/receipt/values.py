"""Amounts of money and days as receipts print them: in seven countries, with the months of six languages."""

import re
from collections.abc import Iterable
from datetime import date

from unrender.reading.receipt.keywords import fold

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
    rf"(?<![\d.,])(?:(?:{_SIGN})\s?)?-?\d{{1,3}}(?:[.,']?\d{{3}})*[.,]\d\d(?![\d%])(?:\s?(?:{_SIGN})(?![A-Z]))?(?![.,/:-]\d)",
    re.IGNORECASE,
)
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


def parse_amount(text: str) -> float | None:
    """Read an amount of money with two decimals; None if there is none."""
    match = _BARE.search(text)
    if match is None:
        return None
    digits = match[0].replace(",", ".").replace("'", "")
    whole, _, cents = digits.rpartition(".")
    return float(f"{whole.replace('.', '')}.{cents}")


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
