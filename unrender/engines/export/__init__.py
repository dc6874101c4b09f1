"""Export a model to the graphs that ONNX Runtime reads, after comparing them with torch."""

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

from unrender.checkpoints import CONFIG, GRAPHS, Weights, load, write_config
from unrender.decoding import Engine, beam, greedy
from unrender.decoding.rules import Ids
from unrender.engines import WATCHED_LAYERS
from unrender.engines.export.decoder import build_decoder
from unrender.engines.export.encoders import build_encoder
from unrender.engines.export.graph import save_graph
from unrender.engines.export.quantise import halve_graph, quantise_graph
from unrender.engines.export.traced import trace_labels
from unrender.engines.labelling import LabelEngine, OnnxLabelEngine, TorchLabelEngine
from unrender.engines.onnx_engine import OnnxEngine
from unrender.engines.torch_engine import TorchEngine
from unrender.errors import ConfigError, ModelError
from unrender.layers import fill
from unrender.layers.seq2seq import VisionText
from unrender.layers.spatial import LabelModel
from unrender.models import ModelConfig
from unrender.models.config import CnnConfig, TextConfig
from unrender.models.layoutlmv2 import COORDINATES, LabelConfig

_TOLERANCE = {"text": 1e-4, "labels": 1e-3}
_INT8_TOLERANCE = 0.3  # of the spread of the scores
_AGREEMENT = 0.98  # share of the results that must be the same
_COMPANIONS = ("tokenizer.json", "lexicon.txt", "train.json", "card.md")
_IMAGES = 2
_STEPS = 12
_BEAMS = 4
_SEED = 7
_LENGTHS = (1, 7, 60)  # of windows, in tokens
_SIDES = (64, 160)  # of free-size images, in pixels


@dataclass(frozen=True)
class Difference:
    """How far two engines are apart."""

    largest: float  # of any two scores
    share: float  # root of the mean square, as a share of the spread of the scores
    same: float = 1.0  # share of the texts or labels that are the same


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
    """Put the linear layers of the decoder, or of the labelling graph that is there, into 8 bits.

    The encoder's weights are stored in 16.
    """
    if isinstance(config, TextConfig):
        write_decoder(config, weights, folder, int8=True)
        encoder = folder / GRAPHS["text"][0]
        save_graph(halve_graph(onnx.load(encoder)), encoder)
        return
    path = folder / GRAPHS["labels"][0]
    save_graph(quantise_graph(onnx.load(path)), path)


def _write_labels(config: LabelConfig, weights: Weights, folder: Path) -> None:
    if config.head != "labels":
        raise ConfigError(f"{config.name}: only models that label words are exported, this one's head is {config.head}")
    save_graph(trace_labels(config, fill(LabelModel(config), weights)), folder / GRAPHS["labels"][0])


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


@dataclass(frozen=True)
class Sample:
    """Images, and tokens to feed after the prompt."""

    pixels: NDArray[np.float32]
    sizes: Ids | None
    tokens: Ids


@dataclass(frozen=True)
class Window:
    """One window of a page, as `LabelEngine.label` takes it."""

    tokens: Ids
    boxes: Ids
    mask: NDArray[np.bool_]
    pixels: NDArray[np.float32]


def compare(config: ModelConfig, weights: Weights, folder: Path, *, texts: bool = True) -> Difference:
    """Compare the graphs of a folder with torch; without `texts`, the scores of a decoder alone."""
    if isinstance(config, LabelConfig):
        return compare_labels(TorchLabelEngine(fill(LabelModel(config), weights)), OnnxLabelEngine(folder), config)
    with torch.device("meta"):
        module = VisionText(config)
    engines = TorchEngine(config, fill(module, weights)), OnnxEngine(folder, config=config)
    difference = compare_scores(*engines, config)
    return replace(difference, same=compare_texts(*engines, config)) if texts else difference


def compare_scores(first: Engine, second: Engine, config: TextConfig) -> Difference:
    """Feed both engines the same tokens and compare the scores of every step."""
    sample = _sample(config)
    runs = [engine.start(sample.pixels, sample.sizes) for engine in (first, second)]
    prompt = len(config.generation.start)
    pieces = [sample.tokens[:, :prompt], *np.split(sample.tokens[:, prompt:], sample.tokens.shape[1] - prompt, axis=1)]
    scores = [np.stack([run.step(piece) for piece in pieces]) for run in runs]
    return _difference(scores[0], scores[1])


def compare_texts(first: Engine, second: Engine, config: TextConfig) -> float:
    """Return the share of texts that are the same with both engines, by greedy search and with beams."""
    sample, settings = _sample(config), config.generation
    prompt = np.tile(np.array(settings.start, dtype=np.int64), (_IMAGES, 1))
    limit = min(_STEPS, settings.max_tokens)
    found = []
    for engine in (first, second):
        runs = [engine.start(sample.pixels, sample.sizes) for _ in range(2)]
        greedily = greedy(runs[0], prompt, end=settings.end, max_tokens=limit)
        found.append([*greedily, *beam(runs[1], prompt, beams=_BEAMS, end=settings.end, max_tokens=limit)])
    return float(np.mean([here == there for here, there in zip(*found, strict=True)]))


def compare_labels(first: LabelEngine, second: LabelEngine, config: LabelConfig) -> Difference:
    """Let both engines label the same windows and compare the scores and the best label of every token."""
    rng = np.random.default_rng(_SEED)
    windows = [random_window(config, length, rng) for length in _LENGTHS]
    scores = [
        np.concatenate([engine.label(at.tokens, at.boxes, at.mask, at.pixels)[0] for at in windows])
        for engine in (first, second)
    ]
    same = float((scores[0].argmax(-1) == scores[1].argmax(-1)).mean())
    return replace(_difference(scores[0], scores[1]), same=same)


def random_window(config: LabelConfig, length: int, rng: np.random.Generator) -> Window:
    """Make up a window of a page."""
    tokens = rng.integers(0, config.layout.vocabulary, (1, length))
    corners = np.sort(rng.integers(0, COORDINATES + 1, (1, length, 2, 2)), axis=2).reshape(1, length, 4)
    image = config.image
    pixels = rng.normal(size=(1, image.channels, image.height, image.width)).astype(np.float32)
    return Window(tokens, corners, np.ones((1, length), dtype=bool), pixels)


def _difference(first: NDArray[np.float32], second: NDArray[np.float32]) -> Difference:
    apart = first - second
    return Difference(float(np.abs(apart).max()), float(np.sqrt(np.square(apart).mean()) / first.std()))


def _sample(config: TextConfig) -> Sample:
    rng = np.random.default_rng(_SEED)
    height, width = config.image.height, config.image.width
    sizes: Ids | None = None
    if isinstance(config.encoder, CnnConfig):
        height, width = (min(limit, side) for limit, side in zip((height, width), _SIDES, strict=True))
        sizes = np.array([[height, width], [-(-height // 2), -(-width // 2)]], dtype=np.int64)
    pixels = rng.standard_normal((_IMAGES, config.encoder.channels, height, width), dtype=np.float32)
    prompt = np.tile(np.array(config.generation.start, dtype=np.int64), (_IMAGES, 1))
    steps = min(_STEPS, config.decoder.max_positions - prompt.shape[1])
    tokens = rng.integers(0, config.decoder.vocabulary, (_IMAGES, steps))
    return Sample(pixels, sizes, np.concatenate([prompt, tokens], axis=1))
