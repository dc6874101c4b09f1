"""Reader: from a file to a Document; the only place that joins images, engine, decoding, tokens and task."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender import checkpoints, tasks
from unrender.calibration import confidence_of
from unrender.consensus import rank_readings
from unrender.decoding import (
    ALTERNATIVES,
    BeamRow,
    Constraint,
    Decoded,
    DecoderRun,
    Engine,
    GreedyRow,
    Ids,
    Rules,
    beam,
    greedy,
)
from unrender.documents import Alternative, Block, Document, Page, Reading, Status, Token
from unrender.engines.continuous import JoinableEngine, decode_continuously
from unrender.errors import ConfigError, ImageError, MissingExtraError, ModelError, UnrenderError
from unrender.images import Placement, Source, is_blank, open_pages, place, stack
from unrender.latex.grammar import Grammar
from unrender.models.config import ModelConfig
from unrender.models.layoutlmv2 import PageModelConfig
from unrender.page_work import PDF_DPI, PageWork, Sheet
from unrender.places import Grid, grid_of
from unrender.repetition import Guard
from unrender.tasks import Task
from unrender.tokens import BpeTokenizer, LatexTokenizer, Tokenizer, open_tokenizer

EngineName = Literal["onnx", "torch"]
Listener = Callable[[int, str], None]  # (page number, its text so far)

_WATCHED_LAYERS = 1  # decoder layers, from the last, whose attention tells where a token was seen


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a caller may choose for a read; None leaves it to the model."""

    beams: int | None = None
    max_tokens: int | None = None
    n_best: int = 1
    question: str = ""  # for tasks whose prompt asks one
    words: str | Path | None = None  # a JSON, hOCR or ALTO file with the words, for models that label them

    def __post_init__(self) -> None:
        for name in ("beams", "max_tokens", "n_best"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be at least 1, got {value}")


DEFAULTS = Options()


@dataclass(frozen=True)
class Input:
    """A source with the name it goes by and the pages wanted (from 1; none given: all)."""

    source: Source
    name: str = ""
    pages: tuple[int, ...] = ()


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
        self._constraint = _constraint(config, tokenizer)

    @classmethod
    def open(cls, model: str | Path | None = None, *, task: str | None = None, engine: str | None = None) -> "Reader":
        """Load a model by name or folder; without one, the default model of the task (formulas)."""
        wanted = tasks.find(task) if task else None
        name = model or (wanted.name if wanted else tasks.DEFAULT)
        labels = checkpoints.find_pages(name)
        if labels is not None:
            return cls._open_pages(labels, wanted, engine, str(name))
        loaded = checkpoints.load(name)
        tokenizer = open_tokenizer(loaded.folder, loaded.config)
        return cls(
            loaded.config,
            _open_engine(loaded, engine),
            tokenizer,
            wanted or tasks.find(loaded.config.task),
            str(name),
        )

    @classmethod
    def _open_pages(
        cls, loaded: checkpoints.LoadedPages, wanted: Task | None, engine: str | None, name: str
    ) -> "Reader":
        task = wanted or tasks.find(loaded.config.task)
        if task.name != loaded.config.task:
            raise ModelError(f"{name} reads {loaded.config.task}, not {task.name}; give another --model.")
        pages = PageWork.open(loaded, engine)
        tokenizer = BpeTokenizer(loaded.folder / "tokenizer.json")
        return cls(loaded.config, _NoDecoder(loaded.config.name), tokenizer, task, name, pages=pages)

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
        prompt = self._prompt(options)
        waiting: list[_Pending] = []
        reading: dict[int, tuple[_Job, Grid, Placement]] = {}
        numbers = count()

        def images() -> Iterator[NDArray[np.float32]]:
            for source in sources:
                waiting.append(_Pending(_as_input(source)))
                for job in self._jobs(waiting[-1]):
                    pixels, placement = place(job.image, self.config.image)
                    reading[next(numbers)] = job, grid_of(self._system.encoder, *pixels.shape[1:]), placement
                    yield pixels

        for number, decoded in decode_continuously(
            engine, images(), prompt, images_at_once=batch, new_path=self._new_path(prompt, options)
        ):
            job, grid, placement = reading.pop(number)
            self._settle(job, _Look(decoded, grid, placement), options)
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
        prompt = self._prompt(options)
        waiting: list[_Pending] = []
        queue: list[_Job] = []
        for source in sources:
            pending = _Pending(_as_input(source))
            waiting.append(pending)
            for job in self._jobs(pending):
                queue.append(job)
                if len(queue) == batch:
                    self._work(queue, prompt, options, listener)
                    queue = []
            while waiting and waiting[0].done:
                yield self._document(waiting.pop(0))
        if queue:
            self._work(queue, prompt, options, listener)
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

    def _work(self, queue: Sequence["_Job"], prompt: Ids, options: Options, listener: Listener | None) -> None:
        """Read one batch of images and put the pages where they belong."""
        if self.pages is not None:
            for job in queue:
                job.pending.pages[job.slot] = _labelled(self.pages, job, options)
            return
        views = [place(job.image, self.config.image) for job in queue]
        looks = self._look(views, prompt, options, _page_listener(queue, self.tokenizer, listener))
        for job, look in zip(queue, looks, strict=True):
            self._settle(job, look, options)

    def _settle(self, job: "_Job", look: "_Look", options: Options) -> None:
        """Put a page that was read where it belongs, after other looks at it if the first one left doubts."""
        settings = self._system.generation
        if settings.second_looks and look.decoded.sureness < settings.sure:
            look = self._look_again(job.image, look, options)
        blocks = self._blocks(look, options)
        job.pending.pages[job.slot] = _page(job.number, job.image, _status(look.decoded), blocks)

    def _look_again(self, image: Image.Image, first: "_Look", options: Options) -> "_Look":
        """Read a picture at other sizes too; return the reading that all of them together make likeliest."""
        views = [place(image, replace(self._system.image, zoom=zoom)) for zoom in self._system.generation.second_looks]
        looks = [first, *self._look(views, self._prompt(options), options, None)]
        found = [replace(look, decoded=one) for look in looks for one in (look.decoded, *look.decoded.runners_up)]
        best, *rest = rank_readings([look.decoded for look in found])
        others = tuple(found[place].decoded for place in rest)
        return replace(found[best], decoded=replace(found[best].decoded, runners_up=others))

    def _look(
        self,
        views: Sequence[tuple[NDArray[np.float32], Placement]],
        prompt: Ids,
        options: Options,
        listener: Callable[[int, int], None] | None,
    ) -> "list[_Look]":
        """Read prepared pictures together."""
        pixels, sizes = stack([values for values, _ in views], self.config.image)
        grid = grid_of(self._system.encoder, *pixels.shape[2:])
        results = self._decode(pixels, sizes, prompt, options, listener)
        return [_Look(decoded, grid, placement) for decoded, (_, placement) in zip(results, views, strict=True)]

    def _decode(
        self,
        pixels: NDArray[np.float32],
        sizes: Ids | None,
        prompt: Ids,
        options: Options,
        listener: Callable[[int, int], None] | None,
    ) -> list[Decoded]:
        settings = self._system.generation
        beams, max_tokens = self._limits(prompt, options)
        prompts = np.tile(prompt, (len(pixels), 1))
        run = self.engine.start(pixels, sizes)
        if beams > 1:
            return beam(
                run,
                prompts,
                beams=beams,
                end=settings.end,
                max_tokens=max_tokens,
                length_penalty=settings.length_penalty,
                early_stopping=settings.early_stopping,
                forbidden=settings.forbidden,
                constraint=self._constraint,
            )
        guard = Guard() if settings.repetition_guard else None
        return greedy(
            run,
            prompts,
            end=settings.end,
            max_tokens=max_tokens,
            forbidden=settings.forbidden,
            constraint=self._constraint,
            guard=guard,
            listener=listener,
        )

    def _new_path(self, prompt: Ids, options: Options) -> Callable[[], GreedyRow | BeamRow]:
        """Say how each of many pages is decoded: as `_decode` would."""
        settings = self._system.generation
        beams, max_tokens = self._limits(prompt, options)
        rules = Rules(settings.end, max_tokens, settings.forbidden, self._constraint, ALTERNATIVES)
        if beams > 1:
            return lambda: BeamRow(rules, beams, settings.length_penalty, settings.early_stopping)
        guard = Guard() if settings.repetition_guard else None
        return lambda: GreedyRow(rules, guard)

    def _limits(self, prompt: Ids, options: Options) -> tuple[int, int]:
        """Return how wide and how far to search."""
        settings = self._system.generation
        room = self._system.decoder.max_positions - len(prompt)
        max_tokens = max(1, min(options.max_tokens or settings.max_tokens, room))
        return max(options.beams or settings.beams, options.n_best), max_tokens

    def _prompt(self, options: Options) -> Ids:
        """Return the (P,) tokens to begin with: the task's own prompt where the model knows its tags."""
        if self.pages is not None:
            return np.zeros(0, dtype=np.int64)
        if options.words is not None:
            raise ConfigError(f"{self.name} looks at the picture alone; words are for models that label them.")
        text = self.task.prompt_text(options.question)
        if text and all(self.tokenizer.find(tag) is not None for tag in self.task.tags):
            return np.array(self.tokenizer.encode(text), dtype=np.int64)
        if self.task.name != self.config.task:
            raise ModelError(f"{self.name} reads {self.config.task}, not {self.task.name}; give another --model.")
        return np.array(self._system.generation.start, dtype=np.int64)

    def _blocks(self, look: "_Look", options: Options) -> tuple[Block, ...]:
        decoded = look.decoded
        text = self.tokenizer.decode(decoded.tokens)
        blocks = self.task.parse(text)
        if len(blocks) != 1:
            return blocks
        best = (decoded, *decoded.runners_up)[: options.n_best] if options.n_best > 1 else ()
        whole = replace(
            blocks[0],
            tokens=tuple(self._tokens(look)),
            confidence=self._confidence(decoded),
            readings=tuple(Reading(self.tokenizer.decode(one.tokens), self._confidence(one)) for one in best),
        )
        return (whole,)

    def _confidence(self, decoded: Decoded) -> float:
        """Return how likely the whole text is right: its probability, its end included, calibrated."""
        return confidence_of(sum(decoded.log_probabilities) + decoded.end_log_probability, self._system.calibration)

    def _tokens(self, look: "_Look") -> Iterator[Token]:
        decoded = look.decoded
        for index, (token, log) in enumerate(zip(decoded.tokens, decoded.log_probabilities, strict=True)):
            others = decoded.alternatives[index] if decoded.alternatives else ()
            yield Token(
                self.tokenizer.piece(token),
                math.exp(log),
                tuple(Alternative(self.tokenizer.piece(other.token), other.probability) for other in others),
                look.grid.locate(decoded.attention[index], look.placement) if decoded.attention else None,
            )

    def _document(self, pending: "_Pending") -> Document:
        pages = tuple(page for page in pending.pages if page is not None)
        return Document(pages=pages, source=pending.name, model=self.name, task=self.task.name)


@dataclass(frozen=True)
class _Look:
    """What was read in one view of a picture, and what ties the view's cells to the picture."""

    decoded: Decoded
    grid: Grid
    placement: Placement


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


class _NoDecoder:
    """Stands where an engine would: a model that labels words writes no text."""

    def __init__(self, name: str) -> None:
        self._name = name

    def start(self, pixels: NDArray[np.float32], sizes: Ids | None = None) -> DecoderRun:
        raise ModelError(f"{self._name} labels words and writes no text")


def _labelled(pages: PageWork, job: _Job, options: Options) -> Page:
    """Read one page by its words; what is wrong with them is said of this page alone."""
    try:
        status, blocks = pages.read(Sheet(job.image, job.pending.input.source, job.number, options.words))
    except UnrenderError as error:
        return _failed(job.number, error)
    return _page(job.number, job.image, status, blocks)


def _open_engine(loaded: checkpoints.Loaded, wanted: str | None) -> Engine:
    """Take ONNX where the folder has its graphs, torch otherwise, unless one is asked for."""
    if wanted not in (None, "onnx", "torch"):
        raise ConfigError(f"There is no engine called {wanted}; choose onnx or torch.")
    if wanted == "onnx" and not loaded.exported:
        raise ModelError(
            f"{loaded.folder} has no ONNX graphs; make them with `unrender export`, or take --engine torch."
        )
    if loaded.exported and wanted != "torch":
        from unrender.engines.onnx_engine import OnnxEngine

        return OnnxEngine(loaded.folder)
    try:
        from unrender.engines.torch_engine import open_engine
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{loaded.config.name} has no ONNX graphs, so reading it needs torch: pip install 'unrender[train]'"
        ) from error
    return open_engine(loaded, watch=_WATCHED_LAYERS)


def _as_input(source: Source | Input) -> Input:
    return source if isinstance(source, Input) else Input(source)


def _page_numbers(wanted: Input, count: int, name: str) -> tuple[int, ...]:
    beyond = [number for number in wanted.pages if not 1 <= number <= count]
    if beyond:
        raise ImageError(f"{name}: there is no page {beyond[0]}; the pages are 1 to {count}.")
    return wanted.pages or tuple(range(1, count + 1))


def _page(number: int, image: Image.Image, status: Status, blocks: tuple[Block, ...] = ()) -> Page:
    return Page(number=number, width=image.width, height=image.height, blocks=blocks, status=status)


def _constraint(config: ModelConfig | PageModelConfig, tokenizer: Tokenizer) -> Constraint | None:
    """Return what keeps a model to its grammar, where it has one."""
    if isinstance(config, ModelConfig) and config.generation.well_formed and isinstance(tokenizer, LatexTokenizer):
        return Grammar(tokenizer.tokens, config.generation.end, config.generation.max_tokens)
    return None


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
