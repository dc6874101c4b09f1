"""Sixty receipts of kinds that the training never saw, by a second generator, and how many totals and dates are right.

Hotels, taxis, hardware stores, bookshops, museums, hairdressers, trains, tolls, launderettes and florists of seven
countries, in layouts, words and fonts of their own; and thirty pages that are no receipts. Everything is drawn from
one seed. Run from the project's root: python benchmarks/kept_out_receipts.py [--model receipt] [--words given|ocr]
[--keep FOLDER]
"""

import argparse
import json
import re
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from unrender.documents import Box
from unrender.reading.reader import Reader
from unrender.reading.systems import Input
from unrender.words import Line, WordPage, order_lines, split_lines

SEED = 20260118
RECEIPTS = 60
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
FACES = ("DejaVuSansMono-Oblique", "DejaVuSerif-Bold", "DejaVuSansMono", "STIXGeneral", "DejaVuSans")
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """One country, in words that the other generator does not use for the same thing where there are others."""

    language: str
    comma: bool
    money: tuple[str, ...]
    days: tuple[str, ...]
    shops: str
    streets: str
    towns: str
    phones: str
    totals: str
    nets: str
    taxes: str
    paid: str
    day_words: str
    other_days: str
    particulars: str
    goods: str
    columns: str
    closing: str


def _load() -> tuple[Place, ...]:
    values = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return tuple(Place(**{**one, "money": tuple(one["money"]), "days": tuple(one["days"])}) for one in values)


PLACES = _load()


@dataclass
class Canvas:
    """A picture being written on; every piece of text becomes a line with its box."""

    width: int
    face: str
    size: int
    top: float = 20.0
    pieces: list[tuple[str, float, float, int]] = field(default_factory=list)  # text, x, y, size

    def font(self, scale: float = 1.0) -> ImageFont.FreeTypeFont:
        return ImageFont.truetype(str(FONTS / f"{self.face}.ttf"), max(9, round(self.size * scale)))

    def put(self, text: str, x: float, scale: float = 1.0) -> None:
        self.pieces.append((text, x, self.top, max(9, round(self.size * scale))))

    def down(self, lines: float = 1.0) -> None:
        self.top += self.size * 1.45 * lines

    def right(self, text: str, scale: float = 1.0) -> None:
        self.put(text, self.width - 24 - self.font(scale).getlength(text), scale)

    def middle(self, text: str, scale: float = 1.0) -> None:
        self.put(text, max(8.0, (self.width - self.font(scale).getlength(text)) / 2), scale)

    def draw(self) -> tuple[Image.Image, list[Line]]:
        height = int(self.top + 30)
        image = Image.new("L", (self.width, height), 250)
        pen = ImageDraw.Draw(image)
        lines = []
        for text, x, y, size in self.pieces:
            font = ImageFont.truetype(str(FONTS / f"{self.face}.ttf"), size)
            pen.text((x, y), text, font=font, fill=25)
            x0, y0, x1, y1 = pen.textbbox((x, y), text, font=font)
            lines.append(Line(text, Box(max(0, x0), max(0, y0), min(x1, self.width), min(y1, height))))
        return image, lines


@dataclass(frozen=True)
class Made:
    """One made receipt: its picture, its words, its total and its day."""

    image: Image.Image
    page: WordPage
    total: float
    day: str


