"""Draw a text as one line: black on white, as high as the word reader looks, and where each character stands."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from unrender.models.word import HEIGHT, MAX_WIDTH
from unrender.training.word.fonts import Font

Gray = NDArray[np.uint8]
Boxes = NDArray[np.int16]
_SIZES = (14, 18, 22, 26, 30, 36)
_ROOM = 24  # pixels around the text while it is drawn
_SPACED, _LOOSE = 0.07, 0.45  # shares of texts with wide gaps between letters, with the whole height of the font


@dataclass(frozen=True)
class Drawn:
    """A picture (HEIGHT, W) and the left, top, right, bottom of each character in it."""

    gray: Gray
    boxes: Boxes


def draw_text(text: str, font: Font, rng: np.random.Generator) -> Drawn | None:
    """Draw a text in a font; None where the line comes out too long or empty."""
    size = _SIZES[int(rng.integers(len(_SIZES)))]
    opened = font.sized(size)
    gap = float(rng.uniform(0.08, 0.6)) * size if rng.random() < _SPACED else 0.0
    ends = _ends(text, opened, gap)
    ascent, descent = opened.getmetrics()
    image = Image.new("L", (int(ends[-1]) + 2 * _ROOM, ascent + descent + 2 * _ROOM), 255)
    canvas = ImageDraw.Draw(image)
    if gap:
        for character, left in zip(text, ends, strict=False):
            canvas.text((_ROOM + left, _ROOM), character, fill=0, font=opened)
    else:
        canvas.text((_ROOM, _ROOM), text, fill=0, font=opened)
    return _cut(np.asarray(image), ends, (_ROOM, _ROOM + ascent + descent), rng)


def _ends(text: str, font: ImageFont.FreeTypeFont, gap: float) -> NDArray[np.float64]:
    """Return where each character begins, and where the last one ends."""
    widths = np.array([font.getlength(character) for character in text]) + gap
    ends = np.concatenate([[0.0], widths.cumsum()])
    return ends if gap else ends * (font.getlength(text) / max(1.0, ends[-1]))


def _cut(gray: Gray, ends: NDArray[np.float64], line: tuple[int, int], rng: np.random.Generator) -> Drawn | None:
    """Cut around the ink or to the height of the font, with a little air, and bring it to the reader's height."""
    ink = gray < 160
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if not rows.size:
        return None
    top, bottom = int(rows[0]), int(rows[-1]) + 1
    if rng.random() < _LOOSE:
        top, bottom = min(top, line[0]), max(bottom, line[1])
    air = (bottom - top) * rng.uniform(0, 0.22, 2)
    side = (bottom - top) * rng.uniform(0, 0.35, 2)
    top, bottom = max(0, int(top - air[0])), min(len(gray), int(bottom + air[1] + 0.99))
    left, right = max(0, int(columns[0] - side[0])), min(gray.shape[1], int(columns[-1] + 1 + side[1] + 0.99))
    scale = HEIGHT / (bottom - top)
    width = max(8, round((right - left) * scale))
    if width > MAX_WIDTH:
        return None
    cut = np.ascontiguousarray(gray[top:bottom, left:right])
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC if rng.random() < 0.5 else cv2.INTER_LINEAR
    picture = np.asarray(cv2.resize(cut, (width, HEIGHT), interpolation=method), dtype=np.uint8)
    places = np.clip((ends + _ROOM - left) * scale, 0, width)
    boxes = np.zeros((len(ends) - 1, 4), dtype=np.int16)
    boxes[:, 0], boxes[:, 2], boxes[:, 3] = places[:-1], np.maximum(places[1:], places[:-1] + 1), HEIGHT
    return Drawn(picture, boxes)
