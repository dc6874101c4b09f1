r"""From the tree to LaTeX as a person would write it: `x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}`.

It compiles to the same picture as the canonical form. What differs are the environments, which TeX sets with other
margins than an array (`pmatrix`, `cases`, `aligned`, `gathered`), and `\limsup` and `\liminf`, which have a gap.
"""

from typing import Literal

from unrender.latex.characters import LETTERS
from unrender.latex.commands import LENGTH_ARGUMENT, ROWS, SIZED
from unrender.latex.parser import parse
from unrender.latex.spacing import Piece, Side, join, piece_of
from unrender.latex.tree import Array, Command, Fence, Group, Node, Script, Symbol, environment_of

Size = Literal[0, 1, 2, 3]  # TeX's styles: display, text, script, scriptscript

_FONT_OF_SWITCH = {
    "\\cal": "\\mathcal",
    "\\bf": "\\mathbf",
    "\\it": "\\mathit",
    "\\sf": "\\mathsf",
    "\\tt": "\\mathtt",
    "\\mit": "\\mathnormal",
}
_NO_EFFECT = Symbol("\\sl")  # in formulas
_KEEPS_BRACES = frozenset(
    """\\displaystyle \\textstyle \\scriptstyle \\scriptscriptstyle \\atop \\boldmath \\tiny \\small \\scriptsize
    \\footnotesize \\large \\Large \\sl""".split()
).union(_FONT_OF_SWITCH)
_NAMES = frozenset(
    "arccos arcsin arctan arg cos cosh cot coth csc deg dim exp hom ker lg ln log sec sin sinh tan tanh".split()
)
_LIMIT_NAMES = frozenset("det gcd inf lim liminf limsup max min Pr sup".split())
_TEXT_LETTERS = frozenset("i j l L o O ae AE oe OE aa AA ss".split())  # commands of text, no single signs of formulas
_LETTERS = frozenset("\\" + name for name in LETTERS.keys() - _TEXT_LETTERS)
_ALONE_IN_SCRIPTS = _LETTERS.union(
    """\\prime \\dagger \\ddagger \\ast \\star \\infty \\pm \\mp \\circ \\perp \\top \\bot \\partial \\parallel
    * + -""".split()
)
_PLAIN_COMMANDS = frozenset(
    """\\frac \\sqrt \\mathrm \\mathbf \\mathcal \\mathit \\mathsf \\mathtt \\mathbb \\mathfrak \\mathscr \\overline
    \\underline \\hat \\bar \\tilde \\vec \\dot \\ddot \\widehat \\widetilde""".split()
)
_SMALLER: dict[str, Size] = {"\\stackrel": 2, "\\overset": 2, "\\underset": 2, "\\xrightarrow": 2, "\\xleftarrow": 2,
                             "\\xleftrightarrow": 2, "\\xRightarrow": 2}  # fmt: skip
_RELATIONS = frozenset("\\stackrel \\mathrel \\xrightarrow \\xleftarrow \\xleftrightarrow \\xRightarrow".split())
_SIDES: dict[str, Side] = {"l": "open", "r": "close", "m": "relation"}
_KERNED = frozenset({",", ".", "/"})
_ROMAN = frozenset("()")  # besides letters and digits, what \text and \mathrm set alike


def readable(text: str) -> str:
    """Write a formula as a person would; a LatexError when it is not well-formed."""
    written = write_readable(parse(text))
    return written[:-2] + "~" if written.endswith("\\ ") else written  # the blank would be stripped by someone


def write_readable(nodes: tuple[Node, ...]) -> str:
    """Write parsed nodes for people."""
    return _row(nodes, 0)


def _row(nodes: tuple[Node, ...], size: Size, *, tight: bool = False) -> str:
    return join(_pieces(nodes, size), tight=tight)


def _pieces(nodes: tuple[Node, ...], size: Size) -> list[Piece]:
    pieces: list[Piece] = []
    for index, node in enumerate(nodes):
        if isinstance(node, Symbol) and node.token in _FONT_OF_SWITCH:
            return [*pieces, *_in_font(_FONT_OF_SWITCH[node.token], nodes[index + 1 :], size)]
        if isinstance(node, Group) and not _needs_braces(node) and not _would_kern(node, nodes[index + 1 : index + 2]):
            pieces += _pieces(node.items, size)
        elif node != _NO_EFFECT:
            pieces.append(_piece(node, size))
    return pieces


