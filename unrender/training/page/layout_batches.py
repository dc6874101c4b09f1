"""Batches of whole pages at low resolution, each seen a little differently every time.

The pages of a batch lie on canvases of one size; what the edge cuts off is lost, what the page does not fill is paper.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from unrender.training.batches import IGNORED
from unrender.training.page.layouts import Layout, Layouts

_BATCHES_PER_BLOCK = 64
_PAPER = 255
_RARE = frozenset({"table", "code", "footnote", "footer"})
_INK = 0.15  # how dark a cell is that tells which way the page lies
_WITHOUT_LINES = frozenset({"figure", "display formula", "table", "code"})  # their beginning is that of the block


@dataclass(frozen=True, kw_only=True)
class PageNoise:
    """How much pages vary; shares of pages, and the largest amounts."""

    skew: float = 3.5  # degrees
    skewed: float = 0.5
    smallest: float = 0.7
    largest: float = 1.4
    scaled: float = 0.6
    shaded: float = 0.35
    speckled: float = 0.3
    blurred: float = 0.2
    turned: float = 0.12  # upside down


PAGE_NOISE = PageNoise()


@dataclass(frozen=True)
class LayoutBatch:
    """Ink (B, 1, H, W) from 0 to 1; kinds, beginnings and turns (B, H, W), -100 where they do not count."""

    ink: NDArray[np.float32]
    kinds: NDArray[np.int64]
    begins: NDArray[np.int64]
    turned: NDArray[np.int64]
    name: str
    whole: int


@dataclass(frozen=True, kw_only=True)
class LayoutStream:
    """Endless batches of pages; the block and the index of a batch decide what is in it."""

    layouts: Layouts
    batch: int
    height: int
    width: int
    seed: int
    noise: PageNoise = PAGE_NOISE
    rare: float = 0.5  # share of pages on which something rare stands

    @cached_property
    def rare_pages(self) -> NDArray[np.int64]:
        """The pages on which there is a table, code, a footnote or a running foot."""
        found = (_RARE & {block.kind for block in self.layouts.blocks(one)} for one in range(len(self.layouts)))
        return np.flatnonzero([bool(kinds) for kinds in found])

    @property
    def epoch_samples(self) -> int:
        return len(self.layouts)

    def rate(self, seen: int) -> float:
        return 1.0

    def batches(self, number: int, index: int, seen: int, part: int = 0, parts: int = 1) -> Iterator[LayoutBatch]:
        for position in range(index, _BATCHES_PER_BLOCK):
            rng = np.random.default_rng([self.seed, number, position])
            chosen = rng.integers(len(self.layouts), size=self.batch)
            if len(self.rare_pages):
                others = rng.choice(self.rare_pages, self.batch)
                chosen = np.where(rng.random(self.batch) < self.rare, others, chosen)
            chosen = chosen[part::parts]
            seeds = rng.integers(2**31, size=self.batch)[part::parts]
            pages = [
                vary(self.layouts[int(one)], self.noise, np.random.default_rng(seed), self.height, self.width)
                for one, seed in zip(chosen, seeds, strict=True)
            ]
            ink, kinds, begins, turned = (np.stack(arrays) for arrays in zip(*pages, strict=True))
            yield LayoutBatch(ink[:, None], kinds, begins, turned, f"page {chosen[0]}", self.batch)


Labels = NDArray[np.int64]


def vary(
    layout: Layout, noise: PageNoise, rng: np.random.Generator, height: int, width: int
) -> tuple[NDArray[np.float32], Labels, Labels, Labels]:
    """Return ink, kinds, beginnings and turns of a page on a canvas, moved, lit and spoilt by chance."""
    rows, columns = layout.gray.shape
    scale = float(rng.uniform(noise.smallest, noise.largest)) if rng.random() < noise.scaled else 1.0
    angle = float(rng.uniform(-noise.skew, noise.skew)) if rng.random() < noise.skewed else 0.0
    move = cv2.getRotationMatrix2D((columns / 2, rows / 2), angle, scale)
    room = width - columns * scale, height - rows * scale
    move[0, 2] += width / 2 - columns / 2 + float(rng.uniform(-0.5, 0.5)) * abs(room[0])
    move[1, 2] += height / 2 - rows / 2 + float(rng.uniform(-0.5, 0.5)) * abs(room[1])

    def moved(values: NDArray[np.uint8], fill: int, method: int) -> NDArray[np.uint8]:
        return np.asarray(cv2.warpAffine(values, move, (width, height), flags=method, borderValue=fill), dtype=np.uint8)

    gray = moved(layout.gray, _PAPER, cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    kinds = moved(layout.labels, 0, cv2.INTER_NEAREST).astype(np.int64)
    begins = moved(beginnings(layout), 2, cv2.INTER_NEAREST).astype(np.int64)
    begins[(begins == 2) | (kinds == 0)] = IGNORED
    clean = np.asarray(1 - gray / 255, dtype=np.float32)
    ink = _spoilt(clean, noise, rng)
    turned = np.where(clean > _INK, 0, IGNORED)
    if rng.random() < noise.turned:
        nothing = np.full_like(kinds, IGNORED)
        return ink[::-1, ::-1].copy(), nothing, nothing, np.where(turned == 0, 1, IGNORED)[::-1, ::-1].copy()
    return ink, kinds, begins, turned


def beginnings(layout: Layout) -> NDArray[np.uint8]:
    """Return 1 where the first line of a block stands, 0 on its other lines, 2 elsewhere."""
    found = np.full(layout.gray.shape, 2, dtype=np.uint8)
    for block in layout.blocks:
        if block.kind in _WITHOUT_LINES:
            continue
        for number, (left, top, right, bottom) in enumerate(block.lines):
            area = slice(max(0, round(top)), round(bottom)), slice(max(0, round(left)), round(right))
            found[area] = number == 0 and not block.continued
    return found


def _spoilt(ink: NDArray[np.float32], noise: PageNoise, rng: np.random.Generator) -> NDArray[np.float32]:
    if rng.random() < noise.blurred:
        ink = np.asarray(cv2.GaussianBlur(ink, (0, 0), float(rng.uniform(0.4, 0.9))), dtype=np.float32)
    ink = ink * np.float32(rng.uniform(0.6, 1.3))
    if rng.random() < noise.shaded:
        corners = rng.uniform(0, 0.4, (2, 2)).astype(np.float32)
        shade = cv2.resize(corners, (ink.shape[1], ink.shape[0]), interpolation=cv2.INTER_LINEAR)
        ink = 1 - (1 - ink) * (1 - shade)
    if rng.random() < noise.speckled:
        ink = ink + rng.normal(0, float(rng.uniform(0.01, 0.08)), ink.shape).astype(np.float32)
    return np.clip(ink, 0, 1).astype(np.float32)
