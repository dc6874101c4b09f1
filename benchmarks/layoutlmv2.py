"""What each part of LayoutLMv2 gives: its pre-training tasks on receipts, its modalities on forms.

    python benchmarks/layoutlmv2.py tasks SROIE_FOLDER OUT
    python benchmarks/layoutlmv2.py forms FUNSD_FOLDER OUT [PRETRAINED_MODEL]
    python benchmarks/layoutlmv2.py losses PRETRAINING_RUN PICTURE

Every variant starts from the same weights and sees the same batches; results are written as they come, so that a
stopped comparison goes on with the variant it was at. `losses` draws the log of a `layoutlmv2-pretrain` run. The tables
and the picture in docs/layoutlmv2.md are what it wrote.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from unrender.checkpoints import Weights
from unrender.engines.labelling import LabelTokenizer, TorchLabelEngine, label_words
from unrender.layers.spatial import LabelModel
from unrender.metrics import entity_f1
from unrender.models.layoutlmv2 import LAYOUTLMV2_MINI, LabelConfig, LayoutConfig, with_labels
from unrender.training import runs
from unrender.training.loop import BEST, LAST, METRICS
from unrender.training.objectives import Labelling
from unrender.training.receipt.label_batches import LabelBatch, LabelledPage, LabelStream, PageNoise, open_pixels
from unrender.training.receipt.label_runs import PretrainingCourse, ReceiptCourse, begin, find_start, rate_of
from unrender.training.receipt.pretraining import Tasks
from unrender.training.receipt.sets import FORM_LABELS, form_page, read_forms
from unrender.training.recipe import Recipe, Schedule
from unrender.training.runs import MODEL, Prepared, Request

FOLDS = 5
FULL = LAYOUTLMV2_MINI.layout
TASKS = {
    "none": None,
    "MVLM": Tasks(alignment=False, matching=False),
    "MVLM + TIM": Tasks(alignment=False),
    "MVLM + TIA": Tasks(matching=False),
    "MVLM + TIM + TIA": Tasks(),
}
WITHOUT_BIAS = "MVLM + TIM + TIA, no spatial bias"
MODALITIES: dict[str, LayoutConfig] = {
    "text": replace(FULL, visual=None, layout=False, spatial_bias=False),
    "+ layout": replace(FULL, visual=None, spatial_bias=False),
    "+ image": replace(FULL, spatial_bias=False),
    "+ spatial bias": FULL,
}
PRETRAINED = "+ pre-training"
_RESULTS, _FOLD_RESULTS = "results.json", "folds.json"
_TITLES = {"mvlm": "masked words (MVLM)", "tia": "covered lines (TIA)", "tim": "picture matches (TIM)"}

# Sized so that one core runs the whole comparison in an hour. Bands of a few lines only: on whole pages nothing is
# learnt of alignment and matching in so short a time.
_PRETRAINING = PretrainingCourse(
    made=300,
    growth=((0.5, 4, False), (1.0, 6, True)),
    recipe=Recipe(
        updates=240, schedule=Schedule.linear(5e-5, 240), threads=1, checkpoint_seconds=3600, validate_updates=240,
        log_updates=8,
    ),
)  # fmt: skip
_TUNING = ReceiptCourse(
    made_receipts=0,
    made_others=0,
    batch=2,
    recognised=False,
    noise=PageNoise(),
    recipe=Recipe(
        updates=130, schedule=Schedule.linear(2e-4, 130), average=0.95, threads=1, checkpoint_seconds=3600,
        validate_updates=130, log_updates=10,
    ),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FoldCourse:
    """Forms, of which one fold in five is held out: five times through the others, minutes on one core."""

    pages: Sequence[LabelledPage]
    fold: int
    layout: LayoutConfig
    batch: int = 2
    max_tokens: int = 512
    recipe: Recipe = Recipe(  # noqa: RUF009
        updates=300, schedule=Schedule.linear(2e-4, 300), average=0.95, threads=1, checkpoint_seconds=3600,
        log_updates=50,
    )  # fmt: skip

    def prepare(self, request: Request) -> Prepared[LabelBatch]:
        """Learn four folds; instead of a model, write the labels that it gives the fifth."""
        config = with_labels(replace(LAYOUTLMV2_MINI, layout=self.layout), "forms", "labels", FORM_LABELS)
        start = find_start(request)
        module, tokenizer = begin(config, start, request.folder)
        stream = LabelStream(
            [page for index, page in enumerate(self.pages) if index % FOLDS != self.fold],
            tokenizer,
            config.image,
            seed=self.fold,
            batch=self.batch,
            max_tokens=self.max_tokens,
            noise=PageNoise(misread=0.0),
        )
        return Prepared(
            objective=Labelling(module),
            stream=stream,
            validate=None,
            write=partial(self._label, module, config, tokenizer),
            rate_of=rate_of(start, fresh_rate=3.0),
        )

    def _label(
        self,
        module: LabelModel,
        config: LabelConfig,
        tokenizer: LabelTokenizer,
        path: Path,
        weights: Weights,
        training: str,
    ) -> None:
        module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
        engine = TorchLabelEngine(module)
        found = {}
        for page in self.pages[self.fold :: FOLDS]:
            pixels = None if config.layout.visual is None else open_pixels(page.image, config.image)
            scores = label_words(engine, tokenizer, page.words, page.boxes, pixels)
            found[page.name] = [FORM_LABELS[int(label)] for label in np.argmax(scores, axis=1)]
        path.write_text(json.dumps(found))


def compare_tasks(
    data: Path, folder: Path, pretraining: PretrainingCourse = _PRETRAINING, tuning: ReceiptCourse = _TUNING
) -> dict[str, float]:
    """Pre-train with each set of tasks and fine-tune on receipts; return the held-out field F1 of each."""
    variants: list[tuple[str, Tasks | None, bool]] = [(name, tasks, True) for name, tasks in TASKS.items()]
    variants.append((WITHOUT_BIAS, Tasks(), False))
    results = _read(folder / _RESULTS)
    for number, (name, tasks, bias) in enumerate(variants):
        if name in results:
            continue
        start = None
        if tasks is not None:
            course = replace(pretraining, tasks=tasks, layout=replace(pretraining.layout, spatial_bias=bias))
            start = _go_on(course, Request(folder=folder / f"pretrain-{number}", data=data))
        learnt = replace(tuning, layout=replace(tuning.layout, spatial_bias=bias))
        _go_on(learnt, Request(folder=folder / f"tune-{number}", data=data, start=start))
        results[name] = json.loads((folder / f"tune-{number}" / "held-out.json").read_text())["field_f1"]
        _write(folder / _RESULTS, results)
        _forget(folder)
    return results


def compare_modalities(
    data: Path, folder: Path, pretrained: Path | None = None, recipe: Recipe = FoldCourse.recipe
) -> dict[str, float]:
    """Measure entity F1 on forms by five-fold cross-validation, adding one part of the model after the other.

    results.json has the F1 over all forms, folds.json that of each fold.
    """
    pages = [form_page(form) for form in read_forms(data)]
    layouts = MODALITIES | ({} if pretrained is None else {PRETRAINED: FULL})
    results: dict[str, float] = {}
    folds: dict[str, list[float]] = {}
    for name, layout in layouts.items():
        predictions: dict[str, list[str]] = {}
        for fold in range(FOLDS):
            request = Request(folder=folder / f"{_slug(name)}-{fold}", start=pretrained if name == PRETRAINED else None)
            path = request.folder / MODEL
            if not path.is_file():
                _go_on(FoldCourse(pages=pages, fold=fold, layout=layout, recipe=replace(recipe, seed=fold)), request)
                _forget(folder)
            predictions |= json.loads(path.read_text())
        results[name] = _form_f1(pages, predictions)
        folds[name] = [_form_f1(pages[fold::FOLDS], predictions) for fold in range(FOLDS)]
        _write(folder / _RESULTS, results)
        _write(folder / _FOLD_RESULTS, folds)
    return results


def draw_losses(metrics: Path, picture: Path, course: PretrainingCourse) -> None:
    """Draw the losses of pre-training as a PNG, one panel for each task.

    Dashed is chance, dots are held-out pages, dotted lines the updates at which the pages become harder.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    trained = [name for name in _TITLES if any(name in line["losses"] for line in lines)]
    size = 3.2 * len(trained), 2.6
    figure, panels = pyplot.subplots(1, len(trained), figsize=size, layout="constrained", squeeze=False)
    chance = course.tasks.chance()
    for panel, name in zip(panels[0], trained, strict=True):
        panel.plot(*_points([{"update": line["update"], **line["losses"]} for line in lines], name))
        panel.plot(*_points(lines, f"held_{name}"), "o", markersize=3)
        if name in chance:
            panel.axhline(chance[name], linestyle="--", color="grey", linewidth=1)
        for beginning in course.beginnings():
            panel.axvline(beginning.until, linestyle=":", color="lightgrey", linewidth=1)
        panel.set(title=_TITLES[name], xlabel="updates", ylim=(0, None))
    figure.savefig(picture, dpi=90)
    pyplot.close(figure)


