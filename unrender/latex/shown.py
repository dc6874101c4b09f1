r"""What of a formula stands on the paper: its rows, in one spelling, without what makes space and how brackets grow.

Upright letters are upright whether they name an operator or not; environments that only put rows below one another are
no part of them, and the number of a display is what it looks like. Matrices stay matrices.
"""

import re
from collections.abc import Iterator, Sequence

from unrender.errors import LatexError
from unrender.latex.canonical import normalise, write
from unrender.latex.commands import LENGTH_ARGUMENT, SIZED, SPACES
from unrender.latex.parser import parse
from unrender.latex.tree import Array, Command, Group, Node

_TAG = re.compile(r"\\tag\*?\s*\{([^{}]*)\}")
_ROWS = re.compile(r"[lcr]{1,3}")  # the columns of what is one row below the other; more of them are a matrix
_UPRIGHT = re.compile(r"\\operatorname\*?(?= )")
_GROWING = re.compile(r"\\(?:left|right|middle)(?![a-zA-Z])")
_UNSEEN = frozenset(
    """\\displaystyle \\textstyle \\tiny \\scriptsize \\footnotesize \\small \\large \\Large \\nonumber \\left.
    \\right.""".split()
).union(SPACES, SIZED)
_ALIKE = {"\\mid": "|", "\\ldots": ". . ."}


def rows_shown(formula: str) -> tuple[str, ...]:
    """Return the rows of a formula as far as they show; what is no well-formed LaTeX stays as it is."""
    try:
        nodes = parse(normalise(_TAG.sub(r"(\1)", formula), unify=True))
    except LatexError:
        return (" ".join(formula.split()),)
    return tuple(row for nodes in _rows(nodes) if (row := " ".join(_seen(nodes))))


def _rows(nodes: Sequence[Node]) -> Iterator[tuple[Node, ...]]:
    """Give what stands one below the other; what follows the last row, its number, goes with it."""
    first = next((index for index, node in enumerate(nodes) if any(_seen((node,)))), 0)
    array = nodes[first] if nodes else None
    if not isinstance(array, Array) or not _ROWS.fullmatch(array.columns):
        yield tuple(nodes)
        return
    rows = [tuple(node for cell in row for node in _inside(cell)) for row in array.rows]
    rows[-1] = (*rows[-1], *nodes[first + 1 :])
    for row in rows:
        yield from _rows(row)


def _inside(cell: tuple[Node, ...]) -> tuple[Node, ...]:
    """Take the braces off that keep a cell together."""
    return cell[0].items if len(cell) == 1 and isinstance(cell[0], Group) else cell


def _seen(nodes: Sequence[Node]) -> Iterator[str]:
    lengths = (isinstance(node, Command) and node.name in LENGTH_ARGUMENT for node in nodes)
    kept = tuple(node for node, length in zip(nodes, lengths, strict=True) if not length and node != Group(()))
    for token in _UPRIGHT.sub(r"\\mathrm", write(kept)).split():
        if token not in _UNSEEN:
            yield _ALIKE.get(token, _GROWING.sub("", token))
