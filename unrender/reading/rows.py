"""Several readings of one picture, from top to bottom, as one block."""

from collections.abc import Sequence
from dataclasses import replace

from unrender.documents import Block, Token
from unrender.latex import normalise

_OPENING = ("\\begin{array}", "{", "l", "}")
_CLOSING = ("\\end{array}",)


def join_rows(rows: Sequence[tuple[Block, ...]]) -> tuple[Block, ...]:
    """Join formulas that stand below one another to one of several lines; anything else stays as it is."""
    blocks = tuple(block for row in rows for block in row)
    if len(rows) == 1 or any(block.kind != "formula" for block in blocks):
        return blocks
    tokens = [*_plain(_OPENING)]
    for block in blocks:
        tokens += [*_plain(("{",)), *block.tokens, *_plain(("}", "\\\\"))]
    tokens += _plain(_CLOSING)
    text = normalise(" ".join(token.text.strip() for token in tokens))
    chances = [block.confidence for block in blocks if block.confidence is not None]
    joined = replace(
        blocks[0], text=text, tokens=tuple(tokens), confidence=min(chances) if chances else None, readings=()
    )
    return (joined,)


def _plain(texts: Sequence[str]) -> list[Token]:
    return [Token(text, 1.0) for text in texts]
