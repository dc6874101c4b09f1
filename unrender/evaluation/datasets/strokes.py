"""Pen strokes with their truth: InkML files of a dataset."""

from pathlib import Path

from unrender.errors import DataError, ImageError
from unrender.images.strokes import Ink, parse_ink

INKML = ".inkml"


def read_ink(path: Path) -> Ink:
    """Read the strokes of a file, its truth and its symbols."""
    try:
        return parse_ink(path.read_bytes(), str(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from error
    except ImageError as error:
        raise DataError(str(error)) from error
