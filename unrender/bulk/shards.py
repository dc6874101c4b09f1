"""One row a page: made from what was read, written as a shard, counted."""

import importlib.util
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from unrender import formats
from unrender.documents import Document, Json, to_dict
from unrender.errors import DataError, MissingExtraError, NotationError, UnrenderError

if TYPE_CHECKING:
    from pyarrow.fs import FileSelector, FileSystem

PARQUET, JSON_LINES = "parquet", "jsonl"
FAILED = "failed"
_NUMBER = re.compile(r"\d[\d,.]*")
_UNFINISHED = ".unfinished-"
_BUCKETS = ("s3", "gs", "gcs")
_OBJECT_STORES = ("s3", "gcs", "abfs")  # an object appears when it is complete; elsewhere it has to be moved


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is known of one page."""

    source: str
    page: int
    status: str
    reason: str = ""
    text: str = ""
    confidence: float | None = None
    blocks: str = "[]"  # JSON
    seconds: float = 0.0  # of the process that read it; together they are the time it worked
    model: str
    version: str


@dataclass(frozen=True)
class Tally:
    """How many pages, and why some failed."""

    pages: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.pages + other.pages, self.failures + other.failures)


def make_rows(document: Document, source: str, notation: str, version: str, seconds: float) -> list[Row]:
    """Turn a document into rows; a page that the notation cannot express keeps its blocks and says why."""
    rows = list[Row]()
    for page in document.pages:
        alone = Document(pages=(page,), source=source, model=document.model, task=document.task)
        status, reason, text = page.status.kind, page.status.reason, ""
        try:
            text = formats.write(alone, notation).rstrip("\n") if status != FAILED else ""
        except NotationError as error:
            status, reason = "failed", str(error)
        [plain] = cast("list[dict[str, Json]]", to_dict(alone)["pages"])
        rows.append(
            Row(
                source=_printable(source),
                page=page.number,
                status=status,
                reason=_printable(reason),
                text=_printable(text),
                confidence=alone.confidence,
                blocks=json.dumps(plain.get("blocks", [])),
                seconds=seconds / len(document.pages),
                model=document.model,
                version=version,
            )
        )
    return rows


def choose_kind(asked: str | None) -> str:
    """Return the kind of shards: Parquet where it can be written, unless JSON Lines are asked for."""
    return asked or (PARQUET if importlib.util.find_spec("pyarrow") else JSON_LINES)


def encode(rows: Sequence[Row], kind: str) -> bytes:
    """Return the content of a shard."""
    if kind == JSON_LINES:
        return b"".join(json.dumps(asdict(row), ensure_ascii=False).encode() + b"\n" for row in rows)
    import pyarrow as arrow
    from pyarrow import parquet

    kinds = {"page": arrow.int32(), "confidence": arrow.float64(), "seconds": arrow.float64()}
    schema = arrow.schema([(column.name, kinds.get(column.name, arrow.string())) for column in fields(Row)])
    buffer = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist([asdict(row) for row in rows], schema), buffer, compression="zstd")
    return buffer.getvalue()


def count(rows: Iterable[Row]) -> Tally:
    """Count rows."""
    return _count((row.source, row.status, row.reason) for row in rows)


def count_shard(content: bytes, kind: str) -> Tally:
    """Count the rows of a finished shard."""
    if kind == JSON_LINES:
        found = map(json.loads, content.splitlines())
        return _count((row["source"], row["status"], row["reason"]) for row in found)
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(content), columns=["source", "status", "reason"])
    return _count(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _count(rows: Iterable[tuple[str, str, str]]) -> Tally:
    pages, failures = 0, Counter[str]()
    for source, status, reason in rows:
        pages += 1
        if status == FAILED:
            failures[_kind_of(source, reason)] += 1
    return Tally(pages, failures)


def _kind_of(source: str, reason: str) -> str:
    """Take name, page and numbers out of a reason, so that like failures are counted together."""
    plain = reason.removeprefix(source).partition(": ")[2] if reason.startswith(source) else reason
    return _NUMBER.sub("N", plain) or "unknown"


def _printable(text: str) -> str:
    """Spell out what no file can hold: the bytes of a file name that is not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


