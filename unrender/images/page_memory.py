"""Bounds what all pages that are open at the same time may hold; small ones are not counted unless asked for."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image

from unrender.errors import ImageError

BYTES_PER_PIXEL = 4  # of an RGB image in Pillow
_LARGE = 8_000_000  # pixels


class PageMemory:
    """A budget of bytes; a large page waits until those before it are let go."""

    def __init__(self, size: int, seconds: float, smallest: int = _LARGE) -> None:
        self.size, self.smallest = size, smallest  # bytes; pixels of a page that is counted
        self.held = 0
        self._seconds = seconds
        self._changed = threading.Condition()  # re-entrant: a finalizer may run while this thread holds it

    @contextmanager
    def room(self, name: str) -> Iterator["_Room"]:
        """Take room for one page; what was not kept is given back."""
        room = _Room(self, name)
        try:
            yield room
        except BaseException:
            self.give(room.held)
            raise

    def take(self, held: int, name: str) -> None:
        """Count so many bytes, once there is room for them."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.held + held <= self.size or not self.held, self._seconds):
                raise self.refusal(name)
            self.held += held

    def give(self, held: int) -> None:
        """Count so many bytes no longer."""
        with self._changed:
            self.held -= held
            self._changed.notify_all()

    def refusal(self, name: str) -> Exception:
        """Return the error of a page for which there is no room."""
        return ImageError(
            f"{name}: the large pages that are open hold {self.size / (1 << 30):.2g} GB, the limit; close some."
        )


class _Room:
    def __init__(self, memory: PageMemory, name: str) -> None:
        self._memory, self._name = memory, name
        self.held = 0

    def take(self, size: tuple[int, int]) -> None:
        pixels = size[0] * size[1]
        if pixels >= self._memory.smallest:
            self._memory.take(pixels * BYTES_PER_PIXEL, self._name)
            self.held = pixels * BYTES_PER_PIXEL

    def keep(self, image: Image.Image) -> Image.Image:
        """Hold the room for as long as the image lives."""
        if self.held:
            weakref.finalize(image, self._memory.give, self.held)
        return image


PAGE_MEMORY = PageMemory(size=1 << 30, seconds=60.0)
