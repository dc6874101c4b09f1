"""What several notations share: blocks in groups, one-page documents, fields as lines, paragraphs over pages, tables.

A table is a block of rows, each a block of cells. A cell that is merged with its neighbour keeps its place in the row,
so every row has as many cells as the table has columns: `merged_left` continues the cell to its left, `merged_up` the
one above, `merged_both` both. OTSL has tokens for them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from unrender import latex
from unrender.documents import Block, Document, Json, Page
from unrender.errors import NotationError

FURNITURE = frozenset({"page_header", "page_footer"})
LISTS = frozenset({"ordered_list", "unordered_list"})
ANNOTATED = frozenset({"code", "picture", "chart"})  # their `fields` describe them and are not their content
_INLINE_FORMULA = re.compile(r"\\\((?:(?!\\\().)*?\\\)|(?<![\\$])\$(?!\s)[^$\n]+(?<!\s)\$(?!\d)", re.DOTALL)
FILE, PAGE = "file", "page"  # the columns that name the source, in tables of several
_OF_A_VALUE = frozenset({"label", "text", "confidence", "box"})  # what is known of one value that was read
_LISTED = frozenset({"items", "tax"})  # what a receipt has several of
_OF_AN_ITEM = frozenset({"description", "quantity", "price", "rate", "amount"})
_CUT_WORD = re.compile(r"(?<=[^\W\d_])-$")
KIND_OF_TOKEN = {
    "fcel": "cell",
    "ecel": "cell",
    "ched": "column_header",
    "rhed": "row_header",
    "srow": "section_row",
    "lcel": "merged_left",
    "ucel": "merged_up",
    "xcel": "merged_both",
}
_TOKEN_OF_KIND = {kind: token for token, kind in KIND_OF_TOKEN.items() if token != "ecel"}
HEADERS = frozenset({"column_header", "row_header", "section_row"})
MERGED = frozenset({"merged_left", "merged_up", "merged_both"})
_MOST_CELLS = 200_000
_CELL = re.compile(rf"<({'|'.join(KIND_OF_TOKEN)}|nl)>")


def one_page(*blocks: Block) -> Document:
    """Return a document of one page of unknown size."""
    return Document(pages=(Page(number=1, width=0, height=0, blocks=blocks),))


def has_fields(block: Block) -> bool:
    """Whether extracted fields are what the block is about."""
    return block.fields is not None and block.kind not in ANNOTATED


def is_formula(block: Block) -> bool:
    return block.kind == "formula"


def captions(block: Block) -> list[str]:
    return [child.text for child in block.children if child.kind == "caption" and child.text]


def list_items(block: Block) -> list[tuple[str, Block]]:
    """Return the items of a list with their marks: numbers or dashes."""
    numbered = block.kind == "ordered_list"
    return [(f"{number}." if numbered else "-", item) for number, item in enumerate(block.children, start=1)]


def split_formulas(text: str) -> Iterator[tuple[str, bool]]:
    """Part a text into plain pieces and the LaTeX of the formulas between dollar signs or \\( and \\) in it."""
    position = 0
    for match in _INLINE_FORMULA.finditer(text):
        formula = match[0][1:-1] if match[0].startswith("$") else match[0][2:-2]
        if latex.check(formula) is None:
            yield text[position : match.start()], False
            yield formula.strip(), True
            position = match.end()
    yield text[position:], False


def as_lines(fields: Json) -> list[str]:
    """Return `key: value` lines; an inner key follows its outer one after a dot."""
    return [f"{path}: {value}" if path else value for path, value in flatten(in_lines(fields))]


def in_lines(fields: Json) -> Json:
    """Write each good and each tax of a receipt as people do, in one line instead of three."""
    if not isinstance(fields, Mapping) or not fields.keys() >= _LISTED:
        return fields
    lines = {
        name: [_as_line(item) for item in value] if name in _LISTED and isinstance(value, list) else value
        for name, value in fields.items()
    }
    return {**lines, "amount": _written(fields["amount"], "{:.2f}") or None} if "amount" in fields else lines


def _as_line(item: Json) -> Json:
    """Write a good as `2 x Tea, 4.00` and a tax as `7 %, 0.36`, as far as they are known."""
    if not isinstance(item, Mapping) or not item.keys() <= _OF_AN_ITEM:
        return item
    what = f"{_written(item.get('quantity'), '{:g} x ')}{item.get('description') or ''}"
    rate = _written(item.get("rate"), "{:g} %")
    amount = _written(item.get("price", item.get("amount")), "{:.2f}")
    return ", ".join(part for part in (what, rate, amount) if part)


def _written(value: Json, form: str) -> str:
    return form.format(value) if isinstance(value, int | float) else ""


def flatten(fields: Json, path: str = "", *, absent: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield (path, value) of every leaf; the items of a list share their path.

    A value that carries its confidence and box counts as its text alone. What is null is left out, or is `absent`.
    """
    if _is_value(fields):
        yield str(fields.get("label", path)), str(fields["text"])
    elif isinstance(fields, Mapping):
        for key, value in fields.items():
            yield from flatten(value, f"{path}.{key}" if path else key, absent=absent)
    elif isinstance(fields, Sequence) and not isinstance(fields, str):
        for item in fields:
            yield from flatten(item, path, absent=absent)
    elif fields is not None:
        whole = isinstance(fields, float) and fields.is_integer()
        yield path, f"{fields:.0f}" if whole else str(fields)
    elif absent is not None:
        yield path, absent


