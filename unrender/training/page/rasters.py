"""Pages as pictures: drawn by dvipng at twice the resolution, with something to see where a figure stands.

Then as scanners and cameras see them: skew, perspective, uneven light, coarse resolution, JPEG. What moves, moves by
one matrix, so boxes can follow.
"""

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.errors import DataError
from unrender.training.augment import distort
from unrender.training.data import Gray
from unrender.training.page.manuscript import Kind
from unrender.training.page.recovery import Page
from unrender.training.page.styles import Style
from unrender.training.photographs import coarsen, compress
from unrender.typesetting.dvi import POINTS_PER_INCH, Box
from unrender.typesetting.pictures import run_dvipng

_SECONDS = 300
_PAINTED = 0.8  # share of figures that are more than a grey box
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_PAPER = 255


def draw_pages(dvi: Path, pages: Sequence[Page], dpi: float, rng: np.random.Generator) -> Iterator[tuple[Page, Gray]]:
    """Yield every page with its picture at `dpi`."""
    style = pages[0].style
    _run_dvipng(dvi, style, dpi)
    for page in pages:
        path = dvi.parent / f"page{page.number + 1:06d}.png"
        gray = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        path.unlink()
        if gray is None:
            raise DataError(f"{path} cannot be opened")
        picture = np.asarray(gray, dtype=np.uint8).copy()
        for piece in page.pieces:
            if piece.block.kind == Kind.FIGURE and rng.random() < _PAINTED:
                paint_figure(picture, in_pixels(piece.box, dpi), rng)
        yield page, picture


def in_pixels(box: Box, dpi: float) -> tuple[int, int, int, int]:
    """Return the pixels that a box in points covers."""
    left, top, right, bottom = (side * dpi / POINTS_PER_INCH for side in box)
    return int(left), int(top), int(np.ceil(right)), int(np.ceil(bottom))


def paint_figure(gray: Gray, box: tuple[int, int, int, int], rng: np.random.Generator) -> None:
    """Draw a plot, bars, a cloud of points or a photograph into a part of a page."""
    left, top, right, bottom = box
    height, width = gray[max(0, top) : bottom, max(0, left) : right].shape  # a float may hang over the page's edge
    if not height or not width:
        return
    part = np.full((height, width), 255, dtype=np.uint8)
    kind = rng.choice(["curves", "bars", "points", "photograph"])
    if kind == "photograph":
        small = rng.integers(0, 256, (int(rng.integers(3, 9)), int(rng.integers(3, 9))), dtype=np.uint8)
        part = np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC), dtype=np.uint8)
    else:
        _paint_plot(part, str(kind), rng)
    gray[max(0, top) : bottom, max(0, left) : right] = part


def _paint_plot(part: Gray, kind: str, rng: np.random.Generator) -> None:
    height, width = part.shape
    edge, unit = max(8, height // 8), max(1, height // 250)
    inner_width, inner_height = width - 2 * edge, height - 2 * edge
    if inner_width < edge or inner_height < edge:
        return
    cv2.rectangle(part, (edge, edge), (width - edge, height - edge), 0, unit)
    across = np.linspace(0, 1, 60)
    for _ in range(int(rng.integers(1, 4))):
        shade = int(rng.choice([0, 60, 120, 170]))
        wave = np.sin(across * rng.uniform(2, 14) + rng.uniform(0, 6)) * rng.uniform(0.1, 0.5) + 0.5
        xs = (edge + across * inner_width).astype(np.int32)
        ys = (height - edge - wave * inner_height).astype(np.int32)
        if kind == "curves":
            cv2.polylines(part, [np.stack([xs, ys], axis=1)], False, shade, 2 * unit, cv2.LINE_AA)
        elif kind == "points":
            for x, y in zip(xs, ys + rng.integers(-edge, edge, len(ys)), strict=True):
                cv2.circle(part, (int(x), int(np.clip(y, edge, height - edge))), 2 * unit, shade, -1)
        else:
            for x, y in zip(xs[:: int(rng.integers(5, 9))], ys[::6], strict=False):
                cv2.rectangle(part, (int(x), int(y)), (int(x) + edge // 2, height - edge), shade, -1)
    size = edge / 60
    for tick in range(4):
        place = (edge + tick * inner_width // 4, height - edge // 3)
        cv2.putText(part, str(int(rng.integers(0, 100))), place, _FONT, size, 0, unit, cv2.LINE_AA)


def _run_dvipng(dvi: Path, style: Style, dpi: float) -> None:
    paper = f"{style.width / POINTS_PER_INCH}in,{style.height / POINTS_PER_INCH}in"
    try:
        run_dvipng(dvi, dpi, ("-O", "1in,1in", "-T", paper), _SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise DataError(f"dvipng could not draw the pages: {error}") from error


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
    factor = float(rng.uniform(*settings.resolutions)) / dpi
    gray = coarsen(gray, factor) if factor < 1 else gray
    if rng.random() < settings.shaded:
        gray = _shade(gray, settings.shade, rng)
    if settings.nougat:
        gray = np.asarray(distort(Image.fromarray(gray), rng), dtype=np.uint8)
    if rng.random() < settings.compressed:
        gray = compress(gray, int(rng.integers(25, 90)))
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


def _shade(gray: Gray, most: float, rng: np.random.Generator) -> Gray:
    light = rng.uniform(1 - most, 1, (3, 3)).astype(np.float32)
    field = cv2.resize(light, (gray.shape[1], gray.shape[0]), interpolation=cv2.INTER_CUBIC)
    return np.clip(gray * np.minimum(field, 1.0), 0, 255).astype(np.uint8)
