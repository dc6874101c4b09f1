"""Receipts made up by us in the words of seven countries and the layouts of six kinds of shops, each word labelled.

A text says itself which of its words are a field: `SUMME [total|12,50]`. What only happens to be the same amount is
marked `[same|12,50]`, and is neither trained as the total nor as anything else.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from unrender.reading.receipt.fields import FIELDS, LABELS
from unrender.training.batches import IGNORED
from unrender.training.receipt import phrases
from unrender.training.receipt.made_documents import MadeDocument, Sheet, find_mark, finish, new_sheet, strip_marks
from unrender.training.receipt.phrases import COUNTRIES, Country
from unrender.words import Word

KINDS = ("supermarket", "petrol", "restaurant", "parking", "pharmacy", "email")
_MARK = re.compile(r"\[(\w+)\|([^\]]*)\]")
_SAME = "same"


@dataclass(frozen=True)
class Marked:
    """A document with the label of each of its words, as indices in LABELS."""

    document: MadeDocument
    labels: tuple[int, ...]


@dataclass(frozen=True)
class Purchase:
    """What was bought where and when, and how money and days are written there."""

    country: Country
    kind: str
    money: str
    day: datetime
    shown: str  # the day, as it is printed
    goods: tuple[tuple[str, int, float], ...]  # name, how many, price of one
    rate: float  # of the tax, in per cent

    @property
    def total(self) -> float:
        return round(sum(count * price for _, count, price in self.goods), 2)

    def plain(self, amount: float, digits: int = 2) -> str:
        return write_amount(amount, self.country.comma, digits)

    def priced(self, amount: float) -> str:
        return self.money.format(self.plain(amount))


def make_marked(rng: np.random.Generator) -> Marked:
    """Make up a receipt of any country and kind."""
    country = COUNTRIES[int(rng.integers(0, len(COUNTRIES)))]
    purchase = draw_purchase(rng, country, phrases.pick(rng, KINDS))
    wide = purchase.kind == "email"
    characters = int(rng.integers(60, 80)) if wide else int(rng.integers(30, 48))
    sheet = new_sheet(rng, width=int(rng.integers(640, 900) if wide else rng.integers(340, 700)), characters=characters)
    loud = rng.random() < 0.3
    writer = _Writer(sheet, rng, purchase, loud)
    late = rng.random() < 0.25  # the date stands at the foot
    early = not late and rng.random() < 0.15
    for write in (writer.particulars, writer.head) if early else (writer.head,):
        write()
    if not late and not early:
        writer.particulars()
    if purchase.kind == "parking" and rng.random() < 0.7:
        writer.stay()
    writer.goods()
    writer.sums()
    if late:
        writer.particulars()
    writer.farewell()
    return mark(finish("receipt", sheet, rng))


def mark(made: MadeDocument) -> Marked:
    """Take the marks off the words of a document and make labels and fields of them."""
    words: list[Word] = []
    labels: list[int] = []
    fields: dict[str, list[str]] = {}
    complete: set[str] = set()  # what stands there again
    before, line = "", -1
    for word in made.page.words:
        name, text = find_mark(word.text), strip_marks(word.text)
        words.append(replace(word, text=text))
        begun = name != before or (name in ("date", "total") and word.line != line)
        labels.append(
            IGNORED if name == _SAME else LABELS.index(f"{'B' if begun else 'I'}-{name.upper()}") if name else 0
        )
        complete |= {name} if begun and name in fields else set()
        if name in FIELDS and name not in complete:
            fields.setdefault(name, []).append(text)
        before, line = name, word.line
    page = replace(made.page, words=tuple(words))
    whole = {name: " ".join(fields.get(name, ())) for name in FIELDS}
    return Marked(replace(made, page=page, fields=whole), tuple(labels))


def draw_purchase(rng: np.random.Generator, country: Country, kind: str) -> Purchase:
    day = datetime(2012, 1, 1) + timedelta(minutes=int(rng.integers(0, 15 * 365 * 1440)))
    names = country.goods[kind].split(";")
    count = {"parking": 1, "petrol": int(rng.integers(1, 3)), "email": int(rng.integers(1, 5))}.get(
        kind, int(rng.integers(1, 14))
    )
    chosen = rng.permutation(len(names))[:count]
    goods = tuple(
        (names[index], int(rng.choice([1, 1, 1, 1, 2, 3])), round(float(rng.lognormal(1.4, 0.9)) + 0.3, 2))
        for index in chosen
    )
    shown = write_day(day, phrases.pick(rng, country.dates), country.months)
    rate = float(rng.choice(country.rates))
    return Purchase(country, kind, phrases.pick(rng, country.currency), day, shown, goods, rate)


def write_amount(amount: float, comma: bool, digits: int = 2) -> str:
    """Write an amount as it is done where decimals follow a comma, or a point."""
    text = f"{amount:,.{digits}f}"
    return text.replace(",", " ").replace(".", ",").replace(" ", ".") if comma else text


def write_day(day: datetime, form: str, months: str = "") -> str:
    """Write a day, its month by the names given."""
    if months:
        name = months.split()[day.month - 1]
        form = form.replace("%B", name).replace("%b", name[:3])
    return day.strftime(form)


def draw_number(rng: np.random.Generator, template: str) -> str:
    """Put a digit for every #."""
    return re.sub("#", lambda _: str(rng.integers(0, 10)), template)


