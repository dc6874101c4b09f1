"""Receipts as SROIE gives them: NAME.jpg beside NAME.json with `fields` (company, date, address, total) and `lines`."""

import hashlib
import json
from pathlib import Path

from PIL import Image

from unrender.documents import Box
from unrender.errors import DataError, NotationError
from unrender.evaluation.datasets.example import Dataset, Example
from unrender.formats.donut import write_tags
from unrender.words import Line, WordPage, order_lines, split_lines

_HELD_OUT = 5  # one receipt in so many is kept for selection
_PICTURES = (".jpg", ".jpeg", ".png")


def is_sroie(folder: Path) -> bool:
    """Say whether a folder holds receipts."""
    first = next(iter(sorted(folder.glob("*.json"))), None) if folder.is_dir() else None
    return first is not None and '"fields"' in first.read_text(encoding="utf-8", errors="replace")[:200]


def open_sroie(folder: Path, held_out: bool | None = None) -> Dataset:
    """Open a folder of receipts: all of them, the held-out fifth, or the rest."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise DataError(f"{folder} has no receipts; it needs NAME.json beside NAME.jpg, as SROIE gives them")
    kept = [path for path in paths if held_out is None or is_held_out(path.stem) == held_out]
    return Dataset(folder, "sroie", tuple(_read_receipt(path) for path in kept))


def is_held_out(name: str) -> bool:
    """Say whether a receipt belongs to the fifth that is never trained on; it depends on the name alone."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % _HELD_OUT == 0


def _read_receipt(path: Path) -> Example:
    """Read one receipt with its given lines."""
    image = next((path.with_suffix(end) for end in _PICTURES if path.with_suffix(end).is_file()), None)
    if image is None:
        raise DataError(f"{path} has no picture beside it ({path.stem}.jpg or .png)")
    with Image.open(image) as picture:
        width, height = picture.size
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        lines = [Line(str(line["text"]), Box(*map(float, line["box"]))) for line in values["lines"]]
        target = write_tags({str(name): str(text or "") for name, text in values["fields"].items()})
    except (ValueError, KeyError, TypeError, AttributeError, NotationError) as error:
        raise DataError(f"{path} is not a receipt with fields and lines: {error}") from error
    kept = [line for line in lines if line.text.strip()]
    page = WordPage(width, height, tuple(split_lines(order_lines(kept))))
    return Example(image, target, path.stem, page)
