"""Letters of handwriting fonts as pen strokes: the middle line of what the font draws."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Mask = NDArray[np.bool_]
Points = NDArray[np.float64]
Pixel = tuple[int, int]  # row, column

_SIZE = 72  # pixels to the font's size: enough for a smooth line, few enough to be quick
_DARK = 128
_SHORTEST = 6  # pixels; shorter lines are the spurs of thinning
_AROUND = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
_SMOOTHING = 5  # points


def font_strokes(path: Path, letter: str) -> tuple[Points, ...]:
    """Draw a letter and follow its lines; empty where the font lacks it."""
    font = ImageFont.truetype(str(path), _SIZE)
    canvas = Image.new("L", (3 * _SIZE, 3 * _SIZE), 255)
    ImageDraw.Draw(canvas).text((_SIZE, _SIZE // 2), letter, font=font, fill=0)
    return trace(thin(np.asarray(canvas) < _DARK))


def thin(mask: Mask) -> Mask:
    """Wear a shape down to lines of one pixel (Zhang and Suen 1984)."""
    mask = np.pad(mask, 1)
    while True:
        before = mask.copy()
        for first in (True, False):
            ring = np.stack([np.roll(mask, (-down, -right), (0, 1)) for down, right in _AROUND])
            north, east, south, west = ring[0], ring[2], ring[4], ring[6]
            count = ring.sum(axis=0)
            turns = (~ring & np.roll(ring, -1, axis=0)).sum(axis=0)
            if first:
                free = ~(north & east & south) & ~(east & south & west)
            else:
                free = ~(north & east & west) & ~(north & south & west)
            mask = mask & ~((count >= 2) & (count <= 6) & (turns == 1) & free)
        if (mask == before).all():
            return mask[1:-1, 1:-1]


def trace(lines: Mask) -> tuple[Points, ...]:
    """Follow lines of one pixel from end to end, straight on where they cross; (x, y) points, smoothed."""
    left: set[Pixel] = {(int(row), int(column)) for row, column in np.argwhere(lines)}
    every = frozenset(left)
    walks: list[list[Pixel]] = []
    while left:
        ends = [pixel for pixel in left if len(_neighbours(pixel, left)) == 1]
        walks.append(_walk(min(ends) if ends else min(left), left, every))
    long = [walk for walk in walks if len(walk) >= _SHORTEST] or walks
    return tuple(_smooth(np.array(walk, dtype=np.float64)[:, ::-1]) for walk in long)


def _walk(start: Pixel, left: set[Pixel], every: frozenset[Pixel]) -> list[Pixel]:
    """Take pixels out of `left` until there is none to go on with; a walk begins and ends on lines it meets."""
    path = [start]
    left.discard(start)
    while following := _neighbours(path[-1], left):
        back = path[max(0, len(path) - 4)]
        heading = path[-1][0] - back[0], path[-1][1] - back[1]
        path.append(max(following, key=lambda pixel: _along(heading, path[-1], pixel)))
        left.discard(path[-1])
    met = [pixel for pixel in _neighbours(path[-1], every) if pixel not in path[-3:]]
    return [*path, met[0]] if met else path


def _along(heading: Pixel, here: Pixel, there: Pixel) -> tuple[int, int]:
    step = there[0] - here[0], there[1] - here[1]
    return heading[0] * step[0] + heading[1] * step[1], -abs(step[0]) - abs(step[1])


def _neighbours(pixel: Pixel, among: set[Pixel] | frozenset[Pixel]) -> list[Pixel]:
    around = [(pixel[0] + down, pixel[1] + right) for down, right in _AROUND]
    return [other for other in around if other in among]


def _smooth(points: Points) -> Points:
    if len(points) < _SMOOTHING:
        return points
    half = _SMOOTHING // 2
    padded = np.pad(points, ((half, half), (0, 0)), mode="edge")
    window = np.full(_SMOOTHING, 1 / _SMOOTHING)
    smooth = np.stack([np.convolve(padded[:, axis], window, mode="valid") for axis in (0, 1)], axis=1)
    return np.asarray(smooth[:: half or 1])