def _go_on(course: PretrainingCourse | ReceiptCourse | FoldCourse, request: Request) -> Path:
    """Train, from where a stopped run was if there is one."""
    return runs.train(course, request, resume=(request.folder / LAST).is_file())


def _forget(folder: Path) -> None:
    """Delete the checkpoints, which are large."""
    for name in (LAST, BEST):
        for leftover in folder.glob(f"*/{name}"):
            leftover.unlink()


def _form_f1(pages: Sequence[LabelledPage], predictions: Mapping[str, list[str]]) -> float:
    truth = [[FORM_LABELS[label] for label in page.labels] for page in pages]
    return float(entity_f1(truth, [predictions[page.name] for page in pages]).f1)


def _points(lines: Sequence[Mapping[str, float]], name: str) -> tuple[list[float], list[float]]:
    """Return the updates at which a value was written down, and the values."""
    known = [line for line in lines if name in line]
    return [line["update"] for line in known], [line[name] for line in known]


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")


def _read(path: Path) -> dict[str, float]:
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def _write(path: Path, results: Mapping[str, float | list[float]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    what, first, second, *more = sys.argv[1:]
    if what == "tasks":
        print(json.dumps(compare_tasks(Path(first), Path(second)), indent=2))
    elif what == "forms":
        print(json.dumps(compare_modalities(Path(first), Path(second), Path(more[0]) if more else None), indent=2))
    else:
        draw_losses(Path(first) / METRICS, Path(second), PretrainingCourse())
