"""Words with boxes: what a layout model reads beside the picture.

Reading order: lines from top to bottom, columns of running text one after the other.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.documents import Box
from unrender.errors import DataError

FARTHEST = 1e9  # pixels: no page has a corner farther away
COORDINATES = 1000  # seed 003: boxes are integers from 0 to this
MAX_WORDS = 50_000  # on one page; more is not a page
_SAME_LINE = 0.5  # two boxes are on one line when they share this part of the lower one's height
_COLUMN_GAP = 0.02  # of the page width: what parts columns of running text
_COLUMN_FILL = 0.5  # of a column's width: what a median line of running text fills
_COLUMN_LINES = 4  # a column of running text has at least so many lines
_MAX_DEPTH = 8
_RECENT_ROWS = 6  # a box belongs to one of the last rows or to a new one


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

    Width, height and boxes are those of the picture after `turns` quarter turns clockwise and, where its lines fell by
    `tilt` degrees to the right, after it was levelled; `tilted` is its width and height before that.
    """

    width: int
    height: int
    words: tuple[Word, ...] = ()
    turns: int = 0
    tilt: float = 0.0
    tilted: tuple[int, int] = (0, 0)

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
        if self.tilt:
            corners = np.array([(x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)])
            points = turn_points(corners, -self.tilt, (width, height), self.tilted)
            width, height = self.tilted
            (x0, y0), (x1, y1) = np.clip([points.min(axis=0), points.max(axis=0)], 0, (width, height))
            box = Box(float(x0), float(y0), float(x1), float(y1))
        for _ in range(self.turns % 4):
            box = Box(box.y0, width - box.x1, box.y1, width - box.x0)
            width, height = height, width
        return box


def turn_upright(image: Image.Image, page: WordPage) -> Image.Image:
    """Turn a picture as it was turned for its words."""
    turned = image.rotate(-90 * page.turns, expand=True) if page.turns else image
    return level(turned, page.tilt) if page.tilt else turned


def level(image: Image.Image, tilt: float) -> Image.Image:
    """Turn a picture whose lines fall by some degrees, on paper large enough for all of it."""
    white = "white" if image.mode in ("L", "RGB") else None
    return image.rotate(tilt, Image.Resampling.BICUBIC, expand=True, fillcolor=white)


