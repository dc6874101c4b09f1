"""What is measured in pictures: percentiles, runs, the strokes of the ink, and how high its symbols are."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_LONGEST = 1024  # larger pictures are shrunk before they are measured
_INK = 0.8  # of the way from the darkest grey to the paper: darker is ink; less breaks thin strokes into pieces
_FLAT = 0.3  # of its width: a lower stroke is a bar or a minus, which says nothing about the size
_SLIM = 3.0  # times its width: a higher stroke is a bracket, which grows with what it holds
_DOT = 0.4  # of a tall stroke: smaller ones are dots and specks
_TALL = 75  # percentile: capitals and digits differ less in height than all symbols do


def percentile(values: NDArray[np.generic], share: float) -> float:
    """Return the value that `share` per cent of the values are below, between two of them if need be.

    It is NumPy's, without what NumPy loads for it: 0.02 s of every start.
    """
    ordered = np.sort(values, axis=None)
    position = (ordered.size - 1) * share / 100
    below = int(position)
    low, high = float(ordered[below]), float(ordered[min(below + 1, ordered.size - 1)])
    return low + (high - low) * (position - below)


def middle_level(levels: NDArray[np.uint8]) -> int:
    """Return the median of grey levels; NumPy's own would load numpy.ma, 0.03 s of every start."""
    counts = np.bincount(levels.ravel(), minlength=256).cumsum()
    return int(np.searchsorted(counts, counts[-1] / 2))


def find_runs(marked: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return where each run of True begins and where it has ended."""
    edges = np.flatnonzero(np.diff(np.pad(marked, 1).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


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
    heights = heights[heights >= _DOT * percentile(heights, _TALL)]
    return percentile(heights, _TALL) * factor


def stroke_boxes(ink: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return left, top, right, bottom of every connected stroke, corners included: (strokes, 4)."""
    return find_strokes(ink)[0]


def find_strokes(ink: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the boxes of the strokes, and for every pixel (H, W) the number of its stroke; -1: no ink."""
    edges = np.diff(np.pad(ink, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    first = _joined(rows, starts, ends)
    begins = np.bincount(first, minlength=len(first)) > 0  # np.unique would load numpy.ma
    strokes = (np.cumsum(begins) - 1)[first]
    boxes = np.tile(np.array([np.iinfo(np.int64).max] * 2 + [0] * 2), (int(begins.sum()), 1))
    np.minimum.at(boxes[:, 0], strokes, starts)
    np.minimum.at(boxes[:, 1], strokes, rows)
    np.maximum.at(boxes[:, 2], strokes, ends)
    np.maximum.at(boxes[:, 3], strokes, rows + 1)
    numbers = np.full(ink.shape, -1, dtype=np.int64)
    numbers[ink] = np.repeat(strokes, ends - starts)
    return boxes, numbers


def _joined(rows: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each run of ink the first run of its stroke; runs of neighbouring rows touch at a corner too."""
    width = int(ends.max(initial=0)) + 2
    # Runs are in order, so those that a run touches in the row above lie side by side.
    first = np.searchsorted(rows * width + ends, (rows - 1) * width + starts)
    last = np.searchsorted(rows * width + starts, (rows - 1) * width + ends, side="right")
    counts = np.maximum(0, last - first)
    below = np.repeat(np.arange(len(rows)), counts)
    above = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    home = np.arange(len(rows))
    while True:
        lowest = np.minimum(home[below], home[above])
        before = home.copy()
        np.minimum.at(home, before[below], lowest)
        np.minimum.at(home, before[above], lowest)
        home = home[home]
        if np.array_equal(home, before):
            return home
