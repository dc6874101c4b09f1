"""Reader: from a file to a Document; the only place that joins images, engine, decoding, tokens and task."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender import checkpoints, tasks
from unrender.decoding.search import Constraint, Decoded, Engine, Ids
from unrender.documents import Block, Document, Page, Status
from unrender.engines.continuous import JoinableEngine, decode_continuously
from unrender.engines.opening import NoDecoder, open_engine
from unrender.errors import ConfigError, ImageError, ModelError, UnrenderError
from unrender.images.opening import Placement, Source, is_blank, open_pages
from unrender.models.config import ModelConfig
from unrender.models.layoutlmv2 import PageModelConfig
from unrender.reading.grid import Grid
from unrender.reading.labels import PDF_DPI, PageWork, Sheet
from unrender.reading.options import DEFAULTS, Input, Options
from unrender.reading.text import Look, Sight, grammar_of
from unrender.tasks import Task
from unrender.tokens import BpeTokenizer, Tokenizer, open_tokenizer

Listener = Callable[[int, str], None]  # (page number, its text so far)


class Reader:
    """A loaded model and its task; reads any number of sources.

    With `pages`, pages are read by labelling their words; engine and tokenizer are then of no use.
    """

    def __init__(
        self,
        config: ModelConfig | PageModelConfig,
        engine: Engine,
        tokenizer: Tokenizer,
        task: Task,
        name: str = "",
        *,
        pages: PageWork | None = None,
    ) -> None:
        self.config = config
        self.pages = pages
        self.engine = engine
        self.tokenizer = tokenizer
        self.task = task
        self.name = name or config.name

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
        name = model or (wanted.name if wanted else tasks.DEFAULT)
        labels = checkpoints.find_pages(name)
        if labels is not None:
            return cls._open_pages(labels, wanted, engine, str(name), threads)
        loaded = checkpoints.load(name)
        tokenizer = open_tokenizer(loaded.folder, loaded.config)
        return cls(
            loaded.config,
            open_engine(loaded, engine, threads),
            tokenizer,
            wanted or tasks.find(loaded.config.task),
            str(name),
        )

    @classmethod
    def _open_pages(
        cls,
        loaded: checkpoints.LoadedPages,
        wanted: Task | None,
        engine: str | None,
        name: str,
        threads: int | None,
    ) -> "Reader":
        task = wanted or tasks.find(loaded.config.task)
        if task.name != loaded.config.task:
            raise ModelError(f"{name} reads {loaded.config.task}, not {task.name}; give another --model.")
        pages = PageWork.open(loaded, engine, threads)
        tokenizer = BpeTokenizer(loaded.folder / "tokenizer.json")
        return cls(loaded.config, NoDecoder(loaded.config.name), tokenizer, task, name, pages=pages)

    @property
    def dpi(self) -> int:
        """How finely pages of a PDF are drawn."""
        return self.config.image.dpi if self.pages is None else PDF_DPI

    @property
    def beams(self) -> int:
        """How wide the search is unless the caller says otherwise."""
        return self._system.generation.beams if self.pages is None else 1

    @property
    def _system(self) -> ModelConfig:
        assert isinstance(self.config, ModelConfig), "a model that labels words decodes nothing"
        return self.config

    def read(
        self, source: Source | Input, options: Options = DEFAULTS, *, listener: Listener | None = None
    ) -> Document:
        """Read one source; an ImageError if none of its pages can be read.

        A page that cannot be read beside others that can is in the Document, with status `failed`.
        """
        [document] = self._read_all([source], batch=1, options=options, listener=listener)
        if all(page.status.kind == "failed" for page in document.pages):
            raise ImageError(document.status.reason)
        return document

    def read_many(
        self,
        sources: Iterable[Source | Input],
        *,
        batch: int = 8,
        options: Options = DEFAULTS,
        in_order: bool = True,
    ) -> Iterator[Document]:
        """Yield one Document for each source; a source that cannot be read gives status `failed`.

        Up to `batch` pages are read together, whichever source they are from; with ONNX the next page enters as soon
        as one is finished. Documents come in the order of the sources or, not `in_order`, as they are completed.
        """
        if batch < 1:
            raise ConfigError(f"batch must be at least 1, got {batch}")
        if batch > 1 and self.pages is None and isinstance(self.engine, JoinableEngine):
            return self._read_continuously(self.engine, sources, batch, options, in_order)
        return self._read_all(sources, batch=batch, options=options, listener=None)

    def _read_continuously(
        self, engine: JoinableEngine, sources: Iterable[Source | Input], batch: int, options: Options, in_order: bool
    ) -> Iterator[Document]:
        sight = self._sight(options)
        waiting: list[_Pending] = []
        reading: dict[int, tuple[_Job, Grid, Placement]] = {}
        numbers = count()

        def images() -> Iterator[NDArray[np.float32]]:
            for source in sources:
                waiting.append(_Pending(_as_input(source)))
                for job in self._jobs(waiting[-1]):
                    pixels, placement = sight.view(job.image)
                    reading[next(numbers)] = job, sight.grid(pixels), placement
                    yield pixels

        for number, decoded in decode_continuously(
            engine, images(), sight.prompt, images_at_once=batch, new_path=sight.new_path()
        ):
            job, grid, placement = reading.pop(number)
            self._settle(job, sight, Look(decoded, grid, placement))
            yield from self._completed(waiting, in_order)
        yield from self._completed(waiting, in_order)

    def _completed(self, waiting: "list[_Pending]", in_order: bool) -> Iterator[Document]:
        """Take what is completed off the list: as far as it goes in order, or wherever it stands."""
        while done := [pending for pending in (waiting[:1] if in_order else waiting) if pending.done]:
            for pending in done:
                waiting.remove(pending)
                yield self._document(pending)

    def _read_all(
        self, sources: Iterable[Source | Input], *, batch: int, options: Options, listener: Listener | None
    ) -> Iterator[Document]:
        work = self._worker(options, listener)
        waiting: list[_Pending] = []
        queue: list[_Job] = []
        for source in sources:
            pending = _Pending(_as_input(source))
            waiting.append(pending)
            for job in self._jobs(pending):
                queue.append(job)
                if len(queue) == batch:
                    work(queue)
                    queue = []
            while waiting and waiting[0].done:
                yield self._document(waiting.pop(0))
        if queue:
            work(queue)
        for pending in waiting:
            yield self._document(pending)

    def _jobs(self, pending: "_Pending") -> Iterator["_Job"]:
        """Open the pages of a source: what shows something becomes a job, the rest is settled at once."""
        try:
            pages = open_pages(pending.input.source, self.dpi, pending.input.name)
            numbers = _page_numbers(pending.input, len(pages), pages.name)
        except UnrenderError as error:
            pending.pages.append(_failed(1, error))
            return
        pending.name = pages.name
        pending.pages.extend(None for _ in numbers)
        for slot, number in enumerate(numbers):
            try:
                image = pages[number - 1]
            except UnrenderError as error:
                pending.pages[slot] = _failed(number, error)
                continue
            if is_blank(image):
                pending.pages[slot] = _page(number, image, Status("empty"))
            else:
                yield _Job(pending, slot, number, image)

    def _worker(self, options: Options, listener: Listener | None) -> "Callable[[Sequence[_Job]], None]":
        """Return who reads a batch of images and puts the pages where they belong."""
        if self.pages is not None:
            return partial(_label, self.pages, options)
        sight = self._sight(options)

        def work(queue: Sequence[_Job]) -> None:
            views = [sight.view(job.image) for job in queue]
            looks = sight.look(views, _page_listener(queue, self.tokenizer, listener))
            for job, look in zip(queue, looks, strict=True):
                self._settle(job, sight, look)

        return work

    def _settle(self, job: "_Job", sight: Sight, first: Look) -> None:
        """Put a page that was read where it belongs, after other looks at it if the first one left doubts."""
        look = sight.reconsider(job.image, first)
        blocks = sight.blocks(look, self.task)
        job.pending.pages[job.slot] = _page(job.number, job.image, _status(look.decoded), blocks)

    def _sight(self, options: Options) -> Sight:
        return Sight(self._system, self.engine, self.tokenizer, self._grammar, self._prompt(options), options)

    @cached_property
    def _grammar(self) -> Constraint | None:
        return grammar_of(self._system, self.tokenizer)

    def _prompt(self, options: Options) -> Ids:
        """Return the (P,) tokens to begin with: the task's own prompt where the model knows its tags."""
        if options.words is not None:
            raise ConfigError(f"{self.name} looks at the picture alone; words are for models that label them.")
        text = self.task.prompt_text(options.question)
        if text and all(self.tokenizer.find(tag) is not None for tag in self.task.tags):
            return np.array(self.tokenizer.encode(text), dtype=np.int64)
        if self.task.name != self.config.task:
            raise ModelError(f"{self.name} reads {self.config.task}, not {self.task.name}; give another --model.")
        return np.array(self._system.generation.start, dtype=np.int64)

    def _document(self, pending: "_Pending") -> Document:
        pages = tuple(page for page in pending.pages if page is not None)
        return Document(pages=pages, source=pending.name, model=self.name, task=self.task.name)


