"""A receipt reader for a user's own fields, from a few labelled receipts: it goes on from the one that ships.

The data is a folder of pictures, each with a JSON file of its name: `{"fields": {"tip": "2.00", ...}, "lines":
[{"text": "TIP 2.00", "box": [x0, y0, x1, y1]}, ...]}`. Without `lines`, the words are those that RapidOCR reads. A
field of the reader's own that the files do not name is kept as the reader finds it. The reader that ships has no
weights beside its labels.onnx: the graph keeps them in 8 bits, and the norms of the picture's network are folded into
what they follow.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from PIL import Image

from unrender.checkpoints import GRAPHS, Loaded, Weights, load
from unrender.checkpoints.files import find_safetensors
from unrender.engines.labelling import TorchLabelEngine
from unrender.errors import DataError, ModelError
from unrender.evaluation import evaluate
from unrender.evaluation.datasets import Dataset, Example
from unrender.evaluation.datasets.folders import open_sroie
from unrender.layers.spatial import LabelModel
from unrender.reading.labels import LEXICON, LabelSystem
from unrender.reading.reader import Reader
from unrender.reading.receipt.fields import FIELDS, field_probabilities, find_fields, names_of
from unrender.training.objectives import Labelling
from unrender.training.receipt.label_batches import LabelBatch, LabelledPage, LabelStream, PageNoise
from unrender.training.receipt.label_runs import Start, begin, write_labels
from unrender.training.receipt.sets import find_run, label_receipt, recognised_pages
from unrender.training.recipe import Recipe, Schedule
from unrender.training.runs import Prepared, Request
from unrender.words import RapidReader, receipt_lexicon

_FEWEST = 5  # receipts
_FIFTH = 5
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NEW_BIAS = -2.0  # of the labels of a new field: nothing is one, at first
_UPDATES = 160
_PREFIX = "module."
_ZERO = 128  # how 8 bits store 0
_NORM_EPSILON = 1e-5
_IN_LAYER = ("attention.qkv", "attention.output", "feed_forward.expand", "feed_forward.contract")
Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, kw_only=True)
class OwnFieldsCourse:
    """A few updates on a few receipts; every fifth of them is held out and chooses the weights."""

    model: str = "receipt"
    batch: int = 4
    frozen: int = 3
    new_rate: float = 10.0  # times the rate, for the labels
    noise: PageNoise = PageNoise(masked=0.05, misread=0.01)  # noqa: RUF009
    recipe: Recipe = Recipe(  # noqa: RUF009
        updates=_UPDATES,
        schedule=Schedule.linear(1e-4, _UPDATES),
        threads=2,
        validate_updates=40,
        log_updates=20,
    )

    def prepare(self, request: Request) -> Prepared[LabelBatch]:
        """Open the receipts and give the reader labels for what they name."""
        if request.data is None:
            raise DataError("give the folder of labelled receipts with --data; docs/how-to-train.md shows its form")
        loaded = load(request.start or self.model)
        dataset = with_words(open_sroie(request.data), request.data / "recognised")
        if len(dataset) < _FEWEST:
            raise DataError(f"{request.data} has {len(dataset)} receipts; it takes at least {_FEWEST}, better 20")
        labels = own_labels(loaded.label_config.labels, dataset)
        config = replace(loaded.label_config, labels=labels)
        start = Start(_grown(loaded, labels), (loaded.folder / "tokenizer.json").read_text(encoding="utf-8"))
        module, tokenizer = begin(config, start, request.folder)
        teacher = LabelSystem.open(loaded)
        held = replace(dataset, examples=dataset.examples[::_FIFTH])
        taught = [one for number, one in enumerate(dataset.examples) if number % _FIFTH]
        pages = [own_page(example, labels, teacher) for example in taught]
        reader = Reader(LabelSystem(config, TorchLabelEngine(module), tokenizer))

        def validate() -> dict[str, float]:
            found = {name: float(value) for name, value in evaluate(reader, held).measures.items() if "f1" in name}
            return {"score": 1 - found["field_f1"], **found}

        def write(folder: Path, weights: Weights, training: str) -> None:
            write_labels(config, start.tokenizer, folder, weights, training)
            receipt_lexicon().save(folder / LEXICON)

        return Prepared(
            objective=Labelling(module, frozen=self.frozen),
            stream=LabelStream(
                pages,
                tokenizer,
                config.image,
                seed=self.recipe.seed,
                batch=self.batch,
                max_tokens=config.layout.max_positions,
                noise=self.noise,
            ),
            validate=validate,
            write=write,
            rate_of=lambda name: self.new_rate if name.startswith("head.") else 1.0,
        )


def own_labels(known: Sequence[str], dataset: Dataset) -> tuple[str, ...]:
    """Return the labels of the reader and those of the fields that the receipts name."""
    names = dict.fromkeys(name for example in dataset for name in example.record)
    for name in names:
        if not _NAME.fullmatch(name):
            raise DataError(f"the field {name!r} needs a name of small letters, digits and _, such as tip_amount")
    new = [name for name in names if name not in names_of(known)]
    return (*known, *(f"{position}-{name.upper()}" for name in new for position in "BI"))


def own_page(example: Example, labels: Sequence[str], teacher: LabelSystem) -> LabelledPage:
    """Label the words of a receipt: by its JSON, and what that does not name by the reader."""
    page, record = example.words, example.record
    assert page is not None
    marks = label_receipt(page.words, record)
    for name in names_of(labels):
        span = find_run(page.words, record[name]) if record.get(name) and name not in FIELDS else None
        if span is not None:
            marks[span[0] : span[1]] = _marked(labels, name, span[1] - span[0])
    with Image.open(example.path) as picture:
        scores = teacher.score(page, picture.convert("RGB"))
    shares = field_probabilities(scores, teacher.config.labels)
    for name, found in find_fields(page.words, shares, names_of(teacher.config.labels)).items():
        if name not in record:
            for index, mark in zip(found.words, _marked(labels, name, len(found.words)), strict=True):
                marks[index] = marks[index] or mark
    return LabelledPage.of(example.name, example.path, page, marks)


def with_words(dataset: Dataset, cache: Path) -> Dataset:
    """Let RapidOCR read what has no lines."""
    without = [example for example in dataset if example.words is None]
    if not without:
        return dataset
    found = recognised_pages(without, cache, lambda: RapidReader(threads=1))
    return replace(
        dataset, examples=tuple(replace(one, words=one.words or found[one.name]) for one in dataset.examples)
    )


def _marked(labels: Sequence[str], name: str, count: int) -> list[int]:
    return [labels.index(f"{'I' if number else 'B'}-{name.upper()}") for number in range(count)]


def _grown(loaded: Loaded, labels: Sequence[str]) -> Weights:
    """Return the weights with a row of the head for every label; new ones begin near nothing."""
    weights = dict(read_weights(loaded))
    rows, bias = np.asarray(weights["head.scores.weight"]), np.asarray(weights["head.scores.bias"])
    new = len(labels) - len(rows)
    drawn = np.random.default_rng(0).normal(0, 0.02, (new, rows.shape[1])).astype(np.float32)
    weights["head.scores.weight"] = np.concatenate([rows, drawn])
    weights["head.scores.bias"] = np.concatenate([bias, np.full(new, _NEW_BIAS, np.float32)])
    return weights


def read_weights(loaded: Loaded) -> Weights:
    """Return a labelling model's weights: those beside it, or what its graph keeps of them."""
    if find_safetensors(loaded.folder):
        return loaded.weights()
    path = loaded.folder / GRAPHS["labels"][0]
    if not path.is_file():
        raise ModelError(f"{loaded.folder} has neither weights nor {path.name}; there is nothing to go on from")
    module = LabelModel(loaded.label_config)
    wanted = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    found = _read(path, loaded)
    given: Weights = {name: found.get(name, _folded(name, shape, found)) for name, shape in wanted.items()}
    other = [name for name, shape in wanted.items() if given[name].shape != shape]
    if other:
        raise ModelError(f"{path} was not written by this version of unrender: it has another {other[0]}")
    return given


