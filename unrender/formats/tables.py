"""Tables: a block of rows, each a block of cells; OTSL's tokens for them, and plain grids for other notations.

A cell that is merged with its neighbour keeps its place in the row, so every row has as many cells as the table has
columns: `merged_left` continues the cell to its left, `merged_up` the one above, `merged_both` both.
"""

import re
from collections.abc import Iterator, Sequence

from unrender.documents import Block
from unrender.errors import NotationError

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
