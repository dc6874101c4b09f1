"""Batches from prepared datasets: alike in size, from short to long, the same after every resume.

A block of batches is a pure function of the recipe's seed and the block's number, so a stopped run goes on exactly
where it was by remembering two numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from unrender.errors import DataError
from unrender.images.pixels import normalise, stack
from unrender.models.config import ImagePrep, TextConfig
from unrender.training.augment import perturb_tokens, replace_share
from unrender.training.data import Cache, Gray

Ids = NDArray[np.int64]
Boxes = NDArray[np.float32]
_BATCHES_PER_BLOCK = 512
_LIKE_HEIGHT, _LIKE_LENGTH = 1.35, 2.0  # heights and lengths within such a factor go together, sorted by width
# Batches have one of few shapes, for kernels are compiled for each new one: height and width, tokens, samples.
_SIZE_STEPS, _LENGTH_STEP, _ROW_STEP = (16, 32), 16, 4
IGNORED = -100  # a target that does not count


class BatchLike(Protocol):
    """What the loop must know of a batch."""

    @property
    def name(self) -> str:
        """How to find what it begins with."""
        ...

    @property
    def whole(self) -> int:
        """How many samples all processes see together."""
        ...


class Variation(Protocol):
    """What happens to a picture (dark on light) and to the boxes (n, 4) in it on the way into a batch.

    `size`, from 0 to 1, says how large it becomes. It is drawn once for a batch, whose pictures are alike in size and
    so stay alike; drawn for each, it would pad a batch to three times its pixels.
    """

    def __call__(self, gray: Gray, boxes: Boxes, rng: np.random.Generator, size: float) -> tuple[Gray, Boxes]: ...


AnyBatch = TypeVar("AnyBatch", bound=BatchLike)
Given = TypeVar("Given", bound=BatchLike, covariant=True)


class Stream(Protocol[Given]):
    """Endless batches; the same numbers give the same batches."""

    @property
    def epoch_samples(self) -> int:
        """How many samples one epoch has."""
        ...

    def batches(self, number: int, index: int, seen: int, part: int = 0, parts: int = 1) -> Iterator[Given]:
        """Yield this part of each batch of block `number`, from batch `index` on."""
        ...

    def rate(self, seen: int) -> float:
        """Return the curriculum's factor for the learning rate; without a curriculum that is 1."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One part of the curriculum: how long labels may be, how large batches are, from which sets they come."""

    samples: int  # the stage lasts until so many samples have been seen in all
    max_tokens: int
    mix: tuple[tuple[str, float], ...]  # set name and its share
    batch: int = 32
    cost: int = 600_000  # picture pixels plus 64 for each token, summed over a batch, padding included
    largest: int = 1_000_000  # pictures of more pixels are left out
    learning_rate: float = 1.0  # times the recipe's
    fade: float | None = None  # that factor falls evenly to this one by the end of the stage


@dataclass(frozen=True)
class Batch:
    """Pixels (B, C, H, W), decoder inputs and targets (B, T); `whole` counts the samples of all processes.

    `boxes` (B, T, 4) are left, top, right, bottom of each target in the picture; NaN where that is not known.
    `sizes` (B, 2) are the true heights and widths of the pictures, where they differ.
    `caseless` (B,) says whose label does not tell capitals from small letters.
    """

    pixels: NDArray[np.float32]
    inputs: Ids
    targets: Ids
    name: str
    whole: int
    boxes: Boxes | None = None
    sizes: Ids | None = None
    caseless: NDArray[np.bool_] | None = None


@dataclass(frozen=True, kw_only=True)
class Framing:
    """The ids and pixels a model expects."""

    vocabulary: int
    start: tuple[int, ...]
    end: int
    pad: int
    image: ImagePrep
    first: int = 4  # ids below are special tokens

    @classmethod
    def of(cls, config: TextConfig) -> "Framing":
        """Take the framing from a model's configuration."""
        return cls(
            vocabulary=config.decoder.vocabulary,
            start=config.generation.start,
            end=config.generation.end,
            pad=config.generation.pad,
            image=config.image,
        )


@dataclass(frozen=True)
class Framed:
    """One sample, ready for a batch; `boxes` (length of the label, 4) are those of `Batch`."""

    pixels: NDArray[np.float32]
    inputs: Ids
    targets: Ids
    boxes: Boxes | None = None
    caseless: bool = False


