"""Export a model to the two graphs that ONNX Runtime reads, after comparing them with torch step by step."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from unrender.checkpoints import CONFIG, GRAPHS, Loaded, Weights, load
from unrender.engines.export.comparison import Difference, compare_scores, compare_texts
from unrender.engines.export.decoder import build_decoder
from unrender.engines.export.encoders import build_encoder
from unrender.engines.onnx_engine import OnnxEngine
from unrender.engines.torch_engine import TorchEngine, open_engine
from unrender.errors import ModelError
from unrender.models.config import CnnConfig, ModelConfig, to_json

WATCHED_LAYERS = 1  # decoder layers, from the last, whose attention tells where a token was seen
_TOLERANCE = 1e-4
_INT8_TOLERANCE = 0.3  # of the spread of the scores
_COMPANIONS = ("train.json", "card.md")


@dataclass(frozen=True)
class Exported:
    """What was written, and how far it is from torch."""

    folder: Path
    megabytes: float
    difference: Difference
    int8: Difference | None = None  # of the 8-bit decoder, where one was asked for

    def __str__(self) -> str:
        said = f"{self.folder}: {self.megabytes:,.1f} MB, scores within {self.difference.largest:.1e} of torch"
        if self.int8 is not None:
            said += f"; with 8-bit weights they differ by {self.int8.share:.1%} of their spread"
        return f"{said}."


def export(model: str | Path, out: str | Path, *, int8: bool = False) -> Exported:
    """Write a model folder that needs no torch; a ModelError, and no folder, if it would read otherwise than torch."""
    loaded, out = load(model), Path(out)
    engine = open_engine(loaded, watch=WATCHED_LAYERS)
    weights: Weights = {name: tensor.numpy() for name, tensor in engine.module.state_dict().items()}
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as partial:
        folder = Path(partial)
        _write_companions(loaded, folder)
        write_graphs(loaded.config, weights, folder)
        difference, rounded = _check(engine, folder), None
        if int8:
            write_decoder(loaded.config, weights, folder, int8=True)
            rounded = _check_int8(engine, folder)
        out.mkdir(exist_ok=True)
        for path in sorted(folder.iterdir(), key=lambda path: path.name == CONFIG):  # last: with it the folder is whole
            shutil.move(path, out / path.name)
    size = sum(path.stat().st_size for path in out.iterdir() if ".onnx" in path.name)
    return Exported(out, size / 1e6, difference, rounded)


def write_graphs(config: ModelConfig, weights: Weights, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx, unchecked."""
    build_encoder(config, weights).save(folder / GRAPHS[0])
    write_decoder(config, weights, folder)


def write_decoder(config: ModelConfig, weights: Weights, folder: Path, *, int8: bool = False) -> None:
    """Write decoder.onnx, unchecked."""
    masked = isinstance(config.encoder, CnnConfig)
    graph = build_decoder(config.decoder, weights, masked=masked, watch=WATCHED_LAYERS, int8=int8)
    graph.save(folder / GRAPHS[1])


def _write_companions(loaded: Loaded, folder: Path) -> None:
    (folder / CONFIG).write_text(to_json(loaded.config), encoding="utf-8")
    companions = [loaded.folder / name for name in _COMPANIONS]
    for path in (loaded.tokenizer, *companions):
        if path is not None and path.is_file():
            shutil.copyfile(path, folder / path.name)


def _check(engine: TorchEngine, folder: Path) -> Difference:
    exported = OnnxEngine(folder)
    difference = compare_scores(engine, exported, engine.config)
    if difference.largest > _TOLERANCE:
        raise ModelError(
            f"{engine.config.name} was not exported: its ONNX scores differ from torch by {difference.largest:.1e}, "
            f"more than {_TOLERANCE:.0e}"
        )
    for name in compare_texts(engine, exported, engine.config):
        raise ModelError(f"{engine.config.name} was not exported: {name} gives other tokens with ONNX than with torch")
    return difference


def _check_int8(engine: TorchEngine, folder: Path) -> Difference:
    difference = compare_scores(engine, OnnxEngine(folder), engine.config)
    if difference.share > _INT8_TOLERANCE:
        raise ModelError(
            f"{engine.config.name} was not exported: with 8-bit weights its scores differ by {difference.share:.0%} of "
            "their spread; export it without --int8"
        )
    return difference