def _read(path: Path, loaded: Loaded) -> Arrays:
    graph = onnx.load(path).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found: Arrays = {
        name.removeprefix(_PREFIX): array.copy() for name, array in stored.items() if name.startswith(_PREFIX)
    }
    words = f"{_PREFIX}embedding.words.weight"
    if f"{words}.values" in stored:
        found["embedding.words.weight"] = _whole(stored[f"{words}.values"], stored[f"{words}.scales"])
    products = [node for node in graph.node if node.op_type == "MatMulNBits"]
    for name, node in zip(_products(loaded), products, strict=False):
        found[f"{name}.weight"] = _whole(stored[node.input[1]], stored[node.input[2]])
    heads = loaded.label_config.layout.heads
    tables = [array.T for array in stored.values() if array.ndim == 2 and array.shape[1] == heads]
    found |= _biases(loaded, tables)
    shape = (loaded.label_config.layout.hidden, len(loaded.label_config.labels))
    head = next((array.T for array in stored.values() if array.shape == shape), None)
    if head is not None:
        found["head.scores.weight"] = head
    return {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in found.items()}


def _products(loaded: Loaded) -> list[str]:
    """Name the matrices in the order in which the graph multiplies by them."""
    layout = loaded.label_config.layout
    first = ["embedding.visual_projection"] if layout.visual is not None else []
    return [*first, *(f"encoder.layers.{layer}.{part}" for layer in range(layout.layers) for part in _IN_LAYER)]


def _biases(loaded: Loaded, tables: list[NDArray[np.float32]]) -> Arrays:
    """Gather what the graph has spread out by distance into buckets again."""
    bias = LabelModel(loaded.label_config).encoder.bias
    if bias is None or len(tables) != 3:
        return {}
    found: Arrays = {}
    buckets = {"positions": bias.position_bucket, "x": bias.spatial_bucket, "y": bias.spatial_bucket}
    for (name, bucket), table in zip(buckets.items(), tables, strict=True):
        rows = np.zeros(tuple(getattr(bias, name).shape), dtype=np.float32)
        rows[:, bucket.numpy()] = table
        found[f"encoder.bias.{name}"] = rows
    return found


def _folded(name: str, shape: tuple[int, ...], found: Arrays) -> NDArray[np.float32]:
    """Return a norm that does nothing but add what it was folded into; zeros for what the graph does not need."""
    if name.endswith(".running_var"):
        return np.full(shape, 1 - _NORM_EPSILON, dtype=np.float32)
    if "norm.weight" in name or name.endswith("shortcut.1.weight"):
        return np.ones(shape, dtype=np.float32)
    before = name.replace("_norm.bias", ".weight_bias").replace("shortcut.1.bias", "shortcut.0.weight_bias")
    return found.get(before, np.zeros(shape, dtype=np.float32))


def _whole(values: NDArray[np.uint8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn 8-bit blocks and their scales into numbers."""
    blocks = values.reshape(len(values), scales.shape[1], -1).astype(np.float32) - _ZERO
    return (blocks * scales[..., None]).reshape(len(values), -1)
