"""What a run is: the command as it was given, what it came to mean, and the chunks of its files."""

import fnmatch
import glob
import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

from unrender import __version__, checkpoints, formats
from unrender.bulk.shards import JSON_LINES, PARQUET, Storage, absolute, choose_kind, connect, is_remote, selector
from unrender.engines.sessions import count_cores
from unrender.errors import ConfigError, DataError, NotationError
from unrender.reading.reader import Reader
from unrender.reading.sources import SUFFIXES

PLAN, FILES, SHARD = "plan.json", "files.jsonl", "part-"
_MOST_FILES = 256  # in a chunk: what a killed worker does again
_SHARES = 8  # chunks for each worker, so that all end at about the same time
_BLOCK = 1 << 20


def list_files(names: Sequence[str]) -> list[str]:
    """Return every file that folders, patterns, @lists and addresses stand for: absolute, sorted, each once."""
    found = {file for name in names for file in _expand(name)}
    if not found:
        raise DataError(f"{' '.join(names)}: there is no image or PDF there.")
    return sorted(found)


def _expand(name: str) -> Iterator[str]:
    if name.startswith("@"):
        yield from _listed(Path(name[1:]))
    elif is_remote(name):
        yield from _expand_remote(name)
    elif os.path.isdir(name):
        walked = (os.path.join(folder, file) for folder, _, files in os.walk(os.path.abspath(name)) for file in files)
        yield from (path for path in walked if _is_picture(path))
    elif glob.has_magic(name) and not os.path.lexists(name):
        yield from (os.path.abspath(path) for path in glob.iglob(name, recursive=True) if os.path.isfile(path))
    elif os.path.lexists(name):
        yield os.path.abspath(name)
    else:
        raise DataError(f"{name}: there is no such file or folder.")


def _listed(path: Path) -> Iterator[str]:
    """Take the lines of a file as they are, without a look at each of perhaps a billion files."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as lines:
            yield from (absolute(line.rstrip("\n")) for line in lines if line.strip())
    except OSError as error:
        raise DataError(f"{path}: this list cannot be read ({error.strerror}).") from error


def _expand_remote(address: str) -> Iterator[str]:
    name, sign, query = address.partition("?")
    folder = name[: name.index("*")].rpartition("/")[0] if "*" in name else name.rstrip("/")
    system, path = connect(folder + sign + query)
    before = folder.removesuffix(path.rstrip("/"))
    try:
        [info] = system.get_file_info([path])
        infos = [info] if info.is_file else system.get_file_info(selector(path, deep=True))
    except OSError as error:
        raise DataError(f"{address} cannot be listed ({error}).") from error
    for file in (before + info.path for info in infos if info.is_file):
        if file == name or (fnmatch.fnmatchcase(file, name) if "*" in name else _is_picture(file)):
            yield file + sign + query


def _is_picture(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


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
    folder = command.model is not None and checkpoints.is_folder(command.model)
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