def make(rng: np.random.Generator) -> Made:
    """Make up one receipt of a kind that is not trained on."""
    place = PLACES[int(rng.integers(0, len(PLACES)))]
    pick = lambda options: str(rng.choice(options.split(";")))  # noqa: E731
    canvas = Canvas(int(rng.integers(420, 820)), str(rng.choice(FACES)), 0)
    canvas.size = max(12, int(canvas.width / rng.uniform(24, 34)))
    when = datetime(2016, 1, 1) + timedelta(minutes=int(rng.integers(0, 10 * 365 * 1440)))
    form = str(rng.choice(place.days))
    goods = [(str(name), int(rng.integers(1, 4)), round(float(rng.lognormal(2.2, 0.9)) + 1, 2)) for name in
             rng.choice(place.goods.split(";"), int(rng.integers(1, 6)), replace=False)]  # fmt: skip
    total = round(sum(count * price for _, count, price in goods), 2)
    style, money = int(rng.integers(0, 4)), str(rng.choice(place.money))
    amount = lambda value: _amount(value, place.comma)  # noqa: E731
    _head(canvas, place, pick, style)
    dated = f"{pick(place.day_words)} {_day(when, form, place.language)}".strip()
    if style != 3:
        _date(canvas, rng, dated, when)
    for text in rng.choice(place.particulars.split(";"), int(rng.integers(0, 3)), replace=False):
        canvas.put(str(text), 24)
        canvas.down()
    _goods(canvas, place, goods, style, amount)
    rate = float(re.findall(r"\d+(?:\.\d+)?", tax := pick(place.taxes))[0])
    if rng.random() < 0.6:
        for word, value in ((pick(place.nets), total / (1 + rate / 100)), (tax, total - total / (1 + rate / 100))):
            canvas.put(word, 24)
            canvas.right(amount(value))
            canvas.down()
    _total(canvas, pick(place.totals), money.format(amount(total)), style)
    if rng.random() < 0.6:
        canvas.put(pick(place.paid), 24)
        canvas.right(amount(total))
        canvas.down()
    if rng.random() < 0.35:
        later = when + timedelta(days=30)
        canvas.put(f"{pick(place.other_days)} {_day(later, form, place.language)}", 24)
        canvas.down()
    if style == 3:
        canvas.down(0.5)
        _date(canvas, rng, dated, when)
    canvas.middle(pick(place.closing))
    canvas.down()
    image, lines = canvas.draw()
    page = WordPage(image.width, image.height, tuple(split_lines(order_lines(lines))))
    return Made(_spoil(image, rng), page, total, when.date().isoformat())


def make_other(rng: np.random.Generator) -> tuple[Image.Image, WordPage]:
    """Make up a page that is no receipt: a time table, a recipe, a score sheet."""
    canvas = Canvas(int(rng.integers(500, 900)), str(rng.choice(FACES)), 20)
    place, kind = PLACES[int(rng.integers(0, len(PLACES)))], int(rng.integers(0, 3))
    canvas.put(str(rng.choice(["Abfahrt", "Horaires", "Timetable", "Recipe", "League table", "Classifica"])), 30, 1.5)
    canvas.down(2)
    for _ in range(int(rng.integers(6, 20))):
        name = str(rng.choice(place.towns.split(";"))).strip("0123456789 ")
        if kind == 0:
            canvas.put(name, 30)
            for column in range(4):
                canvas.put(f"{rng.integers(0, 24):02d}:{rng.integers(0, 60):02d}", 240 + 70 * column)
        elif kind == 1:
            canvas.put(f"Take {rng.integers(1, 9)} spoons and stir for {rng.integers(2, 30)} minutes, then rest.", 30)
        else:
            for column, text in enumerate(
                (name, str(rng.integers(1, 40)), _amount(float(rng.lognormal(3, 1)), place.comma))
            ):
                canvas.put(text, 30 + 200 * column)
        canvas.down()
    image, lines = canvas.draw()
    return image, WordPage(image.width, image.height, tuple(split_lines(order_lines(lines))))


def _head(canvas: Canvas, place: Place, pick, style: int) -> None:  # type: ignore[no-untyped-def]
    name, street, town, phone = pick(place.shops), pick(place.streets), pick(place.towns), pick(place.phones)
    if style == 1:
        canvas.put(name, 24, 1.3)
        canvas.right(street, 0.8)
        canvas.down(1.3)
        canvas.right(town, 0.8)
        canvas.down()
        canvas.right(phone, 0.8)
    else:
        for text, scale in ((name, 1.25), (street, 1.0), (town, 1.0), (phone, 1.0)):
            canvas.middle(text, scale) if style == 0 else canvas.put(text, 24, scale)
            canvas.down(1.2)
    canvas.down()


def _date(canvas: Canvas, rng: np.random.Generator, dated: str, when: datetime) -> None:
    canvas.put(dated, 24)
    if rng.random() < 0.5:
        canvas.right(f"{when:%H:%M}")
    canvas.down()


