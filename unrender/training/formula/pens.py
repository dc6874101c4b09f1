"""Formulas laid out by TeX and written with pen strokes: one hand, one slant and one pen to a formula.

TeX says where each glyph and rule stands. The strokes of a person who wrote that symbol are brought there, and the pen
that draws strokes for the reader draws them: so lines are as thick as a pen's, however large the symbol.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.images.pen_strokes import PEN, Pen, draw, vary
from unrender.images.pixels import symbol_scale
from unrender.models.config import ImagePrep
from unrender.training.data import Gray
from unrender.training.formula.glyphs import ROOT, Piece, Shapes, cut
from unrender.training.formula.pointing import NOWHERE, Boxes, Mark, token_boxes
from unrender.training.formula.writers import Hand, Points, Strokes
from unrender.typesetting.dvi import Box, Layout
from unrender.typesetting.pictures import crop_to_ink

_MISSING = {r"\hat{}": (((0.0, 1.0), (0.5, 0.0), (1.0, 1.0)),), r"\check{}": (((0.0, 0.0), (0.5, 1.0), (1.0, 0.0)),),
            r"\ddot{}": (((0.0, 0.0), (0.05, 0.0)), ((0.95, 0.0), (1.0, 0.0))),
            ROOT: (((0.0, 0.6), (0.1, 0.5), (0.25, 1.0), (0.4, 0.0), (1.0, 0.0)),)}  # fmt: skip
_FLAT = 0.6  # height to width below which a symbol is fitted by its width
_LEAST = 0.25  # of its longer side: what a symbol without width or height counts as
_OWN_SHAPE = 0.6  # how far the writer's proportions prevail over the font's
_MOST_OFF = 1.7  # by how much they may differ
_BAR_SWAY = 0.12  # of the font's size, up and down along a fraction bar
_ROOT_TOP = 0.15  # of its height: above, a root's stroke has reached its bar
_ROOT_HOOK = (0.06, 0.75)  # where along its width that may be
_WOBBLE = 0.02  # of a symbol's size
_THICKEST = 0.13  # of the font's size: with a thicker pen, symbols are blots
_STEPS = 4  # points to the font's size that made strokes have at least
MAX_HEIGHT, MAX_WIDTH = 192, 640


@dataclass(frozen=True)
class Manner:
    """How somebody writes one formula; sizes are shares of the font's."""

    across: float  # how much wider than TeX everything stands apart
    down: float
    grow: float  # how much larger symbols are
    scripts: float  # and how much larger still those in small fonts
    slant: float
    slope: float
    wave: float  # by how much the base line goes up and down
    wave_length: float
    phase: float
    unrest: float  # by how much a symbol misses its place


@dataclass(frozen=True)
class Written:
    """A formula as strokes, and the box of what was written for each of TeX's glyphs and rules."""

    strokes: Strokes
    glyphs: tuple[Box, ...]
    rules: tuple[Box, ...]
    size: float  # of the font


def take_manner(rng: np.random.Generator) -> Manner:
    """Choose how the next formula is written."""
    return Manner(
        across=float(rng.uniform(1.05, 1.45)),
        down=float(rng.uniform(1.0, 1.25)),
        grow=float(rng.uniform(0.95, 1.2)),
        scripts=float(rng.uniform(1.0, 1.25)),
        slant=float(rng.normal(0, 0.08)),
        slope=float(rng.normal(0, 0.02)),
        wave=float(rng.uniform(0, 0.12)),
        wave_length=float(rng.uniform(5, 14)),
        phase=float(rng.uniform(0, 2 * math.pi)),
        unrest=float(rng.uniform(0.01, 0.06)),
    )


def write(layout: Layout, shapes: Shapes, hand: Hand, manner: Manner, rng: np.random.Generator) -> Written | None:
    """Write a formula; None when nobody has written one of its symbols."""
    pieces = cut(layout, shapes)
    if not pieces:
        return None
    size = max(piece.size for piece in pieces)
    strokes: list[Points] = []
    glyphs: list[Box] = [(0.0, 0.0, 0.0, 0.0)] * len(layout.glyphs)
    rules: list[Box] = [(0.0, 0.0, 0.0, 0.0)] * len(layout.rules)
    for piece in pieces:
        own = hand.take(piece.name) or _made(piece.name)
        if own is None:
            return None
        placed = put(_spread(piece, manner, size), own, manner, rng)
        placed = tuple(_sway(points, manner, size) for points in placed)
        strokes += placed
        box = bounds(placed)
        for index in piece.glyphs:
            glyphs[index] = box
        for index in piece.rules:
            rules[index] = box
    return Written(tuple(strokes), tuple(glyphs), tuple(rules), size)


