"""Documents that are no receipts but have names, dates and amounts: price lists, tables, articles, statements.

Tickets are one more kind, whose items are nested; they show that `unrender train donut` learns documents that it was
not made for (docs/how-to-train.md).
"""

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap

import numpy as np
from PIL import Image

from unrender.documents import Json
from unrender.training.receipt import phrases
from unrender.training.receipt.made_documents import MadeDocument, Sheet, finish, new_sheet
from unrender.training.receipt.made_receipts import KINDS, write_amount
from unrender.training.receipt.phrases import COUNTRIES, Country

_MENUS = (
    "Menu;Price list;PRICES;Speisekarte;Preisliste;Carte;Tarifs;Carta;Lista de precios;Listino;Prijslijst;Menukaart"
)
_TABLES = "Results;Overview;Population and area;Ergebnisse;Übersicht;Résultats;Resultados;Risultati;Statistics 2024"
_COLUMNS = (
    "Area;Population;Year;Region;Units;Share %;Rank;Fläche;Einwohner;Surface;Année;Superficie;Anno;Jaar;Mean;Code;Total"
)
_LONG_LINE = 74
_EVENTS = ("SPRING FAIR", "NIGHT MUSEUM", "CITY ZOO", "OPEN AIR CINEMA", "JAZZ CELLAR", "HARBOUR TOUR", "ICE PALACE")
_TICKETS = ("ADULT", "CHILD", "STUDENT", "SENIOR", "FAMILY", "GUIDE", "LOCKER", "DRINK", "POSTER")
_TICKET_CHARACTERS = 26  # that fit a line


def make_other(rng: np.random.Generator) -> MadeDocument:
    """Make up one of them."""
    kind = phrases.pick(rng, tuple(_MAKERS))
    wide = int(rng.integers(600, 1000))
    sheet = new_sheet(rng, width=wide, characters=int(rng.integers(60, 90)))
    _MAKERS[kind](sheet, rng, COUNTRIES[int(rng.integers(0, len(COUNTRIES)))])
    return finish(kind, sheet, rng)


def make_ticket(rng: np.random.Generator) -> tuple[Image.Image, Json]:
    """Make up one ticket and what it says."""
    sheet = new_sheet(rng, width=int(rng.integers(300, 380)), characters=_TICKET_CHARACTERS)
    event, number, day = phrases.pick(rng, _EVENTS), phrases.draw_digits(rng, 6), phrases.draw_day(rng)
    sheet.write(event, float(rng.choice([0.0, 0.5])), scale=1.3)
    sheet.write(f"{phrases.pick(rng, ('TICKET', 'NO.', 'BOOKING'))} {number}")
    sheet.write(f"{phrases.pick(rng, ('VALID ON', 'DATE:', 'DAY'))} {day}")
    sheet.rule()
    items: list[Json] = []
    total = 0.0
    for kind in rng.permutation(_TICKETS)[: rng.integers(1, 4)]:
        count, price = int(rng.integers(1, 6)), float(rng.integers(4, 60)) / 2
        total += count * price
        sheet.pair(f"{count} x {kind}", f"{count * price:.2f}")
        items.append({"count": str(count), "kind": str(kind), "price": f"{count * price:.2f}"})
    sheet.rule()
    sheet.pair(phrases.pick(rng, ("TOTAL", "SUM", "TO PAY")), f"{total:.2f}", scale=1.2)
    fields: Json = {"event": event, "number": number, "date": day, "items": items, "total": f"{total:.2f}"}
    return finish("ticket", sheet, rng).image, fields


def write_tickets(folder: Path, count: int, seed: int) -> Path:
    """Write tickets as pictures and metadata.jsonl, in the form of Hugging Face's imagefolder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(count):
        image, fields = make_ticket(np.random.default_rng([seed, number]))
        name = f"{number:05}.png"
        image.save(folder / name)
        rows.append(json.dumps({"file_name": name, "ground_truth": json.dumps({"gt_parse": fields})}))
    (folder / "metadata.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def _price_list(sheet: Sheet, rng: np.random.Generator, country: Country) -> None:
    sheet.write(phrases.pick(rng, _MENUS.split(";")), 0.5, scale=1.6)
    money = phrases.pick(rng, country.currency)
    for kind in rng.permutation(len(KINDS))[: rng.integers(1, 4)]:
        sheet.skip()
        sheet.write(KINDS[kind].title(), float(rng.choice([0.0, 0.5])), scale=1.2)
        for name in country.goods[KINDS[kind]].split(";")[: rng.integers(3, 14)]:
            sheet.pair(name, money.format(write_amount(float(rng.lognormal(1.8, 0.8)), country.comma)))


def _table(sheet: Sheet, rng: np.random.Generator, country: Country) -> None:
    sheet.write(phrases.pick(rng, _TABLES.split(";")), float(rng.choice([0.0, 0.5])), scale=1.3)
    columns = int(rng.integers(2, 6))
    names = ["", *(phrases.pick(rng, _COLUMNS.split(";")) for _ in range(columns))]
    digits = [int(rng.integers(0, 4)) for _ in range(columns)]
    sheet.rule()
    _row(sheet, names)
    for _ in range(rng.integers(4, 24)):
        values = [write_amount(float(rng.lognormal(4, 2)), country.comma, count) for count in digits]
        _row(sheet, [phrases.pick(rng, country.names.split(";")), *values])
    sheet.rule()


def _row(sheet: Sheet, cells: list[str]) -> None:
    free = sheet.width - 2 * sheet.margin
    for index, cell in enumerate(cells):
        if cell:
            sheet.lines.append((cell, sheet.margin + free * index / len(cells), sheet.top, sheet.size))
    sheet.top += sheet.size * 1.5


def _article(sheet: Sheet, rng: np.random.Generator, country: Country) -> None:
    sheet.write(phrases.fill(rng, phrases.pick(rng, phrases.SENTENCES)).rstrip("."), 0.5, scale=1.4)
    for _ in range(rng.integers(2, 6)):
        sheet.skip()
        text = " ".join(phrases.fill(rng, phrases.pick(rng, phrases.SENTENCES)) for _ in range(rng.integers(3, 9)))
        for line in wrap(text, _LONG_LINE):
            sheet.write(line)


def _statement(sheet: Sheet, rng: np.random.Generator, country: Country) -> None:
    """An account's movements: dates and amounts on every line, and nobody's receipt."""
    sheet.write(phrases.draw_person(rng).title())
    for line in phrases.draw_address(rng):
        sheet.write(line.title())
    sheet.skip(2)
    for _ in range(rng.integers(6, 24)):
        left = f"{phrases.draw_day(rng)}  {phrases.pick(rng, country.names.split(';'))}"
        sheet.pair(left, write_amount(float(rng.normal(0, 200)), country.comma))


_MAKERS: dict[str, Callable[[Sheet, np.random.Generator, Country], None]] = {
    "price list": _price_list,
    "table": _table,
    "article": _article,
    "statement": _statement,
}
