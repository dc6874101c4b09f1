"""The words of a PDF page that carries its own text."""

import math

from unrender.documents import Box
from unrender.errors import ImageError
from unrender.images.opening import PDFIUM_LOCK
from unrender.words.order import order_words
from unrender.words.page import Word, WordPage

_POINTS_PER_INCH = 72


def read_pdf_words(data: bytes, index: int, dpi: int) -> WordPage | None:
    """Return the words of page `index` in pixels at `dpi`; None when the page has no text of its own."""
    import pypdfium2

    with PDFIUM_LOCK:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            raise ImageError("the PDF is damaged or encrypted and its text cannot be read.") from error
        try:
            page = document[index]
            characters = _characters(page)
            width, height = page.get_size()
        finally:
            document.close()
    scale = dpi / _POINTS_PER_INCH
    words = _join(characters, height, scale)
    if not words:
        return None
    return WordPage(math.ceil(width * scale), math.ceil(height * scale), tuple(order_words(words)))


Character = tuple[str, tuple[float, float, float, float]]  # left, bottom, right, top in points


def _characters(page: "object") -> list[Character]:
    from pypdfium2 import PdfPage

    assert isinstance(page, PdfPage)
    text = page.get_textpage()
    count = text.count_chars()
    return [(text.get_text_range(index, 1), text.get_charbox(index, loose=True)) for index in range(count)]


def _join(characters: list[Character], height: float, scale: float) -> list[Word]:
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
