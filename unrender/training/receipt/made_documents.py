"""Documents made up by us, with exact boxes: receipts with their fields, forms and letters, in random layouts."""

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from unrender.documents import Box
from unrender.training.receipt import phrases
from unrender.words import Word, WordPage

_PAPER, _INK = 255, 20
_NUMBERS = ("INVOICE NO", "BILL NO", "DOC NO.", "RECEIPT #", "SLIP NO.")
_MARK = re.compile(r"\[(\w+)\|([^\]]*)\]")
_LONGEST_LINE = 42  # characters that fit a receipt


@dataclass(frozen=True)
class MadeDocument:
    """A page picture, its words in reading order, and what its fields say (receipts only)."""

    kind: str
    image: Image.Image
    page: WordPage
    fields: dict[str, str] = field(default_factory=dict)


@dataclass
class Sheet:
    """A page being written: lines of text are placed on it, each with its exact box."""

    width: int
    margin: int
    rng: np.random.Generator
    face: str
    size: int
    top: float = 0.0
    lines: list[tuple[str, float, float, int]] = field(default_factory=list)  # text, x, y, size
    rules: list[tuple[float, float, float]] = field(default_factory=list)  # x0, x1, y

    def write(self, text: str, place: float = 0.0, *, scale: float = 1.0, stay: bool = False) -> None:
        """Put a line at `place` between the margins, 0 left and 1 right; go on below unless told to stay."""
        size = max(8, round(self.size * scale))
        room, length = self.width - 2 * self.margin, open_font(self.face, size).getlength(strip_marks(text))
        if length > room:  # a wide font
            size = max(8, int(size * room / length))
            length = open_font(self.face, size).getlength(strip_marks(text))
        left = self.margin + place * max(0.0, room - length)
        self.lines.append((text, left, self.top, size))
        if not stay:
            self.top += size * 1.35

    def pair(self, left: str, right: str, *, scale: float = 1.0) -> None:
        """Put one text at the left and one at the right end of a line."""
        self.write(left, 0.0, scale=scale, stay=True)
        self.write(right, 1.0, scale=scale)

    def rule(self) -> None:
        if self.rng.random() < 0.5:
            self.rules.append((self.margin, self.width - self.margin, self.top + 3))
            self.top += 8
        else:
            self.write("-" * int((self.width - 2 * self.margin) / (self.size * 0.62)))

    def skip(self, share: float = 1.0) -> None:
        self.top += self.size * share * self.rng.uniform(0.5, 1.5)


def make_document(rng: np.random.Generator, kind: str = "", fonts: Sequence[str] = ()) -> MadeDocument:
    """Make up one document; a receipt, form or letter unless `kind` says which, in one of these font files."""
    chosen = kind or str(rng.choice(["receipt", "receipt", "form", "letter"]))
    return _MAKERS[chosen](rng, fonts)


def make_receipt(rng: np.random.Generator, fonts: Sequence[str] = ()) -> MadeDocument:
    """Make up a receipt, and its company, date, address and total."""
    sheet = new_sheet(rng, width=int(rng.integers(380, 720)), characters=_LONGEST_LINE, fonts=fonts)
    fields = _head(sheet, rng)
    shown = phrases.draw_day(rng)
    fields["date"] = shown if rng.random() < 0.97 else ""
    _particulars(sheet, rng, shown if fields["date"] else "")
    total = _goods(sheet, rng)
    fields["total"] = total
    sheet.skip()
    for _ in range(rng.integers(0, 4)):
        sheet.write(phrases.pick(rng, phrases.FAREWELLS), 0.5)
    return finish("receipt", sheet, rng, fields)


def make_form(rng: np.random.Generator, fonts: Sequence[str] = ()) -> MadeDocument:
    """Make up a form: keys and values, in one or two columns."""
    sheet = new_sheet(rng, width=int(rng.integers(700, 1000)), characters=80, fonts=fonts)
    sheet.write(phrases.pick(rng, phrases.FORM_TITLES), float(rng.choice([0.0, 0.5])), scale=1.4)
    sheet.skip(2)
    columns = int(rng.integers(1, 3))
    for _ in range(rng.integers(6, 18)):
        for column in range(columns):
            key, place = phrases.pick(rng, phrases.FORM_KEYS), column / columns
            length = open_font(sheet.face, sheet.size).getlength(f"{key}: ")
            free = sheet.width - 2 * sheet.margin
            sheet.lines.append((f"{key}:", sheet.margin + place * free, sheet.top, sheet.size))
            if rng.random() < 0.85:
                sheet.lines.append(
                    (phrases.draw_value(rng), sheet.margin + place * free + length, sheet.top, sheet.size)
                )
        sheet.top += sheet.size * rng.uniform(1.4, 2.2)
    return finish("form", sheet, rng)


