"""Figures, tables and displays: what is found as a rectangle before there are lines."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.images.measures import find_strokes
from unrender.reading.page.margins import count_rows
from unrender.reading.page.places import Kind, Rectangle, Region, Row, union, union_of
from unrender.reading.page.straight import INK, Straight
from unrender.reading.page.strokes import PROSE, Strokes, find_inside, mean_in
from unrender.reading.page.tables import find_cells, find_outside, part_tables

_LEAST_CELLS = {Kind.FORMULA: 6, Kind.TABLE: 80, Kind.FIGURE: 40}
_CLOSE, _TORN = 1.5, 0.6  # times the letters' height: words so close beside; in how many rows they make it text
_DRAWN = 4.0  # the same: how wide and high strokes of a figure are
_SURELY = 0.8  # how likely a plot with a grid is a figure
_WORDS = (*PROSE, Kind.CODE)
_PALE = 248  # the shade of a pale figure, at most
_SHADED = 0.9  # share of a pale figure that is shaded
_LEAST_FIGURE = 5.0  # times the letters' height: the lesser side of a pale figure
_LEAST_ROWS, _LEAST_COLUMNS = 2, 2  # of a table


def find_wholes(
    straight: Straight, page: Strokes, displays: Sequence[Region]
) -> tuple[list[Region], NDArray[np.bool_]]:
    """Find the figures and tables, and say which strokes are in them; what only seems one is something else."""
    taken = np.zeros(len(page.boxes), dtype=bool)
    wholes = find_pale_figures(straight, page)
    for table in _find_gridded(page):
        taken |= find_inside(page.boxes, table.box)
        wholes.append(table)
    for figure in find_rectangles(page, Kind.FIGURE):
        inside = find_inside(page.boxes, figure.box) & ~taken
        if _is_drawn(page, inside) and not _goes_on_beside(page, figure.box, (*_WORDS, Kind.TABLE)):
            taken |= inside
            wholes.append(figure)
        else:
            _choose_again(page, inside & (page.kinds == Kind.FIGURE))
    for seeming in find_rectangles(page, Kind.TABLE):
        if any(_covers(display.box, seeming.box) for display in displays):
            continue
        inside = find_inside(page.boxes, seeming.box) & ~taken
        for table in [] if _is_torn(page, seeming.box) else _fill(page, seeming, inside):
            taken |= find_inside(page.boxes, table.box) & inside
            wholes.append(table)
    return wholes, taken


def _find_gridded(page: Strokes) -> Iterator[Region]:
    """Find the grids of rules with words in them, unless the network is sure that one is a plot."""
    for grid in page.grids:
        inside = find_inside(page.boxes, grid.box) & ~page.rules
        likely = float(mean_in(page.cells.kinds, np.array([grid.box]), page.scale)[0, Kind.FIGURE])
        cells = find_cells(page.boxes[inside], page.letters, grid.edges) if likely < _SURELY else []
        if len(cells) >= _LEAST_ROWS and sum(cell is not None for row in cells for cell in row) > len(cells):
            yield Region(Kind.TABLE, grid.box, tuple(Row(union_of(row), page.letters, row) for row in cells))


def find_pale_figures(straight: Straight, page: Strokes) -> list[Region]:
    """Find the areas that are shaded all over and hold no ink: too pale for strokes."""
    step = max(1, round(1 / page.scale))
    small = np.asarray(Image.fromarray(straight.gray).reduce(step))
    found, numbers = find_strokes((small < _PALE) & (small > INK))
    filled = np.bincount(numbers[numbers >= 0], minlength=len(found))
    figures: list[Region] = []
    for (left, top, right, bottom), cells in zip(found.tolist(), filled.tolist(), strict=True):
        box = left * step, top * step, right * step, bottom * step
        large = min(right - left, bottom - top) * step > _LEAST_FIGURE * page.letters
        if large and cells > _SHADED * (right - left) * (bottom - top) and not find_inside(page.boxes, box).any():
            figures.append(Region(Kind.FIGURE, box))
    return figures


def _is_drawn(page: Strokes, inside: NDArray[np.bool_]) -> bool:
    """Say whether there is ink that is larger than letters and signs are: axes, frames, pictures."""
    widths, heights = (page.boxes[inside, side + 2] - page.boxes[inside, side] for side in (0, 1))
    thick = (np.minimum(widths, heights) > _DRAWN * page.letters).any()
    return bool(thick or (page.rules[inside] & (heights > _DRAWN * page.letters)).any())


def _choose_again(page: Strokes, chosen: NDArray[np.bool_]) -> None:
    """Give strokes that are in no figure the kind that is likeliest otherwise."""
    likely = page.likely[chosen].copy()
    likely[:, [Kind.NOTHING, Kind.FIGURE]] = 0
    page.likely[chosen] = likely
    page.kinds[chosen] = likely.argmax(axis=1)


def find_rectangles(page: Strokes, kind: Kind) -> Iterator[Region]:
    """Find the rectangles of one kind among the cells, and stretch them to the strokes of that kind."""
    shown = page.cells.kinds.argmax(axis=0) == kind
    grown = shown.copy()
    grown[:, 1:] |= shown[:, :-1]
    grown[1:] |= shown[:-1]
    found, numbers = find_strokes(grown)
    for number, (left, top, right, bottom) in enumerate(found):
        own = shown & (numbers == number)
        if own.sum() < _LEAST_CELLS[kind]:
            continue
        box = round(left / page.scale), round(top / page.scale), round(right / page.scale), round(bottom / page.scale)
        members = find_inside(page.boxes, box) & (page.kinds == kind)
        if members.any():
            yield Region(kind, union(page.boxes[members]), likely=float(page.cells.kinds[kind][own].mean()))


def _fill(page: Strokes, table: Region, inside: NDArray[np.bool_]) -> Iterator[Region]:
    """Find the rows of a table, or of several below one another; what has one row or one column is text."""
    if not inside.any():
        return
    groups = [np.flatnonzero(inside)[group] for group in part_tables(page.boxes[inside], page.letters)]
    page.decide(np.setdiff1d(np.flatnonzero(inside), np.concatenate(groups)), Kind.TEXT)
    for members in groups:
        above, below = find_outside(page.boxes[members], page.letters)
        page.decide(members[above], Kind.CAPTION)
        page.decide(members[below], Kind.TEXT)
        members = np.delete(members, [*above, *below])
        cells = find_cells(page.boxes[members], page.letters)
        if len(cells) < _LEAST_ROWS or len(cells[0]) < _LEAST_COLUMNS:
            page.decide(members, Kind.TEXT)
            continue
        rows = tuple(Row(union_of(row), page.letters, row) for row in cells)
        yield replace(table, box=union(page.boxes[members]), rows=rows)


def _is_torn(page: Strokes, box: Rectangle) -> bool:
    """Say whether what seems a table is a part of something else, program code or lines that go on beside it."""
    inside, code = find_inside(page.boxes, box), page.kinds == Kind.CODE
    middles = (page.boxes[:, 1] + page.boxes[:, 3]) / 2
    widths = page.boxes[:, 2] - page.boxes[:, 0]
    beside = (middles > box[1]) & (middles < box[3]) & ~inside
    if widths[beside & code].sum() + widths[inside & code].sum() > widths[inside & ~code].sum():
        page.decide(inside, Kind.CODE)
        return True
    if _goes_on_beside(page, box, _WORDS):
        page.decide(inside, Kind.TEXT)
        return True
    return False


def _goes_on_beside(page: Strokes, box: Rectangle, words: Sequence[int]) -> bool:
    """Say whether strokes that may be `words` stand close beside most rows of a rectangle, as where lines are torn."""
    inside = find_inside(page.boxes, box)
    middles = (page.boxes[:, 1] + page.boxes[:, 3]) / 2
    beside = (middles > box[1]) & (middles < box[3]) & ~inside & np.isin(page.kinds, words) & ~page.rules
    near = (page.boxes[:, 0] < box[2] + _CLOSE * page.letters) & (page.boxes[:, 2] > box[0] - _CLOSE * page.letters)
    rows, torn = (count_rows(page.boxes[chosen], page.letters) for chosen in (inside, beside & near))
    return torn > _TORN * rows


def _covers(box: Rectangle, inner: Rectangle) -> bool:
    """Say whether most of a rectangle lies in another that is larger."""
    width = min(box[2], inner[2]) - max(box[0], inner[0])
    height = min(box[3], inner[3]) - max(box[1], inner[1])
    area = (inner[2] - inner[0]) * (inner[3] - inner[1])
    larger = (box[2] - box[0]) * (box[3] - box[1]) > area
    return larger and width > 0 and height > 0 and width * height > area / 2
