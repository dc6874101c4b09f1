"""One picture with its truth, and many of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from unrender.evaluation.datasets.strokes import INKML, draw, read_ink

Kind = Literal["labels", "imagefolder", "im2latex", "inkml"]


@dataclass(frozen=True)
class Example:
    """A picture on disk, what it shows, and the name it goes by in its dataset."""

    path: Path
    target: str
    name: str

    @property
    def image(self) -> Path | Image.Image:
        """The picture as a Reader takes it: the file itself, or pen strokes drawn."""
        return draw(read_ink(self.path).strokes) if self.path.suffix == INKML else self.path


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
