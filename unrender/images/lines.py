"""Where the lines of text stand in a picture: bands of ink below one another, cut at wide gaps.

For screenshots, scans and receipts whose lines run across and do not touch. A photo of a scene needs a real detector;
its boxes go to `unrender.read_lines`.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

Region = tuple[int, int, int, int]  # left, top, right, bottom in the picture
_MOST_PIXELS = 3_000_000  # a larger picture is shrunk while its lines are sought
_REACH = 24  # pixels around a pixel whose lightest is its paper
_DARK = 0.72  # of the paper: darker is ink
_FAINT = 30  # grey levels between ink and paper, at least
_THIN = 0.004  # of the width: a row with less ink is empty
_SPECK = 0.35  # of the usual height of a line: a lower band is a speck, or dots that belong to its neighbour
_NEAR = 0.35  # of the usual height: such a band belongs to a line this near
_GAP = 1.6  # of a line's height: a gap this wide parts its pieces
_AIR = 0.12  # of a line's height, around it
_LOW = 0.55  # of a picture's height: a single line that is lower has too much paper around it


def find_lines(image: Image.Image, longest: float) -> list[tuple[Region, ...]]:
    """Return the lines from top to bottom, each as pieces from left to right, at most `longest` times their height."""
    factor = max(1, round((image.width * image.height / _MOST_PIXELS) ** 0.5))
    ink = _ink(image.convert("L").reduce(factor))
    found = []
    for top, bottom in _bands(ink):
        pieces = _pieces(ink[top:bottom], longest)
        air = max(1, round(_AIR * (bottom - top)))
        regions = (
            (max(0, left - air), max(0, top - air), right + air, min(len(ink), bottom + air)) for left, right in pieces
        )
        found.append(tuple(_enlarged(region, factor, image.size) for region in regions))
    return [line for line in found if line]


def find_line(image: Image.Image, longest: float) -> tuple[Region, ...]:
    """Return the pieces of a picture of one line; none where the whole picture is best read as it is."""
    if image.width > longest * image.height:
        lines = find_lines(image, longest)
        return lines[0] if len(lines) == 1 else cut_evenly((0, 0, *image.size), longest)
    lines = find_lines(image, longest)
    if len(lines) == 1 and lines[0][0][3] - lines[0][0][1] < _LOW * image.height:
        return lines[0]
    return ()


def cut_evenly(region: Region, longest: float) -> tuple[Region, ...]:
    """Cut a part of a picture across into as many pieces as it takes."""
    left, top, right, bottom = region
    count = max(1, int(np.ceil((right - left) / max(1.0, longest * (bottom - top)))))
    sides = np.linspace(left, right, count + 1).round().astype(int).tolist()
    return tuple((begin, top, end, bottom) for begin, end in pairwise(sides))


def _ink(gray: Image.Image) -> NDArray[np.bool_]:
    """Return what is darker than the paper around it; light print on dark ground counts likewise."""
    levels = np.asarray(gray, dtype=np.float32)
    if np.median(levels) < (levels.min() + levels.max()) / 2:
        gray, levels = Image.eval(gray, lambda level: 255 - level), 255 - levels
    small = gray.reduce(4) if min(gray.size) > 4 * _REACH else gray
    near = _REACH // 4 if small is not gray else _REACH
    paper = small.filter(ImageFilter.MaxFilter(2 * (near // 2) + 1)).filter(ImageFilter.BoxBlur(near))
    light = np.asarray(paper.resize(gray.size, Image.Resampling.BILINEAR), dtype=np.float32)
    ink: NDArray[np.bool_] = (levels < _DARK * light) & (levels < light - _FAINT)
    return ink


def _bands(ink: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last row of each line; dots and accents go to the line beside them, specks go away."""
    runs = _runs(ink.sum(axis=1) > max(1.0, _THIN * ink.shape[1]))
    if not runs:
        return []
    heights = [bottom - top for top, bottom in runs]
    usual = float(np.average(heights, weights=heights))
    bands: list[tuple[int, int]] = []
    for top, bottom in runs:
        low = min(bottom - top, bands[-1][1] - bands[-1][0] if bands else bottom - top) < _SPECK * usual
        if bands and low and top - bands[-1][1] < _NEAR * usual:
            bands[-1] = (bands[-1][0], bottom)
        else:
            bands.append((top, bottom))
    return [(top, bottom) for top, bottom in bands if bottom - top >= _SPECK * usual and bottom - top > 2]


def _pieces(ink: NDArray[np.bool_], longest: float) -> Iterator[tuple[int, int]]:
    """Cut a line where its gaps are wide and, where a piece is still too long, at the widest gap it has."""
    height = len(ink)
    words = _runs(ink.sum(axis=0) > 0)
    group: list[tuple[int, int]] = []
    for word in words:
        if group and word[0] - group[-1][1] > _GAP * height:
            yield from _shortened(group, longest * height)
            group = []
        group.append(word)
    if group:
        yield from _shortened(group, longest * height)


def _shortened(group: Sequence[tuple[int, int]], longest: float) -> Iterator[tuple[int, int]]:
    first, last = group[0][0], group[-1][1]
    if last - first <= longest:
        yield first, last
    elif len(group) == 1:
        for left, _, right, _ in cut_evenly((first, 0, last, 1), longest):
            yield left, right
    else:
        middle = (first + last) / 2
        gaps = [after[0] - before[1] for before, after in pairwise(group)]
        central = [1 - abs(before[1] - middle) / (last - first) for before in group[:-1]]
        cut = int(np.argmax(np.array(gaps) * np.array(central))) + 1
        yield from _shortened(group[:cut], longest)
        yield from _shortened(group[cut:], longest)


def _runs(marked: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return where each run of True begins and where it has ended."""
    changes = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(np.int8)))
    return [(int(first), int(last)) for first, last in changes.reshape(-1, 2)]


def _enlarged(region: Region, factor: int, size: tuple[int, int]) -> Region:
    left, top, right, bottom = (side * factor for side in region)
    return left, top, min(size[0], right), min(size[1], bottom)
