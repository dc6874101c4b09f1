"""Images to pixels: the same road for training, evaluation and reading.

Shapes: C channels, H height, W width; pixels are float32 (C, H, W), normalised by mean and std.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from unrender.images.lines import Strip
from unrender.images.measures import middle_level, symbol_height
from unrender.images.paper import clean
from unrender.models.config import ImagePrep

Pixels = NDArray[np.float32]
_INK_THRESHOLD = 200  # darker is ink, once the greys are stretched to 0..255 (Nougat's margin crop)
_PHOTO_PIXELS = 3_000_000  # a larger picture is shrunk before its paper is cleaned
_CLEANED_PIXELS = 1_000_000  # to about this many
_LEVELS = (0.01, 0.5, 0.99)  # shares of the pixels: the darkest grey that counts, the paper's, the lightest
_EVEN = 12  # a picture whose greys differ by less is left as it is
_RIBBON_PIXELS = 80_000_000  # a resize to more than this is not worth its memory
_RESAMPLE = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}


@dataclass(frozen=True)
class Placement:
    """Where the prepared pixels came from: crop at (left, top), quarter turn, scale, then a shift by padding."""

    left: int = 0
    top: int = 0
    turned_height: int = 0  # height before a quarter turn clockwise; 0: not turned
    scale_x: float = 1.0
    scale_y: float = 1.0
    shift_x: int = 0
    shift_y: int = 0
    strip: Strip | None = None  # what was cut out of the image first

    def to_image(self, x: float, y: float) -> tuple[float, float]:
        """Map a point of the prepared pixels back to the image."""
        x, y = (x - self.shift_x) / self.scale_x, (y - self.shift_y) / self.scale_y
        if self.turned_height:
            x, y = y, self.turned_height - x
        x, y = x + self.left, y + self.top
        return (x, y) if self.strip is None else self.strip.point(x, y)

    def enlarged(self, factor: int) -> "Placement":
        """Return the placement in an image that was shrunk by `factor` before it was placed."""
        if factor == 1:
            return self
        return replace(
            self,
            left=self.left * factor,
            top=self.top * factor,
            turned_height=self.turned_height * factor,
            scale_x=self.scale_x / factor,
            scale_y=self.scale_y / factor,
        )


def prepare(image: Image.Image, prep: ImagePrep) -> Pixels:
    """Turn an upright RGB image into the (C, H, W) pixels a model takes."""
    return place(image, prep)[0]


def place(image: Image.Image, prep: ImagePrep) -> tuple[Pixels, Placement]:
    """Do what `prepare` does, and tell where each pixel came from."""
    shrunk = 1
    if prep.paper:
        image, shrunk = cleaned(image)
    fitted, placement = _FITS[prep.fit](image.convert("L" if prep.channels == 1 else "RGB"), prep)
    return normalise(np.asarray(fitted), prep), placement.enlarged(shrunk)


def normalise(levels: NDArray[np.uint8], prep: ImagePrep) -> Pixels:
    """Turn levels (H, W) or (H, W, C) of the right size into (C, H, W) pixels, padded at right and bottom."""
    if prep.contrast:
        levels = _stretched(levels)
    height, width = levels.shape[:2]
    whole = (prep.channels, height + -height % prep.multiple, width + -width % prep.multiple)
    pixels = np.full(whole, round(255 * prep.pad_value), np.float32)
    pixels[:, :height, :width] = levels if levels.ndim == 2 else levels.transpose(2, 0, 1)
    pixels /= 255
    pixels -= np.asarray(prep.mean, np.float32)[:, None, None]
    pixels /= np.asarray(prep.std, np.float32)[:, None, None]
    return pixels


def _stretched(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Stretch the grey levels that occur to 0..255, and let what there is most of be light."""
    counts = np.bincount(levels.ravel(), minlength=256).cumsum()
    darkest, middle, lightest = np.searchsorted(counts, [share * counts[-1] for share in _LEVELS])
    if lightest - darkest < _EVEN:
        return levels
    table = np.rint(np.clip((np.arange(256) - darkest) * (255 / (lightest - darkest)), 0, 255)).astype(np.uint8)
    chosen: NDArray[np.uint8] = 255 - table if 2 * middle < darkest + lightest else table
    return chosen[levels]


