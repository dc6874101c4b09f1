"""Pictures of lines: which strips a model that reads one line looks at, and how the pieces go together again."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.documents import Block, Box, Token
from unrender.images.lines import Point, Region, Strip, cut_long, find_line, find_lines
from unrender.images.opening import is_blank
from unrender.models.config import ImagePrep
from unrender.reading.considering import Strips, Ways
from unrender.reading.systems import Sheet
from unrender.words import find_rows, open_finder

Corners = NDArray[np.float64]  # (N, 4, 2)
Way = tuple[Strip, ...]
_SPACE = Token(" ", 1.0)
_TURNS = (1, 3)  # quarter turns clockwise that set upright what lies on its side
_LONG = 3.0  # times its height: a line that is longer shows which way the text runs
_STACKED = 3  # letters below one another that make a word


def strips_to_read(sheet: Sheet, prep: ImagePrep, *, several: bool) -> Strips:
    """Return the strips of a picture of one line or, where it may hold `several`, of all its lines."""
    longest = prep.width / prep.line_height
    if sheet.region is not None:
        return Strips((cut_long(sheet.image, sheet.region, longest),))
    if several:
        return Strips(find_ways(sheet.image, longest), lambda: _detected(sheet.image, longest))
    return Strips(_tall_ways(sheet.image, longest) or (find_line(sheet.image, longest),))


def find_ways(image: Image.Image, longest: float) -> Ways:
    """Return the lines of a picture; where it may lie on its side, one way of reading it for each turn."""
    ways = [_flat(find_lines(image, longest))]
    if not _runs_across(ways[0]):
        turned = [_flat(find_lines(image.rotate(-90 * turns, expand=True), longest)) for turns in _TURNS]
        if _runs_across(turned[0]):
            ways += [_turned_back(way, turns, image.size) for way, turns in zip(turned, _TURNS, strict=True)]
    return tuple(ways)


def arrange(corners: Corners, image: Image.Image, longest: float) -> Ways:
    """Return the lines that a detector found, (N, 4, 2), in reading order; where most are tall, turned ones as well."""
    strips = [Strip((_point(one), _point(two), _point(three), _point(four))) for one, two, three, four in corners]
    sideways = 2 * sum(strip.tall for strip in strips) > len(strips)
    ways = [_in_rows(strips, turns) for turns in ((0, *_TURNS) if sideways else (0,))]
    return tuple(tuple(piece for strip in way for piece in _shortened(strip, image, longest)) for way in ways)


def _detected(image: Image.Image, longest: float) -> Ways:
    """Return the lines that RapidOCR finds, where it is installed."""
    finder = open_finder()
    return () if finder is None else arrange(finder(image), image, longest)


def join_pieces(strips: Sequence[Strip | None], rows: Sequence[tuple[Block, ...]]) -> tuple[Block, ...]:
    """Join the pieces of each line, and give every line the box it was read in."""
    lines: list[Block] = []
    before: Strip | None = None
    for strip, (block, *_) in zip(strips, rows, strict=True):
        placed = block if strip is None else replace(block, box=Box(*strip.frame))
        if strip is not None and before is not None and strip.line == before.line:
            lines[-1] = _joined(lines[-1], placed, glued=strip.glued)
        else:
            lines.append(placed)
        before = strip
    return tuple(line for line in lines if line.text) or tuple(lines[:1])


def clipped(box: Box, image: Image.Image) -> Region | None:
    """Return the part of a picture that a box covers; None where that is nothing, or blank."""
    left, top = max(0, int(box.x0)), max(0, int(box.y0))
    right, bottom = min(image.width, int(box.x1 + 0.99)), min(image.height, int(box.y1 + 0.99))
    if right <= left or bottom <= top or is_blank(image.crop((left, top, right, bottom))):
        return None
    return left, top, right, bottom


def _tall_ways(image: Image.Image, longest: float) -> Ways:
    """Return how to read a picture of one line that is higher than wide: letter below letter, or turned."""
    whole = Strip.of((0, 0, *image.size))
    if not whole.tall:
        return ()
    letters = [line[0] for line in find_lines(image, longest)]
    stacked = tuple(replace(letter, line=0, glued=True) for letter in letters)
    turned = (_shortened(whole.turned(turns), image, longest) for turns in _TURNS)
    return stacked if len(stacked) >= _STACKED else (whole,), *turned


def _shortened(strip: Strip, image: Image.Image, longest: float) -> Way:
    """Cut a strip into pieces that fit."""
    width, height = strip.size
    if width <= longest * height:
        return (strip,)
    crop = strip.cut(image)
    pieces = cut_long(crop, (0, 0, *crop.size), longest)
    shares = [(piece.frame[0] / crop.width, piece.frame[2] / crop.width, piece.glued) for piece in pieces]
    return tuple(strip.part(begin, end, glued=glued) for begin, end, glued in shares)


def _in_rows(strips: Sequence[Strip], turns: int) -> list[Strip]:
    """Turn strips and sort them into reading order; those side by side are pieces of one line."""
    ordered = []
    rows = find_rows([_frame_after(strip, turns) for strip in strips])
    for number, row in enumerate(rows):
        ordered += [replace(strips[index].turned(turns), line=number) for index in row]
    return ordered


def _frame_after(strip: Strip, turns: int) -> Box:
    """Return where a strip stands once the picture is turned clockwise about its corner."""
    left, top, right, bottom = strip.frame
    for _ in range(turns):
        left, top, right, bottom = -bottom, left, -top, right
    return Box(left, top, right, bottom)


def _runs_across(way: Way) -> bool:
    """Say whether most of what was found is in lines that are much longer than high."""
    areas = [(strip.size[0] * strip.size[1], strip.size[0] > _LONG * strip.size[1]) for strip in way]
    return 2 * sum(area for area, long in areas if long) > sum(area for area, _ in areas)


def _turned_back(way: Way, turns: int, size: tuple[int, int]) -> Way:
    """Say where strips of a turned picture are in the picture itself, which is of this size."""
    width, height = size

    def back(point: Point) -> Point:
        x, y = point
        return (y, height - x) if turns == 1 else (width - y, x)

    found = []
    for strip in way:
        one, two, three, four = strip.corners
        found.append(replace(strip, corners=(back(one), back(two), back(three), back(four))))
    return tuple(found)


def _flat(lines: Sequence[Way]) -> Way:
    return tuple(strip for line in lines for strip in line)


def _point(values: NDArray[np.float64]) -> Point:
    return float(values[0]), float(values[1])


def _joined(first: Block, second: Block, *, glued: bool) -> Block:
    if not first.text or not second.text:
        return first if first.text else second
    sure = [block.confidence for block in (first, second) if block.confidence is not None]
    box = first.box
    if first.box is not None and second.box is not None:
        one, two = first.box, second.box
        box = Box(min(one.x0, two.x0), min(one.y0, two.y0), max(one.x1, two.x1), max(one.y1, two.y1))
    between = () if glued else (_SPACE,)
    return replace(
        first,
        text=f"{first.text}{second.text}" if glued else f"{first.text} {second.text}",
        tokens=(*first.tokens, *between, *second.tokens),
        confidence=min(sure) if sure else None,
        box=box,
        readings=(),
    )
