"""From the tree back to text, in the one canonical form."""

from collections.abc import Iterator
from dataclasses import replace

from unrender.latex.commands import (
    ALWAYS_BRACED,
    LENGTH_ARGUMENT,
    LIMIT_OPERATORS,
    OPERATORS,
    ROWS,
    SIZED,
    SPACES,
    SWITCH_OF,
    SYNONYMS,
    TEXT,
    WRAPPERS,
)
from unrender.latex.parser import parse
from unrender.latex.tree import Array, Command, Fence, Group, Node, Script, Symbol

_SWITCHES = frozenset(
    """\\cal \\bf \\it \\sf \\tt \\sl \\mit \\boldmath \\displaystyle \\textstyle \\scriptstyle \\scriptscriptstyle
    \\atop \\tiny \\small \\scriptsize \\footnotesize \\large \\Large""".split()
)
_DASHES = frozenset({"--", "---"})
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


def normalise(text: str, *, unify: bool = False) -> str:
    """Bring a formula to the canonical form: tokens between single spaces.

    `unify` also settles what a picture cannot show: braces around every argument, one spelling for each symbol, no
    needless braces. Training labels are unified; without it the author's choice stays, as in the Im2Latex labels.
    """
    nodes = parse(text)
    return write(unified(nodes) if unify else nodes)


def write(nodes: tuple[Node, ...]) -> str:
    """Write parsed nodes as canonical text."""
    return " ".join(_sequence(nodes))


def unified(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Settle every choice that leaves the picture as it is."""
    items: list[Node] = []
    for node in _split_dashes(nodes):
        settled = _unify(node)
        if isinstance(settled, Group) and not _needs_braces(settled):
            items += settled.items
        elif settled != Symbol("\\nonumber"):
            items.append(settled)
    return tuple(items)


def _split_dashes(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Write -- and --- as so many signs; only the last of them carries the scripts."""
    for node in nodes:
        base = node.base if isinstance(node, Script) else node
        if isinstance(base, Symbol) and base.token in _DASHES:
            yield from (Symbol("-") for _ in base.token[1:])
            yield replace(node, base=Symbol("-")) if isinstance(node, Script) else Symbol("-")
        else:
            yield node


def _needs_braces(group: Group) -> bool:
    """Whether taking the braces away could change the picture or its meaning."""
    if len(group.items) != 1:
        return True
    item = group.items[0]
    if isinstance(item, Script):
        return item.base is None  # without braces it would hang on what stands before it
    return isinstance(item, Symbol) and (item.token in _SWITCHES or not item.token[-1].isalnum())


def _unify(node: Node) -> Node:
    match node:
        case Symbol(token):
            return Symbol("\\prime") if token == "'" else Symbol(SYNONYMS.get(token, token))
        case Group():
            return _unify_argument(node)
        case Script(base, sub, sup):
            return Script(
                None if base is None else _unify_base(base),
                None if sub is None else _unify_argument(sub),
                None if sup is None else _unify_argument(sup),
            )
        case Command(name, arguments, option):
            return _unify_command(name, arguments, option)
        case Fence(left, items, right):
            return Fence(SYNONYMS.get(left, left), unified(items), SYNONYMS.get(right, right))
        case Array(columns, rows, lines):
            return Array(columns, tuple(tuple(unified(cell) for cell in row) for row in rows), lines)


def _unify_argument(node: Node) -> Group:
    """Settle what stands, or should stand, between braces."""
    inner = unified(_items(node))
    return inner[0] if len(inner) == 1 and isinstance(inner[0], Group) else Group(inner)


def _unify_base(base: Node) -> Node:
    settled = _unify(base)
    if isinstance(settled, Group) and len(settled.items) == 1 and not _needs_braces(settled):
        item = settled.items[0]
        return settled if isinstance(item, Script) else item
    return settled


def _unify_command(name: str, arguments: tuple[Node, ...], option: tuple[Node, ...] | None) -> Node:
    name = SYNONYMS.get(name, name)
    if name in WRAPPERS:
        return _unify(arguments[0])
    if name in SIZED:
        return Command(name, tuple(_unify(argument) for argument in arguments))
    settled = arguments if name in LENGTH_ARGUMENT else tuple(_unify_argument(argument) for argument in arguments)
    if name in SWITCH_OF:
        return Group((Symbol(SWITCH_OF[name]), *_items(settled[0])))
    return Command(name, settled, None if option is None else unified(option))


def _braced(node: Node) -> Group:
    return node if isinstance(node, Group) else Group((node,))


def _items(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, Group) else (node,)


def _sequence(nodes: tuple[Node, ...]) -> list[str]:
    return [token for node in nodes for token in _tokens(node)]


def _tokens(node: Node) -> list[str]:
    match node:
        case Symbol(token):
            return [token]
        case Group(items):
            return ["{", *_sequence(items), "}"]
        case Script(base, sub, sup):
            tokens = [] if base is None else _tokens(base)
            for mark, script in (("_", sub), ("^", sup)):
                if script is not None:
                    tokens += [mark, *_tokens(script if base is None else _braced(script))]
            return tokens
        case Command(name, arguments) if name in ROWS:
            tokens = [name, "{"]
            for number, row in enumerate(arguments):
                tokens += [*["\\\\"] * (number > 0), *_sequence(_items(row))]
            return [*tokens, "}"]
        case Command(name, arguments, option):
            tokens = [name]
            if option is not None:
                tokens += ["[", *_sequence(option), "]"]
            for argument in arguments:
                tokens += _tokens(_braced(argument) if name in ALWAYS_BRACED else argument)
            return tokens
        case Fence(left, items, right):
            return ["\\left" + left, *_sequence(items), "\\right" + right]
        case Array():
            return _array_tokens(node)


def _array_tokens(array: Array) -> list[str]:
    tokens = ["\\begin{array}", "{", *array.columns, "}"]
    for number, row in enumerate(array.rows):
        tokens += ["\\hline"] * array.lines.count(number)
        for index, cell in enumerate(row):
            if index:
                tokens.append("&")
            single = cell[0] if len(cell) == 1 and isinstance(cell[0], Group) else Group(cell)
            tokens += _tokens(single)
        tokens.append("\\\\")
    tokens += ["\\hline"] * array.lines.count(len(array.rows))
    return [*tokens, "\\end{array}"]


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
