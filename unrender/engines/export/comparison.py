"""Compare two engines on the same made-up images: scores step by step, then whole texts."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.rules import Ids
from unrender.decoding.search import Engine, beam, greedy
from unrender.models.config import CnnConfig, ModelConfig

_IMAGES = 2
_STEPS = 12
_BEAMS = 4
_SEED = 7
_SIDES = (64, 160)  # of free-size images, in pixels


@dataclass(frozen=True)
class Difference:
    """How far two engines are apart."""

    largest: float  # of any two scores
    share: float  # root of the mean square, as a share of the spread of the scores


@dataclass(frozen=True)
class Sample:
    """Images, and tokens to feed after the prompt."""

    pixels: NDArray[np.float32]
    sizes: Ids | None
    tokens: Ids


def compare_scores(first: Engine, second: Engine, config: ModelConfig) -> Difference:
    """Feed both engines the same tokens and compare the scores of every step."""
    sample = _sample(config)
    runs = [engine.start(sample.pixels, sample.sizes) for engine in (first, second)]
    prompt = len(config.generation.start)
    pieces = [sample.tokens[:, :prompt], *np.split(sample.tokens[:, prompt:], sample.tokens.shape[1] - prompt, axis=1)]
    scores = [np.stack([run.step(piece) for piece in pieces]) for run in runs]
    apart = scores[0] - scores[1]
    spread = scores[0].std()
    return Difference(float(np.abs(apart).max()), float(np.sqrt(np.square(apart).mean()) / spread))


def compare_texts(first: Engine, second: Engine, config: ModelConfig) -> Iterator[str]:
    """Name each way of decoding in which the engines give different tokens."""
    sample, settings = _sample(config), config.generation
    prompt = np.tile(np.array(settings.start, dtype=np.int64), (_IMAGES, 1))
    limit = min(_STEPS, settings.max_tokens)
    engines = (first, second)
    runs = [engine.start(sample.pixels, sample.sizes) for engine in engines]
    taken = [greedy(run, prompt, end=settings.end, max_tokens=limit) for run in runs]
    if taken[0] != taken[1]:
        yield "greedy search"
    runs = [engine.start(sample.pixels, sample.sizes) for engine in engines]
    found = [beam(run, prompt, beams=_BEAMS, end=settings.end, max_tokens=limit) for run in runs]
    if found[0] != found[1]:
        yield "beam search"


def _sample(config: ModelConfig) -> Sample:
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
