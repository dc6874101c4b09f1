"""Bounds what all large pages that are open at the same time may hold."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image

from unrender.errors import ImageError

_BYTES_PER_PIXEL = 4  # of an RGB image in Pillow
_LARGE = 8_000_000  # pixels; smaller pages are not counted


class PageMemory:
    """A budget of bytes; a large page waits until those before it are let go."""

    def __init__(self, size: int, seconds: float) -> None:
        self._size, self._seconds = size, seconds
        self._held = 0
        self._changed = threading.Condition()  # re-entrant: a finalizer may run while this thread holds it

    @contextmanager
    def room(self, name: str) -> Iterator["_Room"]:
        """Take room for one page; what was not kept is given back."""
        room = _Room(self, name)
        try:
            yield room
        except BaseException:
            self._give(room.held)
            raise

    def _take(self, held: int, name: str) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._held + held <= self._size or not self._held, self._seconds):
                gigabytes = self._size / (1 << 30)
                raise ImageError(
                    f"{name}: the large pages that are open hold {gigabytes:.2g} GB, the limit; close some."
                )
            self._held += held

    def _give(self, held: int) -> None:
        with self._changed:
            self._held -= held
            self._changed.notify_all()


class _Room:
    def __init__(self, memory: PageMemory, name: str) -> None:
        self._memory, self._name = memory, name
        self.held = 0

    def take(self, size: tuple[int, int]) -> None:
        pixels = size[0] * size[1]
        if pixels >= _LARGE:
            self._memory._take(pixels * _BYTES_PER_PIXEL, self._name)
            self.held = pixels * _BYTES_PER_PIXEL

    def keep(self, image: Image.Image) -> Image.Image:
        """Hold the room for as long as the image lives."""
        if self.held:
            weakref.finalize(image, self._memory._give, self.held)
        return image


PAGE_MEMORY = PageMemory(size=1 << 30, seconds=60.0)
