"""How large the symbols of a picture are: from its connected strokes, without looking at what they are."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_LONGEST = 1024  # larger pictures are shrunk before they are measured
_INK = 0.8  # of the way from the darkest grey to the paper: darker is ink; less breaks thin strokes into pieces
_FLAT = 0.3  # of its width: a lower stroke is a bar or a minus, which says nothing about the size
_SLIM = 3.0  # times its width: a higher stroke is a bracket, which grows with what it holds
_DOT = 0.4  # of a tall stroke: smaller ones are dots and specks
_TALL = 75  # percentile: capitals and digits differ less in height than all symbols do


def symbol_height(gray: Image.Image) -> float | None:
    """Return the height in pixels of the taller symbols of a dark-on-light picture; None when nothing tells."""
    factor = max(1.0, max(gray.size) / _LONGEST)
    if factor > 1:
        gray = gray.resize((max(1, round(gray.width / factor)), max(1, round(gray.height / factor))))
    values = np.asarray(gray, dtype=np.float32)
    darkest, lightest = float(values.min()), float(values.max())
    boxes = stroke_boxes(values < darkest + _INK * (lightest - darkest))
    heights, widths = boxes[:, 3] - boxes[:, 1], boxes[:, 2] - boxes[:, 0]
    telling = (heights >= _FLAT * widths) & (heights <= _SLIM * widths)
    heights = heights[telling if telling.any() else heights >= _FLAT * widths]
    if not heights.size:
        return None
    heights = heights[heights >= _DOT * np.percentile(heights, _TALL)]
    return float(np.percentile(heights, _TALL)) * factor


def stroke_boxes(ink: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return left, top, right, bottom of every connected stroke, corners included: (strokes, 4)."""
    return find_strokes(ink)[0]


def find_strokes(ink: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the boxes of the strokes, and for every pixel (H, W) the number of its stroke; -1: no ink."""
    edges = np.diff(np.pad(ink, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    parent = list(range(len(rows)))
    _join_runs(rows, starts, ends, parent)
    roots = np.array([_root(parent, run) for run in range(len(parent))], dtype=np.int64)
    kept, strokes = np.unique(roots, return_inverse=True)
    boxes = np.tile(np.array([np.iinfo(np.int64).max] * 2 + [0] * 2), (len(kept), 1))
    np.minimum.at(boxes[:, 0], strokes, starts)
    np.minimum.at(boxes[:, 1], strokes, rows)
    np.maximum.at(boxes[:, 2], strokes, ends)
    np.maximum.at(boxes[:, 3], strokes, rows + 1)
    numbers = np.full(ink.shape, -1, dtype=np.int64)
    numbers[ink] = np.repeat(strokes, ends - starts)
    return boxes, numbers


def _join_runs(rows: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64], parent: list[int]) -> None:
    """Join runs of ink in neighbouring rows that touch, at a corner too."""
    row_of, start_of, end_of = rows.tolist(), starts.tolist(), ends.tolist()
    above = 0
    for run, row in enumerate(row_of):
        while row_of[above] < row - 1 or (row_of[above] == row - 1 and end_of[above] < start_of[run]):
            above += 1
        touching = above
        while touching < run and row_of[touching] == row - 1 and start_of[touching] <= end_of[run]:
            parent[_root(parent, run)] = _root(parent, touching)
            touching += 1


def _root(parent: list[int], run: int) -> int:
    while parent[run] != run:
        parent[run] = parent[parent[run]]
        run = parent[run]
    return run
