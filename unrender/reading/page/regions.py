"""What a page is made of: regions in reading order, each of one kind, with the lines that are to be read in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unrender.engines.segmentation import Cells
from unrender.images.pixels import find_strokes, stroke_boxes
from unrender.reading.page.columns import Part, find_parts
from unrender.reading.page.lines import Boxes, Line, find_gaps, find_lines
from unrender.reading.page.paragraphs import BEGINS, join_blocks
from unrender.reading.page.places import (
    CAPTION,
    FIGURE,
    FOLIO,
    FOOTER,
    FOOTNOTE,
    FORMULA,
    HEADER,
    HEADING,
    NOTHING,
    TABLE,
    TEXT,
    Rectangle,
    Region,
    Row,
    union,
    union_of,
)
from unrender.reading.page.straight import INK, Straight
from unrender.reading.page.tables import find_cells

_FURNITURE = (HEADER, FOOTER, FOLIO)
_PROSE = (TEXT, HEADING, CAPTION, FOOTNOTE)
_LEAST_CELLS = {FORMULA: 6, TABLE: 40, FIGURE: 40}
_UNLIKELY = 0.6  # of a stroke to be nothing: above, it is dirt, a rule or a number in the margin
_SPECK = 0.12  # of the letters' height: smaller strokes are dirt
_NUMBER_GAP = 2.5  # times the letters' height: between a formula and its number, at least
_NUMBER_WIDTH = 8.0  # times the letters' height: of the number of a formula, at most
_INLINE = 0.35  # share of the ink beside a formula that is text: above, the formula stands in the text


@dataclass(frozen=True)
class _Page:
    """The strokes of a page: their boxes, how likely each kind is for each (strokes, kinds), and the kind."""

    boxes: Boxes
    likely: NDArray[np.float32]
    kinds: NDArray[np.int64]
    letters: float
    cells: Cells
    scale: float  # cells per pixel


def find_regions(straight: Straight, cells: Cells, scale: float) -> list[Region]:
    """Take a page apart; there are `scale` cells to a pixel."""
    page = _look(straight, cells, scale)
    wholes = [region for kind in (FIGURE, TABLE, FORMULA) for region in _find_wholes(page, kind)]
    taken = np.zeros(len(page.boxes), dtype=bool)
    kept: list[Region] = []
    for whole in wholes:
        inside = _inside(page.boxes, whole.box) & ~taken
        if whole.kind == FORMULA and _stands_in_text(page, whole.box, taken):
            continue
        taken |= inside
        kept.append(_filled(page, whole, np.flatnonzero(inside)))
    furniture = np.isin(page.kinds, _FURNITURE) & ~taken
    running = ~taken & ~furniture & (page.kinds != NOTHING)
    parts = find_parts(*_masks(page, kept, running))
    body = list(_in_order(page, parts, kept, np.flatnonzero(running)))
    heads, feet = _furniture_regions(page, furniture)
    return [*heads, *body, *feet]


def _look(straight: Straight, cells: Cells, scale: float) -> _Page:
    """Find the strokes and ask the cells what they are."""
    boxes = stroke_boxes(straight.gray < INK)
    sizes = np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])
    boxes = boxes[sizes >= max(1.0, _SPECK * straight.letters)]
    likely = _mean_in(cells.kinds, boxes, scale)
    kinds = likely[:, 1:].argmax(axis=1) + 1
    kinds[likely[:, NOTHING] > _UNLIKELY] = NOTHING
    return _Page(boxes, likely, kinds, straight.letters, cells, scale)


def _mean_in(maps: NDArray[np.float32], boxes: Boxes, scale: float) -> NDArray[np.float32]:
    """Return the mean of each map (K, H, W) in each box: (boxes, K)."""
    _, rows, columns = maps.shape
    sums = np.pad(maps.astype(np.float64).cumsum(axis=1).cumsum(axis=2), ((0, 0), (1, 0), (1, 0)))
    left, top = (np.clip((boxes[:, side] * scale).astype(int), 0, most - 1) for side, most in ((0, columns), (1, rows)))
    right, bottom = (
        np.clip(np.ceil(boxes[:, side] * scale).astype(int), start + 1, most)
        for side, most, start in ((2, columns, left), (3, rows, top))
    )
    total = sums[:, bottom, right] - sums[:, top, right] - sums[:, bottom, left] + sums[:, top, left]
    return np.asarray((total / ((bottom - top) * (right - left))).T, dtype=np.float32)


def _find_wholes(page: _Page, kind: int) -> Iterator[Region]:
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
        box = tuple(round(side / page.scale) for side in (left, top, right, bottom))
        members = _inside(page.boxes, (box[0], box[1], box[2], box[3])) & (page.kinds == kind)
        if not members.any():
            continue
        likely = float(page.cells.kinds[kind][own].mean())
        yield Region(kind, union(page.boxes[members]), likely=likely)


def _filled(page: _Page, whole: Region, members: NDArray[np.int64]) -> Region:
    """Find the lines of a region that was found as a rectangle."""
    if whole.kind == FIGURE or not members.size:
        return whole
    boxes = page.boxes[members]
    if whole.kind == TABLE:
        rows = tuple(Row(union_of(cells), page.letters, cells) for cells in find_cells(boxes, page.letters))
        return replace(whole, rows=rows)
    box = union(boxes)
    rows = tuple(_formula_row(row, page.letters) for row in _formula_rows(boxes, page.letters))
    return replace(whole, box=box, rows=rows)


def _formula_row(boxes: Boxes, letters: float) -> Row:
    """Part the number of a formula from it: what stands apart at one end and is short."""
    whole = union(boxes)
    far = [middle for middle, width in find_gaps(boxes, letters) if width > _NUMBER_GAP * letters]
    across = (boxes[:, 0] + boxes[:, 2]) / 2
    for edge, number in ((far[-1:], across > max(far, default=0)), (far[:1], across < min(far, default=0))):
        if edge and number.any() and np.ptp(boxes[number][:, [0, 2]]) < _NUMBER_WIDTH * letters:
            return Row(whole, letters, (union(boxes[~number]), union(boxes[number])))
    return Row(whole, letters, (whole,))


def _formula_rows(boxes: Boxes, letters: float) -> list[Boxes]:
    """Cut a display into the rows that stand below one another with nothing between."""
    least = round(0.8 * letters)
    filled = np.zeros(int(boxes[:, 3].max()) + 1, dtype=bool)
    for _, top, _, bottom in boxes.tolist():
        filled[top:bottom] = True
    edges = np.flatnonzero(np.diff(np.pad(filled, 1).astype(np.int8))).reshape(-1, 2).tolist()
    bands: list[list[int]] = []
    for top, bottom in edges:
        if bands and top - bands[-1][1] < least:
            bands[-1][1] = bottom
        else:
            bands.append([top, bottom])
    middles = (boxes[:, 1] + boxes[:, 3]) / 2
    rows = [boxes[(middles >= top) & (middles <= bottom)] for top, bottom in bands]
    return [row for row in rows if len(row)]


def _stands_in_text(page: _Page, box: Rectangle, taken: NDArray[np.bool_]) -> bool:
    """Say whether there is as much text beside a formula that it must be a part of that line."""
    left, top, right, bottom = box
    middles = (page.boxes[:, 1] + page.boxes[:, 3]) / 2
    reach = 12 * page.letters
    beside = (middles > top) & (middles < bottom) & ~taken & np.isin(page.kinds, _PROSE)
    beside &= (page.boxes[:, 2] > left - reach) & (page.boxes[:, 0] < right + reach)
    widths = page.boxes[:, 2] - page.boxes[:, 0]
    inside = _inside(page.boxes, box) & ~taken
    text = float(widths[beside].sum())
    return text > _INLINE * (text + float(widths[inside & ~beside].sum()))


def _masks(
    page: _Page, wholes: Sequence[Region], running: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which cells hold anything of the body, and which of them running text."""
    shape = page.cells.begins.shape
    occupied, prose = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    reach = round(page.letters * 0.8 * page.scale)
    for number in np.flatnonzero(running):
        left, top, right, bottom = (page.boxes[number] * page.scale).tolist()
        area = slice(int(top), int(bottom) + 1), slice(int(left), int(right) + 1 + reach)
        area = area[0], slice(area[1].start, max(area[1].start + 1, int(right) + 1))
        occupied[area] = True
        prose[area] |= page.kinds[number] in _PROSE
    for region in wholes:
        left, top, right, bottom = (int(side * page.scale) for side in region.box)
        occupied[top : bottom + 1, left : right + 1] = True
    return occupied, prose


