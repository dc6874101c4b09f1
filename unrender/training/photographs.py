"""What a camera, paper and a board do to a formula, and what is left of it after the reader has cleaned the picture.

Every function takes its random generator. Pictures are dark ink on white before and after.
"""

from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.images.paper import clean

Gray = NDArray[np.uint8]
Values = NDArray[np.float32]
Level = TypeVar("Level", np.uint8, np.float32)
Boxes = NDArray[np.float32]
_LARGER = 2  # photos have more pixels than the reader looks at
_MARGIN = (6, 40)  # pixels of paper around the formula


def photograph(gray: Gray, boxes: Boxes, rng: np.random.Generator) -> tuple[Gray, Boxes]:
    """Photograph a picture and clean it as the reader does; the boxes (n, 4) follow."""
    margin = int(rng.integers(*_MARGIN))
    larger = cv2.resize(gray, None, fx=_LARGER, fy=_LARGER, interpolation=cv2.INTER_CUBIC)
    values: Values = np.pad(larger, margin, constant_values=255).astype(np.float32)
    boxes = boxes * _LARGER + margin
    if rng.random() < 0.35:
        values = _ruled(values, rng)
    if rng.random() < 0.6:
        values, boxes = _tilted(values, boxes, rng)
    if rng.random() < 0.6:
        values = _lit(values, rng)
    if rng.random() < 0.25:
        values = _dusty(values, rng)
    if rng.random() < 0.12:
        values = _framed(values, rng)
    if rng.random() < 0.5:
        values = np.asarray(cv2.GaussianBlur(values, (0, 0), float(rng.uniform(0.4, 1.3))), dtype=np.float32)
    values = values + rng.normal(0, rng.uniform(0, 5), values.shape).astype(np.float32)
    if rng.random() < 0.15:
        values = np.asarray(255 - values * rng.uniform(0.7, 1), dtype=np.float32)
    seen: Gray = np.clip(values, 0, 255).astype(np.uint8)
    if rng.random() < 0.5:
        seen = compress(seen, int(rng.integers(40, 90)))
    cleaned = np.asarray(clean(Image.fromarray(seen)))
    size = max(4, round(cleaned.shape[1] / _LARGER)), max(4, round(cleaned.shape[0] / _LARGER))
    return _cropped(
        np.asarray(cv2.resize(cleaned, size, interpolation=cv2.INTER_AREA), dtype=np.uint8),
        np.float32(1 / _LARGER) * boxes,
    )


def rescale(gray: Gray, factor: float, *, least: int = 1) -> Gray:
    """Enlarge or reduce a picture; each side has at least so many pixels afterwards."""
    size = tuple(max(least, round(side * factor)) for side in gray.shape[::-1])
    method = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(gray, size, interpolation=method), dtype=np.uint8)


def coarsen(values: NDArray[Level], factor: float, *, back: int = cv2.INTER_CUBIC) -> NDArray[Level]:
    """Lose what a picture of fewer pixels does not show; `back` is how it is enlarged to its size again."""
    size = tuple(max(4, round(side * factor)) for side in values.shape[::-1])
    small = cv2.resize(values, size, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, values.shape[::-1], interpolation=back), dtype=values.dtype)