def _in_font(command: str, nodes: tuple[Node, ...], size: Size) -> list[Piece]:
    """Write what a switch commands, up to the next switch, as the argument of a command."""
    end = next((index for index, node in enumerate(nodes) if _is_switch(node)), len(nodes))
    inner = nodes[:end]
    if len(inner) == 1 and isinstance(inner[0], Group):
        inner = inner[0].items
    return [*([Piece(f"{command}{{{_row(inner, size)}}}")] if inner else []), *_pieces(nodes[end:], size)]


def _piece(node: Node, size: Size) -> Piece:
    match node:
        case Symbol(token):
            return piece_of(token)
        case Group(items):
            return Piece("{" + _row(items, size) + "}")
        case Script(base, sub, sup):
            return _script(base, sub, sup, size)
        case Command(name, arguments, option):
            return _command(name, arguments, option, size)
        case Fence(left, (Array() as array,), right) if environment_of(array, (left, right)):
            return Piece(_array(array, environment_of(array, (left, right))))
        case Fence(left, items, right):
            inside = [Piece("\\left" + left, "open", "open"), *_pieces(items, size), Piece("\\right" + right, "close")]
            return Piece(join(inside), "open", "close")
        case Array():
            return Piece(_array(node, environment_of(node, None)))


def _needs_braces(group: Group) -> bool:
    """Whether TeX would set the items otherwise without the braces."""
    items = group.items
    if len(items) > 1 and _is_switch(items[0]):
        return not all(map(_is_plain, items[1:]))
    if not items or any(isinstance(item, Symbol) and item.token in _KEEPS_BRACES for item in items):
        return True
    return not (_is_plain(items[0]) and _is_plain(items[-1]))


def _would_kern(group: Group, following: tuple[Node, ...]) -> bool:
    """Whether TeX would move what follows closer if there were no braces between."""
    sign = following[0].base if following and isinstance(following[0], Script) else next(iter(following), None)
    return len(group.items) > 1 and isinstance(sign, Symbol) and sign.token in _KERNED


def _is_switch(node: Node) -> bool:
    return isinstance(node, Symbol) and node.token in _FONT_OF_SWITCH


def _is_plain(node: Node) -> bool:
    """Whether TeX takes a node as an ordinary symbol."""
    match node:
        case Symbol(token):
            return token.isalnum() or token in _LETTERS or token in ("\\infty", "\\partial", "\\nabla")
        case Script(base):
            return base is not None and _is_plain(base)
        case Command(name):
            return name in _PLAIN_COMMANDS
        case Group():
            return not _needs_braces(node)
    return False


def _script(base: Node | None, sub: Node | None, sup: Node | None, size: Size) -> Piece:
    stem = Piece("") if base is None else _base(base, size)
    primes, rest = (0, sup) if base is None else _primes(sup)
    text = stem.text + ("" if sub is None else "_" + _attached(sub, size))
    text += "'" * primes + ("" if rest is None else "^" + _attached(rest, size))
    return Piece(text, stem.left, stem.right)


def _base(base: Node, size: Size) -> Piece:
    """Write what carries a script; in braces unless it is a single sign, on which TeX places scripts differently."""
    if not isinstance(base, Group):
        return _piece(base, size)
    *switches, last = base.items or (base,)
    while isinstance(last, Group) and len(last.items) == 1:
        last = last.items[0]
    if isinstance(last, Symbol) and _is_plain(last) and len(switches) < 2 and all(map(_is_switch, switches)):
        return _pieces((*switches, last), size)[0]
    return Piece("{" + _row(base.items, size) + "}")


def _primes(sup: Node | None) -> tuple[int, Node | None]:
    """Count the primes that a superscript begins with; return what follows them."""
    items = () if sup is None else _items(sup)
    count = next((index for index, item in enumerate(items) if item != Symbol("\\prime")), len(items))
    return (count, Group(items[count:]) if items[count:] else None) if count else (0, sup)


