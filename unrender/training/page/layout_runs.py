"""The course of the layout network: pages at 25 dpi, and what stands in each of their cells."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from unrender.checkpoints import Weights, cache_folder
from unrender.engines.export.graph import save_graph
from unrender.engines.export.traced import trace_segmenter
from unrender.engines.segmentation import GRAPH, pad_ink
from unrender.layers.segmentation import Segmenter
from unrender.models.segmentation import BEGINS, KINDS, TURNED, SegmentationConfig
from unrender.training.batches import IGNORED
from unrender.training.objectives import Losses, Objective, Part
from unrender.training.page.layout_batches import LayoutBatch, LayoutStream, PageNoise
from unrender.training.page.layouts import Layouts
from unrender.training.recipe import Recipe, Schedule
from unrender.training.runs import Prepared, Request

# How much a cell of each kind counts, in the order of KINDS: more where the kind is rarer.
_WEIGHTS = (0.5, 0.8, 4.0, 3.0, 12.0, 2.0, 3.0, 7.0, 20.0, 20.0, 7.0, 5.0)
_UPDATES = 2_400
_WEIGHTS_FILE = "layout.safetensors"


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
    noise: PageNoise = PageNoise()  # noqa: RUF009
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
            weights = load_file(Path(request.start) / _WEIGHTS_FILE)
            module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
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


@torch.no_grad()
def cell_scores(module: nn.Module, layouts: Layouts, count: int) -> dict[str, float]:
    """Return, over held-out pages, the share of cells of each kind that are found; the score is 1 - their mean."""
    hits, cells, pages = np.zeros(len(KINDS)), np.zeros(len(KINDS)), min(count, len(layouts))
    for number in np.linspace(0, len(layouts) - 1, pages).astype(int):
        layout = layouts[int(number)]
        ink = pad_ink(np.asarray(1 - layout.gray / 255, dtype=np.float32))
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
    module = Segmenter(config)
    module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    save_graph(trace_segmenter(module), folder / GRAPH)
    (folder / "layout.json").write_text(training, encoding="utf-8")
