"""The queue: requests wait, and each worker reads the pages of those that fit together, as one batch kept full.

The unit of work is one page, so a long PDF does not hold up the small picture behind it. What comes while a worker
reads joins it, and a page that nobody waits for any more leaves. A page that takes long to open is put aside, and the
worker reads others until it is there.
"""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from unrender.documents import Page
from unrender.errors import UnrenderError
from unrender.images.guard import GUARD
from unrender.reading.reader import Reader
from unrender.reading.systems import Options, Sheet, Watch
from unrender.server.counters import Counters
from unrender.server.limits import Limits, Memory
from unrender.server.problems import HttpError
from unrender.server.work import Work

_LOG = logging.getLogger("unrender.server")
_FIRST_GUESS_SECONDS = 0.5  # for one page, before any was read
_MEMORY = 0.8  # of what is known about the seconds a page takes, when a new one is measured
_LONGEST_RETRY_SECONDS = 60
_PATIENCE_SECONDS = 0.5  # before a page that is being opened is put aside
_STOPPED = "The server is being stopped; try again shortly."


@dataclass(frozen=True, eq=False)
class _Opening:
    """A page on its way from a file to pixels, and the request it is of."""

    work: Work
    result: "Future[Sheet | Page]"


class _Sitting(Watch):
    """One worker's reading: its pages and the requests they are from, all for one reader and one set of options."""

    def __init__(self, reader: Reader, options: Options) -> None:
        self.reader, self.options = reader, options
        self.reading: dict[Sheet, Work] = {}
        self.taken = 0
        self.delivered = 0
        self.last = time.monotonic()  # when it began, or delivered a page

    def fits(self, work: Work) -> bool:
        """Say whether pages of a request can be read here."""
        return work.reader is self.reader and work.options == self.options

    def wants(self, sheet: Sheet) -> bool:
        return not self.reading[sheet].abandoned

    def listener(self, sheet: Sheet) -> Callable[[str], None] | None:
        told = self.reading[sheet].listener
        return None if told is None else partial(told, sheet.number)


