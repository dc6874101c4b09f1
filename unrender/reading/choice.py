"""Which task a source is for when nobody says: a formula, a word, a line, a text, a page or a receipt.

Strokes tell how much there is; what there is of it, a quick look with the word reader (CTC, no decoder). The numbers
were set on one half of the pictures that `benchmarks/choice.py` makes and measured on the other.
"""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender import checkpoints, tasks
from unrender.decoding import Speller
from unrender.errors import UnrenderError
from unrender.images.drawing import is_inkml
from unrender.images.lines import Region, Strip, find_lines
from unrender.images.measures import percentile, stroke_boxes
from unrender.images.opening import PAGE_MEMORY, PageMemory, open_pages
from unrender.reading.looks import spell_out
from unrender.reading.receipt import keywords
from unrender.reading.receipt.rows import AMOUNT
from unrender.reading.systems import UNWATCHED, Input, Sheet, cut_out
from unrender.reading.text import TextSystem

PAGE, RECEIPT, WORD, LINE, TEXT = "page", "receipt", "word", "line", "text"
_DPI, _CROP_DPI = 75, 150  # enough to see whether there is a page, and to look at a part of one
_LONGEST = 1200  # pixels
_DARK = 0.5  # of the way from the darkest grey to the paper
_STROKES = 130  # a picture with fewer is no page
_HIGH, _WIDE = 24.0, 18.0  # times its letters' height that a page is at least high and wide
_NARROW, _NOT_WIDE = 42.0, 110.0  # times its letters' height that a receipt is at most wide; by its words
_FILLED = 0.45  # of its width that a usual line of a receipt fills at most
_ROW, _TALL, _FEWEST = 1.6, 4.0, 4  # of the letters' height: a row, what is no letter; letters that make a row
_GAP, _WITH_GAP = 0.2, 0.15  # of the width: what stands between a good and its price; share of rows with such a gap
_EDGES = (2, 98)  # per cent of the letters between which the text is
_FEW_LINES, _MANY_LINES = 6, 32  # pieces of lines that are looked at in a small picture, and in a full one
_SPEAKS, _SPEAKS_BRIEFLY = 5, 4  # amounts and words of receipts among them that make a receipt; a small one
_TRADE = (keywords.TOTAL, keywords.CASH, keywords.CHANGE, keywords.TAX, keywords.RECEIPT)
_RUN = re.compile(r"[^\W\d_]{3,}")
_FUNCTION = re.compile(
    r"(arc)?(sin|cos|tan|cot|sec|log|lim|max|min|det|mod|exp|sup|inf|dim|ker|arg|gcd|deg)h?.?", re.IGNORECASE
)
_SIGNS = frozenset('=+<>|^~_{}[]/*\u00d7÷±€()?"»«°')  # what a reader of words makes of a formula is full of them
_LEAST_SURE, _MOST_LETTERS = -1.5, 3.0
_WORDY = 0.15  # log-odds from which a picture is taken for words
Boxes = NDArray[np.int64]


@dataclass(frozen=True)
class Spelled:
    """A piece of a line as the word reader spells it; `sure` is the log-probability of each character."""

    text: str
    sure: tuple[float, ...]
    region: Region | None


def choose_task(source: Input, crop: tuple[float, ...] | None = None, memory: PageMemory = PAGE_MEMORY) -> str:
    """Return the task that a source looks like; `crop` is the part that is wanted, as shares of the page."""
    return look_at(source, crop, memory) or tasks.DEFAULT  # who reads it will say what is wrong


def look_at(source: Input, crop: tuple[float, ...] | None = None, memory: PageMemory = PAGE_MEMORY) -> str | None:
    """Return the task that a source looks like; None where it cannot be opened."""
    if not _has_model(PAGE) or _is_ink(source):
        return tasks.DEFAULT
    try:
        pages = open_pages(source.source, _DPI if crop is None else _CROP_DPI, source.name, memory)
        if len(pages) > 1 and crop is None:
            return RECEIPT if all(look(pages[index]) == RECEIPT for index in (0, -1)) else PAGE
        image = pages[source.pages[0] - 1 if source.pages else 0]
        return look(image if crop is None else cut_out(image, crop))
    except (UnrenderError, IndexError):
        return None


def look(image: Image.Image) -> str:
    """Say by its strokes, and by what a quick look reads in them, which task a picture is for."""
    letters = _find_letters(image)
    readable = _has_model(RECEIPT) and find_spec("rapidocr") is not None  # finds its words
    if not _fills_page(letters):
        chosen = _by_words(_spell(image, _FEW_LINES))
        brief = chosen == TEXT and readable and _speaks_like_receipt(image, letters, _SPEAKS_BRIEFLY)
        return RECEIPT if brief else chosen
    if readable and (_stands_like_receipt(letters) or _speaks_like_receipt(image, letters, _SPEAKS)):
        return RECEIPT
    return PAGE


