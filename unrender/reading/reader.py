"""Reader: from files to Documents. It opens pages and puts results together; a System reads them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, takewhile
from pathlib import Path

from unrender import checkpoints, tasks
from unrender.documents import LINE, Block, Box, Document, Page
from unrender.engines import LAYOUT_GRAPH
from unrender.errors import ConfigError, ImageError, UnrenderError
from unrender.images.opening import Source, open_pages
from unrender.models import PRESETS, ModelConfig
from unrender.models.layoutlmv2 import LabelConfig
from unrender.reading.strips import clipped
from unrender.reading.systems import (
    BATCH,
    DEFAULTS,
    UNWATCHED,
    Input,
    Options,
    Sheet,
    System,
    Watch,
    failed_page,
    open_sheet,
)
from unrender.reading.text import TextSystem
from unrender.tasks import Task

LINES = 32  # lines of one picture read together


class Reader:
    """A system and the name it goes by; reads any number of sources."""

    def __init__(self, system: System, name: str = "") -> None:
        self.system = system
        self.name = name or system.config.name

    @classmethod
    def open(
        cls,
        model: str | Path | None = None,
        *,
        task: str | None = None,
        engine: str | None = None,
        threads: int | None = None,
    ) -> "Reader":
        """Load a model by name or folder; without one, the default model of the task (formulas).

        `threads` is how many the engine may use, by default one for each core.
        """
        wanted = tasks.find(task) if task else None
        name = model or _default_model(wanted or tasks.find(tasks.DEFAULT))
        loaded = checkpoints.load(name)
        if isinstance(loaded.config, LabelConfig):
            from unrender.reading.labels import LabelSystem  # what is not needed is not loaded: it takes time

            system = LabelSystem.open(loaded, engine, threads)
            return cls(system.for_task(wanted or system.task), str(name))
        task_read = wanted or tasks.find(loaded.config.task)
        if (loaded.folder / LAYOUT_GRAPH).is_file():
            from unrender.reading.page import PageSystem

            return cls(PageSystem.open(loaded, task_read, engine, threads), str(name))
        return cls(TextSystem.open(loaded, task_read, engine, threads), str(name))

    @property
    def config(self) -> ModelConfig:
        return self.system.config

    @property
    def task(self) -> Task:
        return self.system.task

    @property
    def dpi(self) -> int:
        """How finely pages of a PDF are drawn."""
        return self.system.dpi

    @property
    def beams(self) -> int:
        """How wide the search is unless the caller says otherwise."""
        return self.system.beams

    def for_task(self, task: Task) -> "Reader":
        """Return a reader on the same weights for another task."""
        return Reader(self.system.for_task(task), self.name)

    def read(self, source: Source | Input, options: Options = DEFAULTS, *, watch: Watch = UNWATCHED) -> Document:
        """Read one source; an ImageError if none of its pages can be read.

        A page that cannot be read beside others that can is in the Document, with status `failed`.
        """
        [document] = self.read_many([source], batch=1, options=options, watch=watch)
        if all(page.status.kind == "failed" for page in document.pages):
            raise ImageError(document.status.reason)
        return document

    def read_lines(self, source: Source, boxes: Iterable[Box], *, batch: int = LINES) -> tuple[Block, ...]:
        """Read the line of text in each box of a picture; a box with nothing in it gives a block without text."""
        image = open_pages(source, self.dpi)[0]
        wanted = [(box, clipped(box, image)) for box in boxes]
        sheets = [Sheet(image, number, region=region) for number, (_, region) in enumerate(wanted) if region]
        read = {sheet.number: page.blocks[0] for sheet, page in self.system.read(iter(sheets), batch=batch)}
        nothing = Block(kind=LINE, confidence=0.0)
        return tuple(replace(read.get(number, nothing), box=box) for number, (box, _) in enumerate(wanted))

    def read_many(
        self,
        sources: Iterable[Source | Input],
        *,
        batch: int = BATCH,
        options: Options = DEFAULTS,
        in_order: bool = True,
        watch: Watch = UNWATCHED,
    ) -> Iterator[Document]:
        """Yield one Document for each source; a source that cannot be read gives status `failed`.

        Up to `batch` pages are read together, whichever source they are from; with ONNX the next page enters as soon
        as one is finished. Documents come in the order of the sources or, not `in_order`, as they are completed.
        """
        if batch < 1:
            raise ConfigError(f"batch must be at least 1, got {batch}")
        return self._read_many(sources, batch, options, in_order, watch)

    def read_pages(self, source: Source | Input, options: Options = DEFAULTS, *, batch: int = BATCH) -> Iterator[Page]:
        """Yield the pages of one source in order, each as soon as it and those before it are read."""
        pending, given = _Pending(source if isinstance(source, Input) else Input(source)), 0
        for _ in chain(self._settle([pending], batch, options), [pending]):
            known = pending.known(given)
            given += len(known)
            yield from known

    def _read_many(
        self, sources: Iterable[Source | Input], batch: int, options: Options, in_order: bool, watch: Watch
    ) -> Iterator[Document]:
        waiting: list[_Pending] = []

        def begun() -> Iterator[_Pending]:
            for source in sources:
                waiting.append(_Pending(source if isinstance(source, Input) else Input(source)))
                yield waiting[-1]

        for _ in self._settle(begun(), batch, options, watch):
            yield from self._completed(waiting, in_order)
        yield from self._completed(waiting, in_order)

    def _settle(
        self, begun: Iterable["_Pending"], batch: int, options: Options, watch: Watch = UNWATCHED
    ) -> Iterator["_Pending"]:
        """Read the pages of sources; yield a source whenever one of its pages is there."""
        awaited: dict[Sheet, tuple[_Pending, int]] = {}

        def sheets() -> Iterator[Sheet]:
            for pending in begun:
                for sheet, slot in pending.open(self.dpi):
                    awaited[sheet] = pending, slot
                    yield sheet

        for sheet, page in self.system.read(sheets(), options, watch, batch=batch):
            pending, slot = awaited.pop(sheet)
            pending.pages[slot] = page
            yield pending

    def _completed(self, waiting: "list[_Pending]", in_order: bool) -> Iterator[Document]:
        """Take what is completed off the list: as far as it goes in order, or wherever it stands."""
        while done := [pending for pending in (waiting[:1] if in_order else waiting) if pending.done]:
            for pending in done:
                waiting.remove(pending)
                pages = tuple(page for page in pending.pages if page is not None)
                yield Document(pages=pages, source=pending.name, model=self.name, task=self.task.name)


@dataclass(eq=False)
class _Pending:
    """A source on its way: its pages, None while they are being read."""

    input: Input
    name: str = ""
    pages: list[Page | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        source = self.input.source
        self.name = self.input.name or (str(source) if isinstance(source, str | Path) else "image")

    def known(self, start: int) -> list[Page]:
        """Return the pages from `start` on, up to the first that is not read yet."""
        return [page for page in takewhile(lambda page: page is not None, self.pages[start:]) if page is not None]

    @property
    def done(self) -> bool:
        return all(page is not None for page in self.pages)

    def open(self, dpi: int) -> Iterator[tuple[Sheet, int]]:
        """Open the pages one by one: give what there is to read, and where its page goes; settle the rest at once."""
        try:
            pages = open_pages(self.input.source, dpi, self.input.name)
            numbers = _page_numbers(self.input, len(pages), pages.name)
        except UnrenderError as error:
            self.pages.append(failed_page(1, error))
            return
        self.name = pages.name
        self.pages.extend(None for _ in numbers)
        for slot, number in enumerate(numbers):
            opened = open_sheet(pages, number, self.input.words)
            if isinstance(opened, Sheet):
                yield opened, slot
            else:
                self.pages[slot] = opened


def _page_numbers(wanted: Input, count: int, name: str) -> tuple[int, ...]:
    beyond = [number for number in wanted.pages if not 1 <= number <= count]
    if beyond:
        raise ImageError(f"{name}: there is no page {beyond[0]}; the pages are 1 to {count}.")
    return wanted.pages or tuple(range(1, count + 1))


def _default_model(task: Task) -> str:
    """Return the model that reads for a task when none is named."""
    if task.default_model in checkpoints.embedded_names():
        return task.default_model
    known = [name for name, config in PRESETS.items() if config.task == task.name and config.kind == "text"]
    such = f", such as {known[0]}" if known else ""
    raise ConfigError(f"unrender has no model of its own for the task {task.name}; give one with --model{such}.")
