"""What several notations share: how blocks are grouped and what a one-page document looks like, fields as lines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from unrender import latex
from unrender.documents import Block, Document, Json, Page

FURNITURE = frozenset({"page_header", "page_footer"})
LISTS = frozenset({"ordered_list", "unordered_list"})
ANNOTATED = frozenset({"code", "picture", "chart"})  # their `fields` describe them and are not their content
_INLINE_FORMULA = re.compile(r"\\\((?:(?!\\\().)*?\\\)|(?<![\\$])\$(?!\s)[^$\n]+(?<!\s)\$(?!\d)", re.DOTALL)
FILE, PAGE = "file", "page"  # the columns that name the source, in tables of several
_OF_A_VALUE = frozenset({"label", "text", "confidence", "box"})  # what is known of one value that was read
_LISTED = frozenset({"items", "tax"})  # what a receipt has several of
_OF_AN_ITEM = frozenset({"description", "quantity", "price", "rate", "amount"})


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


def value_of(fields: Json) -> Json:
    """Return a value that carries its confidence and box as its text alone, any other as it is."""
    return fields["text"] if _is_value(fields) else fields


def _is_value(fields: Json) -> TypeGuard[Mapping[str, Json]]:
    return isinstance(fields, Mapping) and "text" in fields and len(fields) > 1 and fields.keys() <= _OF_A_VALUE
