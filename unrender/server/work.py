"""One request: what to read and with what, which of its pages are left, and the promise of a result."""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from unrender.documents import Document, Page
from unrender.images.opening import Pages, open_pages
from unrender.reading.reader import Reader
from unrender.reading.systems import Options, Sheet, open_sheet
from unrender.server.limits import Memory

Crop = tuple[float, float, float, float]  # left, top, right, bottom as shares of a page
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
    crop: Crop | None = None  # the part of each page to read; None: all of it
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
        return open_sheet(self._opened, number, crop=self.crop)

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
