"""Tickets of fairs and theatres, made up by us: a second kind of document, whose items are nested.

They show that `unrender train donut` learns documents it was not made for (docs/how-to-train.md).
"""

import json
from pathlib import Path

import numpy as np
from PIL import Image

from unrender.documents import Json
from unrender.training.receipt import phrases
from unrender.training.receipt.made_documents import finish, new_sheet

_EVENTS = ("SPRING FAIR", "NIGHT MUSEUM", "CITY ZOO", "OPEN AIR CINEMA", "JAZZ CELLAR", "HARBOUR TOUR", "ICE PALACE")
_KINDS = ("ADULT", "CHILD", "STUDENT", "SENIOR", "FAMILY", "GUIDE", "LOCKER", "DRINK", "POSTER")
_CHARACTERS = 26  # that fit a line


def make_ticket(rng: np.random.Generator) -> tuple[Image.Image, Json]:
    """Make up one ticket and what it says."""
    sheet = new_sheet(rng, width=int(rng.integers(300, 380)), characters=_CHARACTERS)
    event, number, day = phrases.pick(rng, _EVENTS), phrases.draw_digits(rng, 6), phrases.draw_day(rng)
    sheet.write(event, float(rng.choice([0.0, 0.5])), scale=1.3)
    sheet.write(f"{phrases.pick(rng, ('TICKET', 'NO.', 'BOOKING'))} {number}")
    sheet.write(f"{phrases.pick(rng, ('VALID ON', 'DATE:', 'DAY'))} {day}")
    sheet.rule()
    items: list[Json] = []
    total = 0.0
    for kind in rng.permutation(_KINDS)[: rng.integers(1, 4)]:
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
