"""What happens to a training picture and its label: Nougat's distortions (seed 001, 3.2), scale, margins, token noise.

Every function takes its random generator; the same generator state gives the same result.
"""

import math
import os
import random
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # the library asks the network for its version otherwise

import albumentations as A  # noqa: N812
import cv2

from unrender.training.photographs import coarsen, compress, photograph, rescale

Gray = NDArray[np.uint8]
_PAPER = 255
_LARGEST = 2.2  # how much too large a picture of a few small letters may seem
_POOR = 15, 70  # quality of a poor JPEG
_KERNEL = 2  # side of the erosion and dilation element
_REPLACED = 0.1  # how likely it is that one more token is replaced (seed 001, 3.2)


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """How strongly pictures are varied; probabilities of 0 leave them as they are."""

    nougat: bool = True  # the eight distortions with their published probabilities
    scale: float = 0.5  # share of pictures whose size changes
    smallest: float = 0.7
    largest: float = 1.4
    # A picture of fewer pixels may grow up to so many, but not beyond 2.2 times: few symbols hide its size.
    small: int = 0
    coarse: float = 0.0  # share of pictures shrunk and enlarged again, as a small screenshot is before it is read
    coarsest: float = 0.4  # the smallest size they are shrunk to
    compressed: float = 0.0  # share of pictures that were stored as poor JPEGs
    darken: float = 0.5  # share of pictures whose strokes become darker or lighter
    margin: int = 8  # up to so many pixels of paper on each side
    invert: float = 0.0  # share of pictures turned light on dark
    photographed: float = 0.0  # share of pictures that go through a camera and the cleaning of the reader

    def __call__(
        self, gray: Gray, boxes: NDArray[np.float32], rng: np.random.Generator, size: float
    ) -> tuple[Gray, NDArray[np.float32]]:
        """Vary one picture and move the boxes (n, 4) in it along; `size`, from 0 to 1, says how large it becomes.

        Nougat's distortions move the boxes by next to nothing, which is left out.
        """
        if size < self.scale:
            before = gray.shape
            span = self._largest(gray) - self.smallest
            gray = rescale(gray, self.smallest + span * size / self.scale, least=4)
            down, across = (new / old for new, old in zip(gray.shape, before, strict=True))
            boxes = boxes * np.array([across, down, across, down], dtype=np.float32)
        if self.photographed and rng.random() < self.photographed:
            gray, boxes = photograph(gray, boxes, rng)
        if self.compressed and rng.random() < self.compressed:
            gray = compress(gray, int(rng.integers(*_POOR)))
        if rng.random() < self.coarse:
            gray = coarsen(gray, float(rng.uniform(self.coarsest, 0.9)))
        if rng.random() < self.darken:
            gray = _tones(round(float(rng.uniform(0.6, 2.2)), 1))[gray]
        top, bottom, left, right = (int(side) for side in rng.integers(1, self.margin + 1, 4))
        gray = np.pad(gray, ((top, bottom), (left, right)), constant_values=_PAPER)
        boxes = boxes + np.array([left, top, left, top], dtype=np.float32)
        if self.nougat:
            gray = _nougat(gray, int(rng.integers(2**31)))
        return 255 - gray if rng.random() < self.invert else gray, boxes

    def _largest(self, gray: Gray) -> float:
        """Return by how much a picture may be enlarged."""
        return max(self.largest, min(_LARGEST, math.sqrt(self.small / gray.size)))


AUGMENTATION = Augmentation()


def distort(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    """Apply Nougat's distortions to a page or picture of any colour mode."""
    return Image.fromarray(_nougat(np.asarray(image), int(rng.integers(2**31))))


def perturb_tokens(
    tokens: NDArray[np.int64], vocabulary: int, rng: np.random.Generator, *, first: int
) -> NDArray[np.int64]:
    """Replace tokens of the decoder input by random ones (seed 001, 3.2): one more with probability 0.1 each time.

    Ids below `first` (the special tokens) are never put in, and the first position is never replaced.
    """
    noisy = tokens.copy()
    while len(noisy) > 2 and rng.random() < _REPLACED:
        noisy[int(rng.integers(1, len(noisy)))] = int(rng.integers(first, vocabulary))
    return noisy


def replace_share(
    tokens: NDArray[np.int64], vocabulary: int, rng: np.random.Generator, *, first: int, share: float
) -> NDArray[np.int64]:
    """Replace each token but the first with probability `share`: a stronger noise against leaning on the past."""
    noise = rng.random(len(tokens)) < share
    noise[:1] = False
    return np.where(noise, rng.integers(first, vocabulary, len(tokens)), tokens)


@cache
def _tones(gamma: float) -> Gray:
    return np.clip(255 * (np.arange(256) / 255) ** gamma, 0, 255).astype(np.uint8)


def _nougat(gray: Gray, seed: int) -> Gray:
    pipeline = _nougat_pipeline()
    # One generator for all: a seed would start every distortion at the same number, so that all apply or none does.
    pipeline.set_random_state(np.random.default_rng(seed), random.Random(seed))
    return np.asarray(pipeline(image=gray)["image"], dtype=np.uint8)


@cache
def _nougat_pipeline() -> A.Compose:
    """Build the distortions in their published order and with their published probabilities."""
    element = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (_KERNEL, _KERNEL))

    def bitmap(image: Gray, **_: object) -> Gray:
        return np.where(image < 200, 0, image).astype(np.uint8)

    def erode(image: Gray, **_: object) -> Gray:
        return np.asarray(cv2.erode(image, element, iterations=1), dtype=np.uint8)

    def dilate(image: Gray, **_: object) -> Gray:
        return np.asarray(cv2.dilate(image, element, iterations=1), dtype=np.uint8)

    return A.Compose(
        [
            A.Lambda(image=bitmap, p=0.05),
            A.OneOf([A.Lambda(image=erode, p=1), A.Lambda(image=dilate, p=1)], p=0.02),
            A.Affine(shear={"x": (0, 3), "y": (-3, 0)}, fill=_PAPER, p=0.03),
            A.ShiftScaleRotate(
                shift_limit_x=(0, 0.04), shift_limit_y=(0, 0.03), scale_limit=(-0.15, 0.03), rotate_limit=2,
                interpolation=cv2.INTER_CUBIC, border_mode=cv2.BORDER_CONSTANT, fill=_PAPER, p=0.03,
            ),
            A.GridDistortion(distort_limit=0.05, interpolation=cv2.INTER_CUBIC, fill=_PAPER,
                             border_mode=cv2.BORDER_CONSTANT, p=0.04),
            A.Sequential(
                [
                    A.Affine(translate_px=(0, 5), fill=_PAPER, p=1),
                    A.ElasticTransform(alpha=50, sigma=12, border_mode=cv2.BORDER_CONSTANT, fill=_PAPER, p=1),
                ],
                p=0.04,
            ),
            A.RandomBrightnessContrast(brightness_limit=0.1, contrast_limit=0.1, brightness_by_max=True, p=0.03),
            A.ImageCompression(quality_range=(95, 95), p=0.07),
            A.GaussNoise(std_range=(0.01, 20**0.5 / 255), p=0.08),
            A.GaussianBlur(blur_limit=(3, 3), p=0.03),
        ]
    )  # fmt: skip
