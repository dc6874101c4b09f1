"""Pages as they should lie: white paper, lines level, the right way up; and how large their letters are."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.documents import Box
from unrender.images.measures import find_strokes, percentile, stroke_boxes
from unrender.images.paper import whiten
from unrender.reading.page.places import Boxes, find_lines

Gray = NDArray[np.uint8]
Points = NDArray[np.float64]

INK = 160  # darker is ink, once the paper is white
_LONGEST = 1700  # pixels; larger pages are measured smaller
_SKEW, _STEP, _FINE = 4.0, 0.25, 0.05  # degrees
_LEVEL = 0.1  # degrees; less is not worth turning
_POINTS = 40_000  # of ink are enough to tell the skew
_LINES_PER_SKEW = 0.3  # of the letters' height: how finely rows of ink are counted
_SIDEWAYS = 1.6  # times sharper must columns be than rows for a page that lies on its side
_LEAST_LETTERS = 12  # strokes that must look like letters, or nothing tells their size
_SMALLEST, _LARGEST = 3, 120  # pixels a letter may be high
_LIKE, _TALL, _REACHING = 0.2, 1.2, 0.2  # times small letters: alike, taller, and by how much they reach out
_ENOUGH = 1200  # strokes in the middle of a page
_FEWEST_SMALL = 6  # small letters that tell where a line stands
_MORE = 1.2  # times as many letters reach below as above
_DARK_SIDE = 0.4  # of a side of the picture: what is dark that far along it, from the very edge, is not of the page
_COARSE = 16  # pixels: a dark box is at least twice as wide and high
_SOLID = 0.5  # share of such a box that is dark
_LIGHTEST = 99  # percentile of a box's pixels: its letters
_SHADE, _TWO_SHADES = 32, 0.85  # how far pixels of one shade differ, and how many are of the two shades of a box
_SPREAD = 0.12  # heights this near belong to letters of one size
_SQUARE = 0.8  # share of the commonest strokes that are as wide as high: more are no letters
_MUCH_LARGER = 2.0  # times the commonest letters: where larger ones fill more of the page, they are its letters
_DOTS = 1.6  # times the height of dots: letters are higher


@dataclass(frozen=True)
class Straight:
    """A page that lies straight.

    `letters` is the height of its small letters in pixels; 0 if there are none. A point of it, turned by `angle`
    degrees about the middle and then by quarter turns, is a point of the page as it came, of `width` by `height`.
    """

    gray: Gray
    letters: float
    angle: float
    turns: int  # quarter turns clockwise that made the page upright
    width: int
    height: int
    shrunk: int = 1  # how many times larger the page was when it came

    def turned_over(self) -> "Straight":
        """Return the page the other way up."""
        return replace(self, gray=self.gray[::-1, ::-1], turns=(self.turns + 2) % 4)

    def to_page(self, box: Box) -> Box:
        """Return the upright box, on the page as it came, around a box of the straight page."""
        rows, columns = self.gray.shape
        corners = np.array([(x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)]) - (columns / 2, rows / 2)
        cosine, sine = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        points = corners @ np.array([[cosine, sine], [-sine, cosine]]) + (columns / 2, rows / 2)
        wide, high = columns, rows
        for _ in range(self.turns):  # undo one turn clockwise
            points = np.stack([points[:, 1], wide - points[:, 0]], axis=1)
            wide, high = high, wide
        low, top = np.clip(points.min(axis=0), 0, (self.width, self.height))
        right, bottom = np.clip(points.max(axis=0), 0, (self.width, self.height))
        return Box(*(float(side) * self.shrunk for side in (low, top, right, bottom)))


def straighten(image: Image.Image, *, lying: bool = True) -> Straight:
    """Whiten the paper of a page, level its lines and turn it the right way up; `lying`: it may lie on its side."""
    gray = Image.fromarray(_dark_on_light(_without_border(whiten(image.convert("L")))))
    letters = letter_height(np.asarray(gray))
    if not letters:
        return Straight(np.asarray(gray), 0.0, 0.0, 0, *image.size)
    angle, sideways = _measure_skew(np.asarray(gray), letters, lying=lying)
    turns = 1 if sideways else 0
    if turns:
        gray = _turned(gray, turns)
        letters = letter_height(np.asarray(gray)) or letters  # those of a page on its side are as high as they are wide
    if abs(angle) > _LEVEL:
        gray = gray.rotate(angle, Image.Resampling.BICUBIC, fillcolor=255)
    else:
        angle = 0.0
    if is_upside_down(stroke_boxes(np.asarray(gray) < INK), letters):
        gray, turns = _turned(gray, 2), (turns + 2) % 4
    return Straight(np.asarray(gray), letters, angle, turns, *image.size)


def _without_border(gray: Gray) -> Gray:
    """Make white what a scanner saw beside the page, and bars that reach its edge: dark from one side far along it."""
    ink = gray < INK
    sides = (ink[0], ink[-1], ink[:, 0], ink[:, -1])
    if max(side.mean() for side in sides) < _DARK_SIDE:
        return gray
    boxes, numbers = find_strokes(ink)
    high, wide = gray.shape
    touching = (boxes[:, :2] == 0).any(axis=1) | (boxes[:, 2] == wide) | (boxes[:, 3] == high)
    long = (boxes[:, 2] - boxes[:, 0] > _DARK_SIDE * wide) | (boxes[:, 3] - boxes[:, 1] > _DARK_SIDE * high)
    border = np.append(touching & long, False)[numbers]  # what is no ink has the number -1
    return np.where(border, np.uint8(255), gray)


def _dark_on_light(gray: Gray) -> Gray:
    """Turn dark boxes with light letters into light ones with dark letters; pictures have more shades and stay."""
    dark = gray < INK
    coarse = Image.fromarray(np.where(dark, np.uint8(255), np.uint8(0))).reduce(_COARSE)
    if not (np.asarray(coarse) == 255).any():
        return gray
    boxes, numbers = find_strokes(dark)
    sizes = boxes[:, 2:] - boxes[:, :2]
    filled = np.bincount(numbers[dark], minlength=len(boxes))
    solid = (sizes >= 2 * _COARSE).all(axis=1) & (filled > _SOLID * sizes.prod(axis=1))
    changed = gray.copy()
    for number in np.flatnonzero(solid).tolist():
        left, top, right, bottom = boxes[number].tolist()
        part = gray[top:bottom, left:right].astype(np.float32)
        ground, light = float(np.median(part)), percentile(part, _LIGHTEST)
        two_shades = (np.abs(part - ground) < _SHADE) | (np.abs(part - light) < _SHADE)
        if light - ground > 2 * _SHADE and two_shades.mean() > _TWO_SHADES:
            inside = np.clip((light - part) / (light - ground), 0, 1) * 255
            changed[top:bottom, left:right] = inside.astype(np.uint8)
    return changed


def is_upside_down(boxes: Boxes, letters: float) -> bool:
    """Say whether more letters reach below their lines than above them: of upright ones far fewer do."""
    above = below = 0
    order = boxes[:, 1].argsort()
    middle = slice((len(order) - _ENOUGH) // 2, (len(order) + _ENOUGH) // 2) if len(order) > _ENOUGH else slice(None)
    for line in find_lines(boxes, sorted(order[middle].tolist()), letters):
        own = boxes[list(line.strokes)]
        heights = own[:, 3] - own[:, 1]
        small = own[np.abs(heights - letters) < _LIKE * letters]
        if len(small) < _FEWEST_SMALL:
            continue
        top, bottom = np.median(small[:, 1]), np.median(small[:, 3])
        tall = own[(heights > _TALL * letters) & (heights < 2 * _TALL * letters)]
        above += int((tall[:, 1] < top - _REACHING * letters).sum())
        below += int((tall[:, 3] > bottom + _REACHING * letters).sum())
    return below > _MORE * above and below >= _LEAST_LETTERS


def letter_height(gray: Gray) -> float:
    """Return the height in pixels of small letters, the commonest strokes of a text; 0 where there are too few."""
    step = max(1, math.ceil(max(gray.shape) / _LONGEST))
    small = np.asarray(Image.fromarray(gray).reduce(step)) if step > 1 else gray
    boxes = stroke_boxes(small < INK)
    heights, widths = boxes[:, 3] - boxes[:, 1], boxes[:, 2] - boxes[:, 0]
    like = (heights >= _SMALLEST) & (heights <= _LARGEST) & (widths <= 8 * heights) & (heights <= 4 * widths)
    heights, widths = heights[like], widths[like]
    found = _commonest(heights)
    alike = np.abs(heights - found) <= max(1.0, _SPREAD * found)
    square = np.abs(widths - heights) <= max(1.0, _SPREAD * found)
    if found and square[alike].mean() > _SQUARE:  # dots of leaders: letters differ in width
        found = _commonest(heights[heights > _DOTS * found]) or found
    larger = heights[heights > _MUCH_LARGER * found]
    if larger.sum() > heights[np.abs(heights - found) <= max(1.0, _SPREAD * found)].sum():  # those were of a figure
        found = _commonest(larger) or found
    return float(found * step)


def _commonest(heights: NDArray[np.int64]) -> float:
    """Return the mean of the heights around the commonest; 0 where there are too few."""
    if len(heights) < _LEAST_LETTERS:
        return 0.0
    counts = np.bincount(heights).astype(np.float64)
    near = np.convolve(counts, np.ones(3), "same")
    peak = int(near.argmax())
    reach = max(1, round(_SPREAD * peak))
    span = np.arange(max(0, peak - reach), min(len(counts), peak + reach + 1))
    return float((span * counts[span]).sum() / counts[span].sum())


def _measure_skew(gray: Gray, letters: float, *, lying: bool) -> tuple[float, bool]:
    """Return by how many degrees the page must be turned for its lines to be level, and whether it lies on its side."""
    rows, columns = np.nonzero(gray < INK)
    chosen = slice(None, None, max(1, len(rows) // _POINTS))
    step = max(1.0, _LINES_PER_SKEW * letters)
    across, down = columns[chosen] / step, rows[chosen] / step
    upright, sharp = _sharpest(across, down)
    if not lying:
        return upright, False
    aside, sharp_aside = _sharpest(-down, across)
    return (aside, True) if sharp_aside > _SIDEWAYS * sharp else (upright, False)


def _sharpest(along: Points, down: Points) -> tuple[float, float]:
    """Return the angle at which ink gathers in lines, and how much it does."""
    coarse = np.arange(-_SKEW, _SKEW + _STEP, _STEP)
    best = max(coarse, key=lambda angle: _sharpness(along, down, angle))
    fine = best + np.arange(-_STEP, _STEP + _FINE, _FINE)
    found = max(fine, key=lambda angle: _sharpness(along, down, angle))
    return float(found), _sharpness(along, down, float(found))


def _sharpness(along: Points, down: Points, angle: float) -> float:
    slanted = down - along * math.tan(math.radians(angle))
    counts = np.bincount((slanted - slanted.min()).astype(np.int64))
    return float((np.diff(counts.astype(np.float64)) ** 2).sum())


def _turned(gray: Image.Image, turns: int) -> Image.Image:
    """Turn by quarter turns clockwise."""
    ways = (None, Image.Transpose.ROTATE_270, Image.Transpose.ROTATE_180, Image.Transpose.ROTATE_90)
    way = ways[turns % 4]
    return gray if way is None else gray.transpose(way)
