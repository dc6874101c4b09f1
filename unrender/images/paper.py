"""Light and paper: what a photo has and a screenshot has not is taken away before a formula is read.

In this order: light ink on a dark ground is inverted, the light is evened out by dividing by the local paper, the
contrast is stretched, ruled lines and frames are erased (`rulings`), then a box around everything and lines that the
picture's edge cuts (`surroundings`), and specks are dropped. A clean picture has even light, full contrast and none of
the rest, and comes back as it was.
"""

from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from unrender.images.measures import percentile
from unrender.images.rulings import INK, erase_rulings
from unrender.images.surroundings import erase_surroundings

Gray = NDArray[np.uint8]
_Kind = TypeVar("_Kind", bound=np.generic)

_SAMPLE_SIDE = 96  # the shorter side of the small picture from which the paper is estimated
_WINDOW = 1 / 3  # of the shorter side: what is wider than this is a shadow, not a stroke
_LEAST_WINDOW = 31  # pixels
_EVEN = 6  # grey levels by which an evenly lit paper may vary
_WHITE = 252  # paper this light needs no whitening
_FAINT_INK = 96  # the darkest grey of a picture whose contrast needs no stretching
_NOISE_REACH = 3.0  # times the noise of the paper: darker is ink
_DARKEST_SHARE = 0.3  # percent of the pixels that are surely ink
_BLOCK = 24  # pixels of the squares in which light and dark are compared
_SPECK_SHARE = 2.5  # of a stroke's width: a spot that fits into such a square may be a speck
_ALONE = 22  # stroke widths without larger ink around a spot that stands alone
_DUSTY = 5  # so many spots that stand alone, and the paper is dusty: every spot of their size goes, a dot with them
_SWARM = 20  # so many spots say the same where there is no room to stand alone, unless most of the ink is spots


def clean(gray: Image.Image) -> Image.Image:
    """Return a grey picture of the same size: dark ink on white paper, without shadows, rulings and specks."""
    return Image.fromarray(_drop_specks(erase_surroundings(erase_rulings(whiten(gray)))))


def whiten(gray: Image.Image) -> Gray:
    """Return dark ink on evenly white paper; rulings and specks stay."""
    return _stretch(_even_light(ImageOps.invert(gray) if _light_on_dark(gray) else gray))


