"""From lines that were read to the blocks of a page: paragraphs, headings, lists, formulas, tables, figures, notes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby, pairwise, takewhile

from unrender.documents import Block, Box, Line, Page, Status
from unrender.formats.blocks import make_table
from unrender.formats.marked import (
    CELL,
    HEADINGS,
    SOFT_HYPHEN,
    SPACE,
    STYLES,
    balanced,
    inline_markdown,
    join_lines,
    plain_text,
)
from unrender.images.opening import PageText
from unrender.reading.page.displays import is_display, is_numbered
from unrender.reading.page.headings import find_headings, heading_level, is_code, is_heading, is_title, plain_heading
from unrender.reading.page.items import as_item, find_items, is_bullet, is_item, plain_bullet
from unrender.reading.page.layers import TRUSTED, Layer, agreement
from unrender.reading.page.places import Kind, Region, union_of
from unrender.reading.page.rows import ReadRow, join_cells, join_parts, settle_hyphens, write_code, write_display
from unrender.reading.page.straight import Straight
from unrender.reading.page.strokes import PROSE
from unrender.reading.page.tables import join_wrapped
from unrender.reading.systems import Sheet

Found = Mapping[tuple[int, int, int], ReadRow]

_LARGE = 1.3  # times the smallest letters of a page: those of a heading
_UNKNOWN = 0.6  # a page whose lines are less sure than this, in the mean, is not understood
_EMPTY = " `´"  # what a line without anything to read is sometimes read as
_CAPTION = re.compile(r"^(?:\*\*|\*)?(?:Figure|Fig\.|FIG\.|FIGURE|Abbildung|Abb\.) ?\d+(?:\.\d+)*[:.](?=\W)")
_NOTE = re.compile(r"\[\^(\d{1,3}|[^]]{1,2})([^]]*)\](.*)", re.DOTALL)  # its sign may not have been closed
_CUT = ("-", ",", SOFT_HYPHEN)  # what a line ends with that goes on
_MONO = STYLES["mono"][0]
_FROM_LAYER, _FROM_BOTH = "text layer", "picture and text layer"


@dataclass(frozen=True)
class _Piece:
    """A region with the lines that were read in it."""

    region: Region
    rows: tuple[ReadRow, ...]
    lines: tuple[Line, ...]


def make_page(
    sheet: Sheet, straight: Straight, regions: Sequence[Region], found: Found, layer: PageText | None
) -> Page:
    """Put a page together; where it has a text layer that agrees, words are taken from it."""
    known = None if layer is None else Layer(layer, sheet.image.width, sheet.image.height)
    pieces = [_piece(number, region, found, straight, known) for number, region in enumerate(regions)]
    if known is not None:
        pieces = _trusting(pieces, known)
    pieces = [part for piece in pieces if piece.region.kind == Kind.FIGURE or piece.rows for part in _itemised(piece)]
    pieces = _joined(pieces)
    joints = settle_hyphens([piece.rows for piece in pieces])
    pieces = [replace(piece, rows=rows) for piece, rows in zip(pieces, joints, strict=True)]
    blocks = tuple(_grouped(_first_continued([_block(piece, straight) for piece in pieces])))
    rows = [row for piece in pieces for row in piece.rows]
    return sheet.page(_status(rows, blocks), blocks)


def _piece(number: int, region: Region, found: Found, straight: Straight, layer: Layer | None) -> _Piece:
    rows: list[ReadRow] = []
    lines: list[Line] = []
    for position, place in enumerate(region.rows):
        box = straight.to_page(Box(*place.box))
        parts = _parts(found, number, position)
        row = (
            join_cells(parts, [cell is not None for cell in place.cells])
            if region.kind == Kind.TABLE
            else join_parts(parts)
        )
        if layer is not None and region.kind != Kind.FORMULA:
            row = layer.correct(row, box)
        if row.tokens and (plain_text(row.tokens).strip(_EMPTY) or layer is not None):
            rows.append(row)
            lines.append(Line(row.markdown, box, row.confidence))
    return _Piece(region, tuple(rows), tuple(lines))


def _trusting(pieces: Sequence[_Piece], layer: Layer) -> list[_Piece]:
    """Where most of a page agrees with its text layer, believe the layer in lines that the model is unsure of."""
    lines = [row for piece in pieces if piece.region.kind != Kind.FORMULA for row in piece.rows]
    if agreement(lines) < TRUSTED:
        return list(pieces)
    trusted: list[_Piece] = []
    for piece in pieces:
        region = piece.region
        if region.kind == Kind.FORMULA and piece.rows and all(layer.is_prose(line.box) for line in piece.lines):
            large = region.rows[0].letters > _LARGE * min(row.letters for one in pieces for row in one.region.rows)
            region = replace(region, kind=Kind.HEADING if large else Kind.TEXT)
        if region.kind not in (Kind.FORMULA, Kind.TABLE):
            rows = tuple(layer.replace(row, line.box) for row, line in zip(piece.rows, piece.lines, strict=True))
            shown = tuple(replace(line, text=row.markdown) for row, line in zip(rows, piece.lines, strict=True))
            piece = _Piece(region, rows, shown)
        trusted.append(piece)
    return trusted


def _itemised(piece: _Piece) -> Iterator[_Piece]:
    """Part a paragraph where the items of a list begin, and headings that stand close below one another."""
    if piece.region.kind not in PROSE or len(piece.rows) != len(piece.region.rows):
        yield piece
        return
    rows = tuple(plain_bullet(row) for row in piece.rows)
    headings = find_headings(rows) if piece.region.kind == Kind.HEADING else ()
    edges = [0, *sorted({*find_items(rows, piece.region.rows), *headings}), len(rows)]
    for start, stop in pairwise(edges):
        places = piece.region.rows[start:stop]
        box = union_of([place.box for place in places])
        part = replace(piece.region, rows=places, box=box, continued=piece.region.continued and not start)
        yield _Piece(part, rows[start:stop], piece.lines[start:stop])


def _parts(found: Found, number: int, position: int) -> list[ReadRow]:
    numbers = takewhile(lambda index: (number, position, index) in found, count())
    return [found[number, position, index] for index in numbers]


def _joined(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Join a paragraph that goes on in the next column; what stands between comes after it."""
    kept: list[_Piece] = []
    last: int | None = None  # the last paragraph
    for piece in pieces:
        goes_on = piece.region.kind == Kind.TEXT and last is not None and _is_open(kept[last])
        if goes_on and last is not None and (piece.region.continued or _is_cut(kept[last], piece, kept[last + 1 :])):
            before = kept[last]
            kept[last] = replace(before, rows=(*before.rows, *piece.rows), lines=(*before.lines, *piece.lines))
            continue
        if piece.region.kind == Kind.TEXT:
            last = len(kept)
        elif piece.region.kind in (Kind.HEADING, Kind.FORMULA):
            last = None
        kept.append(piece)
    return kept