def make_letter(rng: np.random.Generator, fonts: Sequence[str] = ()) -> MadeDocument:
    """Make up a letter: sender, date, address, a few paragraphs, signature."""
    sheet = new_sheet(rng, width=int(rng.integers(700, 1000)), characters=85, fonts=fonts)
    sheet.write(phrases.draw_company(rng), float(rng.choice([0.0, 0.5, 1.0])), scale=1.2)
    sheet.write(phrases.draw_day(rng), float(rng.choice([0.0, 1.0])))
    sheet.skip(2)
    for line in (phrases.draw_person(rng), *phrases.draw_address(rng)):
        sheet.write(line.title())
    sheet.skip(2)
    sheet.write(phrases.fill(rng, phrases.pick(rng, phrases.OPENINGS)))
    for _ in range(rng.integers(2, 5)):
        sheet.skip()
        text = " ".join(phrases.fill(rng, phrases.pick(rng, phrases.SENTENCES)) for _ in range(rng.integers(2, 6)))
        for line in textwrap.wrap(text, 78):
            sheet.write(line)
    sheet.skip(2)
    sheet.write(phrases.pick(rng, phrases.CLOSINGS))
    sheet.skip(2)
    sheet.write(phrases.draw_person(rng).title())
    return finish("letter", sheet, rng)


_MAKERS: dict[str, Callable[[np.random.Generator, Sequence[str]], MadeDocument]] = {
    "receipt": make_receipt,
    "form": make_form,
    "letter": make_letter,
}


def _head(sheet: Sheet, rng: np.random.Generator) -> dict[str, str]:
    """Write who issued a receipt; return company and address as they stand there."""
    place = float(rng.choice([0.0, 0.5, 0.5]))
    if rng.random() < 0.15:
        sheet.write(phrases.pick(rng, phrases.NAMES), place)
    name = phrases.draw_company(rng)
    words = name.split()
    half = len(words) // 2
    parts = [" ".join(words[:half]), " ".join(words[half:])] if len(words) > 3 and rng.random() < 0.2 else [name]
    for part in parts:
        sheet.write(part, place, scale=float(rng.choice([1.0, 1.0, 1.3])))
    numbers = [
        f"({phrases.draw_digits(rng, 6)}-{phrases.pick(rng, 'ABDHKMPTUVWX')})",
        f"GST ID : {phrases.draw_digits(rng, 12)}",
        f"CO. NO. {phrases.draw_digits(rng, 6)}-X",
    ]
    before, after = rng.random() < 0.6, rng.random() < 0.6
    if before:
        sheet.write(phrases.pick(rng, numbers), place)
    address = phrases.draw_address(rng)
    for line in address:
        sheet.write(line, place)
    if rng.random() < 0.7:
        sheet.write(f"{phrases.pick(rng, ('TEL', 'TEL:', 'PHONE', 'TEL / FAX :'))} {phrases.draw_phone(rng)}", place)
    if after:
        sheet.write(numbers[1], place)
    sheet.skip(0.5)
    if rng.random() < 0.7:
        sheet.write(
            phrases.pick(rng, ("TAX INVOICE", "RECEIPT", "SIMPLIFIED TAX INVOICE", "CASH SALE", "INVOICE")), 0.5
        )
    return {"company": name, "address": " ".join(address)}


def _particulars(sheet: Sheet, rng: np.random.Generator, shown: str) -> None:
    """Write number, date, cashier and the like, in random order."""
    clock = f"{rng.integers(8, 22):02d}:{rng.integers(0, 60):02d}"
    lines = [
        f"{phrases.pick(rng, _NUMBERS)} : {phrases.draw_digits(rng, 8)}",
        f"CASHIER : {phrases.pick(rng, phrases.NAMES)}",
        f"TABLE {rng.integers(1, 40)}",
        f"TRANS : {phrases.draw_digits(rng, 5)}",
    ]
    kept = [line for line in lines if rng.random() < 0.6]
    if shown:
        forms = (f"DATE : {shown}", f"DATE: {shown} {clock}", f"{shown} {clock}", shown, f"DATE/TIME {shown} {clock}")
        kept.insert(int(rng.integers(0, len(kept) + 1)), phrases.pick(rng, forms))
    for line in kept:
        sheet.write(line)
    sheet.rule()


