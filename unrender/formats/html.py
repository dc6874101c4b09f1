"""HTML: one page that needs nothing else, formulas as MathML."""

from html import escape

from unrender.documents import Block, Document
from unrender.errors import NotationError
from unrender.formats.blocks import (
    FURNITURE,
    HEADERS,
    LISTS,
    captions,
    flatten,
    has_fields,
    in_lines,
    is_formula,
    spans,
    split_formulas,
)
from unrender.formats.markdown import expanded

_DEEPEST = 6
_STYLE = (
    "body{max-width:45em;margin:2em auto;padding:0 1em;font:1rem/1.5 serif}table{border-collapse:collapse}"
    "th,td{border:1px solid;padding:.2em .5em}"
)


def write_html(document: Document) -> str:
    """Write a whole HTML page; a formula that MathML cannot express stands there as LaTeX."""
    pages = [f'<section id="page-{page.number}">\n{_all(page.blocks)}\n</section>' for page in document.pages]
    title = escape(document.source or "unrender")
    head = f'<meta charset="utf-8">\n<title>{title}</title>\n<style>{_STYLE}</style>'
    return "\n".join(["<!DOCTYPE html>", "<html>", f"<head>\n{head}\n</head>", "<body>", *pages, "</body>", "</html>"])


def _all(blocks: tuple[Block, ...]) -> str:
    return "\n".join(_write(block) for block in expanded(blocks))


def _write(block: Block) -> str:
    text = _text(block.text)
    if is_formula(block):
        return _formula(block.text)
    if has_fields(block):
        rows = "".join(
            f"<dt>{escape(path)}</dt><dd>{escape(value)}</dd>" for path, value in flatten(in_lines(block.fields))
        )
        return f"<dl>{rows}</dl>"
    if block.kind in {"heading", "title"}:
        level = min(max(block.level, 1), _DEEPEST)
        return f"<h{level}>{text}</h{level}>"
    if block.kind in LISTS:
        name = "ol" if block.kind == "ordered_list" else "ul"
        items = "".join(f"<li>{_text(item.text)}{_children(item)}</li>" for item in block.children)
        return f"<{name}>{items}</{name}>"
    if block.kind == "table":
        return _table(block)
    if block.kind == "code":
        return f"<pre><code>{escape(block.text)}</code></pre>"
    if block.kind in {"picture", "chart"}:
        return f"<figure>{text}{_children(block)}</figure>"
    if block.kind == "caption":
        return f"<figcaption>{text}</figcaption>"
    if block.kind in FURNITURE:
        name = block.kind.removeprefix("page_")
        return f"<{name}>{text}</{name}>"
    return f"<p>{text}</p>{_children(block)}"


def _text(text: str) -> str:
    return "".join(
        _formula(piece, display=False) if is_latex else escape(piece) for piece, is_latex in split_formulas(text)
    )


def _children(block: Block) -> str:
    return "".join(_write(child) for child in block.children)


def _formula(latex: str, *, display: bool = True) -> str:
    from unrender.formats.formulas.mathml import formula_to_mathml  # slow to load, and needed for formulas only

    try:
        return formula_to_mathml(latex, display=display)
    except NotationError:
        source = f'<code class="latex">{escape(latex)}</code>'
        return f"<p>{source}</p>" if display else source


def _table(table: Block) -> str:
    rows = "".join(f"<tr>{''.join(_cell(*cell) for cell in row)}</tr>" for row in spans(table))
    titles = "".join(f"<caption>{_text(caption)}</caption>" for caption in captions(table))
    return f"<table>{titles}{rows}</table>"


def _cell(cell: Block, rows: int, columns: int) -> str:
    name = "th" if cell.kind in HEADERS else "td"
    size = (f' rowspan="{rows}"' if rows > 1 else "") + (f' colspan="{columns}"' if columns > 1 else "")
    return f"<{name}{size}>{_text(cell.text)}</{name}>"
