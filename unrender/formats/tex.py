"""LaTeX: a formula by itself, or the body of a document."""

import re

from unrender.documents import Block, Document
from unrender.errors import LatexError
from unrender.formats.blocks import (
    LISTS,
    MERGED,
    as_lines,
    captions,
    grid,
    has_fields,
    is_formula,
    list_items,
    one_page,
    spans,
    split_formulas,
)
from unrender.formats.markdown import expanded
from unrender.latex import check, readable
from unrender.latex.characters import GREEK, SIGNS

_SPECIAL = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
            "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}  # fmt: skip
_SPECIALS = re.compile("|".join(re.escape(character) for character in _SPECIAL))
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_EMPTY = r"\mbox{}"
_SIGNS = [
    *((token, sign) for token, (sign, _) in SIGNS.items()),
    *(("\\" + name, sign) for name, sign in GREEK.items()),
]
_COMMANDS = {sign: f"\\ensuremath{{{token}}}" for token, sign in _SIGNS if token[0] == "\\" and ord(sign or "a") > 0xFF}
_PACKAGES = {"cancel": r"\\[bx]?cancel\b", "mathtools": r"\\x(?:leftright|Right)arrow|\\begin\{[dr]cases\}"}
_SECTIONS = (r"\section*", r"\section*", r"\subsection*", r"\subsubsection*", r"\paragraph*", r"\subparagraph*")


def write_latex(document: Document) -> str:
    """Write formulas as they are, one a line, when there is nothing else; else the body of a LaTeX document."""
    blocks = expanded(document.blocks)
    if all(is_formula(block) for block in blocks):
        return "\n".join(block.text for block in blocks)
    return "\n\n".join(text for block in blocks if (text := _write(block)))


def write_latex_file(document: Document) -> str:
    """Write a whole LaTeX document that compiles as it is."""
    body = "\n\n".join(text for block in expanded(document.blocks) if (text := _write(block)))
    extra = "".join(f"\\usepackage{{{name}}}\n" for name, commands in _PACKAGES.items() if re.search(commands, body))
    return (
        f"\\documentclass{{article}}\n\\usepackage{{amsmath,amssymb,mathrsfs}}\n{extra}"
        f"\\begin{{document}}\n\n{body or _EMPTY}\n\n\\end{{document}}\n"
    )


def parse_latex(text: str) -> Document:
    """Take the text as one formula."""
    return one_page(formula_block(text))


def formula_block(text: str) -> Block:
    """Return a formula as people write it; one that is not well-formed stays as it is."""
    written = text.strip()
    try:
        tidy = readable(written)
    except LatexError:
        tidy = written
    return Block(kind="formula", text=tidy, written=written if written != tidy else "")


def _write(block: Block) -> str:
    if is_formula(block):
        return f"\\[ {block.text} \\]" if check(block.text) is None else _list("quote", [_escape_plain(block.text)])
    if has_fields(block):
        return _list("itemize", [_escape(line) for line in as_lines(block.fields)])
    if block.kind in {"heading", "title"}:
        return f"{_SECTIONS[min(block.level, len(_SECTIONS) - 1)]}{{{_escape(block.text)}}}"
    if block.kind in LISTS:
        name = "enumerate" if block.kind == "ordered_list" else "itemize"
        return _list(name, [_escape(item.text) for _, item in list_items(block)])
    if block.kind == "table":
        return _table(block)
    if block.kind == "code":
        return f"\\begin{{verbatim}}\n{block.text}\n\\end{{verbatim}}"
    parts = [_escape(block.text), *(_write(child) for child in block.children)]
    return "\n\n".join(part for part in parts if part)


def _list(name: str, items: list[str]) -> str:
    return "\n".join([f"\\begin{{{name}}}", *(f"\\item {item}" for item in items), f"\\end{{{name}}}"])


def _table(table: Block) -> str:
    width = max((len(row) for row in grid(table)), default=0)
    lines = [_table_row(row, cells) for row, cells in zip(grid(table), spans(table), strict=True)]
    body = "\n".join([f"\\begin{{tabular}}{{{'l' * width}}}", *lines, r"\end{tabular}"])
    return "\n\n".join([*(_escape(caption) for caption in captions(table)), body])


def _table_row(row: list[Block], cells: list[tuple[Block, int, int]]) -> str:
    """Write one row; a cell that covers rows is written once, those below it stay empty."""
    remaining = iter(cells)
    parts, column = [], 0
    while column < len(row):
        if row[column].kind in MERGED:
            parts.append("")
            column += 1
            continue
        cell, _, columns = next(remaining)
        text = _escape(cell.text)
        parts.append(text if columns == 1 else f"\\multicolumn{{{columns}}}{{l}}{{{text}}}")
        column += columns
    return " & ".join(parts) + r" \\"


def _escape(text: str) -> str:
    """Escape LaTeX's own characters, except in formulas between \\( \\) or dollar signs."""
    pieces = split_formulas(text)
    return "".join(f"\\({piece}\\)" if is_latex else _escape_plain(piece) for piece, is_latex in pieces)


def _escape_plain(text: str) -> str:
    printable = _CONTROL.sub("", _SPECIALS.sub(lambda match: _SPECIAL[match[0]], text))
    return "".join(_COMMANDS.get(character, character) for character in printable)
