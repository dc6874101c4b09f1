"""The queue: requests wait, workers take their pages in turn and read them in batches.

The unit of work is one page, so a long PDF does not hold up the small picture behind it.
"""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace

from unrender.documents import Document
from unrender.errors import UnrenderError
from unrender.reading.options import Input, Options
from unrender.reading.reader import Reader
from unrender.server.limits import Limits
from unrender.server.metrics import Metrics
from unrender.server.problems import HttpError
from unrender.server.watching import watch

_LOG = logging.getLogger("unrender.server")
_FIRST_GUESS_SECONDS = 0.5  # for one page, before any was read
_MEMORY = 0.8  # of what is known about the seconds a page takes, when a new one is measured
_LONGEST_RETRY_SECONDS = 60

Listener = Callable[[int, str], None]  # (page number, its text so far)


@dataclass(eq=False, kw_only=True)
class Work:
    """One request: what to read and with what, and the promise of a result."""

    reader: Reader
    options: Options
    source: bytes
    name: str
    pages: tuple[int, ...]
    pixels: int  # of its largest page
    listener: Listener | None = None  # a request that listens is read by itself
    started: float = field(default_factory=time.monotonic)
    result: "Future[Document]" = field(default_factory=Future)
    abandoned: bool = False  # nobody waits for the result any more
    _left: "deque[int]" = field(default_factory=deque)
    _read: dict[int, Document] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._left.extend(self.pages)

    def next_page(self) -> int:
        return self._left.popleft()

    @property
    def seconds(self) -> float:
        """How long the request has been here."""
        return time.monotonic() - self.started

    @property
    def exhausted(self) -> bool:
        return not self._left

    def input(self, page: int) -> Input:
        return Input(self.source, self.name, (page,))

    def deliver(self, page: int, document: Document) -> None:
        """Keep a page; with the last one, keep the promise."""
        self._read[page] = document
        if len(self._read) == len(self.pages):
            pages = tuple(part for number in self.pages for part in self._read[number].pages)
            self._settle(lambda: self.result.set_result(replace(document, pages=pages)))

    def fail(self, error: Exception) -> None:
        self.abandoned = True
        self._settle(lambda: self.result.set_exception(error))

    def fits(self, other: "Work") -> bool:
        """Say whether pages of both can be read together."""
        alone = self.listener is not None or other.listener is not None
        return self is other or (not alone and self.reader is other.reader and self.options == other.options)

    def _settle(self, act: Callable[[], None]) -> None:
        with suppress(InvalidStateError):  # nobody waits any more
            act()


class _AbandonedError(Exception):
    """Nobody waits for any page of the batch."""


class Pool:
    """The workers and what waits for them."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits, self._metrics = limits, metrics
        self._waiting: deque[Work] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._page_seconds = _FIRST_GUESS_SECONDS
        self._threads: list[threading.Thread] = []
        self.busy = 0  # workers that read

    def start(self) -> None:
        """Put the workers to work."""
        self._closed = False
        for number in range(self._limits.workers):
            thread = threading.Thread(target=self._serve, name=f"reader-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """Refuse what waits, let the workers finish what they have begun, and end them."""
        with self._changed:
            self._closed = True
            left = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        for work in left:
            work.fail(HttpError.busy("The server is being stopped; try again shortly."))
        for thread in self._threads:
            thread.join(timeout=self._limits.read_seconds)
        self._threads.clear()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, work: Work) -> None:
        """Put a request in the queue; an HttpError says when to come back if it is full."""
        with self._changed:
            if self._closed:
                raise HttpError.busy("The server is being stopped; try again shortly.")
            if len(self._waiting) >= self._limits.waiting:
                self._metrics.count("rejected")
                raise HttpError.busy(
                    f"{len(self._waiting)} requests are waiting already; try again later.", self._retry_seconds()
                )
            self._waiting.append(work)
            self._changed.notify()

    def abandon(self, work: Work) -> None:
        """Forget a request nobody waits for: take it from the queue, stop it if it is being read."""
        work.abandoned = True
        with self._changed, suppress(ValueError):
            self._waiting.remove(work)

    def _retry_seconds(self) -> int:
        pages = sum(len(work.pages) for work in self._waiting)
        seconds = math.ceil(pages * self._page_seconds / self._limits.workers)
        return max(1, min(seconds, _LONGEST_RETRY_SECONDS))

    def _serve(self) -> None:
        while batch := self._take():
            self.busy += 1
            self._read(batch)
            self.busy -= 1

    def _take(self) -> list[tuple[Work, int]]:
        """Wait for work and return the pages of one batch; none when the pool is closed."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            batch = list[tuple[Work, int]]()
            while (work := self._next(batch)) is not None:
                batch.append((work, work.next_page()))
                if not work.exhausted:
                    self._waiting.append(work)  # behind all others: everybody gets a turn
            return batch

    def _next(self, batch: Sequence[tuple[Work, int]]) -> Work | None:
        """Take the first request from the queue that has room in the batch."""
        pixels = sum(work.pixels for work, _ in batch)
        for place, work in enumerate(self._waiting):
            if not batch or (self._has_room(batch, pixels + work.pixels) and work.fits(batch[0][0])):
                del self._waiting[place]
                return work
        return None

    def _has_room(self, batch: Sequence[tuple[Work, int]], pixels: int) -> bool:
        streams = batch[0][0].listener is not None
        return not streams and len(batch) < self._limits.batch and pixels <= self._limits.batch_pixels

    def _read(self, batch: Sequence[tuple[Work, int]]) -> None:
        def check() -> None:
            if all(work.abandoned for work, _ in batch):
                raise _AbandonedError

        work, page = batch[0]
        listener = work.listener
        reader = watch(work.reader, check, None if listener is None else lambda text: listener(page, text))
        inputs = [work.input(page) for work, page in batch]
        began = time.monotonic()
        try:
            check()
            documents = list(reader.read_many(inputs, batch=len(inputs), options=work.options))
        except _AbandonedError:
            self._metrics.count("abandoned_pages", len(batch))
        except UnrenderError as error:
            for work, _ in batch:
                work.fail(error)
        except Exception as error:  # noqa: BLE001 - a worker outlives whatever a model does
            _LOG.exception("reading failed")
            if len(batch) == 1:
                work.fail(error)
            else:  # whatever one of them did, the others shall not suffer
                for part in batch:
                    self._read([part])
        else:
            self._page_seconds = _MEMORY * self._page_seconds + (1 - _MEMORY) * (time.monotonic() - began) / len(batch)
            self._metrics.count("batches")
            self._metrics.count("pages", len(batch))
            for (work, page), document in zip(batch, documents, strict=True):
                work.deliver(page, document)
