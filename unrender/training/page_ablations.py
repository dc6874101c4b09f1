"""What each part of LayoutLMv2 gives: its pre-training tasks on receipts, its modalities on forms.

Every variant starts from the same weights and sees the same batches; results are written as they come, so that a
stopped ablation goes on with the variant it was at.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from unrender.engines.label_engine import TorchLabelEngine
from unrender.engines.labelling import LabelTokenizer, label_words
from unrender.layers.spatial import PageModel
from unrender.metrics import entity_f1
from unrender.models.layoutlmv2 import LAYOUTLMV2_MINI, LayoutConfig, PageModelConfig, with_labels
from unrender.training.page_loop import PageRecipe, PageTrainer
from unrender.training.page_runs import (
    PretrainRun,
    Start,
    TuneRun,
    folder_start,
    label_loss,
    minilm_start,
    pretrain,
    start_module,
    tune_receipts,
)
from unrender.training.receipt.data import LabelBatches, LabelledPage, PageNoise, open_pixels
from unrender.training.receipt.pretraining import Tasks
from unrender.training.receipt.sets import FORM_LABELS, form_page, read_forms

FOLDS = 5
_RESULTS = "results.json"
_FOLD_RESULTS = "folds.json"

PRETRAINING = {
    "none": None,
    "MVLM": Tasks(alignment=False, matching=False),
    "MVLM + TIM": Tasks(alignment=False),
    "MVLM + TIA": Tasks(matching=False),
    "MVLM + TIM + TIA": Tasks(),
}
ALL_TASKS = f"pretrain-{list(PRETRAINING).index('MVLM + TIM + TIA')}"  # the folder of the run with all three
WITHOUT_BIAS = "MVLM + TIM + TIA, no spatial bias"

_FULL = LAYOUTLMV2_MINI.layout
MODALITIES: dict[str, LayoutConfig] = {
    "text": replace(_FULL, visual=None, layout=False, spatial_bias=False),
    "+ layout": replace(_FULL, visual=None, spatial_bias=False),
    "+ image": replace(_FULL, spatial_bias=False),
    "+ spatial bias": _FULL,
}
PRETRAINED = "+ pre-training"


@dataclass(frozen=True, kw_only=True)
class FormRun:
    """How forms are learnt in each fold: five times through four fifths of them, minutes on one core."""

    batch: int = 2
    max_tokens: int = 512
    recipe: PageRecipe = PageRecipe(  # noqa: RUF009
        updates=300, rate=2e-4, fresh_rate=3.0, average=0.95, save_seconds=3600, log_every=50
    )


def ablate_pretraining(data: Path, folder: Path, pretraining: PretrainRun, tuning: TuneRun) -> dict[str, float]:
    """Pre-train with each set of tasks and fine-tune on receipts; return the held-out field F1 of each."""
    variants: list[tuple[str, Tasks | None, bool]] = [(name, tasks, True) for name, tasks in PRETRAINING.items()]
    variants.append((WITHOUT_BIAS, Tasks(), False))
    results = _read(folder)
    for number, (name, tasks, bias) in enumerate(variants):
        if name in results:
            continue
        start = minilm_start()
        if tasks is not None:
            run = replace(pretraining, tasks=tasks, spatial_bias=bias)
            start = folder_start(pretrain(run, data, folder / f"pretrain-{number}", resume=True))
        run_tuning = replace(tuning, spatial_bias=bias)
        found = tune_receipts(run_tuning, data, folder / f"tune-{number}", start, resume=True)
        results[name] = float(found.measures["field_f1"])
        _write(folder / _RESULTS, results)
        for leftover in folder.glob("*/*.pt"):
            leftover.unlink()
    return results


def ablate_forms(data: Path, folder: Path, run: FormRun, pretrained: Path | None = None) -> dict[str, float]:
    """Measure entity F1 on forms by five-fold cross-validation, adding one part of the model after the other.

    results.json has the F1 over all forms, folds.json that of each fold.
    """
    pages = [form_page(form) for form in read_forms(data)]
    starts = dict.fromkeys(MODALITIES, minilm_start())
    layouts = dict(MODALITIES)
    if pretrained is not None:
        starts[PRETRAINED], layouts[PRETRAINED] = folder_start(pretrained), _FULL
    results: dict[str, float] = {}
    folds: dict[str, list[float]] = {}
    for name, layout in layouts.items():
        predictions: dict[str, list[str]] = {}
        for fold in range(FOLDS):
            path = folder / f"{_slug(name)}-{fold}.json"
            if not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(_learn_fold(layout, starts[name], pages, fold, run, folder / _slug(name))))
            predictions |= json.loads(path.read_text())
        results[name] = _form_f1(pages, predictions)
        folds[name] = [_form_f1(pages[fold::FOLDS], predictions) for fold in range(FOLDS)]
        _write(folder / _RESULTS, results)
        _write(folder / _FOLD_RESULTS, folds)
    return results


def _form_f1(pages: Sequence[LabelledPage], predictions: Mapping[str, list[str]]) -> float:
    truth = [[FORM_LABELS[label] for label in page.labels] for page in pages]
    return float(entity_f1(truth, [predictions[page.name] for page in pages]).f1)


def _learn_fold(
    layout: LayoutConfig, start: Start, pages: Sequence[LabelledPage], fold: int, run: FormRun, folder: Path
) -> Mapping[str, list[str]]:
    """Train on four folds and label the fifth; return the labels of each of its pages."""
    torch.manual_seed(fold)
    config = with_labels(replace(LAYOUTLMV2_MINI, layout=layout), "forms", "labels", FORM_LABELS)
    folder = folder / str(fold)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(start.tokenizer, encoding="utf-8")
    tokenizer = LabelTokenizer(folder / "tokenizer.json", config)
    module = start_module(config, start)
    train = [page for place, page in enumerate(pages) if place % FOLDS != fold]
    batches = LabelBatches(
        train,
        tokenizer,
        config.image,
        seed=fold,
        batch=run.batch,
        max_tokens=run.max_tokens,
        noise=PageNoise(misread=0.0),
    )
    trainer = PageTrainer(
        module,
        batches,
        lambda batch: label_loss(module, batch),
        run.recipe,
        folder,
        fresh=lambda name: name not in start.weights,
    )
    trainer.resume()
    trainer.run()
    module.load_state_dict(trainer.averages)
    for leftover in folder.glob("*.pt"):
        leftover.unlink()
    held = [page for place, page in enumerate(pages) if place % FOLDS == fold]
    return {page.name: _predict(module, config, tokenizer, page) for page in held}


def _predict(module: PageModel, config: PageModelConfig, tokenizer: LabelTokenizer, page: LabelledPage) -> list[str]:
    pixels = None if config.layout.visual is None else open_pixels(page.image, config.image)
    scores = label_words(TorchLabelEngine(module), tokenizer, page.words, page.boxes, pixels)
    return [FORM_LABELS[int(label)] for label in np.argmax(scores, axis=1)]


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")


def _read(folder: Path) -> dict[str, float]:
    path = folder / _RESULTS
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def _write(path: Path, results: Mapping[str, float | list[float]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=2) + "\n")
