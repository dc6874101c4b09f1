"""Words that the caller gives: JSON, hOCR or ALTO.

JSON is `{"words": [{"text": ..., "box": [x0, y0, x1, y1]}, ...]}` or the same with `lines`, and optionally `width` and
`height` of the page the boxes belong to; without them the boxes are in pixels of the picture.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

from unrender.documents import Box
from unrender.errors import DataError
from unrender.images.page_text import CharacterBox, PageText
from unrender.words.word_page import FARTHEST, Line, Word, WordPage, check_box, order_lines, order_words, split_lines

_NUMBER = r"(-?[0-9]{1,9}(?:\.[0-9]*)?)"
_BOX = re.compile(rf"\bbbox\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}(?=[\s;]|$)")
_SURE = re.compile(rf"\bx_wconf\s+{_NUMBER}")
_PER_CENT = 100.0
_T = TypeVar("_T")
_POINTS_PER_INCH = 72


def read_given(path: str | Path, width: int, height: int, page: int = 1) -> WordPage:
    """Read the words of a page from a file; boxes are scaled to a picture of `width` x `height`."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: the words cannot be read as text ({error}).") from error
    return parse_given(text, width, height, page, str(path))


def parse_given(text: str, width: int, height: int, page: int = 1, name: str = "words") -> WordPage:
    """Read the words of page number `page` from the text of a JSON, hOCR or ALTO file."""
    start = text.lstrip()[:2000].lower()
    if start.startswith(("{", "[")):
        found = _from_json(text, width, height, name)
    elif "<alto" in start or ":alto" in start:
        found = _from_alto(text, width, height, page, name)
    elif "<html" in start or "ocr_page" in start or "<!doctype html" in start:
        found = _from_hocr(text, width, height, page, name)
    else:
        raise DataError(f"{name}: words are given as JSON, hOCR or ALTO; this is none of them.")
    return found


def _from_json(text: str, width: int, height: int, name: str) -> WordPage:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name}: the JSON cannot be read ({error}).") from error
    values = {"words": values} if isinstance(values, list) else values
    kind = next((kind for kind in ("words", "lines") if isinstance(values.get(kind), list)), None)
    if kind is None:
        raise DataError(f"{name}: the JSON must hold a list called words or lines.")
    across, down = (values.get(side, size) for side, size in (("width", width), ("height", height)))
    if not all(isinstance(side, int | float) and 0 < side <= FARTHEST for side in (across, down)):
        raise DataError(f"{name}: width and height must be positive numbers.")
    lines = [
        _entry(entry, float(across), float(down), f"{name}, {kind[:-1]} {n}") for n, entry in enumerate(values[kind], 1)
    ]
    lines = [_scaled(line, width / across, height / down) for line in lines if line.text.strip()]
    if kind == "lines":
        return WordPage(width, height, tuple(split_lines(order_lines(lines))))
    return WordPage(width, height, tuple(order_words([Word(line.text.strip(), line.box) for line in lines])))


def _entry(entry: object, width: float, height: float, what: str) -> Line:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("text"), str):
        raise DataError(f"{what}: each entry needs a text and a box, such as {{'text': 'TOTAL', 'box': [0, 0, 9, 9]}}.")
    corners = entry.get("box", entry.get("bbox"))
    if not isinstance(corners, list) or not all(isinstance(corner, int | float) for corner in corners):
        raise DataError(f"{what} ({entry['text']!r}) has no box; give four numbers x0, y0, x1, y1.")
    return Line(entry["text"], check_box(corners, width, height, f"{what} ({entry['text']!r})"))


def _scaled(line: Line, across: float, down: float) -> Line:
    box = line.box
    return Line(line.text, type(box)(box.x0 * across, box.y0 * down, box.x1 * across, box.y1 * down), line.confidence)


class _Hocr(HTMLParser):
    """Collects the words of every page of an hOCR file."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[tuple[tuple[float, ...] | None, list[tuple[str, tuple[float, ...] | None, float]]]] = []
        self._title = ""
        self._text = ""
        self._depth = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        kinds = values.get("class", "").split()
        if "ocr_page" in kinds:
            self.pages.append((_numbers(values.get("title", "")), []))
        if self._depth:
            self._depth += 1
        elif "ocrx_word" in kinds or "ocr_word" in kinds:
            self._title, self._text, self._depth = values.get("title", ""), "", 1

    def handle_endtag(self, tag: str) -> None:
        if not self._depth:
            return
        self._depth -= 1
        if self._depth == 0 and self._text.strip():
            sure = _SURE.search(self._title)
            if not self.pages:
                self.pages.append((None, []))
            certainty = float(sure[1]) / _PER_CENT if sure else 1.0
            self.pages[-1][1].append((self._text.strip(), _numbers(self._title), certainty))

    def handle_data(self, data: str) -> None:
        if self._depth:
            self._text += data


def _from_hocr(text: str, width: int, height: int, page: int, name: str) -> WordPage:
    parser = _Hocr()
    parser.feed(text)
    frame, entries = _page(parser.pages, page, name)
    left, top, right, bottom = frame or (0.0, 0.0, float(width), float(height))
    across, down = max(1.0, right - left), max(1.0, bottom - top)
    words = []
    for number, (word, corners, sure) in enumerate(entries, 1):
        if corners is None:
            raise DataError(f"{name}, word {number} ({word!r}) has no box; hOCR gives one as bbox x0 y0 x1 y1.")
        x0, y0, x1, y1 = corners
        box = check_box((x0 - left, y0 - top, x1 - left, y1 - top), across, down, f"{name}, word {number} ({word!r})")
        line = _scaled(Line(word, box, sure), width / across, height / down)
        words.append(Word(word, line.box, 0, sure))
    return WordPage(width, height, tuple(order_words(words)))


def _from_alto(text: str, width: int, height: int, page: int, name: str) -> WordPage:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise DataError(f"{name}: an ALTO file with a document type of its own is not read.")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise DataError(f"{name}: the XML cannot be read ({error}).") from error
    pages = [element for element in root.iter() if _local(element) == "Page"]
    frame = _page(pages, page, name)
    across, down = (_number(frame, side) or size for side, size in (("WIDTH", width), ("HEIGHT", height)))
    words = []
    for number, string in enumerate((element for element in frame.iter() if _local(element) == "String"), 1):
        content = string.get("CONTENT", "").strip()
        x, y, w, h = (_number(string, key) for key in ("HPOS", "VPOS", "WIDTH", "HEIGHT"))
        what = f"{name}, word {number} ({content!r})"
        if x is None or y is None or w is None or h is None:
            raise DataError(f"{what} has no box; ALTO gives one as HPOS, VPOS, WIDTH and HEIGHT.")
        line = _scaled(
            Line(content, check_box((x, y, x + w, y + h), across, down, what)), width / across, height / down
        )
        if content:
            words.append(Word(content, line.box, 0, _number(string, "WC") or 1.0))
    return WordPage(width, height, tuple(order_words(words)))


def _page(pages: list[_T], page: int, name: str) -> _T:
    if not 1 <= page <= len(pages):
        raise DataError(f"{name}: there is no page {page}; the file has {len(pages)}.")
    return pages[page - 1]


def _numbers(title: str) -> tuple[float, ...] | None:
    found = _BOX.search(title)
    return tuple(float(number) for number in found.groups()) if found else None


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _number(element: ElementTree.Element, key: str) -> float | None:
    try:
        number = float(element.get(key, ""))
    except ValueError:
        return None
    return number if abs(number) <= FARTHEST else None


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
