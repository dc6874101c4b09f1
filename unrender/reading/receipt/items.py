"""What was bought: rows with a description and a price above the total, or a row that says how many and one before."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from unrender.reading.receipt import keywords
from unrender.reading.receipt.amounts import parse_amount
from unrender.reading.receipt.rows import Row

_NUMBER = r"\d{1,4}(?:[.,]\d{1,3})?"
_UNIT = r"(?:KG|G|L|LTR|LITER|LITRES?|GAL|STK?|PCS?|PZ|UD|ST)?"
_TIMES = re.compile(
    rf"(?<![\w.,])({_NUMBER})\s?{_UNIT}\s?[X\u00d7*@](?=[\s\d€$£])|(?<![\w.,])X\s?({_NUMBER})(?![\w.,])", re.IGNORECASE
)
_BEHIND = re.compile(r"\s(\d{1,3})\s?[X\u00d7]$", re.IGNORECASE)
_COUNTED = re.compile(rf"(?<!\w)[X\u00d7]\s?{_NUMBER}\s*$", re.IGNORECASE)
_FIRST = re.compile(r"^(\d{1,2})\s?(?:[X\u00d7]\s?)?(?=[^\W\d])", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_MOST = 200  # goods of one receipt


@dataclass(frozen=True)
class Item:
    """One good: what it is called, how many, and what they cost together."""

    description: str
    quantity: float
    price: float


def find_items(rows: Sequence[Row], total: float | None) -> tuple[Item, ...]:
    """List what was bought; nothing above the first price and nothing from the sums on."""
    items: list[Item] = []
    waiting = ""
    for row in rows:
        if _is_sum(row):
            if items:
                break
            waiting = ""
            continue
        if not row.amounts:
            waiting = row.text if _LETTERS.search(row.text) and not keywords.TOTAL.search(row.folded) else ""
            continue
        item = _item(row, waiting)
        waiting = ""
        if item is not None and (total is None or item.price <= total or item.price < 0) and len(items) < _MOST:
            items.append(item)
    return tuple(items)


def _is_sum(row: Row) -> bool:
    """Say whether a row begins the sums: it has an amount and is called total, tax or payment."""
    sums = (keywords.TOTAL, keywords.TAX, keywords.CASH, keywords.CHANGE)
    if not row.amounts:
        return False
    rebate = row.amounts[-1].value < 0  # goods may follow it
    return any(words.search(row.label) for words in (sums if rebate else (keywords.PARTIAL, *sums)))


def _item(row: Row, waiting: str) -> Item | None:
    price = row.amounts[-1].value
    times = _TIMES.search(row.folded)
    quantity = _number(times[1] or times[2]) if times else 1.0
    text = row.text[: times.start()] if times and times[1] else ""
    if not _LETTERS.search(text):
        text = row.without_amounts()
    if times and times[2]:  # Croissant x2
        text = _COUNTED.sub("", text)
    behind = _BEHIND.search(text)
    if behind is not None:
        quantity, text = float(behind[1]), text[: behind.start()]
    first = _FIRST.match(text)
    if first is not None:
        quantity, text = float(first[1]), text[first.end() :]
    if not _LETTERS.search(text):
        text = waiting
    name = text.strip(" .,:*-")
    return Item(name, quantity or 1.0, price) if _LETTERS.search(name) else None


def _number(text: str) -> float:
    amount = parse_amount(text)
    return amount if amount is not None else float(text.replace(",", "."))
