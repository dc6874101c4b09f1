"""The Markdown of exactly what stands on a page, in reading order.

Words hyphenated by TeX are joined, paragraphs that go on in the next column too; what is cut off by the page's edge
stays cut off. Running heads and page numbers become comments.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from unrender.documents import Block
from unrender.formats.blocks import one_page
from unrender.formats.markdown import write_markdown
from unrender.formats.tables import make_table
from unrender.training.page.alignment import SOFT_HYPHEN
from unrender.training.page.assembly import Line, Page, Piece
from unrender.training.page.blocks import (
    CAPTION,
    CODE,
    FIGURE,
    FOLIO,
    FOOTER,
    FOOTNOTE,
    FORMULA,
    HEADER,
    HEADING,
    ITEM,
    TABLE,
    TITLE,
)  # fmt: skip
from unrender.training.page.labels import label_of
from unrender.training.page.vocabulary import BREAK, CELL, DISPLAY, HEADINGS, MATH, STYLES, character_of

_SIGNS = {"bold": "**", "italic": "*", "mono": "`"}
_INLINE = {marker: _SIGNS[style] for style, pair in STYLES.items() if style in _SIGNS for marker in pair}
_NOTE_OPEN, _NOTE_CLOSE = STYLES["note"]
_UNBROKEN = frozenset({"-", "--", "---"})  # behind them a line may end without a space
_BULLETS = ("• ", "– ")


def page_markdown(page: Page) -> str:
    """Write a page."""
    return write_markdown(one_page(*_blocks(_joined(page.pieces)))) + "\n"


def inline_markdown(tokens: Sequence[str]) -> str:
    """Write the tokens of running text: formulas between dollars, line ends joined."""
    written: list[str] = []
    inside = False
    for before, token in zip(["", *tokens], tokens, strict=False):
        if token in MATH or token in DISPLAY:
            inside = token in (MATH[0], DISPLAY[0])
            written.append("$")
        elif token == BREAK:
            if before == SOFT_HYPHEN:
                written.pop()
            elif before not in _UNBROKEN or inside:
                written.append(" ")
        elif inside:
            written.append(token if written[-1] in ("$", " ") else f" {token}")
        elif token in (_NOTE_OPEN, _NOTE_CLOSE):
            written.append("[^" if token == _NOTE_OPEN else "]")
        elif token not in HEADINGS:
            written.append(_INLINE.get(token) or _character(token))
    return "".join(written)


def _character(token: str) -> str:
    character = character_of(token)
    return r"\$" if character == "$" else "-" if character == SOFT_HYPHEN else character


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Join what two columns show of one block; what stands between comes after it."""
    joined: dict[int, Piece] = {}
    for piece in pieces:
        known = joined.get(piece.number)
        joined[piece.number] = piece if known is None else replace(known, lines=(*known.lines, *piece.lines))
    return list(joined.values())


def _blocks(pieces: Sequence[Piece]) -> list[Block]:
    blocks: list[Block] = []
    for piece in pieces:
        block = _block(piece)
        if piece.block.kind == CAPTION and blocks and blocks[-1].kind == "picture" and not blocks[-1].children:
            blocks[-1] = replace(blocks[-1], children=(Block(kind="caption", text=block.text),))
        else:
            blocks.append(block)
    return [block for _, run in groupby(blocks, key=_is_item) for block in _lists(list(run))]


def _is_item(block: Block) -> bool:
    return block.kind == "item"


def _lists(blocks: list[Block]) -> list[Block]:
    """Write items that follow one another as one list, with the labels they are printed with."""
    if not _is_item(blocks[0]):
        return blocks
    return [Block(kind="markdown", text="\n".join(block.text for block in blocks))]


def _block(piece: Piece) -> Block:
    kind = piece.block.kind
    if kind == FIGURE:
        return Block(kind="picture")
    if kind == FORMULA:
        return Block(kind="formula", text=_formula(piece))
    if kind == TABLE:
        return Block(kind="table", children=make_table(_rows(piece), header_rows=1))
    if kind == CODE:
        rows = ["".join(sign.text for part in line.parts for sign in part.signs) for line in piece.lines]
        return Block(kind="code", text="\n".join(rows))
    text = inline_markdown(label_of(piece, piece.lines).tokens)
    if kind in (TITLE, HEADING):
        return Block(kind="heading", level=1 + (piece.block.level if kind == HEADING else 0), text=text)
    if kind in (HEADER, FOOTER, FOLIO):
        return Block(kind="page_header" if kind == HEADER else "page_footer", text=text)
    if kind == FOOTNOTE:
        mark, _, rest = text.partition("]")
        return Block(kind="markdown", text=text if piece.continued else f"{mark}]:{rest}")
    if kind == ITEM:
        return Block(kind="item", text=f"- {text[2:]}" if text.startswith(_BULLETS) else text)
    return Block(kind="text", text=text)


def _formula(piece: Piece) -> str:
    """Write a display; rows stand one below the other, and numbers are tags."""
    rows = [_row(line) for line in piece.lines]
    if len(rows) == 1:
        return rows[0].replace(" & ", " ")
    tagged = any(r"\tag" in row for row in rows)
    name = "align" if tagged else "aligned"
    return "\n".join([rf"\begin{{{name}}}", " \\\\\n".join(rows), rf"\end{{{name}}}"])


def _row(line: Line) -> str:
    cells = [" ".join(sign.text for sign in part.signs) for part in line.parts if part.atom.tokens]
    tags = ["".join(sign.text for sign in part.signs) for part in line.parts if part.atom.text]
    return " & ".join(cells) + "".join(rf" \tag{{{tag.strip('()')}}}" for tag in tags)


def _rows(piece: Piece) -> list[list[str]]:
    width = 1 + max(part.atom.column for line in piece.lines for part in line.parts)
    rows = []
    for line in piece.lines:
        cells = [""] * width
        for column, parts in groupby(line.parts, key=lambda part: part.atom.column):
            alone = replace(line, parts=tuple(parts))
            tokens = [token for token in label_of(piece, [alone]).tokens if token != CELL]
            cells[column] = inline_markdown(tokens)
        rows.append(cells)
    return rows
