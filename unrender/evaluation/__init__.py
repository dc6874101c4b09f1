"""Measure a reader on a dataset: every picture is read as a user would read it, and compared with its truth."""

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from types import TracebackType
from typing import Literal, Protocol, TypeVar

import numpy as np

from unrender import tasks
from unrender.documents import Document, StatusKind
from unrender.engines.sessions import count_cores
from unrender.errors import ConfigError, UnrenderError
from unrender.evaluation.datasets import Dataset
from unrender.evaluation.scoring import Case, Comparison, check_typesetting, choose_scoring, measure_seen
from unrender.metrics import Interval, Measure
from unrender.reading.reader import Reader
from unrender.reading.systems import DEFAULTS, Input, Options
from unrender.tasks import Task

Words = Literal["given", "ocr"]
Progress = Callable[[Iterable[Case], int], Iterable[Case]]
_DIGITS = 6
_BATCH = 8
_AHEAD = 2  # pieces of work that wait for each process
_BATCHES = 2  # in one piece of work, at most
_THREADS = 1  # of each reader
_T = TypeVar("_T")


class Reads(Protocol):
    """Whatever reads many sources: a Reader, or several of them in processes of their own."""

    @property
    def name(self) -> str: ...
    @property
    def task(self) -> Task: ...
    @property
    def beams(self) -> int: ...
    def read_many(self, sources: Iterable[Input], *, batch: int, options: Options) -> Iterator[Document]: ...


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A reader's results on a dataset, in the order of the dataset."""

    model: str
    task: str
    dataset: Dataset
    comparison: Comparison
    beams: int
    cases: tuple[Case, ...]
    measures: Mapping[str, Measure]
    seconds_per_image: float
    words: Words | None = None  # where those of labelling models came from

    def summary(self) -> dict[str, float | int | str]:
        """Return every figure by name, flat: what `--json` prints."""
        values: dict[str, float | int | str] = {} if self.words is None else {"words": self.words}
        values |= {name: round(float(found), _DIGITS) for name, found in self.measures.items()}
        values |= {"n": len(self.cases), "seconds_per_image": round(self.seconds_per_image, _DIGITS)}
        written = sum(len(case.text) for case in self.cases) / max(1, len(self.cases))
        return values | {"characters_per_second": round(written / max(1e-9, self.seconds_per_image), 1)}

    def intervals(self, rng: np.random.Generator) -> dict[str, Interval]:
        """Return the 95 % bootstrap interval of each measure."""
        return {name: found.interval(rng) for name, found in self.measures.items()}

    def statuses(self) -> Counter[StatusKind]:
        """Count how the readings ended."""
        return Counter(case.status for case in self.cases)


def evaluate(
    reader: Reads,
    dataset: Dataset,
    *,
    options: Options = DEFAULTS,
    comparison: Comparison | None = None,
    words: Words = "given",
    seen: bool = False,
    progress: Progress = lambda cases, _: cases,
) -> Evaluation:
    """Read all pictures of a dataset and compute the metrics of the reader's task.

    `words` says what a labelling model reads: the words that come with the dataset, or those OCR finds. With `seen`,
    formulas are also typeset and compared glyph by glyph. `progress` may watch the cases go by; it must pass them on. A
    picture that cannot be read counts as read empty.
    """
    if seen:
        check_typesetting(reader.task, reader.name)
    scoring = choose_scoring(reader.task, dataset, comparison, reader.name)
    order = sorted(range(len(dataset)), key=lambda index: -len(dataset.examples[index].target))
    ordered = [dataset.examples[index] for index in order]  # alike lengths share a batch; the results are the same
    given = words == "given"
    inputs = (Input(example.image, example.name, words=example.words if given else None) for example in ordered)
    documents = reader.read_many(inputs, batch=_BATCH, options=options)
    began = time.perf_counter()
    cases = (scoring.case(example, document) for example, document in zip(ordered, documents, strict=True))
    watched = list(progress(cases, len(ordered)))
    seconds = time.perf_counter() - began
    by_index = dict(zip(order, watched, strict=True))
    in_order = tuple(by_index[index] for index in range(len(dataset)))
    measures = scoring.measures(in_order)
    return Evaluation(
        model=reader.name,
        task=reader.task.name,
        dataset=dataset,
        comparison=scoring.comparison,
        beams=options.beams or reader.beams,
        cases=in_order,
        measures={**measures, **(measure_seen(in_order, scoring.comparison) if seen else {})},
        seconds_per_image=seconds / max(1, len(in_order)),
        words=words if any(example.words for example in dataset) else None,
    )


