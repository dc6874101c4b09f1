"""Which task a source is for when nobody says: a page, a receipt, or a formula."""

import math
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender import tasks
from unrender.checkpoints import embedded_names
from unrender.errors import UnrenderError
from unrender.images.opening import open_pages
from unrender.images.percentiles import percentile
from unrender.images.pixels import stroke_boxes
from unrender.reading.systems import Input

PAGE, RECEIPT = "page", "receipt"
_DPI = 75  # enough to see whether there is a page
_LONGEST = 1200  # pixels
_DARK = 0.5  # of the way from the darkest grey to the paper
_STROKES = 220  # a picture with fewer is no page
_HIGH, _WIDE = 30.0, 24.0  # times its letters' height that a page is at least high and wide
_NARROW = 42.0  # times its letters' height that a receipt is at most wide
_FILLED = 0.45  # of its width that a usual line of a receipt fills at most
_ROW, _TALL, _FEWEST = 1.6, 4.0, 4  # of the letters' height: a row, what is no letter; letters that make a row
_GAP, _WITH_GAP = 0.2, 0.15  # of the width: what stands between a good and its price; share of rows with such a gap
_EDGES = (2, 98)  # per cent of the letters between which the text is
Boxes = NDArray[np.int64]


def choose_task(source: Input) -> str:
    """Return `page` or `receipt` for what looks like one, `formula` for anything else."""
    if PAGE not in embedded_names():
        return tasks.DEFAULT
    try:
        pages = open_pages(source.source, _DPI, source.name)
        if len(pages) > 1:
            return PAGE
        return look(pages[0])
    except UnrenderError:
        return tasks.DEFAULT  # who reads it will say what is wrong


def look(image: Image.Image) -> str:
    """Say by its letters whether a picture shows a page, a receipt or, where they are few, a formula."""
    letters = _find_letters(image)
    if not _fills_page(letters):
        return tasks.DEFAULT
    readable = RECEIPT in embedded_names() and find_spec("rapidocr") is not None  # its words must be found first
    return RECEIPT if readable and _stands_like_receipt(letters) else PAGE


def looks_like_page(image: Image.Image) -> bool:
    """Say whether a picture holds many lines of many letters."""
    return _fills_page(_find_letters(image))


def _find_letters(image: Image.Image) -> Boxes:
    """Return the boxes of whatever is dark and not a speck, (N, 4)."""
    gray = image.convert("L")
    factor = math.ceil(max(gray.size) / _LONGEST)
    values = np.asarray(gray.reduce(factor) if factor > 1 else gray, dtype=np.float32)
    dark, light = percentile(values, 0.5), percentile(values, 90)
    boxes = stroke_boxes(values < dark + _DARK * (light - dark))
    return np.asarray(boxes[boxes[:, 3] - boxes[:, 1] > 2], dtype=np.int64)


def _fills_page(letters: Boxes) -> bool:
    if len(letters) < _STROKES:
        return False
    size = float(np.median(letters[:, 3] - letters[:, 1]))
    high = letters[:, 3].max() - letters[:, 1].min()
    wide = letters[:, 2].max() - letters[:, 0].min()
    return bool(high > _HIGH * size and wide > _WIDE * size)


def _stands_like_receipt(letters: Boxes) -> bool:
    """Say whether lines are short and few of them full, and some have a gap before their end, where prices stand."""
    heights = letters[:, 3] - letters[:, 1]
    size = float(np.median(heights))
    kept = letters[heights < _TALL * size]
    left, right = percentile(kept[:, 0], _EDGES[0]), percentile(kept[:, 2], _EDGES[1])
    wide = float(right - left)
    rows: dict[int, list[tuple[int, int]]] = {}
    for x0, y0, x1, y1 in kept.tolist():
        rows.setdefault(int((y0 + y1) / 2 / (_ROW * size)), []).append((x0, x1))
    lines = [sorted(row) for row in rows.values() if len(row) >= _FEWEST]
    if not lines or wide > _NARROW * size:
        return False
    filled = [sum(end - start for start, end in line) / wide for line in lines]
    gaps = [max(after[0] - before[1] for before, after in pairwise(line)) for line in lines]
    with_gap = sum(gap > _GAP * wide for gap in gaps) / len(lines)
    return float(np.median(filled)) < _FILLED and with_gap >= _WITH_GAP
