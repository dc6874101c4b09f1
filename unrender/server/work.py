"""The queue: requests wait, and each worker reads the pages of those that fit together, as one batch kept full.

The unit of work is one page, so a long PDF does not hold up the small picture behind it. What comes while a worker
reads joins it, and a page that nobody waits for any more leaves.
"""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial

from unrender.documents import Document, Page
from unrender.errors import UnrenderError
from unrender.images.opening import Pages, open_pages
from unrender.reading.reader import Reader
from unrender.reading.systems import Options, Sheet, Watch, open_sheet
from unrender.server.limits import Limits, Memory
from unrender.server.metrics import Metrics
from unrender.server.problems import HttpError

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
    memory: Memory  # what its open pages count against
    listener: Listener | None = None  # who is told the text as it grows
    started: float = field(default_factory=time.monotonic)
    result: "Future[Document]" = field(default_factory=Future)
    abandoned: bool = False  # nobody waits for the result any more
    _left: "deque[int]" = field(default_factory=deque)
    _read: dict[int, Page] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._left.extend(self.pages)

    @property
    def seconds(self) -> float:
        """How long the request has been here."""
        return time.monotonic() - self.started

    @property
    def exhausted(self) -> bool:
        return not self._left

    def next_page(self) -> int:
        return self._left.popleft()

    def open(self, number: int) -> Sheet | Page:
        """Open one page; one that shows nothing, or that cannot be opened, is read at once."""
        return open_sheet(self._opened, number)

    @cached_property
    def _opened(self) -> Pages:
        return open_pages(self.source, self.reader.dpi, self.name, self.memory)

    def deliver(self, page: Page) -> None:
        """Keep a page; with the last one, keep the promise."""
        self._read[page.number] = page
        if len(self._read) == len(self.pages):
            pages = tuple(self._read[number] for number in self.pages)
            reader = self.reader
            document = Document(pages=pages, source=self.name, model=reader.name, task=reader.task.name)
            self._settle(lambda: self.result.set_result(document))

    def fail(self, error: Exception) -> None:
        self.abandoned = True
        self._settle(lambda: self.result.set_exception(error))

    def _settle(self, act: Callable[[], None]) -> None:
        with suppress(InvalidStateError):  # nobody waits any more
            act()


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

    def __init__(self, limits: Limits, metrics: Metrics, memory: Memory) -> None:
        self._limits, self._metrics, self._memory = limits, metrics, memory
        self._waiting: deque[Work] = deque()
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
        while (sitting := self._sit_down()) is not None:
            self._read(sitting, self._sheets(sitting))
            with self._changed:
                self.busy -= 1

    def _sit_down(self) -> _Sitting | None:
        """Wait for work and begin with what has waited longest; None when the pool is closed."""
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if not self._waiting:
                return None
            self.busy += 1
            return _Sitting(self._waiting[0].reader, self._waiting[0].options)

    def _sheets(self, sitting: _Sitting) -> Iterator[Sheet | None]:
        """Give the pages that fit, as long as there is room for them; None when there is none for now."""
        while True:
            taken = self._take(sitting)
            if taken is None:
                yield None
                continue
            work, number = taken
            try:
                opened = work.open(number)
            except Exception as error:  # noqa: BLE001 - a worker outlives whatever a file does
                self._fail(work, error)
                continue
            if isinstance(opened, Sheet):
                sitting.reading[opened] = work
                yield opened
            else:
                self._settle(sitting, work, opened)

    def _take(self, sitting: _Sitting) -> tuple[Work, int] | None:
        """Take the next page for a sitting; after a batch of them, those who want another reader have their turn."""
        pixels = sum(work.pixels for work in sitting.reading.values())
        with self._changed:
            others = any(not sitting.fits(work) for work in self._waiting)
            if others and sitting.taken >= self._limits.batch:
                return None
            for work in self._waiting:
                fits_in = pixels + work.pixels <= self._limits.batch_pixels and self._memory.has_room(work.pixels)
                has_room = not sitting.reading or fits_in
                if sitting.fits(work) and has_room:
                    self._waiting.remove(work)
                    number = work.next_page()
                    if not work.exhausted:
                        self._waiting.append(work)  # behind all others: everybody gets a turn
                    sitting.taken += 1
                    return work, number
        return None

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
            self._fail(taken[0], error)
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
