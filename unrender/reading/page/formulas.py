"""Displayed formulas: one below the other, their rows, and the numbers beside them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unrender.reading.page.lines import Boxes, find_gaps
from unrender.reading.page.places import FORMULA, Region, Row, union, union_of

_NUMBER_GAP = 2.5  # times the letters' height: between a formula and its number, at least
_NUMBER_WIDTH = 8.0  # the same: of the number of a formula, at most
_ROW_GAP = 0.8  # the same: between two rows of a formula, at least
_APART = 2.4  # the same: between two formulas, at least


def find_formulas(boxes: Boxes, letters: float, likely: float) -> list[Region]:
    """Return the formulas that some strokes of one column are, from top to bottom."""
    rows = [_formula_row(boxes[row], letters) for row in find_rows(boxes, letters)]
    groups: list[list[Row]] = [[row] for row in rows[:1]]
    for before, row in pairwise(rows):
        if row.box[1] - before.box[3] > _APART * letters:
            groups.append([row])
        else:
            groups[-1].append(row)
    return [Region(FORMULA, union_of([row.box for row in group]), tuple(group), likely=likely) for group in groups]


def give_numbers(lines: list[Region], wholes: list[Region], letters: float) -> list[Region]:
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
    edges = np.flatnonzero(np.diff(np.pad(filled, 1).astype(np.int8))).reshape(-1, 2).tolist()
    bands: list[list[int]] = []
    for top, bottom in edges:
        if bands and top - bands[-1][1] < least:
            bands[-1][1] = bottom
        else:
            bands.append([top, bottom])
    middles = (boxes[:, 1] + boxes[:, 3]) / 2
    rows = [(middles >= top) & (middles <= bottom) for top, bottom in bands]
    return [row for row in rows if row.any()]
