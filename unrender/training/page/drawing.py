"""Pages as pictures: drawn by dvipng at twice the resolution, with something to see where a figure stands."""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from unrender.errors import DataError
from unrender.training.data import Gray
from unrender.training.page.alignment import Box
from unrender.training.page.assembly import Page
from unrender.training.page.blocks import FIGURE
from unrender.training.page.styles import Style

POINTS_PER_INCH = 72.27
_SECONDS = 300
_PAINTED = 0.8  # share of figures that are more than a grey box
_FONT = cv2.FONT_HERSHEY_SIMPLEX


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
            if piece.block.kind == FIGURE and rng.random() < _PAINTED:
                paint_figure(picture, in_pixels(piece.box, dpi), rng)
        yield page, picture


def in_pixels(box: Box, dpi: float) -> tuple[int, int, int, int]:
    """Return the pixels that a box in points covers."""
    left, top, right, bottom = (side * dpi / POINTS_PER_INCH for side in box)
    return int(left), int(top), int(np.ceil(right)), int(np.ceil(bottom))


def shrink(gray: Gray, factor: float) -> Gray:
    """Reduce a picture; `factor` is at most 1."""
    height, width = gray.shape
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    return np.asarray(cv2.resize(gray, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


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
    for old in dvi.parent.glob("page*.png"):
        old.unlink()
    paper = f"{style.width / POINTS_PER_INCH}in,{style.height / POINTS_PER_INCH}in"
    command = [
        "dvipng",
        "-q",
        "-D",
        str(round(dpi)),
        "-z",
        "1",
        "-O",
        "1in,1in",
        "-T",
        paper,
        "-o",
        "page%06d.png",
        dvi.name,
    ]
    try:
        subprocess.run(command, cwd=dvi.parent, check=True, capture_output=True, timeout=_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise DataError(f"dvipng could not draw the pages: {error}") from error
