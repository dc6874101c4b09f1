"""The cells of a table, from its strokes: rows by lines, columns by the gaps that all rows have in common."""

import numpy as np
from numpy.typing import NDArray

from unrender.reading.page.lines import Boxes, find_lines
from unrender.reading.page.places import Rectangle

_LONG = 6.0  # times the letters' height: a thinner stroke of such a length is a rule
_THIN = 0.5
_LEAST_GAP = 1.1  # the same: between two columns
_OVERLAPPING = 0.12  # share of the rows that may reach across a gap: headings of several columns


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
    gaps = np.flatnonzero(np.diff(np.pad(free, 1).astype(np.int8))).reshape(-1, 2)
    inner = [(one + other) / 2 + left for one, other in gaps.tolist() if one > 0 and other < len(covered)]
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
        if not len(own):
            cells.append(None)
            continue
        (left, top), (right, bottom) = own[:, :2].min(axis=0).tolist(), own[:, 2:].max(axis=0).tolist()
        cells.append((left, top, right, bottom))
    return tuple(cells)
