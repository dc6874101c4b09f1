"""Pictures of lines as the line reader sees them, cut out of a page."""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.images.measures import stroke_boxes
from unrender.reading.page.places import Rectangle, Row, find_lines
from unrender.reading.page.straight import INK, Straight

LETTERS = 7.6  # pixels: the height of small letters, as strokes are measured, in the line reader's pictures
LONGEST_PART = 60.0  # times the height of small letters: a longer line is read in parts
_MARGIN = 2  # pixels around a line, as the line reader sees it
_SAMPLED_LINES, _SAMPLED_WIDTH = 5, 30.0  # lines, and times small letters of each, that tell which way up a page is
_WIDE = 8.0  # times small letters: what stands farther apart is read apart
_LONGEST = 1000  # pixels of a line; a longer one is read smaller
_MOST_PIXELS = 100_000  # of a line or display; the memory of all that are read beside it grows with the largest


def split(row: Row) -> list[Rectangle]:
    """Cut a line that is longer than can be read reliably between words, into parts of about the same length.

    Every cell of a table is read by itself, so that rules between them are not read, and none is lost.
    """
    left, top, right, bottom = row.box
    if row.cells:
        return [cell for cell in row.cells if cell is not None]
    wide = [gap for gap in row.gaps if gap[1] > _WIDE * row.letters]
    lefts = [left, *(middle + width // 2 for middle, width in wide)]
    rights = [*(middle - width // 2 for middle, width in wide), right]
    parts = [part for one, other in zip(lefts, rights, strict=True) for part in _shorter(row, one, other)]
    return [(one, top, other, bottom) for one, other in parts]


def _shorter(row: Row, left: int, right: int) -> Iterator[tuple[int, int]]:
    """Cut what stands in a line from `left` to `right` between words until it is short enough."""
    count = math.ceil((right - left) / (LONGEST_PART * row.letters))
    edges = [left]
    for number in range(1, count if row.gaps else 1):
        aim = left + (right - left) * number / count
        reach = (right - left) / count / 2
        near = [gap for gap in row.gaps if abs(gap[0] - aim) < reach and gap[0] > edges[-1]]
        if near:
            edges.append(max(near, key=lambda gap: min(gap[1], 1.2 * row.letters) - abs(gap[0] - aim) / reach)[0])
    return pairwise([*edges, right])


def cut(gray: NDArray[np.uint8], box: Rectangle, letters: float, zoom: float = 1.0) -> Image.Image:
    """Cut a line out of a page, its letters as large as its reader looks at them: `zoom` times those of its pictures.

    It is brought to that size at once: what is shrunk first and enlarged again has lost its fine strokes.
    """
    width, height = box[2] - box[0], box[3] - box[1]
    factor = min(zoom * LETTERS / letters, _LONGEST * zoom / width, math.sqrt(_MOST_PIXELS / max(1, width * height)))
    edge = math.ceil(_MARGIN / factor)
    rows, columns = gray.shape
    left, top = max(0, box[0] - edge), max(0, box[1] - edge)
    part = Image.fromarray(gray[top : min(rows, box[3] + edge), left : min(columns, box[2] + edge)])
    size = max(4, round(part.width * factor)), max(4, round(part.height * factor))
    method = Image.Resampling.BOX if factor < 1 else Image.Resampling.BICUBIC
    return part.resize(size, method).convert("RGB")


def sample_lines(straight: Straight) -> list[Image.Image]:
    """Cut the beginnings of the lines with the most letters out of a page."""
    boxes = stroke_boxes(straight.gray < INK)
    lines = find_lines(boxes, range(len(boxes)), straight.letters)
    chosen = sorted(lines, key=lambda line: -len(line.strokes))[:_SAMPLED_LINES]
    widest = round(_SAMPLED_WIDTH * straight.letters)
    cuts = ((left, top, min(right, left + widest), bottom) for left, top, right, bottom in (one.box for one in chosen))
    return [cut(straight.gray, box, straight.letters) for box in cuts]
