"""Draw a text as one line: black on white, as high as the word reader looks, and where each character stands.

The fonts are those of Debian and of npm's @fontsource packages; some are for measuring only.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from fontTools.ttLib import TTFont, TTLibError
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from unrender.checkpoints import cache_folder
from unrender.errors import DataError
from unrender.models.word import ALPHABET, HEIGHT, MAX_WIDTH

Gray = NDArray[np.uint8]
Boxes = NDArray[np.int16]
_SYSTEM = Path("/usr/share/fonts")
_TEX = Path("/usr/share/texmf/fonts/opentype/public/lm")
_UNUSABLE = ("Symbol", "Dingbats", "D050000L", "lmmath", "porson", "StandardSymbols")
HELD_OUT = ("vollkorn", "josefin-sans", "nunito", "gochi-hand", "fragment-mono", "cabin", "bitter", "titan-one")
_LEAST = 90  # characters of the alphabet that a font must have
_SIZES = (14, 18, 22, 26, 30, 36)
_ROOM = 24  # pixels around the text while it is drawn
_SPACED, _LOOSE = 0.07, 0.45  # shares of texts with wide gaps between letters, with the whole height of the font


@dataclass(frozen=True)
class Font:
    """One font file and which characters of the alphabet it has."""

    path: Path
    known: frozenset[str]

    def sized(self, size: int) -> ImageFont.FreeTypeFont:
        """Open it at a size in pixels."""
        return _open(self.path, size)

    def writes(self, text: str) -> bool:
        """Say whether it has every character of the text."""
        return self.known.issuperset(text)


@dataclass(frozen=True)
class Drawn:
    """A picture (HEIGHT, W) and the left, top, right, bottom of each character in it."""

    gray: Gray
    boxes: Boxes


def find_fonts(*, held_out: bool = False) -> list[Font]:
    """Find the fonts to train with, or those that are kept for measuring."""
    files = cache_folder() / "node" / "node_modules" / "@fontsource"
    packages = [
        path
        for package in sorted(files.glob("*"))
        if (package.name in HELD_OUT) == held_out
        for path in sorted(package.glob("files/*-latin-[4,7]00-*.woff"))
    ]
    system = [] if held_out else sorted(
        path for root in (_SYSTEM, _TEX) for kind in ("*.ttf", "*.otf") for path in root.rglob(kind)
    )  # fmt: skip
    usable = [path for path in (*packages, *system) if not any(name in path.name for name in _UNUSABLE)]
    fonts = [Font(path, _known(path)) for path in usable]
    found = [font for font in fonts if len(font.known) >= _LEAST]
    if not found:
        raise DataError(f"there are no fonts in {files} nor in {_SYSTEM}; see docs/word.md for where to get them")
    return found


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


def _known(path: Path) -> frozenset[str]:
    """Return which characters of the alphabet a font has; none where it cannot be opened."""
    try:
        _open(path, _SIZES[0])
        with TTFont(path, lazy=True) as font:
            codes = font.getBestCmap() or {}
    except (OSError, TTLibError):
        return frozenset()
    return frozenset(character for character in ALPHABET if ord(character) in codes)


@cache
def _open(path: Path, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
