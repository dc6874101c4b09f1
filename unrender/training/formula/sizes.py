"""How large the prepared pictures are: as large as the reader would see them, and not beyond what training can hold."""

from typing import TypeGuard

from PIL import Image

from unrender.images.pixels import symbol_scale
from unrender.models.config import ImagePrep
from unrender.training.data import Gray

MAX_HEIGHT, MAX_WIDTH = 192, 640


def as_read(picture: Image.Image, prep: ImagePrep) -> Image.Image:
    """Bring a picture to the size at which the reader would look at it."""
    scale = symbol_scale(picture, prep)
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture if scale == 1.0 else picture.resize(size, Image.Resampling.LANCZOS)


def fits(gray: Gray | None) -> TypeGuard[Gray]:
    """Say whether there is a picture, and no larger than training can hold."""
    return gray is not None and gray.shape[0] <= MAX_HEIGHT and gray.shape[1] <= MAX_WIDTH
