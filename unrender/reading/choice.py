"""Which task a source is for when nobody says: a page, or a formula."""

import math

import numpy as np
from PIL import Image

from unrender import tasks
from unrender.checkpoints import embedded_names
from unrender.errors import UnrenderError
from unrender.images.opening import open_pages
from unrender.images.pixels import stroke_boxes
from unrender.reading.systems import Input

PAGE = "page"
_DPI = 75  # enough to see whether there is a page
_LONGEST = 1200  # pixels
_DARK = 0.5  # of the way from the darkest grey to the paper
_STROKES = 220  # a picture with fewer is no page
_HIGH, _WIDE = 30.0, 24.0  # times its letters' height that a page is at least high and wide


def choose_task(source: Input) -> str:
    """Return `page` for what looks like a page of text, `formula` for anything else."""
    if PAGE not in embedded_names():
        return tasks.DEFAULT
    try:
        pages = open_pages(source.source, _DPI, source.name)
        return PAGE if len(pages) > 1 or looks_like_page(pages[0]) else tasks.DEFAULT
    except UnrenderError:
        return tasks.DEFAULT  # who reads it will say what is wrong


def looks_like_page(image: Image.Image) -> bool:
    """Say whether a picture holds many lines of many letters."""
    gray = image.convert("L")
    factor = math.ceil(max(gray.size) / _LONGEST)
    values = np.asarray(gray.reduce(factor) if factor > 1 else gray, dtype=np.float32)
    dark, light = np.percentile(values, (0.5, 90))
    boxes = stroke_boxes(values < dark + _DARK * (light - dark))
    heights = boxes[:, 3] - boxes[:, 1]
    letters = heights[heights > 2]
    if len(letters) < _STROKES:
        return False
    size = float(np.median(letters))
    spread = boxes[heights > 2]
    high, wide = spread[:, 3].max() - spread[:, 1].min(), spread[:, 2].max() - spread[:, 0].min()
    return bool(high > _HIGH * size and wide > _WIDE * size)