def flow(pages: Iterable[Page], source: str = "") -> Iterator[Page]:
    """Move what a page continues to the paragraph that it continues; each page comes when the next is known."""
    held: Page | None = None
    for page in (_named(page, source) for page in pages):
        if held is not None:
            held, page = _joined(held, page)
            yield held
        held = page
    if held is not None:
        yield held


def _named(page: Page, source: str) -> Page:
    """Say in its place that a page could not be read, without the name of the file."""
    if page.status.kind != "failed":
        return page
    status = replace(page.status, reason=page.status.reason.removeprefix(f"{source}: "))
    return replace(page, blocks=(Block(kind="page_header", text=f"page {page.number} {status}"),))


def _joined(before: Page, after: Page) -> tuple[Page, Page]:
    goes_on = next((index for index, block in enumerate(after.blocks) if block.continued), None)
    paragraphs = [index for index, block in enumerate(before.blocks) if block.kind == "text"]
    if goes_on is None or not paragraphs:
        return before, after
    last, rest = paragraphs[-1], after.blocks[goes_on]
    whole = _paragraph(before.blocks[last], rest)
    return (
        replace(before, blocks=(*before.blocks[:last], whole, *before.blocks[last + 1 :])),
        replace(after, blocks=(*after.blocks[:goes_on], *after.blocks[goes_on + 1 :])),
    )


def _paragraph(beginning: Block, rest: Block) -> Block:
    """Join two parts of a paragraph; a word that the end of the page cut in two is made whole."""
    text, cut = _CUT_WORD.subn("", beginning.text.rstrip())
    following = rest.text.lstrip()
    if not cut or not following[:1].islower():
        text, cut = beginning.text.rstrip(), 0
    return replace(beginning, text=text + ("" if cut else " ") + following)


def parse_otsl(text: str) -> tuple[Block, ...]:
    """Return the rows of a table written in OTSL; text before the first cell is left out."""
    rows: list[Block] = []
    cells: list[Block] = []
    _, *parts = _CELL.split(text)
    for token, content in zip(parts[::2], parts[1::2], strict=True):
        if token == "nl":
            rows.append(Block(kind="row", children=tuple(cells)))
            cells = []
        else:
            cells.append(Block(kind=KIND_OF_TOKEN[token], text=content.strip()))
    if cells:
        rows.append(Block(kind="row", children=tuple(cells)))
    return tuple(rows)


def write_otsl(table: Block) -> str:
    """Write the rows of a table in OTSL, one line a row."""
    return "".join(
        "".join(_otsl_cell(cell) for cell in row.children) + "<nl>\n" for row in table.children if row.kind == "row"
    )


def make_table(rows: Sequence[Sequence[str]], *, header_rows: int = 0) -> tuple[Block, ...]:
    """Build table rows from plain text, the first `header_rows` of them as column headers."""
    return tuple(
        Block(
            kind="row",
            children=tuple(Block(kind="column_header" if number < header_rows else "cell", text=text) for text in row),
        )
        for number, row in enumerate(rows)
    )


def grid(table: Block) -> list[list[Block]]:
    """Return the cells row by row, short rows filled up with empty cells."""
    rows = [list(row.children) for row in table.children if row.kind == "row"]
    width = max((len(row) for row in rows), default=0)
    if width * len(rows) > _MOST_CELLS:
        raise NotationError(
            f"A table of {len(rows):,} by {width:,} cells is too large; at most {_MOST_CELLS:,} are written."
        )
    return [row + [Block(kind="cell")] * (width - len(row)) for row in rows]


def spans(table: Block) -> Iterator[list[tuple[Block, int, int]]]:
    """Yield, row by row, the cells that are not swallowed by another, with the rows and columns each covers."""
    cells = grid(table)
    for row, line in enumerate(cells):
        yield [
            (cell, _reach(cells, row, column, "merged_up"), _reach(cells, row, column, "merged_left"))
            for column, cell in enumerate(line)
            if cell.kind not in MERGED
        ]


def _reach(cells: list[list[Block]], row: int, column: int, kind: str) -> int:
    down, right = (1, 0) if kind == "merged_up" else (0, 1)
    length = 1
    while (
        row + length * down < len(cells)
        and column + length * right < len(cells[row])
        and cells[row + length * down][column + length * right].kind == kind
    ):
        length += 1
    return length


def _otsl_cell(cell: Block) -> str:
    if cell.kind in MERGED:
        return f"<{_TOKEN_OF_KIND[cell.kind]}>"
    if cell.kind not in HEADERS and not cell.text:
        return "<ecel>"
    return f"<{_TOKEN_OF_KIND.get(cell.kind, 'fcel')}>{cell.text}"


def value_of(fields: Json) -> Json:
    """Return a value that carries its confidence and box as its text alone, any other as it is."""
    return fields["text"] if _is_value(fields) else fields


def _is_value(fields: Json) -> TypeGuard[Mapping[str, Json]]:
    return isinstance(fields, Mapping) and "text" in fields and len(fields) > 1 and fields.keys() <= _OF_A_VALUE
