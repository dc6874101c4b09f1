"""Who reads: one reader in each process, a local one or an actor of Ray; both do the same work."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Protocol, TypeAlias

from unrender.bulk.plan import Plan, version_of
from unrender.bulk.shards import Row, Storage, Tally, connect, count, encode, is_remote, make_rows, read_remote
from unrender.documents import Document
from unrender.errors import ImageError, MissingExtraError, ModelError, UnrenderError
from unrender.reading.reader import Reader
from unrender.reading.systems import BATCH, Input, Options, failed_page

_THREADS = 1  # of each reader: there is one for each core


@dataclass(frozen=True)
class Piece:
    """Files to read: a chunk that becomes its shard, or (no number) files whose rows are wanted back."""

    files: tuple[str, ...]
    number: int | None = None


@dataclass(frozen=True)
class Trouble:
    """Why a piece was not done; when it is `final`, no other piece could be either."""

    reason: str
    final: bool = False


Reply: TypeAlias = "Tally | list[Row] | Trouble"


class ManyReader(Protocol):
    """The part of a Reader that is needed here."""

    def read_many(
        self, sources: Iterable[Input], *, batch: int = BATCH, options: Options = ...
    ) -> Iterator[Document]: ...


Factory: TypeAlias = Callable[[Plan], ManyReader]


class Worker(Protocol):
    """A process that reads; `start` may be called again when it has died."""

    def start(self) -> None: ...
    def ask(self, piece: Piece) -> Reply:
        """Wait for a piece of work; WorkerDiedError if the process did not survive it."""
        ...

    def end(self) -> None: ...


class WorkerDiedError(Exception):
    """A process ended while it worked."""


def open_reader(plan: Plan) -> Reader:
    """Open the model of a plan and make sure that it is still the same."""
    if version_of(plan.model) != plan.version:
        raise ModelError(f"{plan.model} is not {plan.version} any more, with which {plan.out} was begun; use that one.")
    command = plan.command
    return Reader.open(plan.model, task=command.task, engine=command.engine, threads=_THREADS)


class Workplace:
    """What is in the process: one reader, opened with the first piece, and where results go."""

    def __init__(self, plan: Plan, factory: Factory) -> None:
        self._plan, self._factory = plan, factory
        self._reader: ManyReader | None = None

    def work(self, piece: Piece) -> Reply:
        """Do a piece of work; nothing is raised, because an error has to cross to another process."""
        try:
            self._reader = self._reader or self._factory(self._plan)
            storage = Storage(self._plan.out)
        except UnrenderError as error:
            return Trouble(str(error), final=True)
        try:
            rows = list(self._read(self._reader, piece))
        except Exception as error:  # noqa: BLE001 - whatever a file can cause must cost that file only
            return Trouble(f"{type(error).__name__}: {error}")
        if piece.number is None:
            return rows
        try:
            storage.write(self._plan.shard(piece.number), encode(rows, self._plan.shards))
        except UnrenderError as error:
            return Trouble(str(error), final=True)
        return count(rows)

    def _read(self, reader: ManyReader, piece: Piece) -> Iterator[Row]:
        command = self._plan.command
        options = Options(beams=command.beams, max_tokens=command.max_tokens)
        begun = time.perf_counter()
        batch = BATCH if piece.number is not None else 1
        unreached = dict[str, str]()
        inputs = (_fetch(file, unreached) for file in piece.files)
        documents = reader.read_many(inputs, batch=batch, options=options)
        for file, document in zip(piece.files, documents, strict=True):
            ended = time.perf_counter()
            if file in unreached:
                yield from failed_rows(self._plan, file, unreached[file])
            else:
                yield from make_rows(document, file, self._plan.notation, self._plan.version, ended - begun)
            begun = ended


def failed_rows(plan: Plan, file: str, reason: str) -> list[Row]:
    """Return what is kept of a file that cannot be read."""
    document = Document(pages=(failed_page(1, ImageError(f"{file}: {reason}")),), model=plan.model)
    return make_rows(document, file, plan.notation, plan.version, 0.0)


class LocalWorker:
    """A process on this machine."""

    def __init__(self, plan: Plan, factory: Factory) -> None:
        self._plan, self._factory = plan, factory
        self._process: SpawnProcess | None = None

    def start(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._plan, self._factory), daemon=True)
        self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe

    def ask(self, piece: Piece) -> Reply:
        try:
            self._pipe.send(piece)
            reply: Reply = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise WorkerDiedError(f"the process that read it died ({self._bury()})") from error
        return reply

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def _bury(self) -> str:
        assert self._process is not None
        self._pipe.close()
        self._process.join()
        return f"exit code {self._process.exitcode}"


class RayWorker:
    """An actor somewhere in a Ray cluster, with a core of its own."""

    def __init__(self, plan: Plan, factory: Factory) -> None:
        self._plan, self._factory = plan, factory

    def start(self) -> None:
        import ray

        self._actor = ray.remote(num_cpus=1)(Workplace).remote(self._plan, self._factory)

    def ask(self, piece: Piece) -> Reply:
        import ray
        from ray.exceptions import RayError

        try:
            reply: Reply = ray.get(self._actor.work.remote(piece))
        except RayError as error:
            raise WorkerDiedError(f"the actor that read it died ({type(error).__name__})") from error
        return reply

    def end(self) -> None:
        import ray

        with suppress(Exception):  # Ray may be gone
            ray.kill(self._actor)


def join_cluster(address: str, workers: int | None) -> int:
    """Connect to a Ray cluster, or start one here (`local`); return how many workers it has room for."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves the machine unasked
    os.environ.setdefault("RAY_worker_niceness", "0")  # of a cluster started here: its workers are all the work
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtraError("--ray needs Ray; install it with: pip install 'unrender[ray]'") from error
    try:
        ray.init(
            address=address,
            num_cpus=workers if address == "local" else None,
            ignore_reinit_error=True,  # a caller may have joined already
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise UnrenderError(f"There is no Ray cluster at {address!r} ({reason}); --ray local starts one.") from error
    return workers or max(1, int(ray.cluster_resources().get("CPU", 1)))


def _serve(pipe: Connection, plan: Plan, factory: Factory) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    os.environ["OMP_NUM_THREADS"] = str(_THREADS)  # for torch, which is not loaded yet
    workplace = Workplace(plan, factory)
    with suppress(EOFError, OSError):  # the parent has gone
        while True:
            pipe.send(workplace.work(pipe.recv()))


def _fetch(file: str, unreached: dict[str, str]) -> Input:
    """Take a file where it is; note why one cannot be reached."""
    if not is_remote(file):
        return Input(file, file)
    try:
        return Input(read_remote(*connect(file)), file)
    except (OSError, UnrenderError) as error:
        unreached[file] = f"it cannot be fetched ({error})"
        return Input(b"", file)
