"""What the words of a receipt say themselves about its total and its date, in seven languages; log-odds.

These are added to the log-odds of the network, which has seen far fewer kinds of receipts than there are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from unrender.reading.receipt import keywords
from unrender.reading.receipt.rows import Money, Row

_STRONG, _NAMED, _NAMED_ABOVE = 3.5, 2.5, 1.5  # it is called the total, with such words or in the row before
_OTHERWISE, _TAX, _CHANGE, _CASH = -3.5, -3.0, -4.0, -2.0  # it is called something else
_UNNAMED = -1.5  # it is called nothing
_ADDS_UP = 1.5  # net and tax make it, or what was given less what was returned
_PAID = 1.0  # the same amount was paid by card
_LARGEST, _LATER, _NOTHING = 1.0, 0.5, -4.0
_TALL, _TALLER = 1.2, 0.7  # printed larger than the rest
_CENT = 0.006
_SEN, _BELOW, _UNROUNDED = 5, 3, -8.0  # Malaysia rounds to five sen: what is not, and ends the paper, comes before that
_STATES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
    "RI SC SD TN TX UT VT VA WA WV WI WY DC"
)
_STATE = re.compile(
    rf"(?:,|\b)\s?(?:{_STATES.replace(' ', '|')})[\s,.]+\d{{5}}(?:-\d{{4}})?(?!\d)|\bUSD\b|\bSALES TAX\b", re.IGNORECASE
)
_ELSEWHERE = re.compile(r"\bRM\s?\d|SDN|€|£|\bEUR\b|\bGST\b|\bVAT\b")
_DATE_NAMED, _WITH_TIME, _OTHER_DATE = 2.5, 2.0, -3.5
ONLY_DATE = 2.5  # no other date stands there


@dataclass(frozen=True)
class Sums:
    """The amounts of a receipt by what they are called."""

    partial: tuple[float, ...]
    tax: tuple[float, ...]
    cash: tuple[float, ...]
    card: tuple[float, ...]
    change: tuple[float, ...]
    largest: float


def collect(rows: Sequence[Row]) -> Sums:
    """Sort the amounts of a receipt by what their rows speak of."""
    kinds: dict[str, list[float]] = {"partial": [], "tax": [], "cash": [], "card": [], "change": []}
    tests = {
        "change": keywords.CHANGE, "tax": keywords.TAX, "partial": keywords.PARTIAL, "cash": keywords.CASH,
        "card": keywords.CARD,
    }  # fmt: skip
    others = [0.0]
    for row in rows:
        if row.amounts:
            kind = next((kind for kind, test in tests.items() if test.search(row.folded)), "")
            values = [money.value for money in row.amounts]
            kinds.get(kind, others).extend(values)
            if kind in ("partial", "card"):
                others += values
    return Sums(**{kind: tuple(values) for kind, values in kinds.items()}, largest=max(others))


def total_clues(rows: Sequence[Row]) -> dict[Money, float]:
    """Return for each amount on the page how much speaks for its being the total."""
    sums = collect(rows)
    heights = sorted(word.box.height for row in rows for word in row.words) or [1.0]
    usual = heights[len(heights) // 2]
    rounded = any(keywords.MALAY.search(row.folded) for row in rows)
    clues: dict[Money, float] = {}
    for number, row in enumerate(rows):
        above = rows[number - 1] if number else None
        named = _called(row, above)
        tall = max(word.box.height for word in row.words) > _TALL * usual
        for back, money in enumerate(reversed(row.amounts)):
            odds = named + (_TALLER if tall else 0.0) + _LATER * number / len(rows) - 0.3 * back
            odds += _arithmetic(money.value, sums)
            if number >= len(rows) - _BELOW and rounded and round(100 * money.value) % _SEN:
                odds += _UNROUNDED
            clues[money] = odds
    return clues


def date_clues(row: Row, above: Row | None, has_time: bool) -> float:
    """Return how much the row of a date speaks for its being the receipt's own."""
    odds = _WITH_TIME if has_time else 0.0
    if keywords.OTHER_DATE.search(row.folded):
        odds += _OTHER_DATE
    elif keywords.DATE.search(row.folded) or (above is not None and keywords.DATE.search(above.folded)):
        odds += _DATE_NAMED
    return odds


def _called(row: Row, above: Row | None) -> float:
    """Say by its row what an amount is."""
    text = row.folded
    if keywords.CHANGE.search(text):
        return _CHANGE
    strong = keywords.STRONG_TOTAL.search(text) and not _is_untaxed(text)
    if keywords.PARTIAL.search(text) and not strong:
        return _OTHERWISE
    if strong:
        return _STRONG if not keywords.CASH.search(text) else _NAMED
    if keywords.TOTAL.search(text):
        return _NAMED if not keywords.TAX.search(text) else 0.0
    if keywords.TAX.search(text):
        return _TAX
    if keywords.CASH.search(text):
        return _CASH
    bare = not any(letter.isalpha() for letter in text.replace("EUR", ""))
    if bare and above is not None and not above.amounts:
        return _called_above(above)
    return _UNNAMED


def _is_untaxed(text: str) -> bool:
    """Say whether a row speaks of a sum without tax, and not of one with it as well."""
    return bool(keywords.UNTAXED.search(text)) and not keywords.TAXED.search(text)


def _called_above(above: Row) -> float:
    partial = keywords.PARTIAL.search(above.folded) or keywords.TAX.search(above.folded)
    return _NAMED_ABOVE if keywords.TOTAL.search(above.folded) and not partial else _UNNAMED


def _arithmetic(value: float, sums: Sums) -> float:
    if value < _CENT:
        return _NOTHING
    odds = _LARGEST if abs(value - sums.largest) < _CENT else 0.0
    adds_up = any(abs(net + tax - value) < _CENT for net in sums.partial for tax in sums.tax)
    returned = any(abs(cash - change - value) < _CENT for cash in sums.cash for change in sums.change)
    odds += _ADDS_UP if adds_up or returned else 0.0
    return odds + (_PAID if any(abs(card - value) < _CENT for card in sums.card) else 0.0)


def is_american(rows: Sequence[Row]) -> bool:
    """Say whether a receipt is from where the month comes before the day."""
    text = "\n".join(row.text for row in rows)
    return bool(_STATE.search(text)) and not _ELSEWHERE.search(keywords.fold(text))
