"""unrender: from the picture of a formula, a word, a receipt or a page to what is written there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unrender.documents import Block, Box, Document
from unrender.errors import UnrenderError

if TYPE_CHECKING:
    from unrender.images.opening import Source
    from unrender.reading.reader import Reader

__version__ = "0.1.0"
__all__ = ["Block", "Box", "Document", "UnrenderError", "open_reader", "read", "read_lines"]


def read(source: "Source", task: str | None = None, model: str | None = None) -> Document:
    """Read one image, scan or PDF; give a file name, its bytes, a Pillow image or an array.

    For more than a few sources keep a reader: `open_reader(...)` loads the model once.
    """
    return open_reader(model, task=task).read(source)


def read_lines(source: "Source", boxes: Sequence[Box | tuple[float, float, float, float]]) -> tuple[Block, ...]:
    """Read the line of text in each box (left, top, right, bottom) of a picture, many at once.

    Each block has the text, a confidence, and its characters with their probabilities, alternatives and places.
    For more than a few pictures keep a reader: `open_reader(task="line").read_lines(...)`.
    """
    placed = [box if isinstance(box, Box) else Box(*box) for box in boxes]
    return open_reader(task="line").read_lines(source, placed)


def open_reader(model: str | None = None, *, task: str | None = None, engine: str | None = None) -> "Reader":
    """Load a model by name or folder; without one, the default model of the task (formulas)."""
    from unrender.reading.reader import Reader

    return Reader.open(model, task=task, engine=engine)
