"""What surrounds a formula and is none of it: a box around it, a line below all of it, text that the edge cuts.

Each is looked for only where the rows and columns with ink allow it, so a picture without them costs next to nothing.
"""

import numpy as np
from numpy.typing import NDArray

from unrender.images.measures import find_runs, find_strokes
from unrender.images.rulings import INK

Gray = NDArray[np.uint8]
_FULL = 0.9  # of a side of the box that is ink
_THICK = 0.08  # of its height a box's line is at most
_CUT = 0.5  # of the strokes of a line that the edge cuts touch it
_FEWEST = 3  # strokes: a formula cropped to its ink may touch the edge with one or two
_FLAT = 0.03  # of its length a line below is at most thick
_LONG = 4.0  # times what stands above it is high: shorter lines mark a symbol or two
_ABOVE = 3.0  # times as thick as the line is what stands above it at least
_FREE = 2  # pixels of paper at every edge, without which nothing is taken for cut
_GAP = 0.25  # of its strokes' height: white paper between a line that is cut and the formula


def erase_surroundings(values: Gray) -> Gray:
    """Return dark ink on white paper without a box or line drawn around or below it and without text that is cut."""
    return _without_underline(_without_box(_without_cut_lines(values)))


def _without_underline(values: Gray) -> Gray:
    """Whiten a straight line below all other ink and as wide, if that is long: short ones belong to a symbol."""
    ink = values < INK
    rows, across = find_runs(np.asarray(ink.any(axis=1))), np.flatnonzero(ink.any(axis=0))
    if len(rows) < 2:
        return values
    width, (top, bottom) = int(across[-1] - across[0] + 1), rows[-1]
    if ink[top:bottom].any(axis=0).sum() < _FULL * width or bottom - top > _FLAT * width:
        return values
    boxes, _ = find_strokes(ink[:top])
    height = float(np.median(boxes[:, 3] - boxes[:, 1]))
    if len(boxes) < _FEWEST or width < _LONG * height or height < _ABOVE * (bottom - top):
        return values
    kept = values.copy()
    kept[max(rows[-2][1], top - 1) :] = 255
    return kept


def _without_cut_lines(values: Gray) -> Gray:
    """Whiten lines at the upper and lower edge that it cuts, if what is left stands free of every edge."""
    ink = values < INK
    rows = find_runs(np.asarray(ink.any(axis=1)))
    if len(rows) < 2 or (rows[0][0] > 0 and rows[-1][1] < len(values)):
        return values
    first, last = 0, len(values)
    if rows[0][0] == 0 and _is_cut(ink[: rows[0][1]], rows[1][0] - rows[0][1]):
        first = rows[0][1] + 1
    if rows[-1][1] == len(values) and _is_cut(ink[rows[-1][0] :][::-1], rows[-1][0] - rows[-2][1]):
        last = rows[-1][0] - 1
    rest = ink[first:last]
    if len(rest) == len(values) or not rest.any() or _touches_edge(rest):
        return values
    kept = np.full_like(values, 255)
    kept[first:last] = values[first:last]
    return kept


def _touches_edge(ink: NDArray[np.bool_]) -> bool:
    """Tell whether ink stands at any edge: a picture cropped to its ink."""
    edges = ink[:_FREE], ink[-_FREE:], ink[:, :_FREE], ink[:, -_FREE:]
    return any(bool(edge.any()) for edge in edges)


def _is_cut(ink: NDArray[np.bool_], gap: int) -> bool:
    """Tell whether most strokes of the ink (H, W), whose first row is the picture's edge, touch that edge."""
    boxes, _ = find_strokes(ink)
    touching = int((boxes[:, 1] == 0).sum())
    return touching >= _FEWEST and touching > _CUT * len(boxes) and gap >= _GAP * len(ink)


def _without_box(values: Gray) -> Gray:
    """Whiten a stroke that runs around all other ink, at the sides only."""
    ink = values < INK
    down, across = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if down.size < 3 or across.size < 3:
        return values
    top, bottom, left, right = int(down[0]), int(down[-1]), int(across[0]), int(across[-1])
    inside = ink[top : bottom + 1, left : right + 1]
    if min(inside[0].mean(), inside[-1].mean(), inside[:, 0].mean(), inside[:, -1].mean()) < _FULL:
        return values
    boxes, numbers = find_strokes(inside)
    frame = numbers == numbers[0, len(numbers[0]) // 2]
    height, width = inside.shape
    thick = max(2, round(_THICK * height))
    core = frame[thick : height - thick, thick : width - thick]
    if len(boxes) < 2 or core.any():  # nothing in it, or lines that cross it: a table
        return values
    erased = values.copy()
    part = erased[top : bottom + 1, left : right + 1]
    grown = np.pad(frame, 1)
    soft = grown[:-2, 1:-1] | grown[2:, 1:-1] | grown[1:-1, :-2] | grown[1:-1, 2:]  # its soft edges too
    part[frame | (soft & ~(inside & ~frame))] = 255
    outer = erased[max(0, top - 1) : bottom + 2, max(0, left - 1) : right + 2]
    for edge in (outer[0], outer[-1], outer[:, 0], outer[:, -1]):
        edge[:] = 255
    return erased
