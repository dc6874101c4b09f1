"""Many files, on Ray or in local processes: every page once, however often the run is killed.

The sorted list of files is split into chunks and kept; a finished chunk is one shard, which is there whole or not at
all. So what is left to do is always what has no shard yet, and nobody needs to remember anything else. One thread for
each worker gives it chunks, replaces it when it dies, and finds the file it died of.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from unrender.bulk.plan import SHARD, Command, Plan, chunks, load, prepare
from unrender.bulk.shards import Row, Storage, StorageError, Tally, count, count_shard, encode
from unrender.bulk.workers import (
    Factory,
    LocalWorker,
    Piece,
    RayWorker,
    Reply,
    Trouble,
    Worker,
    WorkerDiedError,
    failed_rows,
    join_cluster,
    open_reader,
)
from unrender.engines.sessions import count_cores
from unrender.errors import UnrenderError

__all__ = ["Command", "Plan", "Progress", "execute", "prepare", "status"]
PROGRESS = "progress.json"
_REPORT_SECONDS = 1.0
_STARTS = 3  # of a worker, before the run is given up
_REASONS = 20  # that failures are counted by
_ATTEMPTS = 2  # at a file alone, before it is given up
_COUNTERS = 16  # threads that count finished shards


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run has come, all killed attempts together; what is `fresh` was done by the last one."""

    chunks: int
    done: int
    pages: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0  # of the last attempt
    fresh_pages: int = 0
    fresh_chunks: int = 0
    clock: float = 0.0  # when this was written

    @property
    def finished(self) -> bool:
        return self.done == self.chunks

    @property
    def pages_per_second(self) -> float:
        return self.fresh_pages / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """None as long as there is nothing to judge by."""
        return (self.chunks - self.done) * self.seconds / self.fresh_chunks if self.fresh_chunks else None


def execute(
    plan: Plan,
    *,
    workers: int | None = None,
    ray: str | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
    factory: Factory = open_reader,
) -> Progress:
    """Read what has not been read yet; `ray` is the address of a cluster, without it processes of this machine work."""
    storage = Storage(plan.out)
    done = {name for name in storage.names() if name.startswith(SHARD)}
    left = plan.chunks - len(done)
    wanted = join_cluster(ray, workers) if ray and left else workers or count_cores()
    kind = RayWorker if ray else LocalWorker
    team: list[Worker] = [kind(plan, factory) for _ in range(min(wanted, left))]
    run = _Run(plan, storage, done)
    try:
        run.go(team, watch)
    finally:
        run.stop(team)
    storage.sweep()
    return run.progress()


def status(out: str) -> Progress:
    """Say how far the run in a folder has come, from any terminal."""
    storage = Storage(out)
    plan, names = load(storage), storage.names()
    kept = json.loads(storage.read(PROGRESS)) if PROGRESS in names else {}
    done = sum(name.startswith(SHARD) for name in names)
    return Progress(**{**kept, "chunks": plan.chunks, "done": done})


class _Run:
    def __init__(self, plan: Plan, storage: Storage, done: set[str]) -> None:
        self._plan, self._storage = plan, storage
        self._waiting = _waiting(plan, storage, done)
        self._before = len(done)
        with ThreadPoolExecutor(_COUNTERS) as pool:
            counted = pool.map(lambda name: count_shard(storage.read(name), plan.shards), sorted(done))
            self._old = sum(counted, Tally())
        self._new, self._fresh_chunks = Tally(), 0
        self._lock = threading.Lock()
        self._error: UnrenderError | None = None
        self._stopped = False
        self._began = time.monotonic()

    def go(self, team: list[Worker], watch: Callable[[Progress], None]) -> None:
        """Work until all is done or nothing can be done any more."""
        threads = [threading.Thread(target=self._labour, args=(worker,), daemon=True) for worker in team]
        for thread in threads:
            thread.start()
        while (alive := [thread for thread in threads if thread.is_alive()]) and self._error is None:
            alive[0].join(_REPORT_SECONDS)
            self._report(watch)
        if self._error is not None:
            raise self._error
        self._report(watch)

    def stop(self, team: list[Worker]) -> None:
        """End every worker, and so the threads that wait for them."""
        self._stopped = True
        for worker in team:
            worker.end()

    def progress(self) -> Progress:
        with self._lock:
            total = self._old + self._new
            reasons = dict(total.failures.most_common(_REASONS))
            other = total.failures.total() - sum(reasons.values())
            return Progress(
                chunks=self._plan.chunks,
                done=self._before + self._fresh_chunks,
                pages=total.pages,
                failures=reasons | ({"other reasons": other} if other else {}),
                seconds=time.monotonic() - self._began,
                fresh_pages=self._new.pages,
                fresh_chunks=self._fresh_chunks,
                clock=time.time(),
            )

    def _report(self, watch: Callable[[Progress], None]) -> None:
        progress = self.progress()
        self._storage.write(PROGRESS, json.dumps(vars(progress)).encode())
        watch(progress)

    def _labour(self, worker: Worker) -> None:
        try:
            worker.start()
            while (piece := self._next()) is not None:
                tally = self._finish(worker, piece)
                with self._lock:
                    self._new, self._fresh_chunks = self._new + tally, self._fresh_chunks + 1
        except UnrenderError as error:
            self._error = self._error or error
        except Exception as error:  # noqa: BLE001 - a thread has nobody else to tell
            self._error = self._error or UnrenderError(f"The run ended with {type(error).__name__}: {error}")

    def _next(self) -> Piece | None:
        with self._lock:
            return None if self._stopped or self._error else next(self._waiting, None)

    def _finish(self, worker: Worker, piece: Piece) -> Tally:
        """Have a chunk read; when its worker dies or stumbles, file by file, to find the one that is to blame."""
        answer = self._ask(worker, piece)
        assert piece.number is not None
        shard = self._plan.shard(piece.number)
        if isinstance(answer, Tally):
            if not self._storage.shows(shard):
                raise StorageError(
                    f"{self._plan.out} is not the same folder on all machines; use a shared one or s3://."
                )
            return answer
        rows = [row for file in piece.files for row in self._read_alone(worker, file)]
        self._storage.write(shard, encode(rows, self._plan.shards))
        return count(rows)

    def _read_alone(self, worker: Worker, file: str) -> list[Row]:
        reason = ""
        for _ in range(_ATTEMPTS):
            answer = self._ask(worker, Piece((file,)))
            if isinstance(answer, list):
                return answer
            assert isinstance(answer, Trouble)
            reason = answer.reason
        return failed_rows(self._plan, file, reason)

    def _ask(self, worker: Worker, piece: Piece) -> Reply:
        """Ask a worker; one that died is replaced at once, and the new one has to answer before a file is blamed."""
        try:
            reply = worker.ask(piece)
        except WorkerDiedError as error:
            self._replace(worker)
            return Trouble(str(error))
        if isinstance(reply, Trouble) and reply.final:
            raise UnrenderError(reply.reason)
        return reply

    def _replace(self, worker: Worker) -> None:
        """Start a worker again; where none can work, no file is to blame and the run ends."""
        for _ in range(_STARTS):
            if self._stopped:
                break
            worker.start()
            with suppress(WorkerDiedError):
                reply = worker.ask(Piece(()))
                if isinstance(reply, Trouble):
                    raise UnrenderError(reply.reason)
                return
        raise UnrenderError("No reading process stays alive, perhaps for lack of memory; try fewer --workers.")


def _waiting(plan: Plan, storage: Storage, done: set[str]) -> Iterator[Piece]:
    for number, files in chunks(plan, storage):
        if plan.shard(number) not in done:
            yield Piece(files, number)