def compress(gray: Gray, quality: int) -> Gray:
    """Return what JPEG leaves of a picture; `quality` is from 0 to 100."""
    packed = cv2.imencode(".jpg", gray, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return np.asarray(cv2.imdecode(packed, cv2.IMREAD_GRAYSCALE), dtype=np.uint8)


def _cropped(gray: Gray, boxes: Boxes) -> tuple[Gray, Boxes]:
    """Cut to the ink, as the reader does."""
    ink = gray < int(gray.min()) + 0.85 * (255 - int(gray.min()))
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if not rows.size:
        return gray, boxes
    top, left = int(rows[0]), int(columns[0])
    shift = np.array([left, top, left, top], dtype=np.float32)
    return np.ascontiguousarray(gray[top : rows[-1] + 1, left : columns[-1] + 1]), boxes - shift


def _ruled(values: Values, rng: np.random.Generator) -> Values:
    """Draw the lines of ruled or squared paper."""
    step, tone = float(rng.uniform(24, 70)), float(rng.uniform(120, 225))
    ruled = values.copy()
    for axis in (0, 1) if rng.random() < 0.5 else (0,):
        at = float(rng.uniform(0, step))
        while at < values.shape[axis]:
            line = np.minimum(ruled.take(int(at), axis=axis), tone)
            ruled[(slice(None),) * axis + (int(at),)] = line
            at += step
    return ruled


def _tilted(values: Values, boxes: Boxes, rng: np.random.Generator) -> tuple[Values, Boxes]:
    """Look at the paper from the side and with a turn of the hand."""
    height, width = values.shape
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    moved = corners + rng.uniform(-0.03, 0.03, (4, 2)).astype(np.float32) * [width, height]
    angle = np.deg2rad(rng.uniform(-3, 3))
    centre = np.array([width, height]) / 2
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    moved = ((moved - centre) @ turn + centre).astype(np.float32)
    lowest, highest = moved.min(axis=0), moved.max(axis=0)
    matrix = cv2.getPerspectiveTransform(corners, moved - lowest)
    size = tuple(int(side) for side in np.ceil(highest - lowest))
    warped = cv2.warpPerspective(values, matrix, size, flags=cv2.INTER_CUBIC, borderValue=255.0)
    tilted = np.asarray(warped, dtype=np.float32)
    if not len(boxes):
        return tilted, boxes
    left, top, right, bottom = boxes.T
    points = np.stack([left, top, right, top, right, bottom, left, bottom], axis=-1).reshape(-1, 1, 2)
    seen = cv2.perspectiveTransform(np.nan_to_num(points), matrix).reshape(-1, 4, 2)
    moved_boxes = np.concatenate([seen.min(axis=1), seen.max(axis=1)], axis=-1).astype(np.float32)
    moved_boxes[np.isnan(left)] = np.nan
    return tilted, moved_boxes


def _lit(values: Values, rng: np.random.Generator) -> Values:
    """Let light fall from one side, and perhaps a shadow with an edge."""
    height, width = values.shape
    across, down = np.meshgrid(np.linspace(-1, 1, width), np.linspace(-1, 1, height))
    angle = rng.uniform(0, 2 * np.pi)
    direction = np.cos(angle) * across + np.sin(angle) * down
    light = 1 - rng.uniform(0, 0.3) * (direction + 1) / 2
    if rng.random() < 0.5:
        light = light * (
            1 - rng.uniform(0.1, 0.5) / (1 + np.exp(-(direction - rng.uniform(-0.7, 0.7)) * rng.uniform(4, 60)))
        )
    ink, paper = rng.uniform(10, 90), rng.uniform(170, 250)
    return np.asarray((ink + values / 255 * (paper - ink)) * light, dtype=np.float32)


def _dusty(values: Values, rng: np.random.Generator) -> Values:
    dusty = values.copy()
    for _ in range(int(rng.integers(5, 60))):
        at = int(rng.integers(values.shape[1])), int(rng.integers(values.shape[0]))
        cv2.circle(dusty, at, int(rng.integers(0, 2)), float(rng.uniform(0, 140)), -1)
    return dusty


def _framed(values: Values, rng: np.random.Generator) -> Values:
    """Draw a dotted or plain frame near the border."""
    framed, inset, gap = values.copy(), int(rng.integers(1, 6)), int(rng.integers(1, 8))
    tone = float(rng.uniform(80, 190))
    for line in (framed[inset, ::gap], framed[-1 - inset, ::gap], framed[::gap, inset], framed[::gap, -1 - inset]):
        line[...] = np.minimum(line, tone)
    return framed