class BatchStream(Stream["Batch"]):
    """Endless batches of one curriculum; the block and the index of a batch in it are all there is to remember."""

    def __init__(
        self,
        caches: Mapping[str, Cache],
        stages: tuple[Stage, ...],
        framing: Framing,
        vary: Variation,
        *,
        seed: int,
        token_noise: float = 0.0,
        caseless: tuple[str, ...] = (),
    ) -> None:
        self._caches = dict(caches)
        self._stages = stages
        self._framing = framing
        self._vary = vary
        self._seed = seed
        self._token_noise = token_noise
        self._caseless = caseless  # sets
        for stage in stages:
            for name, _ in stage.mix:
                if name not in self._caches:
                    raise DataError(f"the recipe mixes in {name!r}, but only {', '.join(sorted(caches))} are prepared")

    def stage(self, seen: int) -> Stage:
        """Return the stage in force after `seen` samples."""
        return next((stage for stage in self._stages if seen < stage.samples), self._stages[-1])

    @property
    def epoch_samples(self) -> int:
        return sum(len(cache) for cache in self._caches.values())

    def rate(self, seen: int) -> float:
        stage = self.stage(seen)
        if stage.fade is None:
            return stage.learning_rate
        began = max((other.samples for other in self._stages if other.samples < stage.samples), default=0)
        share = min(1.0, (seen - began) / max(1, stage.samples - began))
        return stage.learning_rate + share * (stage.fade - stage.learning_rate)

    def block(self, number: int, seen: int) -> list[list[tuple[str, int]]]:
        """Draw the samples of one block and sort them into batches of like size."""
        stage = self.stage(seen)
        rng = np.random.default_rng([self._seed, number])
        drawn = self._draw(stage, rng)
        sizes = np.array([self._size(name, index) for name, index in drawn])
        heights, lengths = np.log(sizes[:, 0]) // np.log(_LIKE_HEIGHT), np.log(sizes[:, 2] + 1) // np.log(_LIKE_LENGTH)
        order = np.lexsort((sizes[:, 1], lengths, heights))
        batches: list[list[tuple[str, int]]] = []
        current: list[int] = []
        largest = np.zeros(3, dtype=np.int64)
        for index in order:
            grown = np.maximum(largest, sizes[index])
            cost = (len(current) + 1) * (grown[0] * grown[1] + 64 * grown[2])
            if current and (len(current) == stage.batch or cost > stage.cost):
                full = len(current) - len(current) % _ROW_STEP or len(current)
                batches.append([drawn[one] for one in current[:full]])
                current = current[full:]
                grown = sizes[[*current, index]].max(axis=0)
            current.append(index)
            largest = grown
        batches.append([drawn[one] for one in current])
        return [batches[index] for index in rng.permutation(len(batches))]

    def batches(self, number: int, index: int, seen: int, part: int = 0, parts: int = 1) -> Iterator[Batch]:
        for position, members in enumerate(self.block(number, seen)):
            if position >= index:
                size = float(np.random.default_rng([self._seed, number, position]).random())
                samples = [self._sample(*member, [number, position, row], size) for row, member in enumerate(members)]
                batch = assemble(samples[part::parts] or samples[:1], self._framing)
                yield replace(batch, name=f"{members[0][0]} {members[0][1]}", whole=len(members))

    def _sample(self, name: str, index: int, numbers: list[int], size: float) -> Framed:
        """Augment and frame one picture and its label; the same numbers give the same result."""
        framing, rng = self._framing, np.random.default_rng([self._seed, *numbers])
        boxes = self._caches[name].boxes(index).astype(np.float32)
        boxes[boxes[:, 0] < 0] = np.nan
        picture, boxes = self._vary(self._caches[name].gray(index), boxes, rng, size)
        inputs, targets = frame(self._caches[name].tokens(index), framing, rng, self._token_noise)
        return Framed(normalise(picture, framing.image), inputs, targets, boxes, name in self._caseless)

    def _draw(self, stage: Stage, rng: np.random.Generator) -> list[tuple[str, int]]:
        total = stage.batch * _BATCHES_PER_BLOCK
        shares = np.array([share for _, share in stage.mix])
        counts = rng.multinomial(total, shares / shares.sum())
        drawn: list[tuple[str, int]] = []
        for (name, _), count in zip(stage.mix, counts, strict=True):
            index = self._caches[name].index
            small = index["height"] * index["width"] <= stage.largest
            fitting = np.flatnonzero((index["length"] <= stage.max_tokens) & small)
            if not fitting.size:
                raise DataError(
                    f"{name!r} has no picture small enough with a label of at most {stage.max_tokens} tokens"
                )
            picked = rng.choice(fitting, size=count, replace=count > fitting.size)
            drawn += [(name, int(index)) for index in picked]
        return drawn

    def _size(self, name: str, index: int) -> tuple[int, int, int]:
        row = self._caches[name].index[index]
        return int(row["height"]), int(row["width"]), int(row["length"])


def frame(label: Ids, framing: Framing, rng: np.random.Generator, noise: float) -> tuple[Ids, Ids]:
    """Return the decoder's input, with some noise in it, and what it should answer."""
    inputs = np.concatenate([framing.start, label]).astype(np.int64)
    if noise:
        inputs = perturb_tokens(inputs, framing.vocabulary, rng, first=framing.first)
        inputs = replace_share(inputs, framing.vocabulary, rng, first=framing.first, share=noise)
    skipped = np.full(len(framing.start) - 1, IGNORED)
    return inputs, np.concatenate([skipped, label, [framing.end]]).astype(np.int64)


def assemble(samples: Sequence[Framed], framing: Framing) -> Batch:
    """Pad pictures and labels to one size."""
    length = max(len(sample.inputs) for sample in samples)
    length += -length % _LENGTH_STEP
    inputs = np.full((len(samples), length), framing.pad, dtype=np.int64)
    targets = np.full((len(samples), length), IGNORED, dtype=np.int64)
    boxes = np.full((len(samples), length, 4), np.nan, dtype=np.float32)
    for row, sample in enumerate(samples):
        inputs[row, : len(sample.inputs)] = sample.inputs
        targets[row, : len(sample.targets)] = sample.targets
        if sample.boxes is not None:
            first = len(framing.start) - 1
            boxes[row, first : first + len(sample.boxes)] = sample.boxes
    placed = None if np.isnan(boxes).all() else boxes
    pixels, sizes = stack([sample.pixels for sample in samples], framing.image, steps=_SIZE_STEPS)
    caseless = np.array([sample.caseless for sample in samples])
    return Batch(pixels, inputs, targets, "", len(samples), placed, sizes, caseless if caseless.any() else None)
