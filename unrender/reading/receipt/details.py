"""What else stands on a receipt: currency, amount, day and time, tax, payment, phone and what was bought."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unrender.documents import Json
from unrender.reading.receipt import keywords
from unrender.reading.receipt.amounts import find_currency, parse_amount
from unrender.reading.receipt.clues import is_american
from unrender.reading.receipt.dates import DATE, parse_date, parse_time
from unrender.reading.receipt.fields import Found
from unrender.reading.receipt.items import Item, find_items
from unrender.reading.receipt.rows import Row

DETAILS = ("amount", "currency", "iso_date", "time", "tax", "payment", "phone", "items")
_RATE = re.compile(r"(\d{1,2}(?:[.,]\d{1,3})?)\s?%")
_TAX_ROWS = 5  # below a row that speaks of tax where its table may go on
_ROUNDING = 0.02  # of an amount of tax
_PHONE = re.compile(r"\+?\(?\d[\d ()./-]{5,18}\d")
_FEWEST_DIGITS, _MOST_DIGITS = 7, 14
_HEAD = 0.4  # of the rows: above, a number that looks like a phone's is one
_LOOKS_CALLED = re.compile(r"\+\d\d|\(0?\d{2,4}\)|(?<!\d)0\d{1,4}[ /.-]\d|\d{3}[-.]\d{3}[-.]\d{4}")
_PAYMENTS = {
    "voucher": keywords.VOUCHER,
    "online": keywords.ONLINE,
    "card": keywords.CARD,
    "cash": keywords.CASH,
}


@dataclass(frozen=True)
class TaxLine:
    """One kind of tax: its rate in per cent and its amount, as far as they are printed."""

    rate: float | None
    amount: float | None


@dataclass(frozen=True, kw_only=True)
class Details:
    """Everything but the fields that are found by their words; None where it is not there."""

    currency: str | None = None
    amount: float | None = None
    iso_date: str | None = None
    time: str | None = None
    tax: tuple[TaxLine, ...] = ()
    payment: str | None = None
    phone: str | None = None
    items: tuple[Item, ...] = field(default=())

    def as_json(self) -> dict[str, Json]:
        tax: list[Json] = [{"rate": line.rate, "amount": line.amount} for line in self.tax]
        items: list[Json] = [
            {"description": item.description, "quantity": item.quantity, "price": item.price} for item in self.items
        ]
        return {
            "amount": self.amount,
            "currency": self.currency,
            "iso_date": self.iso_date,
            "time": self.time,
            "tax": tax or None,
            "payment": self.payment,
            "phone": self.phone,
            "items": items or None,
        }


def find_details(rows: Sequence[Row], found: Mapping[str, Found]) -> Details:
    """Read the rest of a receipt whose fields are known."""
    total, day = found.get("total"), found.get("date")
    amount = parse_amount(total.text) if total else None
    near = [row.text for row in rows if total and set(total.words) & set(row.indices)]
    when = parse_date(day.text, month_first=is_american(rows)) if day else None
    return Details(
        currency=find_currency([total.text, *near, *(row.text for row in rows if row.amounts), *_texts(rows)])
        if total
        else None,
        amount=amount,
        iso_date=when.isoformat() if when else None,
        time=_time(rows, day),
        tax=_tax(rows, amount),
        payment=_payment(rows),
        phone=_phone(rows),
        items=find_items(rows, amount),
    )


def _texts(rows: Sequence[Row]) -> list[str]:
    return [row.text for row in rows]


def _time(rows: Sequence[Row], day: Found | None) -> str | None:
    """Take the time in the row of the date, else in the nearest row that has one."""
    if day is None:
        return None
    home = next((number for number, row in enumerate(rows) if set(day.words) & set(row.indices)), 0)
    for number in sorted(range(len(rows)), key=lambda number: abs(number - home)):
        text = rows[number].text
        if number == home:
            text = text.replace(day.text, " ")
        if not DATE.search(keywords.fold(text)) and (found := parse_time(text)):
            return found
    return None


def _tax(rows: Sequence[Row], total: float | None) -> tuple[TaxLine, ...]:
    """Take rows that speak of tax and have an amount below the total; the smallest amount of a row is the tax.

    A row with a net amount too, or below a row that speaks of tax, counts if the rate makes the one of the other.
    """
    lines: list[TaxLine] = []
    named = -_TAX_ROWS
    for number, row in enumerate(rows):
        speaks = keywords.TAX.search(row.folded)
        named = number if speaks else named
        shown = _RATE.search(row.text)
        rate = float(shown[1].replace(",", ".")) if shown else None
        amounts = [money.value for money in row.amounts if total is None or abs(money.value) < total]
        plain = speaks and not (keywords.STRONG_TOTAL.search(row.folded) or keywords.PARTIAL.search(row.folded))
        if amounts and (plain or (number - named < _TAX_ROWS and _rate_fits(rate, amounts))):
            line = TaxLine(rate, min(amounts, key=abs))
            if line not in lines:
                lines.append(line)
    return tuple(lines)


def _rate_fits(rate: float | None, amounts: Sequence[float]) -> bool:
    """Say whether the smallest amount is so many per cent of another."""
    if not rate:
        return False
    tax, *others = sorted(amounts, key=abs)
    return any(abs(net * rate / 100 - tax) <= _ROUNDING for net in others)


def _payment(rows: Sequence[Row]) -> str | None:
    """Say how it was paid: by what stands beside an amount, else anywhere."""
    for wanted in ([row for row in rows if row.amounts], rows):
        for kind, words in _PAYMENTS.items():
            if any(words.search(row.folded) for row in wanted):
                return kind
    return None


def _phone(rows: Sequence[Row]) -> str | None:
    """Take a number that is called a phone's, else one at the top that looks like one."""
    for row in rows:
        called = keywords.PHONE.search(row.folded)
        number = _PHONE.search(row.text, called.end()) if called else None
        if number is not None and _counts_as_phone(number[0]):
            return number[0].strip(" .-/")
    for row in rows[: max(3, round(_HEAD * len(rows)))]:
        if not DATE.search(row.folded) and not row.amounts:
            for number in _PHONE.finditer(row.text):
                if _LOOKS_CALLED.search(number[0]) and _counts_as_phone(number[0]):
                    return number[0].strip(" .-/")
    return None


def _counts_as_phone(text: str) -> bool:
    return _FEWEST_DIGITS <= sum(letter.isdigit() for letter in text) <= _MOST_DIGITS
