"""A few child processes with limits, shared by all threads: what is slow holds one of them and nobody else.

A child is asked, listened to, and killed when it takes too long. The children are warm: started with the first task
that needs one, kept for the next. Nothing here depends on fork: it works alike in threads, in forked or spawned
workers, and on every system; only the memory limit needs one that has such limits (POSIX).
"""

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from PIL import Image

from unrender.errors import ImageError
from unrender.images.child import LENGTH, Header

_KEPT = 2  # idle children
_START = (
    "import importlib, sys; sys.path[:] = sys.argv[3:]; from unrender.images.child import serve; "
    "serve(importlib.import_module(sys.argv[2]).Desk())"
)
_START_SECONDS = 60.0  # for a new child to be ready, on a machine that is busy
_CPU_SIGNAL = getattr(signal, "SIGXCPU", 0)  # ends a process whose computing time is over
_PATIENCE = 3 if _CPU_SIGNAL else 1  # times the limit by the clock, because a busy machine computes slowly
_GRACE_SECONDS = 2.0  # before the child's own watchdog ends it
_LONGEST_REPLY = 64 << 20  # bytes of a header; the text of a page is one
_PIPE_BYTES = 1 << 20
_STRIP_BYTES = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one task may cost, and one file again for each page: seconds and bytes of memory; processes for all."""

    seconds: float = 20.0
    memory: int = 2 << 30
    children: int = 4


class Child:
    """One process and what it holds."""

    def __init__(self, limits: Limits, module: str) -> None:
        self.data: bytes | None = None  # the file that is open in it
        self.count = 0
        self.healthy = True
        self.late = False
        self._ready = False
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, str(limits.memory), module, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},  # threads take address space
            pipesize=_PIPE_BYTES,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, header: Header, data: bytes, seconds: float) -> Header | None:
        """Send a request and return the answer; None when the process died, of itself or for being late."""
        try:
            if not self._ready:
                with self._at_most(_START_SECONDS):
                    self._ready = "ready" in self._reply()
            with self._at_most(_PATIENCE * seconds):
                times: Header = {"computing": seconds, "seconds": _PATIENCE * seconds + _GRACE_SECONDS}
                encoded = json.dumps(header | times).encode()
                pipe = self._process.stdin
                assert pipe is not None
                pipe.write(LENGTH.pack(len(encoded)) + encoded)
                pipe.write(data)
                pipe.flush()
                return self._reply()
        except (OSError, EOFError, ValueError):
            self.healthy = False
            self.late |= self._process.wait() == -_CPU_SIGNAL
            return None

    def receive_image(self, size: tuple[int, int]) -> Image.Image:
        """Take the pixels that follow an answer."""
        width, height = size
        image = Image.new("RGB", size)
        rows = max(1, _STRIP_BYTES // (3 * width))
        try:
            for top in range(0, height, rows):
                strip = min(rows, height - top)
                part = Image.frombytes("RGB", (width, strip), self._read(3 * width * strip))
                if strip == height:
                    return part
                image.paste(part, (0, top))
        except (OSError, EOFError) as error:
            self.healthy = False
            raise ImageError("the process that opens files ended too early; try again.") from error
        return image

    def end(self) -> None:
        """Kill the process and wait for it."""
        self._process.kill()
        self._process.wait()
        self._close_pipes()

    def leave(self) -> None:
        """Close our ends of the pipes of a process that is not ours."""
        self._process.returncode = 0  # there is nothing to wait for here
        self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    @contextmanager
    def _at_most(self, seconds: float) -> Iterator[None]:
        """Kill the process when the time is over; whoever reads from it then finds the end."""
        timer = threading.Timer(seconds, self._stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _stop(self) -> None:
        self.late = True
        self._process.kill()

    def _reply(self) -> Header:
        (length,) = LENGTH.unpack(self._read(LENGTH.size))
        if length > _LONGEST_REPLY:
            raise EOFError
        reply: Header = json.loads(self._read(length))
        return reply

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        content = self._process.stdout.read(size)
        if len(content) < size:
            raise EOFError
        return content


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
