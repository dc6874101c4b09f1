"""The recipes of LayoutLMv2 by name: pre-training, the receipt reader, and the two ablations."""

import json
from dataclasses import replace
from pathlib import Path

from unrender.checkpoints.places import cache_folder
from unrender.errors import DataError
from unrender.training.page_ablations import ALL_TASKS, FormRun, ablate_forms, ablate_pretraining
from unrender.training.page_loop import PageRecipe
from unrender.training.page_runs import FORMS, PretrainRun, TuneRun, folder_start, minilm_start, pretrain, tune_receipts
from unrender.training.receipt.data import PageNoise

# Sized so that one core runs the whole ablation in an hour; each variant sees the same batches. Bands of a few lines
# only: on whole pages nothing is learnt of alignment and matching in so short a time.
_SHORT_PRETRAINING = PretrainRun(
    made=300,
    growth=((0.5, 4, False), (1.0, 6, True)),
    recipe=replace(PretrainRun().recipe, updates=240, validate_every=0, save_seconds=3600, log_every=8),
)
_SHORT_TUNING = TuneRun(
    made_receipts=0,
    made_others=0,
    batch=2,
    recognised=False,
    noise=PageNoise(),
    recipe=PageRecipe(updates=130, rate=2e-4, fresh_rate=3.0, average=0.95, save_seconds=3600, log_every=10),
)


def train(name: str, folder: Path, *, data: Path | None = None, resume: bool = False) -> Path:
    """Run a recipe; `data` is the folder of SROIE receipts, or of FUNSD forms for `layoutlmv2-forms`.

    The receipt reader and the forms start from FOLDER's neighbour `layoutlmv2-pretrain` if there is one; the forms
    otherwise from what `layoutlmv2-tasks` pre-trained beside FOLDER, the receipt reader from MiniLM.
    """
    kept = cache_folder() / "data"
    data = data or kept / (FORMS if name == "layoutlmv2-forms" else "sroie-train")
    if not data.is_dir():
        raise DataError(f"{data}: there is no such folder; give the data with --data")
    beside = folder.parent
    if name == "layoutlmv2-pretrain":
        return pretrain(PretrainRun(), data, folder, resume=resume)
    if name == "layoutlmv2-receipt":
        found = _first_model(beside / "layoutlmv2-pretrain")
        start = minilm_start() if found is None else folder_start(found)
        result = tune_receipts(TuneRun(), data, folder, start, resume=resume)
        (folder / "held-out.json").write_text(json.dumps(result.summary(), indent=2) + "\n", encoding="utf-8")
        return folder
    if name == "layoutlmv2-tasks":
        ablate_pretraining(data, folder, _SHORT_PRETRAINING, _SHORT_TUNING)
    else:
        found = _first_model(beside / "layoutlmv2-pretrain", beside / "layoutlmv2-tasks" / ALL_TASKS)
        ablate_forms(data, folder, FormRun(), found)
    return folder


def _first_model(*folders: Path) -> Path | None:
    return next((folder for folder in folders if (folder / "config.json").is_file()), None)