class Pool:
    """The workers and what waits for them."""

    def __init__(self, limits: Limits, metrics: Counters, memory: Memory) -> None:
        self._limits, self._metrics, self._memory = limits, metrics, memory
        self._waiting: deque[Work] = deque()
        self._aside: set[_Opening] = set()  # they take long to open; their requests are not in the queue
        self._arrived: deque[_Opening] = deque()  # they took long, and are open now
        self._openers = ThreadPoolExecutor(GUARD.limits.children, "opener")
        self._changed = threading.Condition()
        self._closed = False
        self._page_seconds = _FIRST_GUESS_SECONDS
        self._threads: list[threading.Thread] = []
        self.busy = 0  # workers that read; counted under the lock

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
            left = [*self._waiting, *(opening.work for opening in (*self._aside, *self._arrived))]
            self._waiting.clear()
            self._arrived.clear()
            self._changed.notify_all()
        for work in left:
            work.fail(HttpError.busy(_STOPPED))
        for thread in self._threads:
            thread.join(timeout=self._limits.read_seconds)
        self._threads.clear()
        self._openers.shutdown(wait=False, cancel_futures=True)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, work: Work) -> None:
        """Put a request in the queue; an HttpError says when to come back if it is full."""
        with self._changed:
            if self._closed:
                raise HttpError.busy(_STOPPED)
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
        while (sitting := self._sit_down()) is not None:
            self._read(sitting, self._sheets(sitting))
            with self._changed:
                self.busy -= 1

    def _sit_down(self) -> _Sitting | None:
        """Wait for work and begin with what has waited longest; None when the pool is closed."""
        with self._changed:
            while not (self._arrived or self._waiting or self._closed):
                self._changed.wait()
            if not (self._arrived or self._waiting):
                return None
            self.busy += 1
            first = self._arrived[0].work if self._arrived else self._waiting[0]
            return _Sitting(first.reader, first.options)

    def _sheets(self, sitting: _Sitting) -> Iterator[Sheet | None]:
        """Give the pages that fit, as long as there is room for them; None when there is none for now."""
        while True:
            opening = self._take(sitting)
            if opening is None:
                yield None
                continue
            try:
                opened = opening.result.result(_PATIENCE_SECONDS)
            except TimeoutError:
                self._put_aside(opening)
                continue
            except Exception as error:  # noqa: BLE001 - a worker outlives whatever a file does
                self._fail(opening.work, error)
                continue
            if isinstance(opened, Sheet):
                sitting.reading[opened] = opening.work
                yield opened
            else:
                self._settle(sitting, opening.work, opened)

    def _take(self, sitting: _Sitting) -> _Opening | None:
        """Take the next page for a sitting; after a batch of them, those who want another reader have their turn."""
        pixels = sum(work.pixels for work in sitting.reading.values())

        def suits(work: Work) -> bool:
            fits_in = pixels + work.pixels <= self._limits.batch_pixels and self._memory.has_room(work.pixels)
            return sitting.fits(work) and (not sitting.reading or fits_in)

        with self._changed:
            wanted = (*(opening.work for opening in self._arrived), *self._waiting)
            if sitting.taken >= self._limits.batch and not all(sitting.fits(work) for work in wanted):
                return None
            for opening in self._arrived:
                if suits(opening.work):
                    self._arrived.remove(opening)
                    sitting.taken += 1
                    return opening
            for work in self._waiting:
                if suits(work):
                    self._waiting.remove(work)
                    number = work.next_page()
                    self._queue_rest(work)
                    sitting.taken += 1
                    return _Opening(work, self._openers.submit(work.open, number))
        return None

    def _queue_rest(self, work: Work) -> None:
        if not work.exhausted:
            self._waiting.append(work)  # behind all others: everybody gets a turn

    def _put_aside(self, opening: _Opening) -> None:
        """Let a page open by itself, and the rest of its request wait for it."""
        with self._changed, suppress(ValueError):
            self._aside.add(opening)
            self._waiting.remove(opening.work)
        opening.result.add_done_callback(lambda _: self._bring_back(opening))

    def _bring_back(self, opening: _Opening) -> None:
        with self._changed:
            self._aside.discard(opening)
            if not (self._closed or opening.work.abandoned):
                self._arrived.append(opening)
                self._queue_rest(opening.work)
                self._changed.notify()

    def _read(self, sitting: _Sitting, sheets: Iterator[Sheet | None]) -> None:
        system, batch = sitting.reader.system, self._limits.batch
        try:
            for sheet, page in system.read(sheets, sitting.options, sitting, batch=batch):
                self._settle(sitting, sitting.reading.pop(sheet), page)
        except Exception as error:  # noqa: BLE001 - a worker outlives whatever a model does
            self._recover(sitting, error)

    def _recover(self, sitting: _Sitting, error: Exception) -> None:
        """Fail the page that is to blame for an error; if there are several, read each by itself."""
        left = list(sitting.reading.items())
        if not left and (taken := self._take(sitting)) is not None:  # the reader has not even begun
            self._fail(taken.work, error)
        elif len(left) == 1:
            self._fail(left[0][1], error)
        else:
            for sheet, work in left:
                alone = _Sitting(sitting.reader, sitting.options)
                alone.reading[sheet] = work
                self._read(alone, iter([sheet]))

    def _fail(self, work: Work, error: Exception) -> None:
        if not isinstance(error, UnrenderError | HttpError):
            _LOG.error("reading failed", exc_info=error)
        work.fail(error)
        self.abandon(work)

    def _settle(self, sitting: _Sitting, work: Work, page: Page) -> None:
        """Hand over a page that was read, unless nobody waits for it any more."""
        if work.abandoned:
            self._metrics.count("abandoned_pages")
            return
        if not sitting.delivered:
            self._metrics.count("batches")
        now = time.monotonic()
        self._page_seconds = _MEMORY * self._page_seconds + (1 - _MEMORY) * (now - sitting.last)
        sitting.last = now
        sitting.delivered += 1
        self._metrics.count("pages")
        work.deliver(page)
