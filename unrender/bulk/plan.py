"""What a run is: the command as it was given, what it came to mean, and the chunks of its files."""

import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

from unrender import __version__, checkpoints, formats
from unrender.bulk.inputs import list_files
from unrender.bulk.rows import JSON_LINES, PARQUET, choose_kind
from unrender.bulk.storage import Storage, absolute
from unrender.engines.sessions import count_cores
from unrender.errors import ConfigError, DataError, NotationError
from unrender.reading.reader import Reader

PLAN, FILES, SHARD = "plan.json", "files.jsonl", "part-"
_MOST_FILES = 256  # in a chunk: what a killed worker does again
_SHARES = 8  # chunks for each worker, so that all end at about the same time
_BLOCK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Command:
    """What was asked for; a run goes on only under the same command."""

    inputs: tuple[str, ...]
    model: str | None = None
    task: str | None = None
    notation: str | None = None
    engine: str | None = None
    beams: int | None = None
    max_tokens: int | None = None
    shards: str | None = None  # parquet or jsonl
    chunk: int | None = None  # files in a shard


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a command came to mean when it was first given; kept in OUT, and the same ever after."""

    out: str
    command: Command
    model: str
    version: str
    notation: str
    shards: str
    chunk: int
    files: int

    @property
    def chunks(self) -> int:
        return -(-self.files // self.chunk)

    def shard(self, number: int) -> str:
        """Return the name of a chunk's shard."""
        return f"{SHARD}{number:08d}.{self.shards}"


def prepare(command: Command, out: str, *, workers: int | None = None) -> Plan:
    """Make the plan of a run, or find the one that OUT was begun with; refuse any other."""
    storage, command = Storage(out), _settled(command)
    names = storage.names()
    if PLAN in names:
        plan = load(storage)
        if plan.command != command:
            raise ConfigError(f"{out} holds the results of another command; give that one again, or another folder.")
        return plan
    if any(name.startswith(SHARD) for name in names):
        raise ConfigError(f"{out} holds shards but no {PLAN}; give another folder.")
    model, notation = _examine(command)
    return begin(command, storage, model=model, version=version_of(model), notation=notation, workers=workers)


def begin(
    command: Command, storage: Storage, *, model: str, version: str, notation: str, workers: int | None = None
) -> Plan:
    """List the files and keep the plan; it counts once it is written, and that is last."""
    files = list_files(command.inputs)
    fair = -(-len(files) // (_SHARES * (workers or count_cores())))
    plan = Plan(
        out=storage.address,
        command=command,
        model=model,
        version=version,
        notation=notation,
        shards=choose_kind(command.shards),
        chunk=command.chunk or min(_MOST_FILES, fair),
        files=len(files),
    )
    storage.write(FILES, "".join(f"{json.dumps(file)}\n" for file in files).encode())
    storage.write(PLAN, json.dumps(asdict(plan), indent=2).encode())
    return plan


def load(storage: Storage) -> Plan:
    """Read the plan that OUT was begun with."""
    if PLAN not in storage.names():
        raise DataError(f"{storage.address}: no run was begun here.")
    kept = json.loads(storage.read(PLAN))
    command = kept.pop("command")
    plan = {**kept, "out": storage.address}  # the folder may have been moved
    return Plan(**plan, command=Command(**{**command, "inputs": tuple(command["inputs"])}))


def chunks(plan: Plan, storage: Storage) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number and the files of each chunk."""
    lines = io.BytesIO(storage.read(FILES))
    for number in range(plan.chunks):
        yield number, tuple(json.loads(line) for line in islice(lines, plan.chunk))


def version_of(model: str) -> str:
    """Name the program and the exact weights."""
    folder = checkpoints.load(model).folder
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in (".json", ".onnx", ".safetensors"):
            with path.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
    return f"{__version__}+{digest.hexdigest()[:12]}"


def _settled(command: Command) -> Command:
    """Name files and model so that they mean the same on every machine and in every folder."""
    folder = command.model is not None and Path(command.model).is_dir()
    model = str(Path(command.model or "").absolute()) if folder else command.model
    return replace(command, inputs=tuple(map(_place, command.inputs)), model=model)


def _place(name: str) -> str:
    sign = "@" if name.startswith("@") else ""
    return sign + absolute(name.removeprefix(sign))


def _examine(command: Command) -> tuple[str, str]:
    """Open the model once, before anything is begun, to learn its name and notation."""
    if command.shards not in (None, PARQUET, JSON_LINES):
        raise ConfigError(f"{command.shards!r} is no kind of shard; there are {PARQUET} and {JSON_LINES}.")
    if command.notation is not None and formats.check_notation(command.notation) not in formats.NOTATIONS:
        raise NotationError(f"{command.notation} is no text; a row can hold {', '.join(formats.NOTATIONS)}.")
    reader = Reader.open(command.model, task=command.task, engine=command.engine, threads=1)
    return reader.name, command.notation or reader.task.notation
