"""Notations of mathematics: MathML and SymPy, which hold formulas only, and Typst, which holds documents too."""

import json
import re

from unrender.documents import Block, Document
from unrender.errors import NotationError
from unrender.formats.blocks import (
    HEADERS,
    LISTS,
    as_lines,
    captions,
    has_fields,
    is_formula,
    list_items,
    spans,
    split_formulas,
)
from unrender.formats.formulas.mathml import formula_to_mathml
from unrender.formats.formulas.sympy import formula_to_sympy
from unrender.formats.formulas.typst import formula_to_typst
from unrender.formats.markdown import expanded

_TYPST_MARKUP = re.compile(r"[\\*_`$#<>@~\[\]]|^[=+/-]", re.MULTILINE)


def write_mathml(document: Document) -> str:
    """Write each formula as a <math> element."""
    return "\n".join(formula_to_mathml(latex) for latex in _formulas(document, "MathML"))


def write_sympy(document: Document) -> str:
    """Write each formula as a Python program."""
    return "\n\n".join(formula_to_sympy(latex) for latex in _formulas(document, "SymPy"))


def write_typst(document: Document) -> str:
    """Write a document in Typst's markup, formulas as displayed mathematics."""
    return "\n\n".join(text for block in expanded(document.blocks) if (text := _typst(block)))


def _formulas(document: Document, notation: str) -> list[str]:
    others = sorted({block.kind for block in document.blocks if not is_formula(block)})
    if others:
        raise NotationError(f"{notation} can express formulas only, and this document also has: {', '.join(others)}.")
    return [block.text for block in document.blocks]


def _typst(block: Block) -> str:
    if is_formula(block):
        return f"$ {formula_to_typst(block.text)} $"
    if has_fields(block):
        return "\n".join(f"- {_typst_text(line)}" for line in as_lines(block.fields))
    if block.kind in {"heading", "title"}:
        return "=" * max(1, block.level) + " " + _typst_text(block.text)
    if block.kind in LISTS:
        marks = {"-": "-"}
        return "\n".join(f"{marks.get(mark, '+')} {_typst_text(item.text)}" for mark, item in list_items(block))
    if block.kind == "table":
        return _typst_table(block)
    if block.kind == "code":
        return f"#raw(block: true, {json.dumps(block.text, ensure_ascii=False)})"
    inner = "\n\n".join(text for child in block.children if (text := _typst(child)))
    return "\n\n".join(part for part in (_typst_text(block.text), inner) if part)


def _typst_table(table: Block) -> str:
    lines, width = [], 1
    for row in spans(table):
        cells = []
        for cell, rows, columns in row:
            content = (
                f"[*{_typst_text(cell.text)}*]" if cell.kind in HEADERS and cell.text else f"[{_typst_text(cell.text)}]"
            )
            size = [f"rowspan: {rows}"] * (rows > 1) + [f"colspan: {columns}"] * (columns > 1)
            cells.append(f"table.cell({', '.join(size)}){content}" if size else content)
        width = max(width, sum(columns for _, _, columns in row))
        lines.append("  " + ", ".join(cells) + ",")
    body = "\n".join([f"#table(columns: {width},", *lines, ")"])
    return "\n\n".join([*(_typst_text(caption) for caption in captions(table)), body])


def _typst_formula(latex: str) -> str:
    """Write a formula between dollar signs; one without a known meaning stands there as LaTeX."""
    try:
        return f"${formula_to_typst(latex)}$"
    except NotationError:
        return f"#raw({json.dumps(latex, ensure_ascii=False)})"


def _typst_text(text: str) -> str:
    pieces = split_formulas(text)
    return "".join(_typst_formula(piece) if is_latex else _typst_plain(piece) for piece, is_latex in pieces)


def _typst_plain(text: str) -> str:
    return _TYPST_MARKUP.sub(lambda match: "\\" + match[0], text)
