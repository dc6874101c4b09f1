"""What else stands on a receipt: currency, amount, day and time, tax, payment, phone and what was bought."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from unrender.documents import Json
from unrender.reading.receipt import keywords
from unrender.reading.receipt.clues import is_american
from unrender.reading.receipt.fields import Found
from unrender.reading.receipt.rows import DATE, Row, find_currency, parse_amount, parse_date, parse_time

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
class TaxLine:
    """One kind of tax: its rate in per cent and its amount, as far as they are printed."""

    rate: float | None
    amount: float | None


@dataclass(frozen=True)
class Item:
    """One good: what it is called, how many, and what they cost together."""

    description: str
    quantity: float
    price: float


@dataclass(frozen=True, kw_only=True)
class Details:
    """Everything but the fields that are found by their words; None where it is not there."""

    amount: float | None = None
    currency: str | None = None
    iso_date: str | None = None
    time: str | None = None
    tax: tuple[TaxLine, ...] = ()
    payment: str | None = None
    phone: str | None = None
    items: tuple[Item, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """Return everything by name; what there is none of is null."""
        return {
            name: list(value) or None if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }


def find_details(rows: Sequence[Row], found: Mapping[str, Found]) -> Details:
    """Read the rest of a receipt whose fields are known."""
    total, day = found.get("total"), found.get("date")
    amount = parse_amount(total.text) if total else None
    near = [row.text for row in rows if total and set(total.words) & set(row.indices)]
    printed = [row.text for row in sorted(rows, key=lambda row: not row.amounts)]
    when = parse_date(day.text, month_first=is_american(rows)) if day else None
    return Details(
        currency=find_currency([total.text, *near, *printed]) if total else None,
        amount=amount,
        iso_date=when.isoformat() if when else None,
        time=_time(rows, day),
        tax=_tax(rows, amount),
        payment=_payment(rows),
        phone=_phone(rows),
        items=find_items(rows, amount),
    )


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