def stack(
    images: Sequence[Pixels], prep: ImagePrep, *, steps: tuple[int, int] = (1, 1)
) -> tuple[Pixels, NDArray[np.int64] | None]:
    """Join (C, H, W) pixels to one (B, C, H, W), padded at right and bottom; (B, 2) true sizes if they differ.

    Height and width become multiples of `steps`.
    """
    largest = (max(image.shape[axis] for image in images) for axis in (1, 2))
    height, width = (side + -side % step for side, step in zip(largest, steps, strict=True))
    if all(image.shape[1:] == (height, width) for image in images):
        return np.stack(images), None
    paper = (prep.pad_value - np.asarray(prep.mean, np.float32)) / np.asarray(prep.std, np.float32)
    pixels = np.empty((len(images), prep.channels, height, width), np.float32)
    pixels[:] = paper[None, :, None, None]
    for row, image in enumerate(images):
        pixels[row, :, : image.shape[1], : image.shape[2]] = image
    return pixels, np.array([image.shape[1:] for image in images], dtype=np.int64)


def shrink(gray: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    """Return a gray page at a low resolution, each pixel the mean of what it covers."""
    return np.asarray(Image.fromarray(gray).resize((width, height), Image.Resampling.BOX))


def ink_box(image: Image.Image) -> tuple[int, int, int, int]:
    """Find the (left, top, right, bottom) of what is darker than the paper; a blank image is all ink."""
    grey = np.asarray(image.convert("L"), dtype=np.float32)
    darkest, lightest = grey.min(), grey.max()
    if darkest == lightest:
        return 0, 0, image.width, image.height
    ink = (grey - darkest) / (lightest - darkest) * 255 < _INK_THRESHOLD
    columns, rows = np.flatnonzero(ink.any(axis=0)), np.flatnonzero(ink.any(axis=1))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def cleaned(image: Image.Image) -> tuple[Image.Image, int]:
    """Clean light and paper; a large photo is shrunk first, by the factor returned."""
    gray, factor = image.convert("L"), 1
    if gray.width * gray.height > _PHOTO_PIXELS:
        factor = max(1, min(round((gray.width * gray.height / _CLEANED_PIXELS) ** 0.5), *gray.size))
        gray = gray.reduce(factor)
    return clean(gray), factor


def _squash(image: Image.Image, prep: ImagePrep) -> tuple[Image.Image, Placement]:
    """TrOCR and Swin: resize to height x width, whatever the aspect."""
    resized = image.resize((prep.width, prep.height), _RESAMPLE[prep.resample])
    return resized, Placement(scale_x=prep.width / image.width, scale_y=prep.height / image.height)


def _canvas(image: Image.Image, prep: ImagePrep) -> tuple[Image.Image, Placement]:
    """Donut and Nougat: crop, turn, resize by the shorter side, shrink what overflows, pad around it."""
    left, top, right, bottom = ink_box(image) if prep.crop_margin else (0, 0, image.width, image.height)
    image = image.crop((left, top, right, bottom))
    turned = prep.align_long_axis and (image.width - image.height) * (prep.width - prep.height) < 0
    turned_height = image.height if turned else 0
    if turned:
        image = image.transpose(Image.Transpose.ROTATE_270)
    fitted = _shrink_to_canvas(image, prep)
    shift_x, shift_y = (prep.width - fitted.width) // 2, (prep.height - fitted.height) // 2
    scale_x, scale_y = fitted.width / image.width, fitted.height / image.height
    padded = _pad(fitted, prep, prep.width, prep.height, shift_x, shift_y)
    return padded, Placement(left, top, turned_height, scale_x, scale_y, shift_x, shift_y)


def _shrink_to_canvas(image: Image.Image, prep: ImagePrep) -> Image.Image:
    """Resize the shorter side to the canvas's shorter side, then shrink what overflows (seed 001, 3.1)."""
    shorter, canvas = min(image.size), min(prep.width, prep.height)
    width, height = (canvas if side == shorter else int(canvas * side / shorter) for side in image.size)
    fit_width, fit_height = min(width, prep.width), min(height, prep.height)
    if height > width:
        fit_width = max(1, int(width * fit_height / height))
    elif width > height:
        fit_height = max(1, int(height * fit_width / width))
    overflows = width > prep.width or height > prep.height
    if overflows and width * height > _RIBBON_PIXELS:
        return image.resize((fit_width, fit_height), _RESAMPLE[prep.resample])
    image = image.resize((width, height), _RESAMPLE[prep.resample])
    if not overflows:
        return image
    if prep.thumbnail == "resample":
        return image.resize((fit_width, fit_height), _RESAMPLE[prep.resample])
    return image.resize((fit_width, fit_height), Image.Resampling.BICUBIC, reducing_gap=2.0)


def symbol_scale(image: Image.Image, prep: ImagePrep) -> float:
    """Return by how much to scale a picture so that its symbols have the size the model knows."""
    low, usual, high = prep.symbols
    height = symbol_height(image.convert("L")) if usual else None
    return 1.0 if height is None or low <= height <= high else usual / height


def _free(image: Image.Image, prep: ImagePrep) -> tuple[Image.Image, Placement]:
    """Formulas, words: dark on light, crop to the ink, keep the size unless too large, pad right and bottom."""
    if _light_on_dark(image):
        image = ImageOps.invert(image)
    left, top = 0, 0
    if prep.crop_margin:
        left, top, right, bottom = ink_box(image)
        image = _crop_with_margin(image, (left, top, right, bottom), prep)
        left, top = left - prep.margin, top - prep.margin
    wanted = prep.line_height / image.height if prep.line_height else symbol_scale(image, prep)
    scale = min(wanted * prep.zoom, prep.height / image.height, prep.width / image.width)
    width, height = max(1, int(image.width * scale + 0.5)), max(1, int(image.height * scale + 0.5))
    placement = Placement(left, top, scale_x=width / image.width, scale_y=height / image.height)
    if image.size != (width, height):
        image = image.resize((width, height), _RESAMPLE[prep.resample])
    return image, placement


_FITS: dict[str, Callable[[Image.Image, ImagePrep], tuple[Image.Image, Placement]]] = {
    "squash": _squash,
    "canvas": _canvas,
    "free": _free,
}


def _light_on_dark(image: Image.Image) -> bool:
    """Tell whether most of the image is nearer to its darkest grey: the paper is what there is most of."""
    grey = np.asarray(image.convert("L"))
    return middle_level(grey) < (float(grey.min()) + float(grey.max())) / 2


def _crop_with_margin(image: Image.Image, box: tuple[int, int, int, int], prep: ImagePrep) -> Image.Image:
    """Crop with `margin` pixels around; beyond the image's edge the padding colour continues it."""
    left, top = max(0, box[0] - prep.margin), max(0, box[1] - prep.margin)
    right, bottom = min(image.width, box[2] + prep.margin), min(image.height, box[3] + prep.margin)
    width, height = box[2] - box[0] + 2 * prep.margin, box[3] - box[1] + 2 * prep.margin
    shift_x, shift_y = left - (box[0] - prep.margin), top - (box[1] - prep.margin)
    return _pad(image.crop((left, top, right, bottom)), prep, width, height, shift_x, shift_y)


def _pad(
    image: Image.Image, prep: ImagePrep, width: int, height: int, shift_x: int = 0, shift_y: int = 0
) -> Image.Image:
    if image.size == (width, height):
        return image
    level = round(255 * prep.pad_value)
    padded = Image.new(image.mode, (width, height), level if image.mode == "L" else (level, level, level))
    padded.paste(image, (shift_x, shift_y))
    return padded