def _goods(canvas: Canvas, place: Place, goods, style: int, amount) -> None:  # type: ignore[no-untyped-def]
    canvas.down(0.5)
    if style in (0, 1):
        columns = [24, 24 + canvas.width * 0.13, canvas.width * 0.58, canvas.width * 0.8]
        order = (0, 1, 2, 3) if place.language != "en" or place.money[0].startswith("$") else (1, 0, 2, 3)
        names = place.columns.split(" ")
        for x, name in zip(columns, [names[0], names[1], names[2], names[3]], strict=True):
            canvas.put(name, x, 0.8)
        canvas.down()
        for name, count, price in goods:
            cells = (
                str(count),
                name[: int(canvas.width * 0.45 / canvas.font().getlength("m"))] or name,
                amount(price),
                amount(count * price),
            )
            if order[0] == 1:
                columns = [24, canvas.width * 0.5, canvas.width * 0.62, canvas.width * 0.82]
            for x, index in zip(columns, order, strict=True):
                canvas.put(cells[index], x)
            canvas.down()
    else:
        for name, count, price in goods:
            dots = "." * max(
                3, int((canvas.width * 0.5 - canvas.font().getlength(name)) / canvas.font().getlength("."))
            )
            canvas.put(f"{name} {dots}" if style == 2 else name, 24)
            canvas.right(amount(count * price))
            canvas.down()
            if count > 1:
                canvas.put(f"   {count} @ {amount(price)}", 24)
                canvas.down()
    canvas.down(0.5)


def _total(canvas: Canvas, word: str, shown: str, style: int) -> None:
    if style == 3:  # the amount stands below its word
        canvas.middle(word, 1.1)
        canvas.down(1.2)
        canvas.middle(shown, 1.5)
        canvas.down(1.8)
    else:
        canvas.put(f"{word} :" if style == 1 else word, 24, 1.15)
        canvas.right(shown, 1.15)
        canvas.down(1.5)


def _amount(value: float, comma: bool) -> str:
    text = f"{value:,.2f}"
    return text.replace(",", " ").replace(".", ",").replace(" ", ".") if comma else text


def _day(when: datetime, form: str, language: str) -> str:
    name = MONTHS[language].split()[when.month - 1]
    return when.strftime(form.replace("%B", name).replace("%b", name[:3]))


def _spoil(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    """Lay the paper on a table, a little askew, and take a picture of it."""
    if rng.random() < 0.4:
        table = Image.new("L", (image.width + 60, image.height + 60), int(rng.integers(60, 160)))
        table.paste(image, (30, 30))
        turned = table.rotate(float(rng.uniform(-1.5, 1.5)), fillcolor=110, resample=Image.Resampling.BICUBIC)
        image = turned.crop((30, 30, 30 + image.width, 30 + image.height))
    if rng.random() < 0.5:
        image = image.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.2, 0.7))))
    values = np.asarray(image, dtype=np.float64) * np.linspace(1, rng.uniform(0.75, 1), image.width)[None]
    return Image.fromarray(np.clip(values + rng.normal(0, 4, values.shape), 0, 255).astype(np.uint8))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="receipt")
    parser.add_argument("--words", choices=("given", "ocr"), default="given")
    parser.add_argument("--keep", type=Path, help="where to keep the pictures")
    parser.add_argument("--receipts", type=int, default=RECEIPTS, help="only so many of them, and half as many others")
    parser.add_argument("--show", action="store_true", help="what is read wrong")
    arguments = parser.parse_args()
    folder = arguments.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    made = [make(np.random.default_rng([SEED, number])) for number in range(arguments.receipts)]
    others = [make_other(np.random.default_rng([SEED, 1000 + number])) for number in range(arguments.receipts // 2)]
    pages = [*((one.image, one.page) for one in made), *others]
    inputs = []
    for number, (image, page) in enumerate(pages):
        image.save(folder / f"{number:03d}.png")
        inputs.append(Input(folder / f"{number:03d}.png", words=page if arguments.words == "given" else None))
    blocks = [document.blocks[0] for document in Reader.open(arguments.model).read_many(inputs)]
    right = {"total": 0, "date": 0}
    for number, (one, block) in enumerate(zip(made, blocks, strict=False)):
        fields = block.fields
        assert isinstance(fields, dict)
        found = {"total": fields["amount"] == one.total, "date": fields["iso_date"] == one.day}
        for name, well in found.items():
            right[name] += well
            if arguments.show and not well:
                print(
                    number,
                    name,
                    one.total if name == "total" else one.day,
                    fields[name],
                    round(block.confidence or 0, 2),
                )
    null = sum(not block.children for block in blocks[len(made) :])
    said = {name: round(count / len(made), 4) for name, count in right.items()}
    print(
        json.dumps(
            {"words": arguments.words, **said, "receipts": len(made), "others_null": null, "others": len(others)}
        )
    )


if __name__ == "__main__":
    main()
