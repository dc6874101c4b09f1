"""Export a model to the graphs that ONNX Runtime reads, after comparing them with torch."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import onnx
import torch

from unrender.checkpoints import CONFIG, GRAPHS, Weights, load, write_config
from unrender.engines.export.comparison import Difference, compare
from unrender.engines.export.decoder import build_decoder
from unrender.engines.export.encoders import build_encoder
from unrender.engines.export.graph import save_graph
from unrender.engines.export.quantise import quantise_graph
from unrender.engines.export.traced import trace_labels
from unrender.errors import ConfigError, ModelError
from unrender.layers.spatial import LabelModel
from unrender.models import ModelConfig
from unrender.models.config import CnnConfig, TextConfig
from unrender.models.layoutlmv2 import LabelConfig

WATCHED_LAYERS = 1  # decoder layers, from the last, whose attention tells where a token was seen
_TOLERANCE = {"text": 1e-4, "labels": 1e-3}
_INT8_TOLERANCE = 0.3  # of the spread of the scores
_AGREEMENT = 0.98  # share of the results that must be the same
_COMPANIONS = ("tokenizer.json", "lexicon.txt", "train.json", "card.md")


@dataclass(frozen=True)
class Exported:
    """What was written, and how far it is from torch."""

    folder: Path
    megabytes: float
    difference: Difference
    int8: Difference | None = None  # of the 8-bit weights, where they were asked for

    def __str__(self) -> str:
        said = f"{self.folder}: {self.megabytes:,.1f} MB, scores within {self.difference.largest:.1e} of torch"
        if self.int8 is not None:
            said += f"; with 8-bit weights they differ by {self.int8.share:.1%} of their spread"
        return f"{said}."


def export(model: str | Path, out: str | Path, *, int8: bool = False) -> Exported:
    """Write a model folder that needs no torch; a ModelError, and no folder, if it would read otherwise than torch."""
    loaded, out = load(model), Path(out)
    weights = loaded.weights()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as partial:
        folder = Path(partial)
        write_config(folder, loaded.config)
        for path in (loaded.folder / name for name in _COMPANIONS):
            if path.is_file():
                shutil.copyfile(path, folder / path.name)
        write_graphs(loaded.config, weights, folder)
        difference, rounded = _check(loaded.config, weights, folder), None
        if int8:
            _round_weights(loaded.config, weights, folder)
            rounded = _check(loaded.config, weights, folder, int8=True)
        out.mkdir(exist_ok=True)
        for path in sorted(folder.iterdir(), key=lambda path: path.name == CONFIG):  # last: with it the folder is whole
            shutil.move(path, out / path.name)
    size = sum(path.stat().st_size for path in out.iterdir() if ".onnx" in path.name)
    return Exported(out, size / 1e6, difference, rounded)


def write_graphs(config: ModelConfig, weights: Weights, folder: Path) -> None:
    """Write the graphs of a model, unchecked."""
    if isinstance(config, LabelConfig):
        _write_labels(config, weights, folder)
        return
    save_graph(build_encoder(config, weights), folder / GRAPHS["text"][0])
    write_decoder(config, weights, folder)


def write_decoder(config: TextConfig, weights: Weights, folder: Path, *, int8: bool = False) -> None:
    """Write decoder.onnx, unchecked."""
    masked = isinstance(config.encoder, CnnConfig)
    graph = build_decoder(config.decoder, weights, masked=masked, watch=WATCHED_LAYERS, int8=int8)
    save_graph(graph.model(), folder / GRAPHS["text"][1])


def _round_weights(config: ModelConfig, weights: Weights, folder: Path) -> None:
    """Put the linear layers of the decoder, or of the labelling graph that is there, into 8 bits."""
    if isinstance(config, TextConfig):
        write_decoder(config, weights, folder, int8=True)
        return
    path = folder / GRAPHS["labels"][0]
    save_graph(quantise_graph(onnx.load(path)), path)


def _write_labels(config: LabelConfig, weights: Weights, folder: Path) -> None:
    if config.head != "labels":
        raise ConfigError(f"{config.name}: only models that label words are exported, this one's head is {config.head}")
    module = LabelModel(config)
    module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    save_graph(trace_labels(config, module), folder / GRAPHS["labels"][0])


def _check(config: ModelConfig, weights: Weights, folder: Path, *, int8: bool = False) -> Difference:
    found = compare(config, weights, folder, texts=not int8)
    if not int8 and found.largest > _TOLERANCE[config.kind]:
        reason = f"its ONNX scores differ from torch by {found.largest:.1e}, more than {_TOLERANCE[config.kind]:.0e}"
    elif int8 and found.share > _INT8_TOLERANCE:
        reason = f"with 8-bit weights its scores differ by {found.share:.0%} of their spread; export it without --int8"
    elif found.same < _AGREEMENT:
        reason = f"{found.same:.0%} of its results are the same with ONNX and with torch, fewer than {_AGREEMENT:.0%}"
    else:
        return found
    raise ModelError(f"{config.name} was not exported: {reason}")
