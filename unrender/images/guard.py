"""Opens untrusted files in child processes that have a time and a memory limit and are replaced when they exceed it.

Each child holds the file that it opened last, so a document is parsed once however its pages are asked for, and no
child is held between two pages.
"""

import math
import os
from collections.abc import Callable

from PIL import Image

from unrender.errors import ImageError
from unrender.images.child import Header
from unrender.images.children import Child, Children, Limits, TooMuchError
from unrender.images.drawing import MAX_PIXELS
from unrender.images.page_text import PageText

__all__ = ["GUARD", "Guard", "Limits", "TooMuchError"]


class Guard(Children):
    """The child processes that open files."""

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits or Limits(children=min(8, max(4, os.cpu_count() or 1))), "unrender.images.child")

    def count(self, data: bytes, name: str) -> int:
        """Open a file and return how many pages it has."""
        with self._child(data) as child:
            return self._open(child, data, name)

    def draw(
        self, data: bytes, index: int, dpi: int, name: str, allow: Callable[[tuple[int, int]], None]
    ) -> Image.Image:
        """Draw a page as an upright RGB image; `allow` is told its size before memory is taken for it."""
        with self._child(data) as child:
            self._open(child, data, name)
            size = _size(self._ask(child, {"task": "draw", "index": index, "dpi": dpi, "name": name}))
            child.healthy = False  # as long as pixels wait in the pipe
            allow(size)
            image = child.receive_image(size)
            child.healthy = True
            return image

    def text(self, data: bytes, index: int, name: str) -> PageText:
        """Return the characters of a PDF page."""
        with self._child(data) as child:
            self._open(child, data, name)
            reply = self._ask(child, {"task": "text", "index": index, "name": name})
        characters = reply["characters"]
        assert isinstance(characters, list)
        boxes = (tuple(float(edge) for edge in box) for _, *box in characters)
        letters = (str(letter) for letter, *_ in characters)
        pairs = tuple((letter, (box[0], box[1], box[2], box[3])) for letter, box in zip(letters, boxes, strict=True))
        numbers = frozenset(number for number, (*_, formula) in enumerate(characters) if formula)
        return PageText(float(str(reply["width"])), float(str(reply["height"])), pairs, numbers)

    def _open(self, child: Child, data: bytes, name: str) -> int:
        if child.data is not None:  # chosen because it holds this file
            return child.count
        reply = self._ask(child, {"task": "open", "name": name, "bytes": len(data)}, data)
        child.data, child.count = data, int(str(reply["count"]))
        return child.count

    def _ask(self, child: Child, header: Header, data: bytes = b"") -> Header:
        reply = child.ask(header, data, self.limits.seconds)
        name = header["name"]
        if reply is None and child.late:
            what = "opening the file" if header["task"] == "open" else "the page"
            raise TooMuchError(f"{name}: {what} exceeds the limit of {self.limits.seconds:g} seconds of computing.")
        if reply is None or "memory" in reply:
            size = f"{self.limits.memory / (1 << 30):.2g} GB"
            raise TooMuchError(f"{name}: the file exceeds the limit of {size} of memory, or crashes its decoder.")
        if "error" in reply:
            raise ImageError(str(reply["error"]))
        return reply


def _size(reply: Header) -> tuple[int, int]:
    width, height = int(str(reply["width"])), int(str(reply["height"]))
    if not 0 < width * height <= MAX_PIXELS or not math.isfinite(width):
        raise TooMuchError(f"{width} x {height} pixels exceed the limit of {MAX_PIXELS:,}.")
    return width, height


GUARD = Guard()  # starts nothing before the first file