def _light_on_dark(gray: Image.Image) -> bool:
    """Tell whether the ink is lighter than its surroundings, square by square, so that a shadow does not count."""
    small = gray.reduce(max(1, min(gray.size) // (2 * _SAMPLE_SIDE)))
    values = np.asarray(small)
    height, width = (max(1, side // _BLOCK) for side in values.shape)
    rows, columns = values.shape[0] // height, values.shape[1] // width
    blocks = values[: height * rows, : width * columns].reshape(height, rows, width, columns).transpose(0, 2, 1, 3)
    flat = np.sort(blocks.reshape(height * width, rows * columns), axis=1).astype(np.int64)
    middle = flat[:, flat.shape[1] // 2]
    return bool((flat[:, -1] - middle).sum() > (middle - flat[:, 0]).sum())


def _even_light(gray: Image.Image) -> Gray:
    """Divide by the local paper: a closing (maximum, then minimum) fills strokes and keeps the edges of shadows."""
    factor = max(2, min(gray.size) // _SAMPLE_SIDE)
    small = gray.reduce(factor)
    reach = max(1, int(max(_LEAST_WINDOW, _WINDOW * min(gray.size)) / factor) // 2)
    strokeless = _closed(np.asarray(small), max(1, reach // 3), "symmetric")  # also of strokes that the edge cuts
    paper = Image.fromarray(_closed(strokeless, reach, "edge"))  # beyond the edge a shadow goes on
    lightest, darkest = (int(percentile(np.asarray(paper), share)) for share in (99, 1))
    if lightest - darkest <= _EVEN:
        return _divide(np.asarray(gray), np.float32(255 if lightest >= _WHITE else lightest))
    paper = paper.resize(gray.size, Image.Resampling.BILINEAR)
    return _divide(np.asarray(gray), np.asarray(paper, dtype=np.float32))


def _closed(values: Gray, reach: int, beyond: Literal["edge", "symmetric"]) -> Gray:
    """Take the maximum of the neighbours up to `reach`, then the minimum."""
    values = np.pad(values, 2 * reach, mode=beyond)
    for better in (np.maximum, np.minimum):
        for axis in (0, 1):
            values = _slide(values, 2 * reach + 1, axis, better)
    return values


def _slide(values: NDArray[_Kind], size: int, axis: int, better: np.ufunc) -> NDArray[_Kind]:
    """Take the best of every `size` neighbours along an axis, by doubling."""
    values = np.moveaxis(values, axis, 0)
    done = 1
    while done < size:
        step = min(done, size - done)
        values = better(values[:-step], values[step:])
        done += step
    return np.moveaxis(values, 0, axis)


def _divide(values: Gray, paper: NDArray[np.float32] | np.float32) -> Gray:
    if np.ndim(paper) == 0 and paper == np.float32(255):
        return values
    return np.minimum(values * (np.float32(255) / np.maximum(paper, 1)) + np.float32(0.5), 255).astype(np.uint8)


def _stretch(values: Gray) -> Gray:
    """Whiten the noise of the paper and darken faint ink; even paper and black ink stay as they are."""
    counts = np.bincount(values.reshape(-1), minlength=256)
    white = 255
    paper = _percentile(counts, 50)
    if paper > INK:
        deviation = np.abs(np.arange(256) - paper)
        noise = _percentile(np.bincount(deviation, weights=counts), 50)
        white = int(max(INK, paper - _NOISE_REACH * noise)) if noise else 255
    black = max(0, _percentile(counts, _DARKEST_SHARE) - _FAINT_INK)
    if (black, white) == (0, 255) or white - black < _EVEN:
        return values
    scaled = (np.arange(256) - black) * (255 / (white - black))
    table: Gray = np.clip(scaled + 0.5, 0, 255).astype(np.uint8)
    return table[values]


def _percentile(counts: NDArray[np.int64] | NDArray[np.float64], share: float) -> int:
    reached = np.cumsum(counts)
    return int(np.searchsorted(reached, reached[-1] * share / 100))


def _drop_specks(values: Gray) -> Gray:
    """Whiten small spots far from other ink, and all of them amid dust: a faint one near a letter is its dot."""
    ink = values < INK
    width = stroke_width(ink)
    spots = _spots(ink, int(_SPECK_SHARE * width))
    if not spots.any():
        return values
    alone = spots & ~_near(ink & ~spots, int(_ALONE * width))
    swarm = _count(spots) >= _SWARM and 2 * spots.sum() < ink.sum()
    specks = spots if swarm or _count(alone) >= _DUSTY else alone
    if not specks.any() or (specks == ink).all():
        return values
    around = _near(specks, 1)  # their soft edges too
    return np.where(around & ~(ink & ~specks), np.uint8(255), values)


def stroke_width(ink: NDArray[np.bool_]) -> float:
    """Return how wide strokes are: the ink's area over half its outline, for long strokes; 0 without ink."""
    area = int(ink.sum())
    sides = int((ink[:, 1:] != ink[:, :-1]).sum()), int((ink[1:] != ink[:-1]).sum())
    return 2 * area / float(np.hypot(*sides)) if any(sides) else 0.0


def _spots(ink: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    """Return the ink that fits into a square of `size` pixels with a clear pixel all around."""
    if size < 1:
        return np.zeros_like(ink)
    padded = np.pad(ink, size + 1)
    across, down = _any(padded, size + 2, 1), _any(padded, size + 2, 0)
    rows, columns = down.shape[0], across.shape[1]
    clear = ~(across[:rows] | across[size + 1 :] | down[:, :columns] | down[:, size + 1 :])
    inside = np.pad(clear, size - 1)
    covered = _any(_any(inside, size, 0), size, 1)  # every pixel of a clear square
    return ink & covered[size - 1 :, size - 1 :][1 : 1 + ink.shape[0], 1 : 1 + ink.shape[1]]


def _count(spots: NDArray[np.bool_]) -> int:
    """Count spots by the pixels that have none above them or before them."""
    above = np.pad(spots, ((1, 0), (1, 1)))[:-1]
    return int(
        (spots & ~(above[:, :-2] | above[:, 1:-1] | above[:, 2:] | np.pad(spots, ((0, 0), (1, 0)))[:, :-1])).sum()
    )


def _near(mask: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    return _any(_any(np.pad(mask, reach), 2 * reach + 1, 0), 2 * reach + 1, 1)


def _any(mask: NDArray[np.bool_], size: int, axis: int) -> NDArray[np.bool_]:
    """Tell for every run of `size` pixels along an axis whether it holds any."""
    return _slide(mask, size, axis, np.logical_or)
