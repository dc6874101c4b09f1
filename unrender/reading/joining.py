"""Formulas that were read one by one become one: rows below one another, and what stands beside a row."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from unrender.documents import Block, Token
from unrender.formats.tex import formula_block
from unrender.latex.spacing import piece_of

_ALIGNED, _LISTED = "rl", "l"  # columns of rows that have a relation each, and of others
_BESIDE = "\\qquad"
_OPENS, _CLOSES = ("{", "\\left", "\\begin{array}"), ("}", "\\right", "\\end{array}")
Row = tuple[Token, ...]


def join_rows(found: Sequence[tuple[Block, ...]], beside: Sequence[bool]) -> tuple[Block, ...]:
    """Join formulas that stand below one another, or `beside` the one before; anything else stays as it is."""
    blocks = tuple(block for one in found for block in one)
    if len(found) < 2 or any(block.kind != "formula" for block in blocks):
        return blocks
    rows: list[Row] = []
    for block, right in zip(blocks, beside, strict=True):
        if right and rows:
            rows[-1] = (*rows[-1], *_plain(_BESIDE), *block.tokens)
        elif block.tokens:
            rows.append(block.tokens)
    tokens = rows[0] if len(rows) == 1 else tuple(_below_one_another(rows))
    chances = [block.confidence for block in blocks if block.confidence is not None]
    joined = formula_block(" ".join(token.text.strip() for token in tokens))
    return (replace(joined, tokens=tokens, confidence=math.prod(chances) if chances else None),)


def _below_one_another(rows: Sequence[Row]) -> Iterator[Token]:
    """Put rows into an array, aligned at their first relation where each has one."""
    relations = [_first_relation(row) for row in rows]
    aligned = all(index is not None for index in relations)
    yield from _plain("\\begin{array}", "{", *(_ALIGNED if aligned else _LISTED), "}")
    for row, index in zip(rows, relations, strict=True):
        if aligned:
            yield from (*row[:index], *_plain("&"), *row[index:])
        else:
            yield from row
        yield from _plain("\\\\")
    yield from _plain("\\end{array}")


def _first_relation(row: Row) -> int | None:
    """Return the index of the first relation that is not inside of something."""
    depth = 0
    for index, token in enumerate(row):
        text = token.text.strip()
        depth += (text in _OPENS) - (text in _CLOSES)
        if depth == 0 and piece_of(text).left == "relation":
            return index
    return None


def _plain(*texts: str) -> list[Token]:
    return [Token(text, 1.0) for text in texts]
