"""What the strokes and lines of one column are together: paragraphs, and displayed formulas with their numbers."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from unrender.images.measures import find_runs
from unrender.reading.page.paragraphs import mark_beginnings, step
from unrender.reading.page.places import (
    WHOLE,
    Boxes,
    Kind,
    Region,
    Row,
    find_gaps,
    find_lines,
    union,
    union_of,
)
from unrender.reading.page.strokes import PROSE, RULE_LENGTH, RULE_WIDTH

BEGINS = 0.5  # a line that begins a block is at least so likely to
_FAR = 1.7  # times the usual distance of lines: farther apart are two blocks
_NEXT = 1.25  # the same: a line no farther below another of its size goes on with it, whatever its kind seems
_ALIKE = 1.1  # times larger are letters of the same size at most
_HEADING_STEP = 3.2  # times the letters' height: headings no farther apart are one
_NUMBER_GAP = 2.5  # times the letters' height: between a formula and its number, at least
_NUMBER_WIDTH = 8.0  # the same: of the number of a formula, at most
_BAR, _LINE_HEIGHT = 3.0, 2.6  # the same: of the bar of a fraction, at least; of signs and lines of a text, at most
_FEWEST, _FULL = 4, 0.9  # letters of a line, and the same: their height, or they are limits and scripts
_BRACKET, _CLEAR = 1.4, 0.4  # the same: of a bracket, at least; above a number that stands below its formula
_ROW_GAP = 0.8  # the same: between two rows of a formula, at least
_APART = 2.4  # the same: between two formulas, at least


def join_blocks(pieces: list[Region], column: int) -> list[Region]:
    """Join lines that follow one another to blocks, each of the kind of most of its lines."""
    pieces.sort(key=lambda region: (region.box[1] + region.box[3], region.box[0]))
    steps = [
        two.box[3] - one.box[3]
        for one, two in pairwise(pieces)
        if one.kind == two.kind == Kind.TEXT and two.box[3] > one.box[3]
    ]
    usual = float(np.median(steps)) if steps else 0.0
    joined: list[Region] = []
    kinds: list[list[int]] = []  # of the lines of each
    for piece in mark_beginnings(pieces):
        before = joined[-1] if joined else None
        if before is not None and _goes_on(before, piece, usual):
            kinds[-1] += [piece.kind] * len(piece.rows)
            kind = _commonest(kinds[-1])
            box = union_of([before.box, piece.box])
            joined[-1] = replace(before, kind=kind, rows=(*before.rows, *piece.rows), box=box)
        else:
            joined.append(replace(piece, column=column))
            kinds.append([piece.kind] * len(piece.rows))
    return joined


def _commonest(kinds: list[int]) -> int:
    return max(kinds, key=lambda kind: (kinds.count(kind), kind == Kind.TEXT))


def _goes_on(before: Region, piece: Region, usual: float) -> bool:
    """Say whether a line goes on with the block before it."""
    if before.kind in WHOLE or piece.kind in WHOLE:
        return False
    if before.kind == piece.kind == Kind.CODE:
        return True
    last, first = before.rows[-1], piece.rows[0]
    apart = step(last, first)
    alike = max(first.letters, last.letters) < _ALIKE * min(first.letters, last.letters)
    if before.kind == piece.kind == Kind.HEADING and alike and 0 < apart < _HEADING_STEP * first.letters:
        return True
    if before.kind == piece.kind:
        far = bool(usual) and apart > _FAR * usual and piece.kind == Kind.TEXT
        return first.begins < BEGINS and not far
    if before.kind not in PROSE or piece.kind not in PROSE:
        return False
    above = first.box[0] < last.box[2] and last.box[0] < first.box[2]
    return alike and above and first.begins < BEGINS and 0 < apart < _NEXT * usual


def find_formulas(boxes: Boxes, letters: float, likely: float) -> list[Region]:
    """Return the formulas that some strokes of one column are, from top to bottom."""
    if not len(boxes):
        return []
    parts = [boxes[row] for row in find_rows(boxes, letters) if not _is_rule(boxes[row], letters)]
    rows = _with_numbers([_formula_row(line, letters) for part in parts for line in _part_lines(part, letters)])
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
    below = _number_below(boxes, letters)
    if below.any():
        return Row(whole, letters, (union(boxes[~below]), union(boxes[below])))
    across = (boxes[:, 0] + boxes[:, 2]) / 2
    for edge, number in ((far[-1:], across > max(far, default=0)), (far[:1], across < min(far, default=0))):
        if edge and number.any() and np.ptp(boxes[number][:, [0, 2]]) < _NUMBER_WIDTH * letters:
            return Row(whole, letters, (union(boxes[~number]), union(boxes[number])))
    return Row(whole, letters, (whole,))


def _with_numbers(rows: list[Row]) -> list[Row]:
    """Give a row the number in the next row, which had no room beside it: short, and as far to the right as any."""
    right = max((row.box[2] for row in rows), default=0)
    kept: list[Row] = []
    for row in rows:
        short = row.box[2] - row.box[0] < _NUMBER_WIDTH * row.letters and row.box[2] > right - row.letters
        before = kept[-1] if kept else None
        if before is not None and short and len(row.cells) == len(before.cells) == 1 and _is_right(row, before):
            cells = (*before.cells, row.box)
            kept[-1] = replace(before, box=union_of([before.box, row.box]), cells=cells)
        else:
            kept.append(row)
    return kept


def _is_right(row: Row, before: Row) -> bool:
    """Say whether a row stands at the right below the one before it, no farther from it than its next line would."""
    apart = row.box[1] - before.box[3]
    return row.box[0] > (before.box[0] + before.box[2]) / 2 and apart < _APART * row.letters


def _number_below(boxes: Boxes, letters: float) -> NDArray[np.bool_]:
    """Say which strokes are a number in brackets that had no room beside its formula: alone at the bottom right."""
    last = np.zeros(len(boxes), dtype=bool)
    lines = find_lines(boxes, range(len(boxes)), letters)
    if len(lines) < 2:
        return last
    last[list(lines[-1].strokes)] = True
    left, top, right, _ = union(boxes[last])
    ends = boxes[last][boxes[last, 0].argsort()][[0, -1]]
    tall = np.diff(ends[:, [1, 3]]) > np.maximum(_BRACKET * letters, 2 * np.diff(ends[:, [0, 2]]))
    above = boxes[~last & (boxes[:, 2] > left - letters)]
    clear = above.size and above[:, 3].max() + _CLEAR * letters <= top
    narrow = right - left < _NUMBER_WIDTH * letters and right >= boxes[:, 2].max() - letters
    return last if last.sum() > 2 and tall.all() and clear and narrow else np.zeros_like(last)


def _part_lines(boxes: Boxes, letters: float) -> list[Boxes]:
    """Part lines of words that stand as close as no rows of a formula do, without bars or high signs."""
    widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    barred = ((heights < RULE_WIDTH * letters) & (widths > _BAR * letters)).any()
    if np.ptp(boxes[:, [1, 3]]) < _LINE_HEIGHT * letters or heights.max() > _LINE_HEIGHT * letters or barred:
        return [boxes]
    lines = [boxes[list(line.strokes)] for line in find_lines(boxes, range(len(boxes)), letters)]
    full = [len(line) >= _FEWEST and np.median(line[:, 3] - line[:, 1]) > _FULL * letters for line in lines]
    return lines if len(lines) > 1 and all(full) else [boxes]


def _is_rule(boxes: Boxes, letters: float) -> bool:
    """Say whether strokes are but rules."""
    widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return bool(((heights <= RULE_WIDTH * letters) & (widths >= RULE_LENGTH * letters)).all())


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
