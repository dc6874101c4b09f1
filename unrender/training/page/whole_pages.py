"""The Markdown of exactly what stands on a page, in reading order, and whole pages as files with it beside them.

Words hyphenated by TeX are joined, paragraphs that go on in the next column too; what is cut off by the page's edge
stays cut off. Running heads and page numbers become comments.
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import groupby
from pathlib import Path

import pypdfium2
from PIL import Image

from unrender.documents import Block
from unrender.formats.blocks import make_table, one_page
from unrender.formats.markdown import write_markdown
from unrender.formats.marked import CELL, inline_markdown, write_formula
from unrender.training.data import Gray
from unrender.training.page.manuscript import Kind
from unrender.training.page.recovery import Line, Page, Piece
from unrender.training.page.samples import label_of
from unrender.typesetting.dvi import POINTS_PER_INCH

_BULLETS = ("• ", "– ")
PAGES, SCANS = "pages-held", "scans-held"
_SECONDS = 120


def page_markdown(page: Page) -> str:
    """Write a page."""
    return write_markdown(one_page(*_blocks(_joined(page.pieces)))) + "\n"


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
        if piece.block.kind == Kind.CAPTION and blocks and blocks[-1].kind == "picture" and not blocks[-1].children:
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
    if kind == Kind.FIGURE:
        return Block(kind="picture")
    if kind == Kind.FORMULA:
        return Block(kind="formula", text=_formula(piece))
    if kind == Kind.TABLE:
        return Block(kind="table", children=make_table(_rows(piece), header_rows=1))
    if kind == Kind.CODE:
        rows = ["".join(sign.text for part in line.parts for sign in part.signs) for line in piece.lines]
        return Block(kind="code", text="\n".join(rows))
    text = inline_markdown(label_of(piece, piece.lines).tokens)
    if kind in (Kind.TITLE, Kind.HEADING):
        return Block(kind="heading", level=1 + (piece.block.level if kind == Kind.HEADING else 0), text=text)
    if kind in (Kind.HEADER, Kind.FOOTER, Kind.FOLIO):
        return Block(kind="page_header" if kind == Kind.HEADER else "page_footer", text=text)
    if kind == Kind.FOOTNOTE:
        mark, _, rest = text.partition("]")
        return Block(kind="markdown", text=text if piece.continued else f"{mark}]:{rest}")
    if kind == Kind.ITEM:
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
    cells = [write_formula([sign.text for sign in part.signs]) for part in line.parts if part.atom.tokens]
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


@dataclass(frozen=True)
class PageFiles:
    """What is written of one page; `dpi` is the resolution of `gray`."""

    name: str
    page: Page
    gray: Gray
    scanned: Gray
    pdf: bytes | None
    dpi: int


def write_page(folder: Path, files: PageFiles) -> None:
    """Write NAME.png, NAME.md, NAME.json and, where there is one, NAME.pdf; the scan goes to a folder of its own."""
    markdown = page_markdown(files.page)
    for name, gray in ((PAGES, files.gray), (SCANS, files.scanned)):
        (folder / name).mkdir(exist_ok=True)
        Image.fromarray(gray).save(folder / name / f"{files.name}.png")
        (folder / name / f"{files.name}.md").write_text(markdown, encoding="utf-8")
    record = json.dumps(_places(files.page, files.dpi / POINTS_PER_INCH), ensure_ascii=False)
    (folder / PAGES / f"{files.name}.json").write_text(record + "\n", encoding="utf-8")
    if files.pdf is not None:
        (folder / PAGES / f"{files.name}.pdf").write_bytes(files.pdf)


def write_pdfs(dvi: Path) -> Sequence[bytes] | None:
    """Turn each page of a DVI file into a PDF with a text layer; None where dvipdfmx is not installed."""
    target = dvi.with_suffix(".pdf")
    try:
        command = ["dvipdfmx", "-q", "-o", target.name, dvi.name]
        subprocess.run(command, cwd=dvi.parent, check=True, capture_output=True, timeout=_SECONDS)
    except (FileNotFoundError, subprocess.SubprocessError):
        return None
    whole = pypdfium2.PdfDocument(target)
    singles: list[bytes] = []
    for number in range(len(whole)):
        single = pypdfium2.PdfDocument.new()
        single.import_pages(whole, [number])
        buffer = BytesIO()
        single.save(buffer)
        singles.append(buffer.getvalue())
        single.close()
    whole.close()
    return singles


def _places(page: Page, scale: float) -> dict[str, object]:
    """Say in pixels where blocks and lines stand, in reading order."""
    return {
        "paper": page.group,
        "columns": page.style.columns,
        "font": page.style.font,
        "points": page.style.points,
        "blocks": [
            {
                "kind": piece.block.kind,
                "column": piece.column,
                "box": [round(side * scale, 1) for side in piece.box],
                "continued": piece.continued,
                "continues": piece.continues,
                "lines": [[round(side * scale, 1) for side in line.box] for line in piece.lines],
            }
            for piece in page.pieces
        ],
    }
