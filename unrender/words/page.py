"""Words with boxes: what a layout model reads beside the picture."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.documents import Box
from unrender.errors import DataError

FARTHEST = 1e9  # pixels: no page has a corner farther away
COORDINATES = 1000  # seed 003: boxes are integers from 0 to this
MAX_WORDS = 50_000  # on one page; more is not a page


@dataclass(frozen=True)
class Word:
    """One word, where it stands in pixels, the line it is on, and how sure its reader was."""

    text: str
    box: Box
    line: int = 0
    confidence: float = 1.0


@dataclass(frozen=True)
class Line:
    """A run of words that stand together on one line, as an OCR program or a label file gives it."""

    text: str
    box: Box
    confidence: float = 1.0


@dataclass(frozen=True)
class WordPage:
    """The words of one page in reading order.

    Width, height and boxes are those of the picture after `turns` quarter turns clockwise; a picture that lay on its
    side is turned before it is read.
    """

    width: int
    height: int
    words: tuple[Word, ...] = ()
    turns: int = 0

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise DataError(f"a page needs a positive width and height, got {self.width} x {self.height}")
        if len(self.words) > MAX_WORDS:
            raise DataError(f"the page has {len(self.words):,} words, more than the limit of {MAX_WORDS:,}; split it")

    @property
    def text(self) -> str:
        """All words, line by line."""
        lines: dict[int, list[str]] = {}
        for word in self.words:
            lines.setdefault(word.line, []).append(word.text)
        return "\n".join(" ".join(words) for words in lines.values())

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.words]

    def normalised(self) -> NDArray[np.int64]:
        """Return the boxes as integers from 0 to 1000, (N, 4): int(1000 x / width), int(1000 y / height)."""
        corners = [(word.box.x0, word.box.y0, word.box.x1, word.box.y1) for word in self.words]
        boxes = np.array(corners, dtype=np.float64).reshape(-1, 4)
        sides = np.array([self.width, self.height, self.width, self.height])
        return np.asarray(np.clip(boxes * COORDINATES / sides, 0, COORDINATES), dtype=np.int64)

    def in_picture(self, box: Box) -> Box:
        """Return where a box of this page lies in the picture as it was before it was turned."""
        width, height = self.width, self.height
        for _ in range(self.turns % 4):
            box = Box(box.y0, width - box.x1, box.y1, width - box.x0)
            width, height = height, width
        return box


def split_lines(lines: Iterable[Line]) -> list[Word]:
    """Cut lines into words; a word's share of the line's box is its share of the characters."""
    words = []
    for number, line in enumerate(lines):
        end, whole = 0, max(1, len(line.text))
        for text in line.text.split():
            start = line.text.index(text, end)
            end = start + len(text)
            left, right = (line.box.x0 + line.box.width * along / whole for along in (start, end))
            words.append(Word(text, Box(left, line.box.y0, right, line.box.y1), number, line.confidence))
    return words


def check_box(corners: Sequence[float], width: float, height: float, what: str) -> Box:
    """Return a box cut to the page; a DataError for one that is inverted, outside or not four numbers."""
    if len(corners) != 4 or not all(abs(corner) <= FARTHEST for corner in corners):
        raise DataError(f"{what}: a box is four numbers x0, y0, x1, y1, got {list(corners)}")
    x0, y0, x1, y1 = map(float, corners)
    if x1 < x0 or y1 < y0:
        raise DataError(f"{what}: the box {list(corners)} is inverted; give left, top, right, bottom")
    if x0 > width or y0 > height or x1 < 0 or y1 < 0:
        raise DataError(f"{what}: the box {list(corners)} lies outside the page of {width:g} x {height:g}")
    return Box(max(0.0, x0), max(0.0, y0), min(float(width), x1), min(float(height), y1))
