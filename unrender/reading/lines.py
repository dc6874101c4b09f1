"""Pictures of lines of text: where the lines stand, which parts a model of one line is shown, the pieces joined.

Lines are bands of ink below one another, cut at wide gaps: for screenshots, scans and receipts whose lines run across
and do not touch. A photo of a scene needs a real detector; its boxes go to `unrender.read_lines`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from unrender.documents import Block, Box, Token
from unrender.images.opening import is_blank
from unrender.models.config import ImagePrep
from unrender.reading.systems import Sheet

Region = tuple[int, int, int, int]  # left, top, right, bottom in the picture
_MOST_PIXELS = 3_000_000  # a larger picture is shrunk while its lines are sought
_REACH = 24  # pixels around a pixel whose lightest is its paper
_DARK = 0.72  # of the paper: darker is ink
_FAINT = 30  # grey levels between ink and paper, at least
_THIN = 0.004  # of the width: a row with less ink is empty
_SPECK = 0.35  # of the usual height of a line: a lower band is a speck, or dots that belong to its neighbour
_NEAR = 0.35  # of the usual height: such a band belongs to a line this near
_GAP = 1.6  # of a line's height: a gap this wide parts its pieces
_SPACE = 0.25  # of a line's height: how wide a place without ink must be to be a space between words
_FULL = 0.7  # of the longest: how long the pieces of a long line are before they are cut at a space
_AIR = 0.12  # of a line's height, around it
_LOW = 0.55  # of a picture's height: a single line that is lower has too much paper around it
_BETWEEN = Token(" ", 1.0)  # the pieces of a line


def parts_to_read(sheet: Sheet, prep: ImagePrep, *, several: bool) -> tuple[Region, ...]:
    """Return the parts of a picture to look at one by one, in reading order; none: the picture as it is."""
    longest = prep.width / prep.line_height
    if sheet.region is not None:
        return cut_long(sheet.image, sheet.region, longest)
    if not several:
        return find_line(sheet.image, longest)
    return tuple(region for line in find_lines(sheet.image, longest) for region in line)


def join_pieces(regions: Sequence[Region | None], rows: Sequence[tuple[Block, ...]]) -> tuple[Block, ...]:
    """Join the pieces of each line, which stand at one height, and give every line the box it was read in."""
    lines: list[Block] = []
    before: Region | None = None
    for region, (block, *_) in zip(regions, rows, strict=True):
        placed = block if region is None else replace(block, box=Box(*map(float, region)))
        if region is not None and before is not None and region[1::2] == before[1::2]:
            lines[-1] = _joined(lines[-1], placed)
        else:
            lines.append(placed)
        before = region
    return tuple(line for line in lines if line.text) or tuple(lines[:1])


def clipped(box: Box, image: Image.Image) -> Region | None:
    """Return the part of a picture that a box covers; None where that is nothing, or blank."""
    left, top = max(0, int(box.x0)), max(0, int(box.y0))
    right, bottom = min(image.width, int(box.x1 + 0.99)), min(image.height, int(box.y1 + 0.99))
    if right <= left or bottom <= top or is_blank(image.crop((left, top, right, bottom))):
        return None
    return left, top, right, bottom


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
        return cut_long(image, (0, 0, *image.size), longest)
    lines = find_lines(image, longest)
    if len(lines) == 1 and lines[0][0][3] - lines[0][0][1] < _LOW * image.height:
        return lines[0]
    return ()


def cut_long(image: Image.Image, region: Region, longest: float) -> tuple[Region, ...]:
    """Cut a line that is longer than `longest` times its height where it has least ink, into pieces much alike."""
    left, top, right, bottom = region
    if right - left <= longest * (bottom - top):
        return (region,)
    ink = _ink(image.convert("L").crop(region))
    pieces = list(_shortened(ink, 0, right - left, longest))
    inked = [(begin, end) for begin, end in pieces if ink[:, begin:end].any()]  # bare paper says nothing
    return tuple((left + begin, top, left + end, bottom) for begin, end in inked or pieces[:1])


def _joined(first: Block, second: Block) -> Block:
    if not first.text or not second.text:
        return first if first.text else second
    sure = [block.confidence for block in (first, second) if block.confidence is not None]
    box = first.box
    if first.box is not None and second.box is not None:
        box = Box(first.box.x0, first.box.y0, second.box.x1, first.box.y1)
    return replace(
        first,
        text=f"{first.text} {second.text}",
        tokens=(*first.tokens, _BETWEEN, *second.tokens),
        confidence=min(sure) if sure else None,
        box=box,
        readings=(),
    )


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
    begins = [
        first
        for (_, before), (first, _) in pairwise([(0, -height * len(ink[0])), *words])
        if first - before > _GAP * height
    ]
    for begin, after in pairwise([*begins, len(ink[0]) + 1]):
        end = max(last for first, last in words if begin <= first < after)
        yield from _shortened(ink, begin, end, longest)


def _shortened(ink: NDArray[np.bool_], begin: int, end: int, longest: float) -> Iterator[tuple[int, int]]:
    """Cut from `begin` to `end` into pieces that fit, each time where there is least ink near an even cut."""
    height = len(ink)
    count = int(np.ceil((end - begin) / max(1.0, _FULL * longest * height)))
    if end - begin <= longest * height:
        yield begin, end
        return
    around = max(1, round(_SPACE * height))
    amounts = np.convolve(ink.sum(axis=0), np.ones(around), mode="same")
    cuts, reach = [begin], (end - begin) / count * (1 / _FULL - 1) / 2
    for even in np.linspace(begin, end, count + 1)[1:-1]:
        first, last = int(even - reach), int(even + reach) + 1
        cuts.append(first + int(np.argmin(amounts[first:last])))
    yield from pairwise([*cuts, end])


def _runs(marked: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return where each run of True begins and where it has ended."""
    changes = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(np.int8)))
    return [(int(first), int(last)) for first, last in changes.reshape(-1, 2)]


def _enlarged(region: Region, factor: int, size: tuple[int, int]) -> Region:
    left, top, right, bottom = (side * factor for side in region)
    return left, top, min(size[0], right), min(size[1], bottom)
