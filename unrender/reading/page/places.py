"""What stands where on a page: the kinds of regions, the regions themselves, and the lines in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from unrender.reading.page.lines import Boxes

Rectangle = tuple[int, int, int, int]  # left, top, right, bottom in pixels of the straight page


class Kind(IntEnum):
    """What a region is; in the order of the layout network's `KINDS`."""

    NOTHING = 0
    TEXT = 1
    HEADING = 2
    FORMULA = 3
    TABLE = 4
    FIGURE = 5
    CAPTION = 6
    HEADER = 7
    FOOTER = 8
    FOLIO = 9
    FOOTNOTE = 10
    CODE = 11


WHOLE = (Kind.FORMULA, Kind.TABLE, Kind.FIGURE)  # regions that are found as rectangles before there are lines


@dataclass(frozen=True)
class Row:
    """A line to read; `letters` is the height of its small letters.

    `cells` are its parts where it is a table's; of a display, the formula and, if it has one, its number.
    `gaps` are where it may be cut: the middles and widths of the spaces between its strokes.
    """

    box: Rectangle
    letters: float
    cells: tuple[Rectangle | None, ...] = ()
    begins: float = 0.0
    gaps: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Region:
    """One block of a page: what it is, how likely, where, in which column, and its lines."""

    kind: int
    box: Rectangle
    rows: tuple[Row, ...] = ()
    column: int = -1
    likely: float = 1.0
    continued: bool = False  # it may go on where the column or the page before ended


def union(boxes: Boxes) -> Rectangle:
    left, top = boxes[:, :2].min(axis=0).tolist()
    right, bottom = boxes[:, 2:].max(axis=0).tolist()
    return left, top, right, bottom


def union_of(boxes: Sequence[Rectangle | None]) -> Rectangle:
    return union(np.array([box for box in boxes if box is not None], dtype=np.int64))