def turn_points(
    points: NDArray[np.float64], degrees: float, before: tuple[int, int], after: tuple[int, int]
) -> NDArray[np.float64]:
    """Turn points (..., 2) anticlockwise about the middle of a picture, whose size changes from `before` to `after`."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    centred = points - np.array(before) / 2
    return np.asarray(centred @ np.array([[cosine, -sine], [sine, cosine]]) + np.array(after) / 2)


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


def order_lines(lines: Sequence[Line], slope: float = 0.0) -> list[Line]:
    """Sort lines into reading order; `slope` is how far the lines of a tilted page fall on each pixel to the right."""
    boxes = [_levelled(line.box, slope) for line in lines]
    return [lines[index] for row in find_rows(boxes) for index in row]


def order_words(words: Sequence[Word]) -> list[Word]:
    """Sort words into reading order and number their lines."""
    rows = find_rows([word.box for word in words])
    return [replace(words[index], line=number) for number, row in enumerate(rows) for index in row]


def find_rows(boxes: Sequence[Box]) -> list[list[int]]:
    """Group boxes into rows, each from left to right; return indices in `boxes`, in reading order."""
    if not boxes:
        return []
    width = max(box.x1 for box in boxes) - min(box.x0 for box in boxes)
    return _read(boxes, list(range(len(boxes))), width, 0)


def _read(boxes: Sequence[Box], members: list[int], page_width: float, depth: int) -> list[list[int]]:
    rows = group_rows(boxes, members)
    if depth >= _MAX_DEPTH or len(rows) < _COLUMN_LINES:
        return rows
    for start, stop in _blocks(boxes, rows):
        block = [index for row in rows[start:stop] for index in row]
        sides = _columns(boxes, block, page_width)
        if sides is not None:
            before = _read(boxes, [index for row in rows[:start] for index in row], page_width, depth + 1)
            after = _read(boxes, [index for row in rows[stop:] for index in row], page_width, depth + 1)
            left, right = (_read(boxes, side, page_width, depth + 1) for side in sides)
            return [*before, *left, *right, *after]
    return rows


def group_rows(boxes: Sequence[Box], members: Iterable[int]) -> list[list[int]]:
    """Join what stands side by side at the same height; rows from top to bottom."""
    rows: list[list[int]] = []
    for index in sorted(members, key=lambda index: (boxes[index].y0 + boxes[index].y1, boxes[index].x0)):
        fitting = (row for row in reversed(rows[-_RECENT_ROWS:]) if _continues(boxes, row, boxes[index]))
        home = next(fitting, None)
        if home is None:
            rows.append([index])
        else:
            home.append(index)
    for row in rows:
        row.sort(key=lambda index: boxes[index].x0)
    return sorted(rows, key=lambda row: float(np.mean([boxes[index].y0 + boxes[index].y1 for index in row])))


def _continues(boxes: Sequence[Box], row: list[int], box: Box) -> bool:
    """Say whether a box stands beside the members of a row, level with the nearest of them."""
    gaps = [max(boxes[index].x0, box.x0) - min(boxes[index].x1, box.x1) for index in row]
    near = boxes[row[int(np.argmin(np.abs(gaps)))]]
    shared = min(near.y1, box.y1) - max(near.y0, box.y0)
    apart = all(-gap <= _SAME_LINE * min(boxes[index].width, box.width) for gap, index in zip(gaps, row, strict=True))
    return apart and shared > _SAME_LINE * min(near.height, box.height)


def _blocks(boxes: Sequence[Box], rows: list[list[int]]) -> list[tuple[int, int]]:
    """Return runs of rows that have a gap in common, longest first: where columns may be."""
    runs = []
    start = 0
    while start < len(rows):
        gaps = _gaps(boxes, rows[start])
        stop = start + 1
        while stop < len(rows):
            narrowed = _common(gaps, _gaps(boxes, rows[stop]))
            if not narrowed:
                break
            gaps = narrowed
            stop += 1
        if stop - start >= _COLUMN_LINES:
            runs.append((start, stop))
        start = max(stop, start + 1)
    return sorted(runs, key=lambda run: run[0] - run[1])


def _gaps(boxes: Sequence[Box], row: list[int]) -> list[tuple[float, float]]:
    """Return what a row leaves free, from far left to far right."""
    free, edge = [], -np.inf
    for index in row:
        if boxes[index].x0 > edge:
            free.append((edge, boxes[index].x0))
        edge = max(edge, boxes[index].x1)
    return [*free, (edge, np.inf)]


def _common(ones: list[tuple[float, float]], others: list[tuple[float, float]]) -> list[tuple[float, float]]:
    shared = [(max(a, c), min(b, d)) for a, b in ones for c, d in others]
    inner = [(left, right) for left, right in shared if left < right]
    return inner if any(np.isfinite(left) and np.isfinite(right) for left, right in inner) else []


def _columns(boxes: Sequence[Box], members: list[int], page_width: float) -> tuple[list[int], list[int]] | None:
    """Split boxes at the widest gap that runs through all of them, if there is running text on both sides."""
    ordered = sorted(members, key=lambda index: boxes[index].x0)
    edge, best, cut = boxes[ordered[0]].x1, 0.0, 0
    for position, index in enumerate(ordered[1:], start=1):
        gap = boxes[index].x0 - edge
        if gap > best:
            best, cut = gap, position
        edge = max(edge, boxes[index].x1)
    if best < _COLUMN_GAP * page_width:
        return None
    sides = ordered[:cut], ordered[cut:]
    return sides if all(_is_running_text(boxes, side) for side in sides) else None


def _is_running_text(boxes: Sequence[Box], members: list[int]) -> bool:
    rows = group_rows(boxes, members)
    left, right = min(boxes[index].x0 for index in members), max(boxes[index].x1 for index in members)
    filled = [sum(boxes[index].width for index in row) for row in rows]
    words_like_text = float(np.median([boxes[index].height for index in members])) * _COLUMN_LINES
    return (
        len(rows) >= _COLUMN_LINES
        and right - left > 2 * words_like_text
        and float(np.median(filled)) > _COLUMN_FILL * (right - left)
    )


def _levelled(box: Box, slope: float) -> Box:
    fall = slope * (box.x0 + box.x1) / 2
    return Box(box.x0, box.y0 - fall, box.x1, box.y1 - fall)