def find_words(name: str) -> Words:
    """Return where words come from, by name."""
    known: dict[str, Words] = {"given": "given", "ocr": "ocr"}
    if name in known:
        return known[name]
    raise ConfigError(f"The words are given or found by ocr, not {name}.")


def describe(evaluation: Evaluation, intervals: Mapping[str, Interval]) -> str:
    """Write the figures as a table, each measure with its interval."""
    lines = []
    for name, value in evaluation.summary().items():
        shown = f"{value:>10.4f}" if isinstance(value, float) else f"{value:>10}"
        interval = f"  ({intervals[name].low:.4f} to {intervals[name].high:.4f})" if name in intervals else ""
        lines.append(f"{name:<24}{shown}{interval}")
    return "\n".join(lines)


@contextmanager
def open_readers(
    model: str, *, engine: str | None = None, workers: int | None = None, pictures: int
) -> Iterator["Reader | Workers"]:
    """Open a model as often as is useful: one process for each core and picture, or this one alone."""
    wanted = min(workers or count_cores(), pictures)
    if wanted <= 1:
        yield Reader.open(model, engine=engine)
        return
    with Workers(model, engine=engine, workers=wanted, pictures=pictures) as readers:
        yield readers


class Workers:
    """Several readers of one model behind the face of one; a context, which ends the processes."""

    def __init__(self, model: str, *, engine: str | None = None, workers: int, pictures: int) -> None:
        self.workers = max(1, min(workers, pictures))
        self._fair = -(-pictures // (_AHEAD * self.workers))  # so that all have something to do
        self._pool = ProcessPoolExecutor(
            self.workers, mp_context=get_context("spawn"), initializer=_open, initargs=(model, engine)
        )

    def __enter__(self) -> "Workers":
        self.name, task, self.beams = self._result(self._pool.submit(_describe))
        self.task: Task = tasks.find(task)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def read_many(self, sources: Iterable[Input], *, batch: int, options: Options) -> Iterator[Document]:
        """Yield one Document for each source, in their order."""
        waiting: deque[Future[list[Document]]] = deque()
        remaining = iter(sources)
        size = max(1, min(_BATCHES * batch, self._fair))
        while piece := list(islice(remaining, size)):
            waiting.append(self._pool.submit(_read, piece, batch, options))
            if len(waiting) > _AHEAD * self.workers:
                yield from self._result(waiting.popleft())
        while waiting:
            yield from self._result(waiting.popleft())

    def _result(self, future: Future[_T]) -> _T:
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise UnrenderError(
                "A reading process ended before its work was done, perhaps for lack of memory; try --workers 1."
            ) from error


_opened: list[Reader | UnrenderError] = []  # this process's one reader, or why there is none


def _open(model: str, engine: str | None) -> None:
    os.environ["OMP_NUM_THREADS"] = str(_THREADS)  # for torch, which is not loaded yet
    try:
        _opened.append(Reader.open(model, engine=engine, threads=_THREADS))
    except UnrenderError as error:  # to be said where somebody listens
        _opened.append(error)


def _reader() -> Reader:
    [found] = _opened
    if isinstance(found, UnrenderError):
        raise found
    return found


def _describe() -> tuple[str, str, int]:
    reader = _reader()
    return reader.name, reader.task.name, reader.beams


def _read(piece: Sequence[Input], batch: int, options: Options) -> list[Document]:
    return list(_reader().read_many(piece, batch=batch, options=options))
