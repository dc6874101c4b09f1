"""Handwritten formulas: TeX decides where each glyph stands, handwritten glyphs take the place of the printed ones.

The glyphs come from two sources: pictures of handwritten formulas whose label is known (TeX sets the label, and what
ink lies where a glyph should be is that glyph), and CROHME's segmented pen strokes.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from unrender.training.photographs import rescale
from unrender.typesetting.dvi import Key, Layout, PlacedGlyph, Rule

Gray = NDArray[np.uint8]

_INK = 200  # darker is ink
_REACH = 0.35  # a glyph's ink may leave its TeX box by this share of the font size
_SCALES = np.arange(1.12, 1.2, 0.01)  # those pictures are drawn a little larger than the printed ones
_SHIFTS = np.arange(-6, 7)
_SLACK = 0.7  # pixels around each box
_MIN_COVER = 0.9  # of the ink must lie in glyph boxes for a picture to be harvested
_WHOLE = 0.85  # of a stroke must lie in a glyph's box for it to be the glyph's own
_MOST_PER_KEY = 400
_DOT = 0.5  # boxes smaller than this share of the font size may hold a mere dot
_ENOUGH_TO_REFINE = 6  # glyphs
_OUTLIER = 4.0  # pixels
_BORDER = 6
_SIZE_JITTER = 0.04
_PLACE_JITTER = 0.015
_SAME_SIZE = 0.06  # closer than this to 1, a glyph is not resampled
_ROW = np.dtype([("family", "U16"), ("code", "i4"), ("left", "f4"), ("top", "f4"), ("scale", "f4"), ("height", "i4"),
                 ("width", "i4")])  # fmt: skip


@dataclass(frozen=True)
class HandGlyph:
    """Ink of one handwritten glyph; `left` and `top` are where it begins in units of the font size."""

    ink: Gray  # 255 is full ink
    left: float  # from the glyph's origin
    top: float  # from the base line, negative above
    scale: float  # pixels for one font size unit


def fit(layout: Layout, gray: Gray) -> Layout | None:
    """Scale and shift a layout onto the picture of the same formula; None when it does not fit."""
    ink = (gray < _INK).astype(np.int32)
    total = int(ink.sum())
    sums = np.pad(ink.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    left, top, _, _ = layout.bounds()
    boxes = np.array(
        [(g.x - left, g.y - g.height - top, g.x - left + g.width, g.y + g.depth - top) for g in layout.glyphs]
        + [(r.x - left, r.y - top, r.x - left + r.width, r.y - top + max(r.height, 2)) for r in layout.rules]
    )
    boxes += np.array([-1, -1, 1, 1]) * _SLACK
    shifts = np.stack(np.meshgrid(_SHIFTS, _SHIFTS, indexing="ij"), axis=-1).reshape(-1, 1, 2)
    moves = np.concatenate([shifts, shifts], axis=-1)
    best, found = 0.0, None
    for scale in _SCALES:
        covered = _sum_inside(sums, boxes * scale + moves)
        best_shift = int(covered.argmax())
        if covered[best_shift] > best:
            across, down = shifts[best_shift, 0].tolist()
            best, found = float(covered[best_shift]), (float(scale), across, down)
    if found is None or best < _MIN_COVER * total:
        return None
    return _moved(layout, found[0], found[1] - left * found[0], found[2] - top * found[0])


def harvest(layout: Layout, gray: Gray) -> list[tuple[Key, HandGlyph]]:
    """Cut the glyphs out of a picture whose layout fits: whole strokes that belong to one glyph box alone."""
    layout = _refined(layout, _own_ink(layout, gray))
    glyphs: list[tuple[Key, HandGlyph]] = []
    for number, (mask, (x0, y0, x1, y1)) in _own_ink(layout, gray).items():
        glyph = layout.glyphs[number]
        if not _plausible(glyph, x0, y0, x1, y1):
            continue
        grown = cv2.dilate(mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)  # keep the soft edges
        y0, y1, x0, x1 = max(0, y0 - 1), min(len(gray), y1 + 1), max(0, x0 - 1), min(gray.shape[1], x1 + 1)
        ink = np.where(grown, 255 - gray, 0)[y0:y1, x0:x1].astype(np.uint8)
        place = HandGlyph(ink, (x0 - glyph.x) / glyph.size, (y0 - glyph.y) / glyph.size, glyph.size)
        glyphs.append((glyph.key, place))
    return glyphs


def _own_ink(layout: Layout, gray: Gray) -> dict[int, tuple[NDArray[np.bool_], tuple[int, int, int, int]]]:
    """Find the strokes that belong to one glyph alone: for its number, their mask and box (x0, y0, x1, y1)."""
    count, labels = cv2.connectedComponents((gray < _INK).astype(np.uint8), connectivity=8)
    owner, claimed = np.full(count, -1), np.zeros(count)
    boxes = [_box(glyph, gray.shape) for glyph in layout.glyphs]
    sizes = np.bincount(labels.ravel(), minlength=count)
    for number, (x0, y0, x1, y1) in enumerate(boxes):
        inside = np.bincount(labels[y0:y1, x0:x1].ravel(), minlength=count)
        better = inside > claimed
        owner[better], claimed[better] = number, inside[better]
    owner[0] = -1
    owner[claimed < _WHOLE * sizes] = -1  # strokes that touch other glyphs
    spoiled = {int(n) for c in range(1, count) if owner[c] < 0 for n in _touching(labels == c, boxes)}
    found: dict[int, tuple[NDArray[np.bool_], tuple[int, int, int, int]]] = {}
    for number in sorted(set(owner.tolist()) - spoiled - {-1}):
        mask = np.isin(labels, np.flatnonzero(owner == number))
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        found[number] = mask, (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    return found


def _refined(layout: Layout, found: Mapping[int, tuple[NDArray[np.bool_], tuple[int, int, int, int]]]) -> Layout:
    """Move and stretch the layout so that the ink found so far is centred in its boxes."""
    if len(found) < _ENOUGH_TO_REFINE:
        return layout
    glyphs = [layout.glyphs[number] for number in found]
    boxes = np.array([box for _, box in found.values()], dtype=np.float64)
    centres = np.array([(g.x + g.width / 2, g.y + (g.depth - g.height) / 2) for g in glyphs])
    off_x, off_y = (boxes[:, 0] + boxes[:, 2]) / 2 - centres[:, 0], (boxes[:, 1] + boxes[:, 3]) / 2 - centres[:, 1]
    close = np.abs(off_x - np.median(off_x)) < _OUTLIER
    if close.sum() < _ENOUGH_TO_REFINE:
        return layout
    slope, shift = np.polyfit(centres[close, 0], off_x[close], 1)
    stretched = tuple(replace(g, x=g.x * (1 + slope) + shift, y=g.y + float(np.median(off_y))) for g in layout.glyphs)
    return Layout(stretched, layout.rules)


class GlyphBank:
    """Handwritten glyphs by font family and code."""

    def __init__(self, glyphs: Iterable[tuple[Key, HandGlyph]] = ()) -> None:
        self._glyphs: defaultdict[Key, list[HandGlyph]] = defaultdict(list)
        for key, glyph in glyphs:
            self.add(key, glyph)

    def add(self, key: Key, glyph: HandGlyph) -> None:
        if len(self._glyphs[key]) < _MOST_PER_KEY:
            self._glyphs[key].append(glyph)

    def __contains__(self, key: Key) -> bool:
        return bool(self._glyphs.get(key))

    def counts(self) -> dict[Key, int]:
        return {key: len(glyphs) for key, glyphs in self._glyphs.items() if glyphs}

    def sample(self, glyph: PlacedGlyph, rng: np.random.Generator) -> HandGlyph:
        """Take a random one, of like size where there are enough."""
        choices = self._glyphs[glyph.key]
        alike = [choice for choice in choices if 0.8 < choice.scale / glyph.size < 1.25]
        pool = alike if len(alike) >= 5 else choices
        return pool[int(rng.integers(len(pool)))]

    def save(self, path: Path) -> None:
        with path.open("wb") as file:
            pickle_free = [
                (*key, glyph.left, glyph.top, glyph.scale, *glyph.ink.shape)
                for key, glyphs in self._glyphs.items()
                for glyph in glyphs
            ]
            inks = [glyph.ink.ravel() for glyphs in self._glyphs.values() for glyph in glyphs]
            rows = np.array(pickle_free, dtype=_ROW)
            np.savez(file, rows=rows, inks=np.concatenate(inks))

    @classmethod
    def load(cls, path: Path) -> "GlyphBank":
        bank = cls()
        with np.load(path) as file:
            rows, inks = file["rows"], file["inks"]
        start = 0
        for row in rows:
            height, width = int(row["height"]), int(row["width"])
            ink = inks[start : start + height * width].reshape(height, width)
            start += height * width
            bank.add((str(row["family"]), int(row["code"])), HandGlyph(ink, row["left"], row["top"], row["scale"]))
        return bank


def compose(layout: Layout, bank: GlyphBank, rng: np.random.Generator, *, scale: float = 1.0) -> Gray | None:
    """Draw a formula with handwritten glyphs; None when the bank lacks one of them."""
    if any(glyph.key not in bank for glyph in layout.glyphs):
        return None
    left, top, right, bottom = (side * scale for side in layout.bounds())
    height, width = math.ceil(bottom - top) + 2 * _BORDER, math.ceil(right - left) + 2 * _BORDER
    canvas = np.zeros((height, width), dtype=np.uint8)
    for glyph in layout.glyphs:
        hand = bank.sample(glyph, rng)
        size = glyph.size * scale
        factor = size / hand.scale * float(rng.normal(1, _SIZE_JITTER))
        ink = hand.ink if abs(factor - 1) < _SAME_SIZE else rescale(hand.ink, factor)
        x = glyph.x * scale - left + hand.left * size + float(rng.normal(0, _PLACE_JITTER * size))
        y = glyph.y * scale - top + hand.top * size + float(rng.normal(0, _PLACE_JITTER * size))
        _paste(canvas, ink, round(x) + _BORDER, round(y) + _BORDER)
    for rule in layout.rules:
        _draw_rule(canvas, rule, scale, left, top, rng)
    return 255 - canvas


def _draw_rule(canvas: Gray, rule: Rule, scale: float, left: float, top: float, rng: np.random.Generator) -> None:
    x, y = rule.x * scale - left + _BORDER, rule.y * scale - top + _BORDER
    tilt = float(rng.normal(0, 0.4)) if rule.width * scale > 8 else 0.0
    end = (round((x + rule.width * scale) * 16), round((y + rule.height * scale / 2 + tilt) * 16))
    start = (round(x * 16), round((y + rule.height * scale / 2) * 16))
    cv2.line(canvas, start, end, 255, 1, cv2.LINE_AA, shift=4)


def _paste(canvas: Gray, ink: Gray, x: int, y: int) -> None:
    y0, x0, y1, x1 = max(0, y), max(0, x), min(len(canvas), y + len(ink)), min(canvas.shape[1], x + ink.shape[1])
    if y0 >= y1 or x0 >= x1:
        return
    part = canvas[y0:y1, x0:x1]
    np.maximum(part, ink[y0 - y : y1 - y, x0 - x : x1 - x], out=part)


def _moved(layout: Layout, scale: float, x: float, y: float) -> Layout:
    def glyph(old: PlacedGlyph) -> PlacedGlyph:
        extent = (old.width * scale, old.height * scale, old.depth * scale)
        return PlacedGlyph(old.key, old.size * scale, old.x * scale + x, old.y * scale + y, *extent)

    rules = (Rule(r.x * scale + x, r.y * scale + y, r.width * scale, r.height * scale) for r in layout.rules)
    return Layout(tuple(glyph(old) for old in layout.glyphs), tuple(rules))


def _sum_inside(sums: NDArray[np.int64], boxes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the ink inside all boxes together, for each of the (moves, boxes, 4) placements."""
    height, width = sums.shape
    x0, x1 = (np.clip(np.rint(boxes[..., side]), 0, width - 1).astype(int) for side in (0, 2))
    y0, y1 = (np.clip(np.rint(boxes[..., side]), 0, height - 1).astype(int) for side in (1, 3))
    inside: NDArray[np.int64] = (sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]).sum(axis=-1)
    return inside