def picture(
    written: Written, tokens: Sequence[str], marks: Sequence[Mark], large: Sequence[bool], prep: ImagePrep,
    rng: np.random.Generator,
) -> tuple[Gray, Boxes] | None:  # fmt: skip
    """Draw what was written with some pen, as large as the reader sees it; say where tokens stand. None: only blots."""
    pen = vary(PEN, rng)
    boxes = token_boxes(tokens, marks, written.glyphs, written.rules, large)
    return place(written.strokes, boxes, pen, prep, written.size)


def place(
    strokes: Strokes, boxes: NDArray[np.float64], pen: Pen, prep: ImagePrep, size: float = math.inf
) -> tuple[Gray, Boxes] | None:
    """Draw strokes as the reader sees them and bring boxes along. None: with symbols of this size, only blots."""
    drawn = draw(strokes, pen).convert("L")
    seen = as_read(drawn, prep)
    gray = crop_to_ink(np.asarray(seen))
    if gray is None:
        return None
    edge = pen.width / 2 * seen.width / drawn.width  # of ink around the strokes' middle
    left, top, right, bottom = bounds(strokes)
    sides = np.array([right - left, bottom - top])
    scales = np.maximum(np.array(gray.shape[::-1]) - 2 * edge, 0) / np.maximum(sides, 1e-6)
    scales = np.where(sides > 1e-6, scales, 1.0)
    if 2 * edge > _THICKEST * size * scales.max():
        return None
    boxes = (boxes - np.array([left, top, left, top])) * np.tile(scales, 2) + np.array([0, 0, 2, 2]) * edge
    return gray, np.where(np.isnan(boxes), NOWHERE, np.rint(np.nan_to_num(boxes))).astype(np.int16)


def bounds(strokes: Strokes) -> Box:
    """Return left, top, right, bottom of strokes."""
    points = np.concatenate(strokes)
    (left, top), (right, bottom) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return left, top, right, bottom


def _made(name: str) -> Strokes | None:
    """Return the strokes of what no source has."""
    return tuple(np.array(points) for points in _MISSING[name]) if name in _MISSING else None


def _spread(piece: Piece, manner: Manner, size: float) -> Piece:
    """Move a piece to where this hand puts it; what is stretched to its box is stretched with it."""
    left, top, right, bottom = np.array(piece.box) * np.array([manner.across, manner.down] * 2)
    if piece.stretched:
        return replace(piece, box=(left, top, right, bottom), corner=piece.corner * manner.across)
    grow = manner.grow * (manner.scripts if piece.size < 0.9 * size else 1.0)
    x, y = (left + right) / 2, (top + bottom) / 2
    width, height = (piece.box[2] - piece.box[0]) * grow, (piece.box[3] - piece.box[1]) * grow
    return replace(piece, box=(x - width / 2, y - height / 2, x + width / 2, y + height / 2))


def put(piece: Piece, own: Strokes, manner: Manner, rng: np.random.Generator) -> Strokes:
    """Bring somebody's strokes to a place, a little different each time."""
    if piece.name == ROOT:
        return _place_root(piece, own, rng)
    left, top, right, bottom = piece.box
    own_left, own_top, own_right, own_bottom = bounds(own)
    across, down = _scales(piece, own_right - own_left, own_bottom - own_top)
    varied = float(np.exp(rng.normal(0, 0.02 if piece.stretched else 0.07)))
    turn = float(rng.normal(0, 0.01 if piece.stretched else 0.05))
    middle = np.array([own_left + own_right, own_top + own_bottom]) / 2
    centre = np.array([left + right, top + bottom]) / 2 + rng.normal(0, manner.unrest * piece.size, 2)
    slant = 0.0 if piece.stretched else manner.slant
    matrix = varied * np.array([[math.cos(turn), -math.sin(turn) - slant], [math.sin(turn), math.cos(turn)]])
    scaled = ((points - middle) * (across, down) for points in own)
    extent = max((own_right - own_left) * across, (own_bottom - own_top) * down)
    extent = min(extent, 2 * piece.size) if piece.stretched else extent  # long bars stay clear of what is around them
    return tuple(wobble(points @ matrix.T + centre, extent, rng) for points in scaled)


