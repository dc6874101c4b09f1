"""A formula as its symbols and where they stand, for comparing handwriting: no fonts, sizes, spaces or idle braces."""

from collections.abc import Iterator
from dataclasses import replace

from unrender.latex.canonical import unified, write
from unrender.latex.commands import (
    LENGTH_ARGUMENT,
    LIMIT_OPERATORS,
    OPERATORS,
    SIZED,
    SPACES,
    SWITCH_OF,
    TEXT,
)
from unrender.latex.parser import parse
from unrender.latex.tree import Array, Command, Fence, Group, Node, Script, Symbol

_FONTS = frozenset(
    """\\mathrm \\mathbb \\mathfrak \\mathscr \\mathsf \\mathtt \\mathit \\boldsymbol \\operatorname \\operatorname*
    \\smash \\rlap \\llap \\lefteqn""".split()
).union(TEXT, SWITCH_OF)
_IDLE = SPACES | frozenset(
    """\\cal \\bf \\it \\sf \\tt \\sl \\rm \\mit \\boldmath \\displaystyle \\textstyle \\scriptstyle \\scriptscriptstyle
    \\tiny \\small \\scriptsize \\footnotesize \\large \\Large \\nonumber""".split()
)
_PHANTOMS = LENGTH_ARGUMENT | frozenset({"\\phantom", "\\hphantom", "\\vphantom"})
_NO_DELIMITER = "."


def bare(text: str) -> str:
    """Write a formula as its symbols alone: `\\left(` as `(`, `\\mathrm { x }` as `x`, an operator name one token."""
    return write(_stripped(unified(parse(text))))


def _stripped(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    return tuple(plain for node in nodes for plain in _strip(node))


def _strip(node: Node) -> Iterator[Node]:
    match node:
        case Symbol(token):
            if token.startswith("\\middle"):
                yield Symbol(token.removeprefix("\\middle"))
            elif token not in _IDLE:
                yield node
        case Group(items):
            inner = _stripped(items)
            yield from (Group(inner),) if Symbol("\\atop") in inner else inner
        case Script(base, sub, sup):
            yield from _strip_script(base, sub, sup)
        case Command(name, arguments, option):
            yield from _strip_command(name, arguments, option)
        case Fence(left, items, right):
            yield from _delimiter(left)
            yield from _stripped(items)
            yield from _delimiter(right)
        case Array(rows=rows):
            yield replace(node, rows=tuple(tuple(_stripped(cell) for cell in row) for row in rows))


def _strip_script(base: Node | None, sub: Node | None, sup: Node | None) -> Iterator[Node]:
    """Hang the scripts on the last symbol of the base, where they stand in the picture."""
    below, above = (None if script is None else Group(_stripped((script,))) for script in (sub, sup))
    symbols = () if base is None else _stripped((base,))
    yield from symbols[:-1]
    last = symbols[-1] if symbols else Group(())
    if isinstance(last, Script) and not (last.sub and below) and not (last.sup and above):
        yield Script(last.base, last.sub or below, last.sup or above)
    else:
        yield Script(Group((last,)) if isinstance(last, Script) else last, below, above)


def _strip_command(name: str, arguments: tuple[Node, ...], option: tuple[Node, ...] | None) -> Iterator[Node]:
    if name in _PHANTOMS:
        return
    if name in SIZED:
        yield from _delimiter(write(arguments))
    elif name in _FONTS:
        inner = _stripped(arguments)
        word = "".join(node.token for node in inner if isinstance(node, Symbol))
        is_operator = len(word) == len(inner) and word in OPERATORS | LIMIT_OPERATORS
        yield from (Symbol("\\" + word),) if is_operator else inner
    else:
        stripped = tuple(Group(_stripped((argument,))) for argument in arguments)
        yield Command(name, stripped, None if option is None else _stripped(option))


def _delimiter(token: str) -> Iterator[Node]:
    if token != _NO_DELIMITER:
        yield Symbol(token)