def _is_cut(piece: _Piece, following: _Piece, between: Sequence[_Piece]) -> bool:
    """Say whether a figure stands in the middle of a sentence: a line without an end before it, small letters after."""
    floats = all(one.region.kind in (Kind.FIGURE, Kind.TABLE, Kind.CAPTION) for one in between)
    ends = plain_text(piece.rows[-1].tokens).strip()[-1:]
    return bool(between) and floats and (ends.isalpha() or ends in _CUT) and following.rows[0].markdown[:1].islower()


def _is_open(piece: _Piece) -> bool:
    """Say whether a paragraph may go on: it does not end with a full stop at the end of a short line."""
    text = piece.rows[-1].markdown.rstrip()
    rows = piece.region.rows
    short = len(rows) > 1 and rows[-1].box[2] < rows[0].box[2] - 4 * rows[-1].letters
    return not (text.endswith((".", ":", "?", "!")) and short)


def _block(piece: _Piece, straight: Straight) -> Block:
    kind, region = piece.region.kind, piece.region
    sure = [row.confidence for row in piece.rows if row.tokens]
    block = Block(
        kind="text",
        box=straight.to_page(Box(*region.box)),
        confidence=min(1.0, region.likely) * (sum(sure) / len(sure) if sure else 1.0),
        lines=piece.lines,
        source=_source(piece),
        continued=kind == Kind.TEXT and region.continued,
    )
    if kind == Kind.FIGURE:
        return replace(block, kind="picture")
    if kind == Kind.TABLE:
        return replace(block, kind="table", children=make_table(_cells(piece), header_rows=1))
    rows = [row.tokens for row in piece.rows]
    numbered = kind == Kind.TEXT and len(rows) == 1 and is_numbered(piece.rows[0], region.rows)
    if kind == Kind.FORMULA or numbered or is_display(region, piece.rows):
        return replace(block, kind="formula", text=write_display(rows))
    if kind == Kind.CODE and sum(_MONO in row for row in rows) * 2 > len(rows):
        return replace(block, kind="code", text=write_code([plain_text(row) for row in rows], region.rows))
    text = inline_markdown(join_lines([[_in_text(token) for token in row if token not in HEADINGS] for row in rows]))
    text = text.strip()
    bulleted = is_bullet(text[:1])
    if not bulleted and is_heading(region, piece.rows, text, straight.letters):
        level = piece.rows[0].heading or heading_level(text, title=is_title(region, straight.letters))
        return replace(block, kind="heading", text=plain_heading(text), level=level)
    if kind in (Kind.HEADING, Kind.TEXT) and is_code(piece.rows, text):
        return replace(block, kind="code", text=write_code([plain_text(row) for row in rows], region.rows))
    if kind in (Kind.HEADER, Kind.FOOTER, Kind.FOLIO):
        return replace(block, kind="page_header" if kind == Kind.HEADER else "page_footer", text=text)
    if kind == Kind.FOOTNOTE and (note := _NOTE.match(text)):
        return replace(block, kind="markdown", text=f"[^{note[1]}]: {(note[2] + note[3]).strip()}")
    if kind == Kind.CAPTION:
        return replace(block, kind="caption", text=text)
    if _CAPTION.match(text):
        return replace(block, kind="caption", text=text)
    if bulleted or is_item(text, labelled=kind in (Kind.HEADING, Kind.TEXT)):
        return replace(block, kind="item", text=as_item(text))
    return replace(block, text=text)