def _attached(script: Node, size: Size) -> str:
    """Write a script, without braces if it is one symbol."""
    items = _items(script)
    while len(items) == 1 and isinstance(items[0], Group) and not _needs_braces(items[0]):
        items = items[0].items
    if len(items) == 1 and isinstance(items[0], Symbol):
        token = items[0].token
        if (len(token) == 1 and token.isalnum()) or token in _ALONE_IN_SCRIPTS:
            return token
    return "{" + _row(items, 2 if size < 2 else 3, tight=True) + "}"


def _command(name: str, arguments: tuple[Node, ...], option: tuple[Node, ...] | None, size: Size) -> Piece:
    if name in SIZED:
        side = _SIDES.get(name[-1], "plain")
        return Piece(name + _letters(arguments[0]), side, side)
    if name in LENGTH_ARGUMENT:
        return Piece(f"{name}{{{_letters(arguments[0])}}}", "narrow", "narrow")
    if name in ("\\operatorname", "\\operatorname*"):
        word = _letters(arguments[0])
        known = word in (_LIMIT_NAMES if name.endswith("*") else _NAMES)
        return Piece("\\" + word if known else f"{name}{_braced(arguments[0], size)}", "name", "name")
    if name == "\\mathrm" and size < 2 and (words := _words(arguments[0])):
        return Piece(f"\\text{{{words}}}")
    if name in ROWS:
        return Piece(name + "{" + " \\\\ ".join(_row(_items(row), 2, tight=True) for row in arguments) + "}")
    side = "relation" if name in _RELATIONS else "name" if name == "\\pmod" else "plain"
    bracket = "" if option is None else f"[{_option(option)}]"
    inner: Size = _smaller(size) if name in ("\\frac", "\\binom") else _SMALLER.get(name, size)
    return Piece(name + bracket + "".join(_braced(argument, inner) for argument in arguments), side, side)


def _smaller(size: Size) -> Size:
    """Return the size of a fraction's parts."""
    return 1 if size == 0 else 2 if size == 1 else 3


def _braced(argument: Node, size: Size) -> str:
    return "{" + _row(_items(argument), size) + "}"


def _option(nodes: tuple[Node, ...]) -> str:
    """Write what stands in square brackets; a bracket inside would end it."""
    text = _row(nodes, 3, tight=True)
    return f"{{{text}}}" if "]" in text else text


def _letters(node: Node) -> str:
    """Write a name, a length or a delimiter, whose blanks mean nothing."""
    return "".join(item.token if isinstance(item, Symbol) else write_readable((item,)) for item in _items(node))


def _words(node: Node) -> str:
    """Return upright words with the blanks between them; nothing if there is no blank, or more than words."""
    tokens = [item.token if isinstance(item, Symbol) else "" for item in _items(node)]
    is_text = all(token.isalnum() or token == "~" or token in _ROMAN for token in tokens)
    text = "".join(tokens).replace("~", " ")
    return text if is_text and " " in text.strip(" ") + " " * ("~" in tokens) and "  " not in text else ""


def _items(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, Group) else (node,)


def _array(array: Array, environment: str | None) -> str:
    opening = f"\\begin{{array}}{{{array.columns}}}" if environment is None else f"\\begin{{{environment}}}"
    parts = [opening]
    for number, row in enumerate(array.rows):
        parts += ["\\hline"] * array.lines.count(number)
        for column, cell in enumerate(row):
            mark, text = "&" * (column > 0), _cell(cell, environment) or "{}" * (len(row) == 1)
            parts += [mark + text] if environment == "aligned" and column % 2 else [mark, text]
        if number < len(array.rows) - 1 or number + 1 in array.lines:
            parts.append("\\\\")
    parts += ["\\hline"] * array.lines.count(len(array.rows))
    return " ".join(part for part in [*parts, f"\\end{{{environment or 'array'}}}"] if part)


def _cell(cell: tuple[Node, ...], environment: str | None) -> str:
    """Write a cell; a bracket or star at its beginning would belong to the row's end before it."""
    items = cell
    while len(items) == 1 and isinstance(items[0], Group) and Symbol("\\\\") not in items[0].items:
        items = items[0].items
    if environment in ("aligned", "gathered") and items[:1] == (Symbol("\\displaystyle"),):
        items = items[1:]
    text = _row(items, 1)
    return f"{{{text}}}" if text.startswith(("[", "*")) else text