def _in_order(
    page: _Page, parts: Sequence[Part], wholes: Sequence[Region], running: NDArray[np.int64]
) -> Iterator[Region]:
    """Give the regions part by part, from top to bottom."""
    homes = _homes(page, parts, page.boxes[running])
    whole_homes = _homes(page, parts, np.array([whole.box for whole in wholes], dtype=np.int64).reshape(-1, 4))
    for number, part in enumerate(parts):
        lines = _text_rows(page, [int(one) for one in running[homes == number]])
        inside = [
            replace(whole, column=part.column)
            for whole, home in zip(wholes, whole_homes, strict=True)
            if home == number
        ]
        regions = join_blocks(_numbered(lines, inside, page.letters), part.column)
        if regions and regions[0].kind == TEXT:
            regions[0] = replace(regions[0], continued=regions[0].rows[0].begins < BEGINS)
        yield from regions


def _numbered(lines: list[Region], wholes: list[Region], letters: float) -> list[Region]:
    """Give formulas the numbers that stand beside them, in the margin of their column."""
    kept: list[Region] = []
    for line in lines:
        middle = (line.box[1] + line.box[3]) / 2
        narrow = line.box[2] - line.box[0] < _NUMBER_WIDTH * letters
        beside = [
            (number, index)
            for number, whole in enumerate(wholes)
            if narrow and whole.kind == FORMULA
            for index, row in enumerate(whole.rows)
            if row.box[1] < middle < row.box[3]
        ]
        if not beside:
            kept.append(line)
            continue
        number, index = beside[0]
        whole = wholes[number]
        row = whole.rows[index]
        changed = replace(row, box=union_of([row.box, line.box]), cells=(row.cells[0], line.box))
        rows = (*whole.rows[:index], changed, *whole.rows[index + 1 :])
        wholes[number] = replace(whole, rows=rows, box=union_of([whole.box, line.box]))
    return [*kept, *wholes]


