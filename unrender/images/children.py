"""A few child processes with limits, shared by all threads: what is slow holds one of them and nobody else.

The children are warm: started with the first task that needs one, kept for the next. Nothing here depends on fork: it
works alike in threads, in forked or spawned workers, and on every system; only the memory limit needs one that has
such limits (POSIX).
"""

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from unrender.errors import ImageError
from unrender.images.child_process import Child, Limits

_KEPT = 2  # idle children


class TooMuchError(ImageError):
    """A file or page that exceeds the limits and has cost a child."""


class Children:
    """Processes that work at the `Desk` of one module, as many as are needed and allowed."""

    def __init__(self, limits: Limits, module: str) -> None:
        self.limits = limits
        self._module = module
        self._changed = threading.Condition()
        self._idle: list[Child] = []  # the longest unused first
        self._running = 0  # idle and at work
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave_to_parent)
        atexit.register(self.close)

    def close(self) -> None:
        """End all children; the next file starts a new one."""
        with self._changed:
            idle, self._idle = self._idle, []
            self._running -= len(idle)
        for child in idle:
            child.end()

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
            return Child(self.limits, self._module)
        except OSError as error:
            with self._changed:
                self._running -= 1
                self._changed.notify()
            raise ImageError(f"a child process cannot be started ({error}).") from error

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
