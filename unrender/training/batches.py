"""Batches from prepared datasets: alike in size, from short to long, the same after every resume.

A block of batches is a pure function of the recipe's seed and the block's number, so a stopped run goes on exactly
where it was by remembering two numbers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.errors import DataError
from unrender.training.augment import Augmentation, augment, perturb_tokens, replace_share
from unrender.training.data import Cache

Ids = NDArray[np.int64]
_BATCHES_PER_BLOCK = 32
_FIRST_TOKEN = 4  # below are the special tokens
_MULTIPLE = 16  # sizes are padded to a multiple of this


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One part of the curriculum: how long labels may be, how large batches are, from which sets they come."""

    samples: int  # the stage lasts until so many samples have been seen in all
    max_tokens: int
    mix: tuple[tuple[str, float], ...]  # set name and its share
    batch: int = 32
    cost: int = 600_000  # picture pixels plus 64 for each token, summed over a batch, padding included
    learning_rate: float = 1.0  # times the recipe's


@dataclass(frozen=True)
class Batch:
    """Pixels (B, 1, H, W) with ink positive and paper 0, decoder inputs and targets (B, T), targets padded with -1."""

    pixels: NDArray[np.float32]
    inputs: Ids
    targets: Ids
    name: str


@dataclass(frozen=True, kw_only=True)
class Framing:
    """The ids and pixel scale a model expects."""

    vocabulary: int
    start: int
    end: int
    pad: int
    mean: float
    std: float


class BatchStream:
    """Endless batches of one curriculum; `block` and `place` are all there is to remember."""

    def __init__(
        self,
        caches: Mapping[str, Cache],
        stages: tuple[Stage, ...],
        framing: Framing,
        augmentation: Augmentation,
        *,
        seed: int,
        token_noise: float = 0.0,
    ) -> None:
        self._caches = dict(caches)
        self._stages = stages
        self._framing = framing
        self._augmentation = augmentation
        self._seed = seed
        self._token_noise = token_noise
        for stage in stages:
            for name, _ in stage.mix:
                if name not in self._caches:
                    raise DataError(f"the recipe mixes in {name!r}, but only {', '.join(sorted(caches))} are prepared")

    def stage(self, seen: int) -> Stage:
        """Return the stage in force after `seen` samples."""
        return next((stage for stage in self._stages if seen < stage.samples), self._stages[-1])

    def block(self, number: int, seen: int) -> list[list[tuple[str, int]]]:
        """Draw the samples of one block and sort them into batches of like size."""
        stage = self.stage(seen)
        rng = np.random.default_rng([self._seed, number])
        drawn = self._draw(stage, rng)
        sizes = np.array([self._size(name, index) for name, index in drawn])
        order = np.lexsort((sizes[:, 2], sizes[:, 1], sizes[:, 0] // _MULTIPLE))
        batches: list[list[tuple[str, int]]] = []
        current: list[tuple[str, int]] = []
        largest = np.zeros(3, dtype=np.int64)
        for place in order:
            grown = np.maximum(largest, sizes[place])
            cost = (len(current) + 1) * (grown[0] * grown[1] + 64 * grown[2])
            if current and (len(current) == stage.batch or cost > stage.cost):
                batches.append(current)
                current, grown = [], sizes[place]
            current.append(drawn[place])
            largest = grown
        batches.append(current)
        return [batches[place] for place in rng.permutation(len(batches))]

    def batches(self, number: int, place: int, seen: int) -> Iterator[Batch]:
        """Yield the batches of block `number` from `place` on."""
        for index, members in enumerate(self.block(number, seen)):
            if index >= place:
                yield self.assemble(members, np.random.default_rng([self._seed, number, index]))

    def assemble(self, members: list[tuple[str, int]], rng: np.random.Generator) -> Batch:
        """Augment, frame and pad the pictures and labels of one batch."""
        framing = self._framing
        pictures = [augment(self._caches[name].gray(index), self._augmentation, rng) for name, index in members]
        labels = [self._caches[name].tokens(index) for name, index in members]
        height, width = (-(-max(p.shape[axis] for p in pictures) // _MULTIPLE) * _MULTIPLE for axis in (0, 1))
        length = max(len(label) for label in labels) + 1
        pixels = np.zeros((len(members), 1, height, width), dtype=np.float32)
        inputs = np.full((len(members), length), framing.pad, dtype=np.int64)
        targets = np.full((len(members), length), -1, dtype=np.int64)
        for row, (picture, label) in enumerate(zip(pictures, labels, strict=True)):
            pixels[row, 0, : picture.shape[0], : picture.shape[1]] = (picture / np.float32(255) - framing.mean) / framing.std
            noisy = np.concatenate([[framing.start], label])
            noisy = perturb_tokens(noisy, framing.vocabulary, rng, first=_FIRST_TOKEN)
            noisy = replace_share(noisy, framing.vocabulary, rng, first=_FIRST_TOKEN, share=self._token_noise)
            inputs[row, : len(label) + 1] = noisy
            targets[row, : len(label)] = label
            targets[row, len(label)] = framing.end
        return Batch(pixels, inputs, targets, f"{members[0][0]} {members[0][1]}")

    def _draw(self, stage: Stage, rng: np.random.Generator) -> list[tuple[str, int]]:
        total = stage.batch * _BATCHES_PER_BLOCK
        shares = np.array([share for _, share in stage.mix])
        counts = rng.multinomial(total, shares / shares.sum())
        drawn: list[tuple[str, int]] = []
        for (name, _), count in zip(stage.mix, counts, strict=True):
            fitting = np.flatnonzero(self._caches[name].index["length"] <= stage.max_tokens)
            if not fitting.size:
                raise DataError(f"{name!r} has no label of at most {stage.max_tokens} tokens")
            picked = rng.choice(fitting, size=count, replace=count > fitting.size)
            drawn += [(name, int(index)) for index in picked]
        return drawn

    def _size(self, name: str, index: int) -> tuple[int, int, int]:
        row = self._caches[name].index[index]
        return int(row["height"]), int(row["width"]), int(row["length"])
