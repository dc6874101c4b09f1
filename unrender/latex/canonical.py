"""From the tree back to text, in the one canonical form."""

from collections.abc import Iterator
from dataclasses import replace

from unrender.latex.commands import ALWAYS_BRACED, LENGTH_ARGUMENT, ROWS, SIZED, SWITCH_OF, SYNONYMS, WRAPPERS
from unrender.latex.parser import parse
from unrender.latex.tree import Array, Command, Fence, Group, Node, Script, Symbol

_SWITCHES = frozenset(
    """\\cal \\bf \\it \\sf \\tt \\sl \\mit \\boldmath \\displaystyle \\textstyle \\scriptstyle \\scriptscriptstyle
    \\atop \\tiny \\small \\scriptsize \\footnotesize \\large \\Large""".split()
)
_DASHES = frozenset({"--", "---"})


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
