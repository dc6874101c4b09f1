"""CSV: a row of fields for each receipt or form, under the names of the fields; or the rows of tables."""

import csv
import io

from unrender.documents import Block, Document
from unrender.errors import NotationError
from unrender.formats.blocks import flatten, has_fields
from unrender.formats.markdown import expanded
from unrender.formats.tables import MERGED, grid


def write_csv(document: Document) -> str:
    """Write fields, else tables; a NotationError when there is neither."""
    blocks = expanded(document.blocks)
    with_fields = [block for block in blocks if has_fields(block)]
    tables = [block for block in blocks if block.kind == "table"]
    if not with_fields and not tables:
        raise NotationError("CSV can express fields and tables only, and this document has neither.")
    rows = _records(with_fields) if with_fields else [row for table in tables for row in _cells(table)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().removesuffix("\n")


def _records(blocks: list[Block]) -> list[list[str]]:
    """Return the names of all fields, and a row of values for each block; several values of a name share a cell."""
    records: list[dict[str, list[str]]] = []
    for block in blocks:
        records.append({})
        for path, value in flatten(block.fields, absent=""):
            records[-1].setdefault(path or "value", []).append(value)
    names = list(dict.fromkeys(name for record in records for name in record))
    return [names, *([", ".join(record.get(name, [])) for name in names] for record in records)]


def _cells(table: Block) -> list[list[str]]:
    return [["" if cell.kind in MERGED else cell.text for cell in row] for row in grid(table)]