def _box(glyph: PlacedGlyph, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    reach = _REACH * glyph.size * 0.3
    x0, x1 = max(0, round(glyph.x - reach)), min(shape[1], round(glyph.x + glyph.width + reach))
    y0, y1 = max(0, round(glyph.y - glyph.height - reach)), min(shape[0], round(glyph.y + glyph.depth + reach))
    return x0, y0, max(x0, x1), max(y0, y1)


def _touching(mask: NDArray[np.bool_], boxes: Sequence[tuple[int, int, int, int]]) -> list[int]:
    return [number for number, (x0, y0, x1, y1) in enumerate(boxes) if mask[y0:y1, x0:x1].sum() > 2]


def _plausible(glyph: PlacedGlyph, x0: int, y0: int, x1: int, y1: int) -> bool:
    """Whether this ink can be the glyph: neither a fragment nor two glyphs, and where the glyph should be."""
    wanted = max(glyph.width, glyph.height + glyph.depth)
    smallest = 0.4 * wanted if wanted > _DOT * glyph.size else 1
    off_x = abs((x0 + x1) / 2 - (glyph.x + glyph.width / 2))
    off_y = abs((y0 + y1) / 2 - (glyph.y + (glyph.depth - glyph.height) / 2))
    reach = 0.25 * max(glyph.size, wanted / 2)
    return smallest < max(x1 - x0, y1 - y0) < 1.5 * wanted + 2 and off_x < reach and off_y < 1.2 * reach
