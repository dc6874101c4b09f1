"""Columns: which parts of a page are read one after the other.

A part is a rectangle of cells. Where a gutter runs through the text, what is left of it is read before what is right
of it; what crosses the gutter stands between.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.images.measures import find_runs

Mask = NDArray[np.bool_]

_LEAST_GUTTER = 2  # cells
_LEAST_SIDE = 0.18  # of the width: a narrower side is no column
_LEAST_FILLED = 0.12  # the same, of most lines in it: numbers before or behind what they number are no column
_LEAST_ROWS = 18  # cells beside one another on both sides of a gutter, or it is only a gap
_ADJACENT = 14  # cells from the gutter within which a side's text must begin
_CROSSING_ROWS = 2  # rows of cells that cross a gutter, or it is only a speck
_MOSTLY = 0.5  # of the rows of a line that crosses
_LEAST_BAND = 7  # rows between lines that cross, or they cross as well
_CROSSED = (0.25, 3.0, 3.0)  # what a row that crosses a gutter weighs against it: a page may have both, a column not
_MOST_DEPTH = len(_CROSSED)


@dataclass(frozen=True)
class Part:
    """A rectangle of cells: left, top, right, bottom; `column` is -1 for what is not in a column."""

    left: int
    top: int
    right: int
    bottom: int
    column: int = -1


def find_parts(occupied: Mask, prose: Mask, figures: Mask | None = None) -> list[Part]:
    """Cut a page into parts in reading order; `occupied` cells hold something: running text, a figure, or else."""
    rows, columns = np.flatnonzero(occupied.any(axis=1)), np.flatnonzero(occupied.any(axis=0))
    if not rows.size:
        return []
    whole = Part(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    return _cut(occupied, prose, np.zeros_like(prose) if figures is None else figures, whole, 0)


def _cut(occupied: Mask, prose: Mask, figures: Mask, part: Part, depth: int) -> list[Part]:
    gutter = _find_gutter(occupied, prose, figures, part, _CROSSED[depth]) if depth < _MOST_DEPTH else None
    if gutter is None:
        return [part]
    found: list[Part] = []
    for top, bottom, crossed in _bands(occupied, part, gutter):
        if crossed:
            found.append(Part(part.left, top, part.right, bottom, part.column))
            continue
        sides = (part.left, gutter[0], 0), (gutter[1], part.right, 1)
        for left, right, side in sides:
            if occupied[top:bottom, left:right].any():
                inner = Part(left, top, right, bottom, max(0, part.column) * 2 + side)
                found += _cut(occupied, prose, figures, inner, depth + 1)
    return found


def _find_gutter(occupied: Mask, prose: Mask, figures: Mask, part: Part, weight: float) -> tuple[int, int] | None:
    """Return from where to where the gutter goes that parts most rows of running text; None if there is none.

    A figure may be narrower than its column, so it need not reach the gutter.
    """
    inside, text, shown = (mask[part.top : part.bottom, part.left : part.right] for mask in (occupied, prose, figures))
    width = inside.shape[1]
    margin = max(_ADJACENT // 2, round(_LEAST_SIDE * width))
    best, most = None, -np.inf
    clear = ~inside
    first, last = inside.argmax(axis=1), width - inside[:, ::-1].argmax(axis=1)
    for middle in range(margin, width - margin - _LEAST_GUTTER):
        free = clear[:, middle : middle + _LEAST_GUTTER].all(axis=1)
        before, behind = slice(max(0, middle - _ADJACENT), middle), slice(middle + _LEAST_GUTTER, middle + _ADJACENT)
        both = inside[:, before].any(axis=1) & inside[:, behind].any(axis=1)
        words, more = text[:, before].any(axis=1), text[:, behind].any(axis=1)
        figure, other = shown[:, :middle].any(axis=1), shown[:, middle + _LEAST_GUTTER :].any(axis=1)
        parted = free & ((both & (words | more)) | (figure & (more | other)) | (words & other))
        crossed = int(text[:, middle : middle + _LEAST_GUTTER].any(axis=1).sum())
        rows = int(parted.sum())
        if rows - weight * crossed >= _LEAST_ROWS and rows - crossed > most:
            narrower = min(np.median(middle - first[parted]), np.median(last[parted] - middle))
            if narrower >= _LEAST_FILLED * width:
                best, most = middle, rows - crossed
    if best is None:
        return None
    free = clear[:, best : best + _LEAST_GUTTER].all(axis=1)
    busy: NDArray[np.bool_] = np.asarray(inside[free].any(axis=0))
    left, right = best, best + _LEAST_GUTTER
    while left > 1 and not busy[left - 1]:
        left -= 1
    while right < width - 1 and not busy[right]:
        right += 1
    middle = (left + right) // 2
    return part.left + middle - 1, part.left + middle + 1


def _bands(occupied: Mask, part: Part, gutter: tuple[int, int]) -> list[tuple[int, int, bool]]:
    """Part the rows into bands that cross the gutter and bands that do not: top, bottom, whether they cross."""
    filled = np.asarray(occupied[part.top : part.bottom, part.left : part.right].any(axis=1))
    crossed = np.asarray(occupied[part.top : part.bottom, gutter[0] : gutter[1]].any(axis=1))
    runs = [run for start, stop in find_runs(filled) for run in _split(crossed[start:stop], start)]
    bands: list[tuple[int, int, bool]] = []
    columns = occupied[part.top : part.bottom, gutter[1] : part.right]
    begin = _usual_begin(columns[[row for top, bottom, crosses in runs if not crosses for row in range(top, bottom)]])
    for number, (top, bottom, crosses) in enumerate(runs):
        beside = [runs[other][2] for other in (number - 1, number + 1) if 0 <= other < len(runs)]
        aligned = abs(_usual_begin(columns[top:bottom]) - begin) <= 1
        crosses = crosses or (bottom - top < _LEAST_BAND and (all(beside) or (any(beside) and not aligned)))
        if bands and bands[-1][2] == crosses:
            bands[-1] = bands[-1][0], bottom, crosses
        else:
            bands.append((top, bottom, crosses))
    return [(part.top + top, part.top + bottom, crosses) for top, bottom, crosses in bands]


def _usual_begin(column: Mask) -> int:
    """Return how far from its left most rows of a column begin; -1 if it is empty."""
    filled = column.argmax(axis=1)[column.any(axis=1)]
    return int(np.bincount(filled).argmax()) if filled.size else -1


def _split(crossed: NDArray[np.bool_], start: int) -> list[tuple[int, int, bool]]:
    """Cut a run of filled rows where crossing begins or ends; one that mostly crosses does so as a whole."""
    if crossed.mean() >= _MOSTLY:
        return [(start, start + len(crossed), True)]
    edge, found = 0, list[tuple[int, int, bool]]()
    for one, other in find_runs(crossed):
        if other - one >= _CROSSING_ROWS:
            found += [(edge, one, False)] if one > edge else []
            found.append((one, other, True))
            edge = other
    found += [(edge, len(crossed), False)] if edge < len(crossed) else []
    return [(start + one, start + other, crosses) for one, other, crosses in found]
