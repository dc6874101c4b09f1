"""The course of the layout network: pages at 25 dpi, and what stands in each of their cells.

The pages of a batch lie on canvases of one size, each seen a little differently every time; what the edge cuts off is
lost, what the page does not fill is paper.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from unrender.checkpoints import Weights, cache_folder
from unrender.engines import LAYOUT_GRAPH, pad_ink, to_ink
from unrender.engines.export.graph import save_graph
from unrender.engines.export.traced import trace_segmenter
from unrender.layers import fill
from unrender.layers.cnn import Segmenter
from unrender.models.page import BEGINS, KINDS, TURNED, SegmentationConfig
from unrender.training.batches import IGNORED, Stream
from unrender.training.objectives import Losses, Objective, Part
from unrender.training.page.layouts import Layout, Layouts
from unrender.training.recipe import Recipe, Schedule
from unrender.training.runs import Prepared, Request

# How much a cell of each kind counts, in the order of KINDS: more where the kind is rarer.
_WEIGHTS = (0.5, 0.8, 4.0, 3.0, 12.0, 2.0, 3.0, 7.0, 20.0, 20.0, 7.0, 5.0)
_UPDATES = 2_400
_WEIGHTS_FILE = "layout.safetensors"
_BATCHES_PER_BLOCK = 64
_PAPER = 255
_RARE = frozenset({"table", "code", "footnote", "footer"})
_INK = 0.15  # how dark a cell is that tells which way the page lies
_WITHOUT_LINES = frozenset({"figure", "display formula", "table", "code"})  # their beginning is that of the block
Labels = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class LayoutNoise:
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
class LayoutStream(Stream[LayoutBatch]):
    """Endless batches of pages; the block and the index of a batch decide what is in it."""

    layouts: Layouts
    batch: int
    height: int
    width: int
    seed: int
    noise: LayoutNoise = LayoutNoise()
    rare: float = 0.5  # share of pages on which something rare stands

    @cached_property
    def rare_pages(self) -> NDArray[np.int64]:
        """The pages on which there is a table, code, a footnote or a running foot."""
        found = (_RARE & {block.kind for block in self.layouts.blocks(one)} for one in range(len(self.layouts)))
        return np.flatnonzero([bool(kinds) for kinds in found])

    @property
    def epoch_samples(self) -> int:
        return len(self.layouts)

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


class Segmentation(Objective[LayoutBatch]):
    """Cross-entropy of each cell's kind; where blocks begin; whether the page is upside down."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__(module)
        self.weights = torch.tensor(_WEIGHTS)

    def forward(self, batch: LayoutBatch) -> Losses:
        scores = self.module(torch.from_numpy(batch.ink).contiguous(memory_format=torch.channels_last))
        kinds = torch.from_numpy(batch.kinds)
        total = cross_entropy(
            scores[:, : len(KINDS)], kinds, weight=self.weights, ignore_index=IGNORED, reduction="sum"
        )
        return {
            "kinds": Part(total, int((kinds != IGNORED).sum())),
            "begins": _yes_or_no(scores[:, BEGINS], torch.from_numpy(batch.begins), 0.3),
            "turned": _yes_or_no(scores[:, TURNED], torch.from_numpy(batch.turned), 0.2),
        }


@dataclass(frozen=True, kw_only=True)
class LayoutCourse:
    """The layout network; with --start it goes on from another run's model folder."""

    network: SegmentationConfig = SegmentationConfig()  # noqa: RUF009
    batch: int = 6
    height: int = 288  # cells
    width: int = 208
    noise: LayoutNoise = LayoutNoise()
    measured: int = 60  # held-out pages, at each validation
    recipe: Recipe = Recipe(  # noqa: RUF009
        updates=_UPDATES,
        schedule=Schedule(peak=3e-3, warm_up=100, cosine=(100, _UPDATES), floor=3e-5),
        weight_decay=1e-3,
        average=0.995,
        threads=1,
        validate_updates=400,
        log_updates=20,
    )

    def prepare(self, request: Request) -> Prepared[LayoutBatch]:
        """Open the layouts of `data`, the folder that `unrender data page` made."""
        data = request.data or cache_folder() / "page"
        torch.manual_seed(self.recipe.seed)
        module = Segmenter(self.network).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if request.start is not None:
            fill(module, load_file(Path(request.start) / _WEIGHTS_FILE))
        held = data / "layouts-held"
        stream = LayoutStream(
            layouts=Layouts(data / "layouts"),
            batch=self.batch,
            height=self.height,
            width=self.width,
            seed=self.recipe.seed,
            noise=self.noise,
        )
        validate = partial(cell_scores, module, Layouts(held), self.measured) if (held / "index.npy").exists() else None
        return Prepared(
            objective=Segmentation(module), stream=stream, validate=validate, write=partial(_write, self.network)
        )


def vary(
    layout: Layout, noise: LayoutNoise, rng: np.random.Generator, height: int, width: int
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
    clean = to_ink(gray)
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


@torch.no_grad()
def cell_scores(module: nn.Module, layouts: Layouts, count: int) -> dict[str, float]:
    """Return, over held-out pages, the share of cells of each kind that are found; the score is 1 - their mean."""
    hits, cells, pages = np.zeros(len(KINDS)), np.zeros(len(KINDS)), min(count, len(layouts))
    for number in np.linspace(0, len(layouts) - 1, pages).astype(int):
        layout = layouts[int(number)]
        ink = pad_ink(to_ink(layout.gray))
        found = module(torch.from_numpy(ink))[0, : len(KINDS)].argmax(0).numpy()
        found = found[: layout.gray.shape[0], : layout.gray.shape[1]]
        cells += np.bincount(layout.labels.ravel(), minlength=len(KINDS))
        hits += np.bincount(layout.labels[found == layout.labels], minlength=len(KINDS))
    shares = {kind: round(float(hits[one] / cells[one]), 4) for one, kind in enumerate(KINDS) if cells[one]}
    return {"score": 1 - float(np.mean(list(shares.values()))), **shares}


def _yes_or_no(scores: torch.Tensor, truth: torch.Tensor, weight: float) -> Part:
    chosen = truth != IGNORED
    total = binary_cross_entropy_with_logits(scores[chosen], truth[chosen].float(), reduction="sum")
    return Part(total, int(chosen.sum()), weight)


def _write(config: SegmentationConfig, folder: Path, weights: Weights, training: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: np.ascontiguousarray(array) for name, array in weights.items()}, folder / _WEIGHTS_FILE)
    save_graph(trace_segmenter(fill(Segmenter(config), weights)), folder / LAYOUT_GRAPH)
    (folder / "layout.json").write_text(training, encoding="utf-8")


def _spoilt(ink: NDArray[np.float32], noise: LayoutNoise, rng: np.random.Generator) -> NDArray[np.float32]:
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
