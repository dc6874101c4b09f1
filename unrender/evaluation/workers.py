"""Readers in processes of their own, one for each core: the same documents in the same order, sooner."""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from types import TracebackType
from typing import TypeVar

from unrender import tasks
from unrender.documents import Document
from unrender.engines.sessions import count_cores
from unrender.errors import UnrenderError
from unrender.reading.options import Input, Options
from unrender.reading.reader import Reader
from unrender.tasks import Task

_AHEAD = 2  # pieces of work that wait for each process
_BATCHES = 2  # in one piece of work, at most
_THREADS = 1  # of each reader
_T = TypeVar("_T")


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