class _Writer:
    """Writes the parts of one receipt."""

    def __init__(self, sheet: Sheet, rng: np.random.Generator, purchase: Purchase, loud: bool) -> None:
        self.sheet, self.rng, self.bought, self.loud = sheet, rng, purchase, loud
        self.place = float(rng.choice([0.0, 0.5, 0.5]))

    def say(self, text: str, place: float = 0.0, scale: float = 1.0) -> None:
        """Write words, each of which carries the mark of the text it is from."""
        self.sheet.write(self._spread(text), place, scale=scale)

    def pair(self, left: str, right: str, scale: float = 1.0) -> None:
        self.sheet.pair(self._spread(left), self._spread(right), scale=scale)

    def pick(self, options: str) -> str:
        return self.fill(phrases.pick(self.rng, options.split(";")))

    def fill(self, text: str) -> str:
        while "{name}" in text:
            text = text.replace("{name}", phrases.pick(self.rng, self.bought.country.names.split(";")), 1)
        while "{n}" in text:
            text = text.replace("{n}", str(self.rng.integers(1, 160)), 1)
        return draw_number(self.rng, text)

    def head(self) -> None:
        """Write who sold it, where, and how to call."""
        country, rng = self.bought.country, self.rng
        company = f"{self.pick(country.shops[self.bought.kind])} {self.pick(country.firms)}".strip()
        parts = [company]
        if len(company) > 26 and " " in company[10:]:
            cut = company.index(" ", len(company) // 2 - 1) if " " in company[len(company) // 2 - 1 :] else len(company)
            parts = [part for part in (company[:cut], company[cut + 1 :]) if part]
        big = float(rng.choice([1.0, 1.2, 1.5]))
        if rng.random() < 0.15:
            self.say(self.pick(country.headings), 0.5)
        for part in parts:
            self.say(f"[company|{part}]", self.place, min(big, 30 / max(8, len(part))))
        if rng.random() < 0.15:
            self.say(self.pick(country.numbers), self.place)
        lines = [self.pick(country.streets), self.pick(country.cities)]
        if rng.random() < 0.25 and sum(map(len, lines)) < 36:
            lines = [f"{lines[0]}, {lines[1]}"]
        for line in lines if rng.random() < 0.92 else []:
            self.say(f"[address|{line}]", self.place)
        if rng.random() < 0.6:
            self.say(self.pick(country.phones), self.place)
        for _ in range(rng.integers(0, 3)):
            self.say(self.pick(country.numbers), self.place)
        if rng.random() < 0.4:
            self.sheet.rule()

    def particulars(self) -> None:
        """Write when, and which till, table or pump."""
        country, rng = self.bought.country, self.rng
        if rng.random() < 0.5:
            self.say(self.pick(country.headings), self.place)
        clock = self.bought.day.strftime(phrases.pick(rng, ("%H:%M", "%H:%M:%S", "%H:%M", "%I:%M %p")))
        word, day = self.pick(country.date_words), f"[date|{self.bought.shown}]"
        forms = (
            f"{word} {day}",
            f"{word} {day} {clock}",
            f"{day} {clock}",
            f"{clock} {day}",
            f"{day} {self.pick(country.numbers)}",
        )
        lines = [self.pick(country.numbers) for _ in range(rng.integers(0, 4))]
        lines.insert(int(rng.integers(0, len(lines) + 1)), phrases.pick(rng, forms).strip())
        for line in lines:
            if line is not lines[0] and rng.random() < 0.1 and line.startswith(day):
                self.pair(day, clock)
            else:
                self.say(line, float(rng.choice([0.0, 0.0, self.place])))

    def stay(self) -> None:
        """Write when a car came and left; the day of payment is another one's business."""
        came = self.bought.day - timedelta(minutes=int(self.rng.integers(20, 300)))
        words = {
            "DE": ("Einfahrt", "Ausfahrt"),
            "FR": ("Entrée", "Sortie"),
            "ES": ("Entrada", "Salida"),
            "IT": ("Ingresso", "Uscita"),
            "NL": ("In", "Uit"),
        }
        first, second = words.get(self.bought.country.code, ("Entry", "Exit"))
        for word, when in ((first, came), (second, self.bought.day)):
            self.pair(word, when.strftime("%H:%M"))

    def goods(self) -> None:
        """Write what was bought, one good to a line or two."""
        rng, bought = self.rng, self.bought
        style, suffix = int(rng.integers(0, 4)), str(rng.choice(["", "", " A", " 1", " *"]))
        self.sheet.rule()
        for name, count, price in bought.goods:
            shown = self.upper(name)
            amount = self._amount(count * price) + suffix
            if bought.kind == "petrol":
                unit = 1.0 + float(rng.random())
                self.say(shown)
                self.pair(f"{bought.plain(count * price / unit)} L x {bought.plain(unit, 3)}", amount)
            elif count > 1 and style < 2:
                self.say(shown)
                self.pair(f"  {count} x {bought.plain(price)}", amount)
            elif style == 2:
                self.pair(f"{count} {shown}", amount)
            elif style == 3 and count > 1:
                self.pair(f"{shown} {count}x", amount)
            else:
                self.pair(shown, amount)
        if rng.random() < 0.7:
            self.sheet.rule()

    def sums(self) -> None:
        """Write the total, and before and after it tax, payment and change."""
        rng, bought, country = self.rng, self.bought, self.bought.country
        total = bought.total
        net = total / (1 + bought.rate / 100)
        tax = self.pick(country.taxes).replace("{rate}", bought.plain(bought.rate, 1 if rng.random() < 0.3 else 0))
        early = rng.random() < 0.45
        if early:
            self.pair(self.pick(country.subtotals), self._amount(net))
            self.pair(tax, self._amount(total - net))
        word = self.upper(self.pick(country.totals)) + str(rng.choice(["", "", ":", " EUR" if country.comma else ""]))
        big = float(rng.choice([1.0, 1.0, 1.3]))
        if rng.random() < 0.12:
            self.say(f"{word} [total|{bought.priced(total)}]", 0.0, big)
        else:
            self.pair(word, f"[total|{bought.priced(total)}]", big)
        self._payment(total)
        if not early and rng.random() < 0.7:
            if rng.random() < 0.5:
                self.pair(tax, self._amount(total - net))
            else:
                self.say(f"{tax} {bought.plain(net)} {bought.plain(total - net)} {self._same(total)}")

    def farewell(self) -> None:
        self.sheet.skip()
        for _ in range(self.rng.integers(0, 4)):
            self.say(self.pick(self.bought.country.farewells), 0.5)

    def upper(self, text: str) -> str:
        return text.upper() if self.loud else text

    def _payment(self, total: float) -> None:
        rng, country = self.rng, self.bought.country
        if rng.random() < 0.75:
            if rng.random() < 0.45:
                given = float(np.ceil(total / 5) * 5)
                self.pair(self.upper(self.pick(country.cash)), self._amount(given))
                self.pair(self.upper(self.pick(country.change)), self._amount(given - total))
            else:
                self.pair(self.upper(self.pick(country.card)), self._same(total))

    def _amount(self, value: float) -> str:
        """Write an amount that is not the total, even if it is the same."""
        return self._same(value) if abs(value - self.bought.total) < 0.005 else self.bought.plain(value)

    def _same(self, value: float) -> str:
        return f"[{_SAME}|{self.bought.plain(value)}]"

    @staticmethod
    def _spread(text: str) -> str:
        return _MARK.sub(lambda found: " ".join(f"[{found[1]}|{word}]" for word in found[2].split()), text)
