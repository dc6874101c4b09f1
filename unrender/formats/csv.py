"""CSV: a row of fields for each receipt or form, under the names of the fields; or the rows of tables."""

import csv
import io
from collections.abc import Sequence

from unrender.documents import Block, Document
from unrender.errors import NotationError
from unrender.formats.blocks import FILE, PAGE, flatten, has_fields
from unrender.formats.markdown import expanded
from unrender.formats.tables import MERGED, grid


def write_csv(document: Document) -> str:
    """Write fields, else tables; a NotationError when there is neither."""
    return write_csv_together([document])


def write_csv_together(documents: Sequence[Document]) -> str:
    """Write the rows of several documents as one table; that of fields says which file each row is of."""
    with_fields = blocks_of_fields(documents)
    tables = [block for document in documents for block in expanded(document.blocks) if block.kind == "table"]
    if not with_fields and not tables:
        raise NotationError("CSV can express fields and tables only, and this document has neither.")
    rows = _records(with_fields) if with_fields else [row for table in tables for row in _cells(table)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().removesuffix("\n")


def blocks_of_fields(documents: Sequence[Document]) -> list[tuple[dict[str, str], Block]]:
    """Return every block of fields with what tells it from the others: its file, its page, where there are several."""
    found = [
        (document.source, str(page.number), block)
        for document in documents
        for page in document.pages
        for block in expanded(page.blocks)
        if has_fields(block)
    ]
    paged = len({(source, number) for source, number, _ in found}) > len({source for source, _, _ in found})
    labelled = []
    for source, number, block in found:
        labels = {FILE: source} if len(documents) > 1 else {}
        labelled.append((labels | {PAGE: number} if paged else labels, block))
    return labelled


def _records(blocks: list[tuple[dict[str, str], Block]]) -> list[list[str]]:
    """Return the names of all fields, and a row of values for each block; several values of a name share a cell."""
    records: list[dict[str, list[str]]] = []
    for labels, block in blocks:
        records.append({name: [label] for name, label in labels.items()})
        for path, value in flatten(block.fields, absent=""):
            records[-1].setdefault(path or "value", []).append(value)
    names = list(dict.fromkeys(name for record in records for name in record))
    parted = {name.rpartition(".")[0] for name in names}  # null in one receipt, several columns in another
    kept = [name for name in names if name not in parted]
    return [kept, *(["; ".join(record.get(name, [])) for name in kept] for record in records)]


def _cells(table: Block) -> list[list[str]]:
    return [["" if cell.kind in MERGED else cell.text for cell in row] for row in grid(table)]