@dataclass(eq=False)
class _Pending:
    """A source on its way: its pages, None while they wait for a batch."""

    input: Input
    name: str = ""
    pages: list[Page | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        source = self.input.source
        self.name = self.input.name or (str(source) if isinstance(source, str | Path) else "image")

    @property
    def done(self) -> bool:
        return all(page is not None for page in self.pages)


@dataclass(frozen=True)
class _Job:
    """One image to read, and where its page goes."""

    pending: _Pending
    slot: int
    number: int
    image: Image.Image


def _label(pages: PageWork, options: Options, queue: Sequence[_Job]) -> None:
    """Read pages by their words; what is wrong with those of one page is said of it alone."""
    for job in queue:
        try:
            words = job.pending.input.words or options.words
            sheet = Sheet(job.image, job.pending.input.source, job.number, words, options.calibrated)
            status, blocks = pages.read(sheet)
        except UnrenderError as error:
            page = _failed(job.number, error)
        else:
            page = _page(job.number, job.image, status, blocks)
        job.pending.pages[job.slot] = page


def _as_input(source: Source | Input) -> Input:
    return source if isinstance(source, Input) else Input(source)


def _page_numbers(wanted: Input, count: int, name: str) -> tuple[int, ...]:
    beyond = [number for number in wanted.pages if not 1 <= number <= count]
    if beyond:
        raise ImageError(f"{name}: there is no page {beyond[0]}; the pages are 1 to {count}.")
    return wanted.pages or tuple(range(1, count + 1))


def _page(number: int, image: Image.Image, status: Status, blocks: tuple[Block, ...] = ()) -> Page:
    return Page(number=number, width=image.width, height=image.height, blocks=blocks, status=status)


def _failed(number: int, error: UnrenderError) -> Page:
    return Page(number=number, width=0, height=0, status=Status("failed", reason=str(error)))


def _status(decoded: Decoded) -> Status:
    if decoded.complete and not decoded.tokens:
        return Status("empty")
    return Status(decoded.status, decoded.cut)


def _page_listener(
    queue: Sequence[_Job], tokenizer: Tokenizer, listener: Listener | None
) -> Callable[[int, int], None] | None:
    if listener is None:
        return None
    taken: list[list[int]] = [[] for _ in queue]

    def hear(row: int, token: int) -> None:
        taken[row].append(token)
        listener(queue[row].number, tokenizer.decode(taken[row]))

    return hear