def _in_text(token: str) -> str:
    """Return a token of running text, where words that stand apart are in no cells."""
    return SPACE if token == CELL else token


def _cells(piece: _Piece) -> list[list[str]]:
    """Return the texts of a table's cells; every row has as many as the gaps between columns make."""
    tokens = [_split_cells(row.tokens) for row in piece.rows]
    full = [cell for row in tokens for cell in row if cell]
    if 2 * sum(_MONO in cell for cell in full) < len(full):  # a few short words that seem typewriter are not
        tokens = [[[token for token in cell if token not in STYLES["mono"]] for cell in row] for row in tokens]
    width = max(len(row) for row in tokens)
    texts = [[inline_markdown(balanced(cell)).strip() for cell in row] for row in tokens]
    return join_wrapped([row + [""] * (width - len(row)) for row in texts])


def _split_cells(tokens: Sequence[str]) -> list[list[str]]:
    """Cut the tokens of a row at its marks."""
    cells: list[list[str]] = [[]]
    for token in tokens:
        if token == CELL:
            cells.append([])
        else:
            cells[-1].append(token)
    return cells


def _first_continued(blocks: Sequence[Block]) -> list[Block]:
    """Let only the first paragraph go on from the page before, and only if nothing but figures stands above it."""
    body = (index for index, block in enumerate(blocks) if block.kind not in ("page_header", "page_footer", "picture"))
    first = next(body, -1)
    return [replace(block, continued=block.continued and index == first) for index, block in enumerate(blocks)]


def _grouped(blocks: Sequence[Block]) -> list[Block]:
    """Give figures their captions, and write items that follow one another as one list."""
    kept: list[Block] = []
    for block in blocks:
        if block.kind == "caption":
            if kept and kept[-1].kind == "picture" and not kept[-1].children:
                kept[-1] = replace(kept[-1], children=(block,))
                continue
            block = replace(block, kind="text")
        kept.append(block)
    grouped: list[Block] = []
    for listed, run in groupby(kept, key=lambda block: block.kind == "item"):
        members = list(run)
        grouped += [_list(members)] if listed else members
    return grouped


def _list(items: Sequence[Block]) -> Block:
    return replace(
        items[0],
        kind="markdown",
        text="\n".join(item.text for item in items),
        box=Box.around(item.box for item in items if item.box is not None),
        lines=tuple(line for item in items for line in item.lines),
        confidence=min(item.confidence or 0.0 for item in items),
    )


def _source(piece: _Piece) -> str:
    layered = [row.layered for row in piece.rows if row.tokens]
    if not any(layered):
        return ""
    return _FROM_LAYER if all(layered) else _FROM_BOTH


def _status(rows: Sequence[ReadRow], blocks: Sequence[Block]) -> Status:
    if not blocks:
        return Status("empty")
    sure = [row.confidence for row in rows if row.tokens and not row.layered]
    mostly_layered = 2 * sum(row.layered for row in rows) > len(rows)
    if sure and sum(sure) / len(sure) < _UNKNOWN and not mostly_layered:
        return Status("unlikely", reason="this looks like no page in a script or print that the model knows")
    looped, cut = sum(row.looped for row in rows), sum(row.cut for row in rows)
    if looped:
        return Status("repetition", reason=f"{looped} of {len(rows)} lines were cut where they began to repeat")
    if cut:
        return Status("limit", reason=f"{cut} of {len(rows)} lines were cut at the limit of tokens")
    return Status()