def _goods(sheet: Sheet, rng: np.random.Generator) -> str:
    """Write what was bought and what it came to; return the total as it stands there."""
    currency = str(rng.choice(["", "", "RM", "$", "RM "]))
    sheet.pair(*(("DESCRIPTION", "AMOUNT") if rng.random() < 0.6 else ("ITEM  QTY", "PRICE")))
    amounts = []
    for _ in range(rng.integers(1, 9)):
        count, price = int(rng.integers(1, 5)), round(float(rng.lognormal(2.0, 1.0)) + 0.5, 2)
        amounts.append(count * price)
        if rng.random() < 0.5:
            sheet.write(phrases.pick(rng, phrases.GOODS))
            sheet.pair(f"{count} X {price:.2f}", f"{count * price:.2f}")
        else:
            sheet.pair(f"{count} {phrases.pick(rng, phrases.GOODS)}", f"{count * price:.2f}")
    sheet.rule()
    total = sum(amounts)
    if rng.random() < 0.5:
        sheet.pair(phrases.pick(rng, ("SUB TOTAL", "SUBTOTAL", "TOTAL EXCL. TAX")), f"{total / 1.06:.2f}")
        sheet.pair(phrases.pick(rng, ("GST 6%", "TAX", "SERVICE TAX 6%")), f"{total - total / 1.06:.2f}")
    if rng.random() < 0.3:
        sheet.pair("ROUNDING ADJ", f"{rng.choice([-0.02, -0.01, 0.0, 0.01, 0.02]):.2f}")
    shown = f"{currency}{total:.2f}"
    sheet.pair(phrases.pick(rng, phrases.TOTALS), shown, scale=float(rng.choice([1.0, 1.0, 1.25])))
    if rng.random() < 0.7:
        given = total if rng.random() < 0.3 else float(np.ceil(total / 10) * 10)
        sheet.pair(phrases.pick(rng, ("CASH", "TENDERED", "PAID", "VISA")), f"{given:.2f}")
        sheet.pair(phrases.pick(rng, ("CHANGE", "CHANGE DUE", "BALANCE")), f"{given - total:.2f}")
    if rng.random() < 0.4:
        sheet.skip(0.5)
        sheet.write("GST SUMMARY")
        sheet.pair("SR @ 6%", f"{total / 1.06:.2f}")
    return shown


def finish(kind: str, sheet: Sheet, rng: np.random.Generator, fields: dict[str, str] | None = None) -> MadeDocument:
    """Draw the lines, spoil the picture a little, and collect the words."""
    height = int(sheet.top + sheet.margin)
    image = Image.new("L", (sheet.width, height), _PAPER)
    pen = ImageDraw.Draw(image)
    words: list[Word] = []
    for number, (text, left, top, size) in enumerate(sheet.lines):
        font = open_font(sheet.face, size)
        pen.text((left, top), strip_marks(text), font=font, fill=_INK)
        for found in re.finditer(r"\S+", text):
            start = left + font.getlength(strip_marks(text[: found.start()]))
            x0, y0, x1, y1 = pen.textbbox((start, top), strip_marks(found[0]), font=font)
            words.append(Word(found[0], Box(max(0.0, x0), max(0.0, y0), min(x1, sheet.width), min(y1, height)), number))
    for x0, x1, y in sheet.rules:
        pen.line((x0, y, x1, y), fill=_INK)
    page = WordPage(sheet.width, height, tuple(words))
    return MadeDocument(kind, _spoil(image, rng), page, fields or {})


def _spoil(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    """Blur, shade and speckle, as cameras and old paper do."""
    if rng.random() < 0.5:
        image = image.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.2, 1.0))))
    values = np.asarray(image, dtype=np.float64)
    across, down = (rng.uniform(0.75, 1.0) + rng.uniform(-0.2, 0.2) * np.linspace(0, 1, n) for n in image.size)
    spoilt = values * across[None] * down[:, None] + rng.normal(0, rng.uniform(0, 10), values.shape)
    return Image.fromarray(np.clip(spoilt, 0, 255).astype(np.uint8))


def new_sheet(rng: np.random.Generator, width: int, characters: int, fonts: Sequence[str] = ()) -> Sheet:
    margin = int(width * rng.uniform(0.02, 0.1))
    size = max(9, int((width - 2 * margin) / (characters * 0.64)))
    return Sheet(width, margin, rng, phrases.pick(rng, fonts or faces()), size, top=margin)


def find_mark(word: str) -> str:
    """Return the field that a word is marked with; empty if none."""
    found = _MARK.search(word)
    return found[1] if found else ""


def strip_marks(text: str) -> str:
    """Return a text as it is seen: `[total|12,50]` is 12,50."""
    return _MARK.sub(lambda found: found[2], text)


@lru_cache
def faces() -> tuple[str, ...]:
    """List the upright text fonts that come with matplotlib."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    names = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSerif", "STIXGeneral")
    return tuple(str(folder / f"{name}.ttf") for name in names)


@lru_cache(maxsize=256)
def open_font(face: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(face, size)
