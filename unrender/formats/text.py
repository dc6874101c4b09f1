"""Plain text: paragraphs between blank lines, formulas in Unicode, tables with tabs, fields as `key: value`.

CSV is a row of fields for each receipt or form, under the names of the fields; or the rows of tables.
"""

import csv
import io
import re
from collections.abc import Sequence

from unrender.documents import Block, Document, join_blocks
from unrender.errors import NotationError
from unrender.formats.blocks import (
    FILE,
    LISTS,
    MERGED,
    PAGE,
    as_lines,
    captions,
    flatten,
    grid,
    has_fields,
    is_formula,
    list_items,
    one_page,
    split_formulas,
)
from unrender.formats.markdown import expanded


def write_text(document: Document) -> str:
    """Write plain text.

    In a document that is all formulas, one that has no plain form is a NotationError; among other blocks it stays
    as LaTeX.
    """
    blocks = expanded(document.blocks)
    alone = all(is_formula(block) for block in blocks)
    return join_blocks(blocks, [_write(block, strict=alone) for block in blocks])


def parse_text(text: str) -> Document:
    """Make a block of text of each paragraph."""
    paragraphs = [part.strip() for part in re.split(r"\n[^\S\n]*\n", text)]
    return one_page(*(Block(kind="text", text=part) for part in paragraphs if part))


def _write(block: Block, *, strict: bool) -> str:
    if is_formula(block):
        return _formula(block.text, strict=strict)
    if has_fields(block):
        return "\n".join(as_lines(block.fields))
    if block.kind == "table":
        rows = ["\t".join("" if cell.kind in MERGED else cell.text for cell in row) for row in grid(block)]
        return "\n".join([*captions(block), *rows])
    if block.kind in LISTS:
        return "\n".join(f"{mark} {_write(item, strict=strict)}" for mark, item in list_items(block))
    own = _with_formulas(block.text) if block.kind != "code" else block.text
    return "\n".join(part for part in (own, *(_write(child, strict=strict) for child in block.children)) if part)


def _with_formulas(text: str) -> str:
    """Write the formulas within a text in Unicode; what has no such form stays as it is."""
    return "".join(_inline(piece) if is_latex else piece for piece, is_latex in split_formulas(text))


def _inline(latex: str) -> str:
    written = _formula(latex, strict=False)
    return f"${latex}$" if written == latex and "\\" in latex else written


def _formula(latex: str, *, strict: bool) -> str:
    from unrender.formats.formulas.linear import formula_to_text  # slow to load, and most texts have no formula

    try:
        return formula_to_text(latex)
    except NotationError:
        if strict:
            raise
        return latex


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
