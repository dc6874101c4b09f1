"""One picture with its truth, and many of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from unrender.documents import Json
from unrender.errors import DataError, ImageError
from unrender.formats.donut import has_tags, parse_tags
from unrender.images.strokes import Ink, draw, parse_ink
from unrender.words import WordPage

INKML = ".inkml"  # files of pen strokes
Kind = Literal["labels", "imagefolder", "im2latex", "inkml", "sroie", "pages"]


@dataclass(frozen=True)
class Example:
    """A picture on disk, what is known of it, and the name it goes by in its dataset.

    `target` is what a model should write: the text or, where fields are known, these as Donut's tags.
    """

    path: Path
    target: str
    name: str
    words: WordPage | None = None  # with their boxes

    @property
    def text(self) -> str | None:
        """The text in the picture; None where only fields are known."""
        if self.words is not None:
            return self.words.text
        return None if has_tags(self.target) else self.target

    @property
    def fields(self) -> Json:
        """The fields; None where only text is known."""
        return parse_tags(self.target) if has_tags(self.target) else None

    @property
    def record(self) -> dict[str, str]:
        """The fields that have one text each, by name."""
        return as_record(self.fields)

    @property
    def image(self) -> Path | Image.Image:
        """The picture as a Reader takes it: the file itself, or pen strokes drawn."""
        return draw(read_ink(self.path).strokes) if self.path.suffix == INKML else self.path


def as_record(fields: Json) -> dict[str, str]:
    """Keep the fields that have one text each."""
    values = fields if isinstance(fields, Mapping) else {}
    return {name: str(value) for name, value in values.items() if isinstance(value, str | int | float)}


@dataclass(frozen=True)
class Dataset:
    """Examples of one format; `notes` are sentences about what was left out."""

    path: Path
    kind: Kind
    examples: tuple[Example, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.examples)

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)

    def sample(self, limit: int, rng: np.random.Generator) -> "Dataset":
        """Draw a random subset without replacement, in the order of the whole (seed 004, 5.2)."""
        if limit >= len(self.examples):
            return self
        picked = np.sort(rng.choice(len(self.examples), size=limit, replace=False))
        return replace(self, examples=tuple(self.examples[index] for index in picked))


def read_ink(path: Path) -> Ink:
    """Read the strokes of a file, its truth and its symbols."""
    try:
        return parse_ink(path.read_bytes(), str(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from error
    except ImageError as error:
        raise DataError(str(error)) from error
