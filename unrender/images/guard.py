"""Opens untrusted files in child processes that have a time and a memory limit and are replaced when they exceed it.

The children are warm: started with the first file that needs one, kept for the next. Each holds the file that it
opened last, so a document is parsed once however its pages are asked for, and no child is held between two pages.
Nothing here depends on fork: it works alike in threads, in forked or spawned workers, and on every system; only the
memory limit needs one that has such limits (POSIX).
"""

import atexit
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PIL import Image

from unrender.errors import ImageError
from unrender.images.child import Header
from unrender.images.child_process import Child, Limits
from unrender.images.drawing import MAX_PIXELS, PageText

_KEPT = 2  # idle children


class TooMuchError(ImageError):
    """A file or page that exceeds the limits and has cost a child."""


class Guard:
    """A few child processes, shared by all threads; a slow file holds one of them and nobody else."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits(children=min(8, max(4, os.cpu_count() or 1)))
        self._changed = threading.Condition()
        self._idle: list[Child] = []  # the longest unused first
        self._running = 0  # idle and at work
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave_to_parent)
        atexit.register(self.close)

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
        return PageText(float(str(reply["width"])), float(str(reply["height"])), pairs)

    def close(self) -> None:
        """End all children; the next file starts a new one."""
        with self._changed:
            idle, self._idle = self._idle, []
            self._running -= len(idle)
        for child in idle:
            child.end()

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

    @contextmanager
    def _child(self, data: bytes) -> Iterator[Child]:
        """Lend a child that holds this file, or none; one that failed is not used again."""
        child = self._take(data)
        try:
            yield child
        except BaseException as error:
            child.healthy &= isinstance(error, ImageError) and not isinstance(error, TooMuchError)
            raise
        finally:
            self._give_back(child)

    def _take(self, data: bytes) -> Child:
        with self._changed:
            while True:
                child = self._pick(data)
                if child is not None:
                    self._idle.remove(child)
                    return child
                if self._running < self.limits.children:
                    self._running += 1
                    break
                self._changed.wait()
        try:
            return Child(self.limits)
        except OSError as error:
            with self._changed:
                self._running -= 1
                self._changed.notify()
            raise ImageError(f"a process to open files in cannot be started ({error}).") from error

    def _pick(self, data: bytes) -> Child | None:
        """Prefer the child that holds the file, then one that holds none, then the longest unused."""
        self._drop_dead()
        for child in self._idle:
            if child.data is data or child.data == data:
                return child
        if not self._idle:
            return None
        chosen = min(self._idle, key=lambda child: child.data is not None)
        chosen.data = None
        return chosen

    def _drop_dead(self) -> None:
        """Forget idle children that somebody else has killed."""
        for child in [child for child in self._idle if not child.alive]:
            self._idle.remove(child)
            self._running -= 1
            child.end()

    def _give_back(self, child: Child) -> None:
        with self._changed:
            kept = child.healthy and len(self._idle) < _KEPT
            if kept:
                self._idle.append(child)
            else:
                self._running -= 1
            self._changed.notify()
        if not kept:
            child.end()

    def _leave_to_parent(self) -> None:
        """In a forked process the children are still the parent's: close our ends of their pipes, no more."""
        for child in self._idle:
            child.leave()
        self._changed, self._idle, self._running = threading.Condition(), [], 0


def _size(reply: Header) -> tuple[int, int]:
    width, height = int(str(reply["width"])), int(str(reply["height"]))
    if not 0 < width * height <= MAX_PIXELS or not math.isfinite(width):
        raise TooMuchError(f"{width} x {height} pixels exceed the limit of {MAX_PIXELS:,}.")
    return width, height


GUARD = Guard()  # starts nothing before the first file
