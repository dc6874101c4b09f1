"""Plain text: paragraphs between blank lines, formulas in Unicode, tables with tabs, fields as `key: value`."""

import re

from unrender.documents import Block, Document, join_blocks
from unrender.errors import NotationError
from unrender.formats.blocks import (
    LISTS,
    as_lines,
    captions,
    has_fields,
    is_formula,
    list_items,
    one_page,
    split_formulas,
)
from unrender.formats.markdown import expanded
from unrender.formats.tables import MERGED, grid


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