def wordiness(spelled: list[Spelled]) -> float:
    """Return the log-odds that a picture shows words and no formula, by what the word reader makes of it."""
    text = " ".join(piece.text for piece in spelled)
    count = sum(not letter.isspace() for letter in text)
    sure = [one for piece in spelled for one in piece.sure]
    if not count or not sure:
        return -math.inf
    lettered = sum(len(run) for run in _RUN.findall(text) if not _FUNCTION.fullmatch(run))
    signs, digits = sum(letter in _SIGNS for letter in text), sum(letter.isdigit() for letter in text)
    return (
        -2.77
        + 1.61 * max(_LEAST_SURE, float(np.mean(sure)))
        + 2.75 * lettered / count
        - 2.77 * signs / count
        + 0.69 * min(_MOST_LETTERS, math.log1p(lettered))
        - 0.2 * digits / count
    )


def _by_words(spelled: list[Spelled]) -> str:
    if wordiness(spelled) < _WORDY:
        return tasks.DEFAULT
    said = [piece for piece in spelled if _RUN.search(piece.text)]
    if len({piece.region[1::2] for piece in said if piece.region is not None}) > 1:
        return TEXT
    return LINE if len(" ".join(piece.text for piece in said).split()) > 1 else WORD


def _spell(image: Image.Image, most: int) -> list[Spelled]:
    """Let the word reader, if there is one, spell up to so many pieces of lines, from top to bottom."""
    words = _word_reader()
    if words is None or not isinstance(words.engine, Speller):
        return []
    sight, prep = words.sight(), words.config.image
    lines = find_lines(image, prep.width / prep.line_height)
    regions = [_as_region(strip) for line in lines for strip in line] or [None]
    chosen = [regions[index] for index in np.linspace(0, len(regions) - 1, min(most, len(regions))).round().astype(int)]
    sheets = (Sheet(image, number, region=region) for number, region in enumerate(chosen))
    spelled = []
    for sheet, looks in spell_out(sight, words.engine, sheets, UNWATCHED):
        text = " ".join(words.tokenizer.decode(one.decoded.tokens) for one in looks)
        spelled.append(
            Spelled(text, tuple(log for one in looks for log in one.decoded.log_probabilities), sheet.region)
        )
    return spelled


def _as_region(strip: Strip) -> Region | None:
    left, top, right, bottom = map(round, strip.frame)
    return left, top, right, bottom


@lru_cache(maxsize=1)
def _word_reader() -> TextSystem | None:
    if not _has_model(TEXT):
        return None
    task = tasks.find(TEXT)
    return TextSystem.open(checkpoints.load(task.default_model), task)


def _has_model(task: str) -> bool:
    return tasks.find(task).default_model in checkpoints.embedded_names()


def _is_ink(source: Input) -> bool:
    """Say whether a source is pen strokes: a formula."""
    given = source.source
    return is_inkml(given) if isinstance(given, bytes) else str(source.name).lower().endswith(".inkml")


def _find_letters(image: Image.Image) -> Boxes:
    """Return the boxes of whatever is dark on light ground, or light on dark, and not a speck, (N, 4)."""
    gray = image.convert("L")
    factor = math.ceil(max(gray.size) / _LONGEST)
    values = np.asarray(gray.reduce(factor) if factor > 1 else gray, dtype=np.float32)
    low, middle, high = (percentile(values, share) for share in (0.5, 50, 99.5))
    if middle < (low + high) / 2:
        values = 255 - values
    dark, light = percentile(values, 0.5), percentile(values, 90)
    boxes = stroke_boxes(values < dark + _DARK * (light - dark))
    return np.asarray(boxes[boxes[:, 3] - boxes[:, 1] > 2], dtype=np.int64)


def _fills_page(letters: Boxes) -> bool:
    if len(letters) < _STROKES:
        return False
    size = percentile(letters[:, 3] - letters[:, 1], 50)
    high = letters[:, 3].max() - letters[:, 1].min()
    return bool(high > _HIGH * size and _width(letters) > _WIDE * size)


def _width(letters: Boxes) -> float:
    return float(letters[:, 2].max() - letters[:, 0].min())


def _speaks_like_receipt(image: Image.Image, letters: Boxes, least: int) -> bool:
    """Say whether a picture that is not wide has amounts, and words that stand on receipts."""
    if _width(letters) > _NOT_WIDE * percentile(letters[:, 3] - letters[:, 1], 50):
        return False
    texts = [piece.text for piece in _spell(image, _MANY_LINES)]
    amounts = sum(AMOUNT.search(text) is not None for text in texts)
    trade = sum(words.search(keywords.fold(text)) is not None for text in texts for words in _TRADE)
    return amounts > 0 and amounts + trade >= least


def _stands_like_receipt(letters: Boxes) -> bool:
    """Say whether lines are short and few of them full, and some have a gap before their end, where prices stand."""
    heights = letters[:, 3] - letters[:, 1]
    size = percentile(heights, 50)
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
    return percentile(np.array(filled), 50) < _FILLED and with_gap >= _WITH_GAP
