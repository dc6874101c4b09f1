"""Word documents: paragraphs, headings, lists and tables, with formulas as real equations."""

from collections.abc import Iterator

from unrender.documents import Block, Document
from unrender.errors import NotationError
from unrender.formats import office
from unrender.formats.blocks import (
    HEADERS,
    LISTS,
    as_lines,
    captions,
    grid,
    has_fields,
    is_formula,
    list_items,
    split_formulas,
)
from unrender.formats.formulas.omml import NAMESPACE as MATH
from unrender.formats.formulas.omml import formula_to_omml
from unrender.formats.markdown import expanded

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_KIND = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_DEEPEST = 6
_LARGEST = 32  # half points of the first heading
_SMALLER = 3  # of each next
_SWALLOWED = frozenset({"merged_left", "merged_both"})
_BORDERS = "".join(
    f'<w:{side} w:val="single" w:sz="4" w:color="auto"/>'
    for side in ("top", "left", "bottom", "right", "insideH", "insideV")
)


def write_docx(document: Document) -> bytes:
    """Write a .docx file; a formula without a known meaning stands there as LaTeX."""
    body = "".join(part for block in expanded(document.blocks) for part in _write(block))
    parts = {
        "_rels/.rels": office.relations(("officeDocument", "word/document.xml")),
        "word/document.xml": f'<w:document xmlns:w="{_WORD}" xmlns:m="{MATH}"><w:body>{body}</w:body></w:document>',
        "word/_rels/document.xml.rels": office.relations(("styles", "styles.xml")),
        "word/styles.xml": _styles(),
    }
    kinds = {"word/document.xml": f"{_KIND}.document.main+xml", "word/styles.xml": f"{_KIND}.styles+xml"}
    return office.pack(parts, kinds)


def _styles() -> str:
    headings = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/>'
        f'<w:pPr><w:keepNext/><w:outlineLvl w:val="{level - 1}"/></w:pPr>'
        f'<w:rPr><w:b/><w:sz w:val="{_LARGEST - _SMALLER * level}"/></w:rPr></w:style>'
        for level in range(1, _DEEPEST + 1)
    )
    normal = '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>'
    return f'<w:styles xmlns:w="{_WORD}">{normal}{headings}</w:styles>'


def _write(block: Block) -> Iterator[str]:
    if is_formula(block):
        yield f"<w:p>{_formula(block.text, display=True)}</w:p>"
    elif has_fields(block):
        yield from (_paragraph(line) for line in as_lines(block.fields))
    elif block.kind in {"heading", "title"}:
        yield _paragraph(block.text, style=f"Heading{min(max(block.level, 1), _DEEPEST)}")
    elif block.kind in LISTS:
        yield from (_paragraph(f"{'•' if mark == '-' else mark} {item.text}") for mark, item in list_items(block))
    elif block.kind == "table":
        yield from (_paragraph(caption) for caption in captions(block))
        yield _table(block)
        yield "<w:p/>"  # Word joins tables that touch
    elif block.kind == "code":
        yield from (_paragraph(line, face="Consolas") for line in block.text.split("\n"))
    else:
        if block.text:
            yield _paragraph(block.text)
        for child in block.children:
            yield from _write(child)


def _paragraph(text: str, *, style: str = "", face: str = "", bold: bool = False) -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    look = f'<w:rFonts w:ascii="{face}" w:hAnsi="{face}"/>' * bool(face) + "<w:b/>" * bold
    pieces = [(text, False)] if face else split_formulas(text)
    runs = [_formula(piece, display=False) if is_latex else _run(piece, look) for piece, is_latex in pieces]
    return f"<w:p>{properties}{''.join(runs)}</w:p>"


def _run(text: str, look: str = "") -> str:
    properties = f"<w:rPr>{look}</w:rPr>" if look else ""
    lines = [f'<w:t xml:space="preserve">{office.text(line)}</w:t>' for line in text.split("\n")]
    return f"<w:r>{properties}{'<w:br/>'.join(lines)}</w:r>" if text else ""


def _formula(latex: str, *, display: bool) -> str:
    try:
        return formula_to_omml(latex, display=display)
    except NotationError:
        return _run(latex, '<w:rFonts w:ascii="Consolas" w:hAnsi="Consolas"/>')


def _table(table: Block) -> str:
    rows = grid(table)
    columns = "<w:gridCol/>" * (len(rows[0]) if rows else 0)
    body = "".join(f"<w:tr>{''.join(_cells(rows, number))}</w:tr>" for number in range(len(rows)))
    properties = f'<w:tblPr><w:tblW w:w="0" w:type="auto"/><w:tblBorders>{_BORDERS}</w:tblBorders></w:tblPr>'
    return f"<w:tbl>{properties}<w:tblGrid>{columns}</w:tblGrid>{body}</w:tbl>"


def _cells(rows: list[list[Block]], number: int) -> Iterator[str]:
    """Write the cells of a row; those merged to the left are part of the cell before them."""
    row = rows[number]
    for column, cell in enumerate(row):
        if cell.kind in _SWALLOWED and column:
            continue
        span = next((end for end in range(column + 1, len(row)) if row[end].kind not in _SWALLOWED), len(row))
        below = rows[number + 1][column].kind == "merged_up" if number + 1 < len(rows) else False
        merged = "<w:vMerge/>" if cell.kind == "merged_up" else '<w:vMerge w:val="restart"/>' * below
        width = f'<w:gridSpan w:val="{span - column}"/>' * (span - column > 1)
        yield f"<w:tc><w:tcPr>{width}{merged}</w:tcPr>{_paragraph(cell.text, bold=cell.kind in HEADERS)}</w:tc>"
