"""Where the lines of text stand in a picture: bands of ink below one another, cut at wide gaps.

For screenshots, scans and receipts whose lines run across and do not touch. A photo of a scene needs a real detector.
A strip holds one line: cut out, straightened, and turned the way it is read.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from unrender.images.measures import find_runs, middle_level, percentile

Piece = tuple[int, int, bool]  # where it begins and ends, and whether a word was cut before it
_MOST_PIXELS = 3_000_000  # a larger picture is shrunk while its lines are sought
_REACH = 24  # pixels around a pixel whose lightest is its paper
_DARK = 0.72  # of the paper: darker is ink
_FAINT = 30  # grey levels between ink and paper, at least
_THIN = 0.004  # of the width: a row with less ink is empty
_SPECK = 0.35  # of the usual height of a line: a lower band is a speck, or dots that belong to its neighbour
_NEAR = 0.35  # of the usual height: such a band belongs to a line this near
_GAP = 1.6  # of a line's height: a gap this wide parts its pieces
_SPACE = 0.22  # of a line's height: how wide a place without ink is at least that is a space between words
_WIDE, _HALF = 90, 0.6  # per cent of a line's gaps that are at most as wide as a usual space; a part of that
_FULL = 0.7  # of the longest: how long the pieces of a long line are if they are cut evenly
_SHORT = 0.3  # of the longest: how long a piece is at least
_AIR = 0.12  # of a line's height, around it
_LOW = 0.55  # of a picture's height: a single line that is lower has too much paper around it
Point = tuple[float, float]
Region = tuple[int, int, int, int]  # left, top, right, bottom in the picture
_TALL = 1.9  # times its width: a strip this high may be a line that stands on its side


@dataclass(frozen=True)
class Strip:
    """The corners of a line as it is read: where it begins at the top, ends at the top, ends below, begins below.

    Strips with the same `line` are pieces of one line; `glued` says that a word was cut before this piece.
    """

    corners: tuple[Point, Point, Point, Point]
    line: int = 0
    glued: bool = False

    @classmethod
    def of(cls, region: Region, line: int = 0, *, glued: bool = False) -> "Strip":
        """Return an upright part of a picture."""
        left, top, right, bottom = map(float, region)
        return cls(((left, top), (right, top), (right, bottom), (left, bottom)), line, glued)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height once it is cut out."""
        first, second, third, fourth = self.corners
        wide = max(math.dist(first, second), math.dist(fourth, third))
        high = max(math.dist(first, fourth), math.dist(second, third))
        return max(1, round(wide)), max(1, round(high))

    @property
    def tall(self) -> bool:
        width, height = self.size
        return height > _TALL * width

    @property
    def frame(self) -> tuple[float, float, float, float]:
        """The smallest upright box around it."""
        across, down = zip(*self.corners, strict=True)
        return min(across), min(down), max(across), max(down)

    @property
    def upright(self) -> bool:
        left, top, right, bottom = self.frame
        return self.corners == ((left, top), (right, top), (right, bottom), (left, bottom))

    def turned(self, turns: int) -> "Strip":
        """Return the strip as it is after some quarter turns clockwise."""
        first = -turns % 4
        one, two, three, four = (*self.corners[first:], *self.corners[:first])
        return replace(self, corners=(one, two, three, four))

    def part(self, begin: float, end: float, *, glued: bool = False) -> "Strip":
        """Return the piece between two shares of its length."""
        corners = (self.at(begin, 0), self.at(end, 0), self.at(end, 1), self.at(begin, 1))
        return Strip(corners, self.line, glued)

    def at(self, along: float, down: float) -> Point:
        """Return the point of the picture at these shares of length and height."""
        shares = ((1 - along) * (1 - down), along * (1 - down), along * down, (1 - along) * down)
        x = sum(share * corner[0] for share, corner in zip(shares, self.corners, strict=True))
        y = sum(share * corner[1] for share, corner in zip(shares, self.corners, strict=True))
        return x, y

    def point(self, x: float, y: float) -> Point:
        """Return the point of the picture that is at (x, y) once the strip is cut out."""
        width, height = self.size
        return self.at(x / width, y / height)

    def cut(self, image: Image.Image) -> Image.Image:
        """Cut it out of a picture."""
        if self.upright:
            left, top, right, bottom = self.frame
            return image.crop((max(0, int(left)), max(0, int(top)), math.ceil(right), math.ceil(bottom)))
        first, second, third, fourth = self.corners
        return image.transform(
            self.size, Image.Transform.QUAD, (*first, *fourth, *third, *second), Image.Resampling.BICUBIC
        )


def find_lines(image: Image.Image, longest: float) -> list[tuple[Strip, ...]]:
    """Return the lines from top to bottom, each as pieces from left to right, at most `longest` times their height."""
    factor = max(1, round((image.width * image.height / _MOST_PIXELS) ** 0.5))
    ink = _ink(image.convert("L").reduce(factor))
    found: list[tuple[Strip, ...]] = []
    for top, bottom in _bands(ink):
        air = max(1, round(_AIR * (bottom - top)))
        strips = []
        for left, right, glued in _pieces(ink[top:bottom], longest):
            region = max(0, left - air), max(0, top - air), right + air, min(len(ink), bottom + air)
            strips.append(Strip.of(_enlarged(region, factor, image.size), len(found), glued=glued))
        found.append(tuple(strips))
    return [line for line in found if line]


