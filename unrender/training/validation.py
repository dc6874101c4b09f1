"""Validation while training: the user's own Reader on a fixed random part of the held-out data."""

from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image

from unrender import metrics, tasks
from unrender.engines.torch_engine import TorchEngine
from unrender.layers.seq2seq import VisionText
from unrender.models.config import TextConfig
from unrender.reading.reader import Reader
from unrender.reading.systems import Options
from unrender.reading.text import TextSystem
from unrender.tokens import Tokenizer
from unrender.training.data import Cache
from unrender.training.loop import Validate

SUBSET = 1000  # seed 004, 5.2: a fixed subset, drawn without replacement

Pair = tuple[Image.Image, str]


def draw_subset(count: int, size: int) -> list[int]:
    """Return `size` of `count` numbers, drawn without replacement, the same every time."""
    return sorted(np.random.default_rng(0).permutation(count)[:size].tolist())


def pairs_of(cache: Cache, tokenizer: Tokenizer, size: int = SUBSET) -> list[Pair]:
    """Return pictures and labels of a fixed part of a prepared dataset."""
    numbers = draw_subset(len(cache), size)
    numbers.sort(key=lambda number: int(cache.index["width"][number]))  # like sizes share a batch
    return [
        (Image.fromarray(cache.gray(number)), tokenizer.decode(cache.tokens(number).tolist())) for number in numbers
    ]


def reading_validator(
    config: TextConfig,
    module: VisionText,
    tokenizer: Tokenizer,
    sets: Mapping[str, Sequence[Pair]],
    *,
    batch: int = 16,
) -> Validate:
    """Return a function that reads every set and gives the error rate of each, and their mean as the score.

    Errors are counted in the tokens of the vocabulary: in characters where these are characters, else in words.
    """
    rate = metrics.cer if config.vocabulary == "characters" else metrics.wer
    reader = Reader(TextSystem(config, TorchEngine(config, module), tokenizer, tasks.find(config.task)))

    def validate() -> dict[str, float]:
        rates: dict[str, float] = {}
        for name, pairs in sets.items():
            documents = reader.read_many((image for image, _ in pairs), batch=batch, options=Options(beams=1))
            texts = [document.written for document in documents]
            rates[name] = round(rate([target for _, target in pairs], texts).value, 4)
        return {**rates, "score": sum(rates.values()) / len(rates)}

    return validate