def _homes(page: _Page, parts: Sequence[Part], boxes: Boxes) -> NDArray[np.int64]:
    """Return for each box the part that it stands in, or the nearest."""
    if not parts or not len(boxes):
        return np.zeros(len(boxes), dtype=np.int64)
    across = (boxes[:, 0] + boxes[:, 2]) / 2 * page.scale
    down = (boxes[:, 1] + boxes[:, 3]) / 2 * page.scale
    aside = [np.maximum(0, np.maximum(part.left - across, across - part.right)) for part in parts]
    above = [np.maximum(0, np.maximum(part.top - down, down - part.bottom)) for part in parts]
    return np.asarray((np.array(aside) + np.array(above)).argmin(axis=0), dtype=np.int64)


def _text_rows(page: _Page, chosen: list[int]) -> list[Region]:
    """Return each line of running text as a region of its own."""
    found: list[Region] = []
    for line in find_lines(page.boxes, chosen, page.letters):
        found.append(_line_region(page, line))
    return found


def _line_region(page: _Page, line: Line) -> Region:
    members = list(line.strokes)
    weights = (page.boxes[members, 2] - page.boxes[members, 0])[:, None]
    votes = (page.likely[members] * weights).sum(axis=0) / max(1, weights.sum())
    votes[NOTHING] = 0
    votes[FIGURE] = 0
    kind = int(votes.argmax())
    begins = _mean_in(page.cells.begins[None], np.array([line.box]), page.scale)[0, 0]
    letters = _row_letters(page.boxes[members], page.letters)
    row = Row(line.box, letters, (), float(begins), find_gaps(page.boxes[members], letters))
    return Region(kind, line.box, (row,), likely=float(votes[kind] / max(1e-6, votes.sum())))


def _row_letters(boxes: Boxes, usual: float) -> float:
    """Return the height of a line's small letters, the usual one where it tells nothing else."""
    heights = boxes[:, 3] - boxes[:, 1]
    like = heights[(heights > 0.5 * usual) & (heights < 4 * usual)]
    if len(like) < 5:
        return usual
    counts = np.bincount(like)
    near = np.convolve(counts, np.ones(3), "same")
    found = float(near.argmax())
    return usual if 0.8 < found / usual < 1.25 else min(max(found, 0.6 * usual), 2.5 * usual)


def _furniture_regions(page: _Page, members: NDArray[np.bool_]) -> tuple[list[Region], list[Region]]:
    """Return running heads with the page numbers beside them, and running feet with theirs."""
    found: list[Region] = []
    for kind in _FURNITURE:
        chosen = [int(one) for one in np.flatnonzero(members & (page.kinds == kind))]
        for line in find_lines(page.boxes, chosen, page.letters):
            row = Row(line.box, page.letters)
            likely = float(page.likely[list(line.strokes), kind].mean())
            found.append(Region(kind, line.box, (row,), likely=likely))
    middle = page.cells.begins.shape[0] / page.scale / 2
    heads = [region for region in found if region.box[1] < middle]
    feet = [region for region in found if region.box[1] >= middle]
    return tuple(sorted(side, key=lambda region: (region.box[1], region.box[0])) for side in (heads, feet))  # type: ignore[return-value]


def _inside(boxes: Boxes, box: Rectangle) -> NDArray[np.bool_]:
    """Say which boxes have their middle in a rectangle."""
    across, down = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    return np.asarray((across >= box[0]) & (across <= box[2]) & (down >= box[1]) & (down <= box[3]))
