"""One row a page: made from what was read, written as a shard, counted."""

import importlib.util
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import cast

from unrender import formats
from unrender.documents import Document, Json, to_dict
from unrender.errors import NotationError

PARQUET, JSON_LINES = "parquet", "jsonl"
FAILED = "failed"

_NUMBER = re.compile(r"\d[\d,.]*")


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
