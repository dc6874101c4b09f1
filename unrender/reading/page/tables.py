"""The cells of a table, found by the gaps and rules between them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unrender.images.measures import find_runs
from unrender.reading.page.places import Boxes, Line, Rectangle, find_gaps, find_lines, union
from unrender.reading.page.strokes import RULE_LENGTH, RULE_WIDTH

_LEAST_GAP = 1.1  # times the letters' height: between two columns
_OVERLAPPING = 0.12  # share of the rows that may reach across a gap: headings of several columns
_WIDE = 0.3  # of the width of what seems one table: shorter rules are within one
_ALIKE = 1.5  # times the letters' height: how much the ends of a table's rules differ
_SPANNING = 0.6  # of the table's width: rules that are longer end it
_SEVERAL = 5  # rows, of which one may reach across a gap
_FAR = 1.25  # times the usual distance of rows: what stands farther from them is none


def find_cells(
    boxes: Boxes, letters: float, edges: Sequence[float] | None = None
) -> list[tuple[Rectangle | None, ...]]:
    """Return the cells row by row; None where a cell is empty. Every row has as many cells.

    Columns part at the `edges` if they are known, else at gaps and rules.
    """
    _, upright, signs = _kinds(boxes, letters)
    lines = find_lines(boxes, signs.tolist(), letters)
    if not lines:
        return []
    if edges is None:
        edges = _edges([boxes[list(line.strokes)] for line in lines], boxes[upright], letters)
    return [_row(boxes[list(line.strokes)], edges, letters) for line in lines]


def part_tables(boxes: Boxes, letters: float) -> list[NDArray[np.int64]]:
    """Part what seems one table where its rules change in length; return the strokes of each."""
    flat, _, _ = _kinds(boxes, letters)
    rules = np.flatnonzero(flat & (boxes[:, 2] - boxes[:, 0] > _WIDE * np.ptp(boxes[:, [0, 2]])))
    groups: list[list[int]] = []
    for rule in rules[boxes[rules, 1].argsort()].tolist():
        if groups and np.abs(boxes[groups[-1][-1], [0, 2]] - boxes[rule, [0, 2]]).max() < _ALIKE * letters:
            groups[-1].append(rule)
        else:
            groups.append([rule])
    groups = [group for group in groups if len(group) > 1]
    if len(groups) < 2:
        return [np.arange(len(boxes))]
    middles = (boxes[:, 1] + boxes[:, 3]) / 2
    spans = [(boxes[group[0], 1], boxes[group[-1], 3]) for group in groups]
    return [np.flatnonzero((middles >= top) & (middles <= bottom)) for top, bottom in spans]


def find_outside(boxes: Boxes, letters: float) -> tuple[list[int], list[int]]:
    """Return the strokes of a caption above a table and of a note below it that were taken for rows.

    They run across the gaps between columns, and stand outside of the rules, or apart from the rows.
    """
    flat, _, signs = _kinds(boxes, letters)
    lines = find_lines(boxes, signs.tolist(), letters)
    rules = boxes[flat & (boxes[:, 2] - boxes[:, 0] > _SPANNING * np.ptp(boxes[:, [0, 2]]))]
    levels = np.sort((rules[:, 1] + rules[:, 3]) / 2)
    above, below = (_outer(boxes, ordered, levels, letters) for ordered in (lines, lines[::-1]))
    if len(above) + len(below) == len(lines):
        return [], []
    return [one for line in above for one in line.strokes], [one for line in below for one in line.strokes]


def _kinds(boxes: Boxes, letters: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
    """Say which strokes are level rules, which are upright ones, and return the numbers of those that are signs."""
    widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    flat = (heights <= RULE_WIDTH * letters) & (widths >= RULE_LENGTH * letters)
    upright = (widths <= RULE_WIDTH * letters) & (heights >= RULE_LENGTH / 2 * letters)
    framed = (widths >= 3 * RULE_LENGTH * letters) & (heights >= RULE_LENGTH / 2 * letters)
    return flat, upright, np.flatnonzero(~flat & ~upright & ~framed)


def _outer(boxes: Boxes, lines: Sequence[Line], rules: NDArray[np.float64], letters: float) -> list[Line]:
    """Return the lines, from the first on, that are not of the table."""
    middles = [line.middle for line in lines]
    steps = np.abs(np.diff(middles))
    usual = float(np.median(steps)) if len(steps) else 0.0
    for count in range(1, len(lines) - 1):
        inner = [boxes[list(line.strokes)] for line in lines[count:]]
        edges = _edges(inner, boxes[:0], letters)
        if not edges or not _crosses(boxes[list(lines[count - 1].strokes)], edges, letters):
            return []
        low, high = sorted((middles[count - 1], middles[count]))
        ruled = bool(((rules > low) & (rules < high)).any())
        outside = rules < middles[0] if middles[0] < middles[-1] else rules > middles[0]
        if (ruled or steps[count - 1] > _FAR * usual) and not outside.any():
            return list(lines[:count])
    return []


def _crosses(boxes: Boxes, edges: Sequence[float], letters: float) -> bool:
    """Say whether a line runs on across an edge between columns."""
    gaps = [(middle, width) for middle, width in find_gaps(boxes, letters) if width > _LEAST_GAP * letters]
    left, right = int(boxes[:, 0].min()), int(boxes[:, 2].max())
    return not gaps and any(left + letters < edge < right - letters for edge in edges)


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
    free = covered <= max(_OVERLAPPING * len(rows), float(len(rows) >= _SEVERAL))
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


def _row(boxes: Boxes, edges: Sequence[float], letters: float) -> tuple[Rectangle | None, ...]:
    """Put the words of a row into its columns; a word that reaches across an edge is in that of its middle."""
    ordered = boxes[boxes[:, 0].argsort()]
    gaps = [middle for middle, _ in find_gaps(ordered, letters)]
    words: NDArray[np.int64] = np.searchsorted(gaps, (ordered[:, 0] + ordered[:, 2]) / 2)
    spans = [union(ordered[words == word]) for word in range(len(gaps) + 1)]
    middles = np.array([(left + right) / 2 for left, _, right, _ in spans])
    homes: NDArray[np.int64] = np.searchsorted(edges, middles)[words]
    cells: list[Rectangle | None] = []
    for column in range(len(edges) + 1):
        own = ordered[homes == column]
        cells.append(union(own) if len(own) else None)
    return tuple(cells)
