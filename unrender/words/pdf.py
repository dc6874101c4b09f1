"""The words of a PDF page that carries its own text."""

import math
from collections.abc import Sequence

from unrender.documents import Box
from unrender.images.drawing import CharacterBox, PageText
from unrender.words.order import order_words
from unrender.words.page import Word, WordPage

_POINTS_PER_INCH = 72


def find_pdf_words(text: PageText, dpi: int) -> WordPage | None:
    """Return the words of a PDF page in pixels at `dpi`; None when the page has no text of its own."""
    scale = dpi / _POINTS_PER_INCH
    words = _join(text.characters, text.height, scale)
    if not words:
        return None
    return WordPage(math.ceil(text.width * scale), math.ceil(text.height * scale), tuple(order_words(words)))


def _join(characters: Sequence[tuple[str, CharacterBox]], height: float, scale: float) -> list[Word]:
    """Join characters up to the next space or line break into words."""
    words: list[Word] = []
    text, boxes = "", list[tuple[float, float, float, float]]()
    for letter, box in [*characters, (" ", (0.0, 0.0, 0.0, 0.0))]:
        if letter.strip():
            text += letter
            boxes.append(box)
            continue
        if boxes:
            left, bottom = min(box[0] for box in boxes), min(box[1] for box in boxes)
            right, top = max(box[2] for box in boxes), max(box[3] for box in boxes)
            around = Box(left * scale, (height - top) * scale, right * scale, (height - bottom) * scale)
            words.append(Word(text, around))
        text, boxes = "", []
    return words
