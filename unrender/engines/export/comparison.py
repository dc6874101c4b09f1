"""Compare an exported folder with torch on made-up images: scores step by step, then whole texts or labels."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from unrender.checkpoints import Weights
from unrender.decoding.rules import Ids
from unrender.decoding.search import Engine, beam, greedy
from unrender.engines.labelling import LabelEngine, OnnxLabelEngine, TorchLabelEngine
from unrender.engines.onnx_engine import OnnxEngine
from unrender.engines.torch_engine import TorchEngine
from unrender.layers.seq2seq import VisionText
from unrender.layers.spatial import LabelModel
from unrender.models import ModelConfig
from unrender.models.config import CnnConfig, TextConfig
from unrender.models.layoutlmv2 import COORDINATES, LabelConfig

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
    tensors = {name: torch.from_numpy(np.asarray(array)) for name, array in weights.items()}
    if isinstance(config, LabelConfig):
        model = LabelModel(config)
        model.load_state_dict(tensors)
        return compare_labels(TorchLabelEngine(model), OnnxLabelEngine(folder), config)
    with torch.device("meta"):
        module = VisionText(config)
    module.load_state_dict(tensors, assign=True)
    engines = TorchEngine(config, module), OnnxEngine(folder, config=config)
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