class StorageError(UnrenderError):
    """A place where results cannot be kept: a full disk, a missing permission."""


class Storage:
    """One folder in which a file is there whole or not at all."""

    def __init__(self, address: str) -> None:
        self.address = absolute(address)
        self._remote: FileSystem | None = None
        self._folder = self.address
        if is_remote(address):
            self._remote, self._folder = connect(address)

    def names(self) -> set[str]:
        """Return the names of all finished files."""
        try:
            if self._remote is None:
                found = os.listdir(self._folder)
            else:
                found = [info.base_name for info in self._remote.get_file_info(selector(self._folder, deep=False))]
        except FileNotFoundError:
            found = []
        except OSError as error:
            raise StorageError(f"{self.address} cannot be listed ({error.strerror or error}).") from error
        return {name for name in found if not name.startswith(_UNFINISHED)}

    def shows(self, name: str) -> bool:
        """Say whether a file that a worker has written can be seen from here."""
        return self._remote is not None or Path(self._folder, name).exists()

    def read(self, name: str) -> bytes:
        """Return what a file holds."""
        if self._remote is None:
            return Path(self._folder, name).read_bytes()
        return read_remote(self._remote, f"{self._folder}/{name}")

    def write(self, name: str, content: bytes) -> None:
        """Put a file in place in one step; a StorageError leaves what was there before."""
        try:
            self._write_here(name, content) if self._remote is None else self._write_there(self._remote, name, content)
        except OSError as error:
            raise StorageError(f"{self.address}/{name} cannot be written ({error.strerror or error}).") from error

    def sweep(self) -> None:
        """Remove what killed processes left unfinished."""
        for path in [] if self._remote else Path(self._folder).glob(f"{_UNFINISHED}*"):
            path.unlink(missing_ok=True)

    def _write_here(self, name: str, content: bytes) -> None:
        folder = Path(self._folder)
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{_UNFINISHED}{uuid4().hex}"
        try:
            with unfinished.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(folder / name)
        except OSError:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise
        if os.name == "posix":
            opened = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)

    def _write_there(self, remote: "FileSystem", name: str, content: bytes) -> None:
        direct = remote.type_name in _OBJECT_STORES
        if not direct:
            remote.create_dir(self._folder, recursive=True)
        path = f"{self._folder}/{name if direct else _UNFINISHED + uuid4().hex}"
        with remote.open_output_stream(path) as stream:
            stream.write(content)
        if not direct:
            remote.move(path, f"{self._folder}/{name}")


def absolute(name: str) -> str:
    """Return a name that means the same in every process and folder."""
    return name if is_remote(name) else os.path.abspath(name)


def is_remote(name: str) -> bool:
    """Say whether a name is an address such as s3://bucket/scans."""
    return "://" in name


def connect(address: str) -> "tuple[FileSystem, str]":
    """Return the file system of an address, and the path in it."""
    plain, _, query = address.partition("?")
    scheme, _, path = plain.partition("://")
    if scheme in _BUCKETS:  # one connection serves a bucket, and keys may hold signs that addresses may not
        return _connect(f"{scheme}://{path.partition('/')[0]}{query and '?'}{query}")[0], path
    return _connect(address)


@cache
def _connect(address: str) -> "tuple[FileSystem, str]":
    try:
        from pyarrow.fs import FileSystem
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{address} needs pyarrow; install it with: pip install 'unrender[ray]'") from error
    try:
        system, path = FileSystem.from_uri(address)
    except (OSError, ValueError) as error:
        raise DataError(f"{address} is no address that can be opened ({error}).") from error
    return system, path


def read_remote(system: "FileSystem", path: str) -> bytes:
    """Return what a file in an object store holds."""
    with system.open_input_stream(path) as stream:
        content: bytes = stream.read()
    return content


def selector(path: str, *, deep: bool) -> "FileSelector":
    """Choose the files of a folder, or of all folders in it."""
    from pyarrow.fs import FileSelector

    return FileSelector(path, recursive=deep, allow_not_found=not deep)
