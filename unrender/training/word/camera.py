"""What happens to a picture of a word on the way into a batch: light, grounds, blur, noise, coarse pixels, a tilt.

Every function takes its random generator; the same generator state gives the same result.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from unrender.models.word import MAX_WIDTH
from unrender.training.photographs import coarsen, compress

Gray = NDArray[np.uint8]
Values = NDArray[np.float32]
Boxes = NDArray[np.float32]
_PURE, _PRINTED = 12, 0.6  # so near to black or white, and that share of the pixels: drawn or scanned, not photographed
_LIGHT = [4, 6, 7, 8, 10, 13]  # what happens to the light, of which a photo has had its part
_AGAIN = 0.35  # how likely it is to happen to a photo too


@dataclass(frozen=True, kw_only=True)
class Camera:
    """Shares of the pictures to which each thing happens."""

    stretch: float = 0.6  # wider or narrower
    narrowest: float = 0.75
    widest: float = 1.35
    tilt: float = 0.3
    stroke: float = 0.2  # thicker or thinner strokes
    ground: float = 0.35  # a ground that is not even
    coarse: float = 0.25  # shrunk and enlarged again
    blur: float = 0.3
    noise: float = 0.35
    packed: float = 0.1  # as JPEG
    invert: float = 0.25
    cut: float = 0.25  # a little cut off or added at top and bottom
    rubbed: float = 0.08  # parts of the print missing, as on receipts
    bent: float = 0.12  # along an arc, as on signs
    embossed: float = 0.12  # with a shadow, or in outlines
    shaken: float = 0.08  # by a hand that moved

    def __call__(self, gray: Gray, boxes: Boxes, rng: np.random.Generator, size: float) -> tuple[Gray, Boxes]:
        """Vary one picture and move the boxes (n, 4) in it along; `size`, from 0 to 1, says how wide it becomes."""
        happens = rng.random(14)
        if np.mean((gray < _PURE) | (gray > 255 - _PURE)) < _PRINTED:  # a camera has seen it already
            gray = _stretch_contrast(gray)
            happens[_LIGHT] /= _AGAIN
            happens[5] = happens[12] = 1.0
        if size < self.stretch:
            factor = self.narrowest + (self.widest - self.narrowest) * size / self.stretch
            gray, boxes = _stretched(gray, boxes, factor)
        if happens[1] < self.stroke:
            kernel = np.ones((2, 2), np.uint8)
            gray = np.asarray((cv2.erode if rng.random() < 0.6 else cv2.dilate)(gray, kernel), dtype=np.uint8)
        if happens[2] < self.tilt or happens[3] < self.cut:
            gray, boxes = _tilted(gray, boxes, rng, strong=happens[2] < self.tilt)
        if happens[11] < self.bent and gray.shape[1] > gray.shape[0]:
            gray = _bent(gray, rng)
        values = gray.astype(np.float32)
        if happens[12] < self.embossed:
            values = _embossed(values, rng)
        if happens[4] < self.rubbed:
            values = 255 - (255 - values) * _cloud(values.shape, rng, 0.25, 1.3)
        values = _grounded(values, rng) if happens[5] < self.ground else _toned(values, rng)
        if happens[6] < self.coarse:
            values = coarsen(values, float(rng.uniform(0.3, 0.75)), back=cv2.INTER_LINEAR)
        if happens[7] < self.blur:
            values = np.asarray(cv2.GaussianBlur(values, (0, 0), float(rng.uniform(0.4, 1.4))), dtype=np.float32)
        if happens[13] < self.shaken:
            steps = int(rng.integers(2, 6))
            values = np.asarray(cv2.blur(values, (steps, 1) if rng.random() < 0.7 else (1, steps)), dtype=np.float32)
        if happens[8] < self.noise:
            values = values + rng.standard_normal(values.shape, dtype=np.float32) * np.float32(rng.uniform(2, 16))
        if happens[9] < self.invert:
            values = 255 - values
        seen: Gray = np.clip(values, 0, 255).astype(np.uint8)
        if happens[10] < self.packed:
            seen = compress(seen, int(rng.integers(25, 80)))
        return seen, boxes


def _stretched(gray: Gray, boxes: Boxes, factor: float) -> tuple[Gray, Boxes]:
    width = min(MAX_WIDTH, max(8, round(gray.shape[1] * factor)))
    wide = np.asarray(cv2.resize(gray, (width, gray.shape[0]), interpolation=cv2.INTER_LINEAR), dtype=np.uint8)
    return wide, boxes * np.array([width / gray.shape[1], 1, width / gray.shape[1], 1], dtype=np.float32)


def _tilted(gray: Gray, boxes: Boxes, rng: np.random.Generator, *, strong: bool) -> tuple[Gray, Boxes]:
    """Look from the side, turn a little, slant, or only cut another strip; the edges are continued."""
    height, width = gray.shape
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    slant, turn = rng.uniform(-0.25, 0.25), rng.uniform(-1, 1) * min(0.12 * height, 0.06 * width)
    down = rng.uniform(-0.09, 0.11, 2) * height  # positive: more is shown
    moved = corners.copy()
    moved[:2, 1] += down[0]
    moved[2:, 1] -= down[1]
    if strong:
        moved[:, 1] += np.array([-turn, turn, turn, -turn]) / 2 + rng.uniform(-0.05, 0.05, 4) * height
        moved[:2, 0] += slant * height
        boxes = boxes + np.array([0.5, 0, 0.5, 0], dtype=np.float32) * np.float32(slant * height)
    shift = min(0.0, float(moved[:, 0].min()))
    moved[:, 0] -= shift
    boxes = boxes - np.array([shift, 0, shift, 0], dtype=np.float32)
    size = (min(MAX_WIDTH, int(np.ceil(moved[:, 0].max()))), height)
    matrix = cv2.getPerspectiveTransform(corners, moved.astype(np.float32))
    seen = cv2.warpPerspective(gray, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(seen, dtype=np.uint8), boxes


def _stretch_contrast(gray: Gray) -> Gray:
    """Bring a faint photo to the whole range, so that what follows leaves something of it."""
    low, high = np.percentile(gray, (2, 98))
    stretched: Gray = np.clip((gray.astype(np.float32) - low) * (255 / max(high - low, 1)), 0, 255).astype(np.uint8)
    return stretched


def _bent(gray: Gray, rng: np.random.Generator) -> Gray:
    """Bend the line up or down; what stands in it becomes lower, so that nothing is cut off."""
    height, width = gray.shape
    depth = float(rng.uniform(0.06, 0.3))
    arc = (np.linspace(-1, 1, width, dtype=np.float32) + np.float32(rng.uniform(-0.4, 0.4))) ** 2
    arc = arc / arc.max() if rng.random() < 0.5 else 1 - arc / arc.max()
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    rows = (rows - depth * height * arc[None]) / np.float32(1 - depth)
    seen = cv2.remap(gray, columns, rows.astype(np.float32), cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(seen, dtype=np.uint8)


def _embossed(values: Values, rng: np.random.Generator) -> Values:
    """Let the letters throw a shadow, or leave only their outlines."""
    if rng.random() < 0.3:
        thick = np.asarray(cv2.erode(values, np.ones((3, 3), np.uint8)), dtype=np.float32)
        return np.asarray(np.clip(255 - (values - thick), 0, 255), dtype=np.float32)
    down, across = (int(step) for step in rng.integers(-2, 3, 2))
    cast = np.roll(values, (down, across), (0, 1))
    shade = np.float32(rng.uniform(0.25, 0.7))
    return np.asarray(np.minimum(values, 255 - (255 - cast) * shade), dtype=np.float32)


def _toned(values: Values, rng: np.random.Generator) -> Values:
    """Print in gray on gray."""
    ink, paper = float(rng.uniform(0, 110)), float(rng.uniform(170, 255))
    return ink + values * np.float32((paper - ink) / 255)


def _grounded(values: Values, rng: np.random.Generator) -> Values:
    """Put the print on a ground that changes, with a line or a shadow now and then."""
    ink = float(rng.uniform(0, 60))
    paper = 150 + 105 * _cloud(values.shape, rng, 0.0, 1.0)
    height, width = values.shape
    if rng.random() < 0.3:  # brick, wood, cloth
        grain = rng.uniform(0.6, 1.0, (int(rng.integers(4, 16)), int(rng.integers(8, 40)))).astype(np.float32)
        paper *= np.asarray(cv2.resize(grain, (width, height), interpolation=cv2.INTER_CUBIC), dtype=np.float32)
    if rng.random() < 0.25:
        row = int(rng.integers(height))
        paper[row : row + int(rng.integers(1, 3))] *= np.float32(rng.uniform(0.2, 0.8))
    if rng.random() < 0.15:
        column = int(rng.integers(width))
        paper[:, column : column + int(rng.integers(1, max(2, width // 2)))] *= np.float32(rng.uniform(0.6, 0.9))
    return np.asarray(ink + (paper - ink) * (values / 255), dtype=np.float32)


def _cloud(shape: tuple[int, ...], rng: np.random.Generator, least: float, most: float) -> Values:
    """Return soft random values from `least` to `most`, at most 1."""
    few = rng.uniform(least, most, (int(rng.integers(2, 6)), int(rng.integers(2, 9)))).astype(np.float32)
    soft = cv2.resize(few, (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.minimum(np.asarray(soft, dtype=np.float32), 1)