def _scales(piece: Piece, own_width: float, own_height: float) -> tuple[float, float]:
    """Return by how much to scale strokes across and down, so that they fill the piece's box as a hand would."""
    width, height = piece.box[2] - piece.box[0], piece.box[3] - piece.box[1]
    if piece.rules:  # a bar: as long as it is, and nearly straight
        if width >= height:
            across = width / max(own_width, 1e-6)
            return across, min(across, _BAR_SWAY * piece.size / max(own_height, 1e-6))
        down = height / max(own_height, 1e-6)
        return min(down, _BAR_SWAY * piece.size / max(own_width, 1e-6)), down
    least, own_least = _LEAST * max(width, height), max(_LEAST * max(own_width, own_height), 1e-6)
    across = max(width, least) / max(own_width, own_least)
    down = max(height, least) / max(own_height, own_least)
    if piece.stretched:
        return min(across, _MOST_OFF * down), down
    main, other = (across, down) if height < _FLAT * width else (down, across)
    other = main**_OWN_SHAPE * other ** (1 - _OWN_SHAPE)
    other = float(np.clip(other, main / _MOST_OFF, main * _MOST_OFF))
    return (main, other) if height < _FLAT * width else (other, main)


def _place_root(piece: Piece, own: Strokes, rng: np.random.Generator) -> Strokes:
    """Stretch a root sign: its hook to TeX's, its bar over all that stands below."""
    points = np.concatenate(own)
    points = (points - points.min(axis=0)) / np.maximum(np.ptp(points, axis=0), 1e-6)
    lowest = int(points[:, 1].argmax())
    risen = np.flatnonzero(points[lowest:, 1] < _ROOT_TOP)
    bend = float(points[lowest + risen[0], 0]) if risen.size else 0.0
    if not _ROOT_HOOK[0] <= bend <= _ROOT_HOOK[1]:
        own = tuple(np.array(line) for line in _MISSING[ROOT])
        points, bend = np.concatenate(own), 0.4
    left, top, right, bottom = piece.box
    x = np.interp(points[:, 0], [0, bend, 1], [left, piece.corner, right])
    placed = np.stack([x, top + points[:, 1] * (bottom - top)], axis=1)
    ends = np.cumsum([len(line) for line in own])[:-1]
    return tuple(wobble(line, piece.size, rng) for line in np.split(placed, ends))


def wobble(points: Points, extent: float, rng: np.random.Generator) -> Points:
    """Bend a stroke softly: nobody writes the same twice."""
    points = _filled(points, extent / _STEPS)
    along = np.linspace(0, 1, len(points))[:, None]
    waves = np.array([0.5, 1.0, 1.5])
    bend: NDArray[np.float64] = np.sin(2 * math.pi * (along * waves + rng.random(3))) @ rng.normal(0, 1, (3, 2))
    return points + _WOBBLE * extent * bend


def _filled(points: Points, step: float) -> Points:
    """Put points between those far apart, so that a straight line can bend."""
    if len(points) < 2 or len(points) > 2 * _STEPS or step <= 0:
        return points
    lengths = np.hypot(*np.diff(points, axis=0).T)
    whole = np.concatenate([[0.0], np.cumsum(lengths)])
    more = np.union1d(whole, np.linspace(0, whole[-1], 2 * _STEPS))
    return np.stack([np.interp(more, whole, points[:, axis]) for axis in (0, 1)], axis=1)


def _sway(points: Points, manner: Manner, size: float) -> Points:
    """Let the base line climb, fall and wave."""
    x = points[:, 0]
    wave = manner.wave * size * np.sin(2 * math.pi * x / (manner.wave_length * size) + manner.phase)
    return np.stack([x, points[:, 1] + manner.slope * x + wave], axis=1)


def as_read(picture: Image.Image, prep: ImagePrep) -> Image.Image:
    """Bring a picture to the size at which the reader would look at it."""
    scale = symbol_scale(picture, prep)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture if scale == 1.0 else picture.resize(size, Image.Resampling.LANCZOS)


def fits(gray: Gray | None) -> TypeGuard[Gray]:
    """Say whether there is a picture, and no larger than training can hold."""
    return gray is not None and gray.shape[0] <= MAX_HEIGHT and gray.shape[1] <= MAX_WIDTH
