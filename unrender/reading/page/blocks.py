"""What the strokes and lines of one column are together: paragraphs, displayed formulas with their numbers, tables."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unrender.images.measures import find_runs
from unrender.reading.page.places import (
    WHOLE,
    Boxes,
    Kind,
    Rectangle,
    Region,
    Row,
    find_gaps,
    find_lines,
    union,
    union_of,
)

BEGINS = 0.5  # a line that begins a block is at least so likely to
_FAR = 1.7  # times the usual distance of lines: farther apart are two blocks
_NUMBER_GAP = 2.5  # times the letters' height: between a formula and its number, at least
_NUMBER_WIDTH = 8.0  # the same: of the number of a formula, at most
_ROW_GAP = 0.8  # the same: between two rows of a formula, at least
_APART = 2.4  # the same: between two formulas, at least
_LONG = 6.0  # times the letters' height: a thinner stroke of such a length is a rule
_THIN = 0.5
_LEAST_GAP = 1.1  # the same: between two columns
_OVERLAPPING = 0.12  # share of the rows that may reach across a gap: headings of several columns


def join_blocks(pieces: list[Region], column: int) -> list[Region]:
    """Join lines that follow one another to blocks."""
    pieces.sort(key=lambda region: (region.box[1] + region.box[3], region.box[0]))
    steps = [
        two.box[3] - one.box[3]
        for one, two in pairwise(pieces)
        if one.kind == two.kind == Kind.TEXT and two.box[3] > one.box[3]
    ]
    usual = float(np.median(steps)) if steps else 0.0
    joined: list[Region] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if before is not None and _goes_on(before, piece, usual):
            rows = (*before.rows, *piece.rows)
            joined[-1] = replace(before, rows=rows, box=union_of([before.box, piece.box]))
        else:
            joined.append(replace(piece, column=column))
    return joined


def _goes_on(before: Region, piece: Region, usual: float) -> bool:
    if before.kind != piece.kind or before.kind in WHOLE:
        return False
    if piece.kind == Kind.CODE:
        return True
    apart = piece.box[3] - before.rows[-1].box[3]
    far = bool(usual) and apart > _FAR * usual and piece.kind == Kind.TEXT
    return piece.rows[0].begins < BEGINS and not far


def find_formulas(boxes: Boxes, letters: float, likely: float) -> list[Region]:
    """Return the formulas that some strokes of one column are, from top to bottom."""
    rows = [_formula_row(boxes[row], letters) for row in find_rows(boxes, letters)]
    groups: list[list[Row]] = [[row] for row in rows[:1]]
    for before, row in pairwise(rows):
        if row.box[1] - before.box[3] > _APART * letters:
            groups.append([row])
        else:
            groups[-1].append(row)
    return [Region(Kind.FORMULA, union_of([row.box for row in group]), tuple(group), likely=likely) for group in groups]


def give_numbers(lines: list[Region], wholes: list[Region], letters: float) -> list[Region]:
    """Give formulas the numbers that stand beside them, in the margin of their column."""
    kept: list[Region] = []
    for line in lines:
        middle = (line.box[1] + line.box[3]) / 2
        narrow = line.box[2] - line.box[0] < _NUMBER_WIDTH * letters
        beside = [
            (number, index)
            for number, whole in enumerate(wholes)
            if narrow and whole.kind == Kind.FORMULA
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


def _formula_row(boxes: Boxes, letters: float) -> Row:
    """Part the number of a formula from it: what stands apart at one end and is short."""
    whole = union(boxes)
    far = [middle for middle, width in find_gaps(boxes, letters) if width > _NUMBER_GAP * letters]
    across = (boxes[:, 0] + boxes[:, 2]) / 2
    for edge, number in ((far[-1:], across > max(far, default=0)), (far[:1], across < min(far, default=0))):
        if edge and number.any() and np.ptp(boxes[number][:, [0, 2]]) < _NUMBER_WIDTH * letters:
            return Row(whole, letters, (union(boxes[~number]), union(boxes[number])))
    return Row(whole, letters, (whole,))


def find_rows(boxes: Boxes, letters: float) -> list[NDArray[np.bool_]]:
    """Cut a display into the rows that stand below one another with nothing between: which strokes are in each."""
    least = round(_ROW_GAP * letters)
    filled = np.zeros(int(boxes[:, 3].max()) + 1, dtype=bool)
    for _, top, _, bottom in boxes.tolist():
        filled[top:bottom] = True
    bands: list[list[int]] = []
    for top, bottom in find_runs(filled):
        if bands and top - bands[-1][1] < least:
            bands[-1][1] = bottom
        else:
            bands.append([top, bottom])
    middles = (boxes[:, 1] + boxes[:, 3]) / 2
    rows = [(middles >= top) & (middles <= bottom) for top, bottom in bands]
    return [row for row in rows if row.any()]


def find_cells(boxes: Boxes, letters: float) -> list[tuple[Rectangle | None, ...]]:
    """Return the cells row by row; None where a cell is empty. Every row has as many cells."""
    widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    flat = (heights <= _THIN * letters) & (widths >= _LONG * letters)
    upright = (widths <= _THIN * letters) & (heights >= _LONG / 2 * letters)
    framed = (widths >= 3 * _LONG * letters) & (heights >= _LONG / 2 * letters)
    signs = np.flatnonzero(~flat & ~upright & ~framed)
    lines = find_lines(boxes, signs.tolist(), letters)
    if not lines:
        return []
    edges = _edges([boxes[list(line.strokes)] for line in lines], boxes[upright], letters)
    return [_row(boxes[list(line.strokes)], edges) for line in lines]


def join_wrapped(rows: list[list[str]]) -> list[list[str]]:
    """Join the lines of cells that were too narrow for their words.

    A row goes on in the next one where that has no first cell, and words, no numbers, in less than half of its cells.
    """
    joined: list[list[str]] = []
    for row in rows:
        filled = [column for column, text in enumerate(row) if text]
        words = all(any(sign.isalpha() for sign in row[column]) for column in filled)
        if joined and filled and filled[0] > 0 and len(filled) * 2 < len(row) and words and len(joined) > 1:
            above = joined[-1]
            if all(above[column] for column in filled):
                joined[-1] = [f"{text} {more}".strip() for text, more in zip(above, row, strict=True)]
                continue
        joined.append(list(row))
    return joined


def _edges(rows: list[Boxes], rules: Boxes, letters: float) -> list[float]:
    """Return where one column ends and the next begins."""
    left, right = min(int(row[:, 0].min()) for row in rows), max(int(row[:, 2].max()) for row in rows)
    covered = np.zeros(right - left + 1)
    reach = round(_LEAST_GAP * letters / 2)
    for row in rows:
        filled = np.zeros(len(covered), dtype=bool)
        for one, _, other, _ in row.tolist():
            filled[max(0, one - left - reach) : other - left + reach] = True
        covered += filled
    free = covered <= _OVERLAPPING * len(rows)
    inner = [(one + other) / 2 + left for one, other in find_runs(free) if one > 0 and other < len(covered)]
    return _with_rules(inner, rules, left, right, letters)


def _with_rules(edges: list[float], rules: Boxes, left: int, right: int, letters: float) -> list[float]:
    """Add the rules between columns that no gap shows."""
    found = list(edges)
    for one, _, other, _ in rules.tolist():
        middle = (one + other) / 2
        inside = left + letters < middle < right - letters
        if inside and all(abs(middle - edge) > 2 * letters for edge in found):
            found.append(middle)
    return sorted(found)


def _row(boxes: Boxes, edges: list[float]) -> tuple[Rectangle | None, ...]:
    homes: NDArray[np.int64] = np.searchsorted(edges, (boxes[:, 0] + boxes[:, 2]) / 2)
    cells: list[Rectangle | None] = []
    for column in range(len(edges) + 1):
        own = boxes[homes == column]
        cells.append(union(own) if len(own) else None)
    return tuple(cells)