def find_line(image: Image.Image, longest: float) -> tuple[Strip, ...]:
    """Return the pieces of a picture of one line; none where the whole picture is best read as it is."""
    if image.width > longest * image.height:
        return cut_long(image, (0, 0, *image.size), longest)
    lines = find_lines(image, longest)
    if len(lines) == 1 and lines[0][0].size[1] < _LOW * image.height:
        return lines[0]
    return ()


def cut_long(image: Image.Image, region: Region, longest: float) -> tuple[Strip, ...]:
    """Cut a line that is longer than `longest` times its height where it has least ink."""
    left, top, right, bottom = region
    if right - left <= longest * (bottom - top):
        return (Strip.of(region),)
    ink = _ink(image.convert("L").crop(region))
    inked = np.flatnonzero(ink.any(axis=0))  # bare paper says nothing
    air = max(1, round(_AIR * (bottom - top)))
    begin, end = (max(0, int(inked[0]) - air), min(right - left, int(inked[-1]) + 1 + air)) if inked.size else (0, 1)
    pieces = _shortened(ink, begin, end, longest)
    return tuple(Strip.of((left + first, top, left + last, bottom), glued=glued) for first, last, glued in pieces)


def _ink(gray: Image.Image) -> NDArray[np.bool_]:
    """Return what is darker than the paper around it; light print on dark ground counts likewise."""
    levels = np.asarray(gray, dtype=np.float32)
    if middle_level(np.asarray(gray)) < (levels.min() + levels.max()) / 2:
        gray, levels = Image.eval(gray, lambda level: 255 - level), 255 - levels
    small = gray.reduce(4) if min(gray.size) > 4 * _REACH else gray
    near = _REACH // 4 if small is not gray else _REACH
    paper = small.filter(ImageFilter.MaxFilter(2 * (near // 2) + 1)).filter(ImageFilter.BoxBlur(near))
    light = np.asarray(paper.resize(gray.size, Image.Resampling.BILINEAR), dtype=np.float32)
    ink: NDArray[np.bool_] = (levels < _DARK * light) & (levels < light - _FAINT)
    return ink


def _bands(ink: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last row of each line; dots and accents go to the line beside them, specks go away."""
    runs = find_runs(ink.sum(axis=1) > max(1.0, _THIN * ink.shape[1]))
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


def _pieces(ink: NDArray[np.bool_], longest: float) -> Iterator[Piece]:
    """Cut a line where its gaps are wide and, where a piece is still too long, at a gap between words."""
    height = len(ink)
    words = find_runs(ink.sum(axis=0) > 0)
    begins = [
        first
        for (_, before), (first, _) in pairwise([(0, -height * len(ink[0])), *words])
        if first - before > _GAP * height
    ]
    for begin, after in pairwise([*begins, len(ink[0]) + 1]):
        end = max(last for first, last in words if begin <= first < after)
        yield from _shortened(ink, begin, end, longest)


def _shortened(ink: NDArray[np.bool_], begin: int, end: int, longest: float) -> Iterator[Piece]:
    """Cut from `begin` to `end` into pieces that fit: at the space nearest to an even cut, or where a gap is widest."""
    room = max(1, int(longest * len(ink)))
    gaps = _Gaps.of(ink)
    glued = False
    while end - begin > room:
        count = int(np.ceil((end - begin) / max(1.0, _FULL * room)))
        first, last = begin + max(1, int(_SHORT * room)), min(begin + room, end - 1)
        cut, through = gaps.cut(first, last, begin + (end - begin) / count)
        yield begin, cut, glued
        begin, glued = cut, through
    yield begin, end, glued


@dataclass(frozen=True)
class _Gaps:
    """The places without ink in a line: where their middles are, how wide they are, and how wide a space is."""

    middles: NDArray[np.float64]
    widths: NDArray[np.int64]
    space: float

    @classmethod
    def of(cls, ink: NDArray[np.bool_]) -> "_Gaps":
        """Measure a line; what is wide beside most of its gaps is a space between words."""
        gaps = np.array(find_runs(ink.sum(axis=0) == 0), dtype=np.int64).reshape(-1, 2)
        widths = gaps[:, 1] - gaps[:, 0]
        rows = np.flatnonzero(ink.any(axis=1))
        height = int(rows[-1] - rows[0]) + 1 if rows.size else len(ink)
        wide = percentile(widths, _WIDE) if widths.size else 0.0
        return cls(gaps.mean(axis=1), widths, max(_SPACE * height, _HALF * wide))

    def cut(self, first: int, last: int, even: float) -> tuple[int, bool]:
        """Return where to cut between two places, and whether that goes through a word."""
        inside = (self.middles >= first) & (self.middles <= last)
        spaces = np.flatnonzero(inside & (self.widths >= self.space))
        if spaces.size:
            return int(self.middles[spaces[np.abs(self.middles[spaces] - even).argmin()]]), False
        gaps = np.flatnonzero(inside)
        if gaps.size:
            return max(first, int(self.middles[gaps[self.widths[gaps].argmax()]])), True
        return int(min(max(even, first), last)), True


def _enlarged(region: Region, factor: int, size: tuple[int, int]) -> Region:
    left, top, right, bottom = (side * factor for side in region)
    return left, top, min(size[0], right), min(size[1], bottom)
