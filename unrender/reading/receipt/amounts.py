"""Amounts of money: how they are written in seven countries, what they are worth, and in which currency."""

import re
from collections.abc import Iterable

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
