"""Batches straight from a dataset's pictures, for the systems of the seeds: every epoch in a new order."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image

from unrender.errors import DataError
from unrender.images.opening import open_pages, prepare
from unrender.models.config import TextConfig
from unrender.tokens import Tokenizer
from unrender.training.augment import distort
from unrender.training.batches import Batch, Framed, Framing, Ids, assemble, frame


class LabelledImage(Protocol):
    """One picture and what stands in it."""

    @property
    def image(self) -> Path | Image.Image: ...

    @property
    def target(self) -> str: ...

    @property
    def name(self) -> str: ...


class ExampleStream:
    """Batches of `batch` examples; a block is one epoch."""

    def __init__(
        self,
        examples: Sequence[LabelledImage],
        config: TextConfig,
        tokenizer: Tokenizer,
        *,
        batch: int,
        seed: int,
        augmented: bool = False,
        token_noise: float = 0.0,
    ) -> None:
        if not examples:
            raise DataError("the dataset has no examples to train on")
        self._examples, self._config, self._tokenizer = examples, config, tokenizer
        self._framing = Framing.of(config)
        self._batch, self._seed, self._augmented, self._noise = batch, seed, augmented, token_noise
        self._longest = config.decoder.max_positions - len(config.generation.start)

    @property
    def epoch_samples(self) -> int:
        return len(self._examples)

    def rate(self, seen: int) -> float:
        return 1.0

    def batches(self, number: int, index: int, seen: int, part: int = 0, parts: int = 1) -> Iterator[Batch]:
        order = np.random.default_rng([self._seed, number]).permutation(len(self._examples))
        for start in range(index * self._batch, len(order), self._batch):
            members = [int(member) for member in order[start : start + self._batch]]
            mine = members[part::parts] or members[:1]
            samples = [self._sample(member, number) for member in mine]
            batch = assemble(samples, self._framing)
            yield replace(batch, name=self._examples[members[0]].name, whole=len(members))

    def _sample(self, member: int, epoch: int) -> Framed:
        example = self._examples[member]
        rng = np.random.default_rng([self._seed, epoch, member])
        image = example.image if isinstance(example.image, Image.Image) else open_pages(example.image)[0]
        if self._augmented:
            image = distort(image, rng)
        label = self._encode(example)
        inputs, targets = frame(label, self._framing, rng, self._noise)
        return Framed(prepare(image, self._config.image), inputs, targets)

    def _encode(self, example: LabelledImage) -> Ids:
        label = np.array(self._tokenizer.encode(example.target), dtype=np.int64)
        unknown = self._tokenizer.find("<unk>")
        if unknown is not None and unknown in label:
            raise DataError(f"the label of {example.name} has tokens outside the vocabulary: {example.target[:80]}")
        return label[: self._longest]
