"""Pages as scanners and cameras see them: skew, perspective, uneven light, coarse resolution, JPEG.

Every function takes its random generator. What moves, moves by one matrix, so boxes can follow.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.training.augment import distort
from unrender.training.data import Gray
from unrender.training.page.alignment import Box
from unrender.training.page.drawing import POINTS_PER_INCH

_PAPER = 255


@dataclass(frozen=True, kw_only=True)
class Scanning:
    """How badly pages are scanned; shares of pages, and the largest amounts."""

    skew: float = 3.0  # degrees
    skewed: float = 0.6
    perspective: float = 0.03  # of the width, by which a corner may be off
    photographed: float = 0.3
    shade: float = 0.45  # how much darker the darkest corner may be
    shaded: float = 0.4
    resolutions: tuple[int, int] = (72, 300)  # dpi
    compressed: float = 0.5
    nougat: bool = True


SCANNING = Scanning()
PLACED = Scanning(nougat=False)  # nothing moves that boxes could not follow
FLAT = Scanning(skewed=0.0, photographed=0.0, nougat=False)  # for lines, which are cut out as upright boxes


@dataclass(frozen=True)
class Warp:
    """Takes points of the paper to pixels of a picture."""

    matrix: NDArray[np.float64]  # (3, 3)

    @classmethod
    def at(cls, dpi: float) -> "Warp":
        """Return the warp of a page that lies straight."""
        return cls(np.diag([dpi / POINTS_PER_INCH, dpi / POINTS_PER_INCH, 1.0]))

    def scaled(self, across: float, down: float) -> "Warp":
        return Warp(np.diag([across, down, 1.0]) @ self.matrix)

    def corners(self, box: Box) -> NDArray[np.float64]:
        """Return where the four corners of a box come to lie: (4, 2)."""
        left, top, right, bottom = box
        flat = np.array([[left, top, 1], [right, top, 1], [right, bottom, 1], [left, bottom, 1]]) @ self.matrix.T
        return np.asarray(flat[:, :2] / flat[:, 2:])

    def box(self, box: Box) -> Box:
        """Return the upright box around a box that was moved."""
        corners = self.corners(box)
        (left, top), (right, bottom) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
        return left, top, right, bottom


def scan(gray: Gray, warp: Warp, dpi: float, settings: Scanning, rng: np.random.Generator) -> tuple[Gray, Warp]:
    """Spoil a page of the given resolution; return also where its points are now."""
    move = _movement(gray.shape[0], gray.shape[1], settings, rng)
    if move is not None:
        size = (gray.shape[1], gray.shape[0])
        gray = np.asarray(cv2.warpPerspective(gray, move, size, flags=cv2.INTER_LINEAR, borderValue=_PAPER), np.uint8)
        warp = Warp(move @ warp.matrix)
    gray = _coarse(gray, float(rng.uniform(*settings.resolutions)) / dpi)
    if rng.random() < settings.shaded:
        gray = _shade(gray, settings.shade, rng)
    if settings.nougat:
        gray = np.asarray(distort(Image.fromarray(gray), rng), dtype=np.uint8)
    if rng.random() < settings.compressed:
        gray = _compress(gray, int(rng.integers(25, 90)))
    return gray, warp


def _movement(height: int, width: int, settings: Scanning, rng: np.random.Generator) -> NDArray[np.float64] | None:
    """Return how the page lies on the glass or before the camera; None when it lies straight."""
    skewed, photographed = rng.random() < settings.skewed, rng.random() < settings.photographed
    if not skewed and not photographed:
        return None
    move = np.eye(3)
    if skewed:
        angle = float(rng.uniform(-settings.skew, settings.skew))
        move[:2] = cv2.getRotationMatrix2D((width / 2, height / 2), angle, 1.0)
    if photographed:
        corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
        inwards = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], dtype=np.float32)
        moved = corners + inwards * rng.uniform(0, settings.perspective * width, (4, 2)).astype(np.float32)
        move = cv2.getPerspectiveTransform(corners, moved.astype(np.float32)) @ move
    return np.asarray(move, dtype=np.float64)


def _coarse(gray: Gray, factor: float) -> Gray:
    """Lose what a scan of lower resolution loses; the size stays."""
    if factor >= 1:
        return gray
    height, width = gray.shape
    small = cv2.resize(
        gray, (max(1, round(width * factor)), max(1, round(height * factor))), interpolation=cv2.INTER_AREA
    )
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC), dtype=np.uint8)


def _shade(gray: Gray, most: float, rng: np.random.Generator) -> Gray:
    light = rng.uniform(1 - most, 1, (3, 3)).astype(np.float32)
    field = cv2.resize(light, (gray.shape[1], gray.shape[0]), interpolation=cv2.INTER_CUBIC)
    return np.clip(gray * np.minimum(field, 1.0), 0, 255).astype(np.uint8)


def _compress(gray: Gray, quality: int) -> Gray:
    _, data = cv2.imencode(".jpg", gray, [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE), dtype=np.uint8)
