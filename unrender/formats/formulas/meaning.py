"""From parsed LaTeX to what it means.

Digits are joined to numbers, letters of operator names and upright words to words, font switches become the font of
each letter.
"""

from collections.abc import Iterator, Sequence

from unrender import latex
from unrender.errors import LatexError, NotationError
from unrender.formats import formulas
from unrender.latex.characters import (
    ACCENTS,
    DELIMITERS,
    EM_OF_UNIT,
    FONT_COMMANDS,
    FONT_SWITCHES,
    LETTERS,
    NEGATED,
    SIGNS,
    SILENT,
    SPACES,
    Font,
    Role,
)

_SIZES = {"big": 1.2, "Big": 1.8, "bigg": 2.4, "Bigg": 3.0}
_ARROWS = {"xrightarrow": "→", "xleftarrow": "←", "xleftrightarrow": "↔", "xRightarrow": "⇒"}
_WIDEST = 100.0  # em
_TRANSPARENT = frozenset({"mathop", "mathbin", "mathrel", "mathord", "mathopen", "mathclose", "mathpunct", "mathinner",
                          "lefteqn", "rlap", "llap", "smash"})  # fmt: skip


def read_formula(text: str) -> formulas.Row:
    """Parse LaTeX; a NotationError when it is malformed or uses a command without a known meaning."""
    try:
        nodes = latex.parse(text)
    except LatexError as error:
        raise NotationError(f"The formula is not well-formed LaTeX: {error}") from error
    return _row(nodes, "italic")


def _row(nodes: Sequence[latex.Node], font: Font) -> formulas.Row:
    return formulas.Row(tuple(_joined(_items(nodes, font))))


def _items(nodes: Sequence[latex.Node], font: Font) -> Iterator[formulas.Math]:
    if latex.Symbol("\\atop") in nodes:
        middle = list(nodes).index(latex.Symbol("\\atop"))
        yield formulas.Fraction(_row(nodes[:middle], font), _row(nodes[middle + 1 :], font), ruled=False)
        return
    negate = False
    for node in nodes:
        if isinstance(node, latex.Symbol) and node.token in FONT_SWITCHES:
            font = FONT_SWITCHES[node.token]
        elif node == latex.Symbol("\\not"):
            negate = True
        elif isinstance(node, latex.Command) and node.name[1:] in FONT_COMMANDS:
            yield from _argument(node.arguments[0], FONT_COMMANDS[node.name[1:]]).items
        elif isinstance(node, latex.Command) and node.name == "\\pmod":
            yield from (formulas.Space(1.0), _modulus(node.arguments[0], font))
        elif not (isinstance(node, latex.Symbol) and node.token in SILENT):
            item = _item(node, font)
            if item is not None:
                yield _negated(item) if negate else item
                negate = False


def _item(node: latex.Node, font: Font) -> formulas.Math | None:
    match node:
        case latex.Symbol(token):
            return _symbol(token, font)
        case latex.Group(items):
            return _unwrapped(_row(items, font))
        case latex.Script(base, sub, sup):
            return formulas.Scripted(
                None if base is None else _item(base, font),
                None if sub is None else _argument(sub, font),
                None if sup is None else _argument(sup, font),
            )
        case latex.Fence(left, items, right):
            return formulas.Fenced(_delimiter(left), _row(items, font), _delimiter(right))
        case latex.Array(columns, rows):
            cells = tuple(tuple(_row(cell, font) for cell in row) for row in rows)
            return formulas.Matrix(columns.replace("|", ""), cells)
        case latex.Command(name, arguments, option):
            return _command(name.removeprefix("\\"), arguments, option, font)


def _symbol(token: str, font: Font) -> formulas.Math:
    if token in SPACES:
        return formulas.Space(SPACES[token])
    if token.isascii() and token.isalpha() and len(token) == 1:
        return formulas.Letter(token, font)
    if token.isdigit():
        return formulas.Number(token, font)
    if token.startswith("\\") and token[1:] in LETTERS:
        return formulas.Letter(LETTERS[token[1:]], font)
    if token in SIGNS:
        character, role = SIGNS[token]
        return formulas.Sign(character, role)
    if token in {"\\bmod", "\\mod", "\\pmod"}:
        return formulas.Word("mod", function=True)
    raise NotationError(f"The formula uses {token}, whose meaning outside LaTeX is not known.")


def _command(
    name: str, arguments: tuple[latex.Node, ...], option: Sequence[latex.Node] | None, font: Font
) -> formulas.Math | None:
    if name in FONT_COMMANDS:
        return _unwrapped(_argument(arguments[0], FONT_COMMANDS[name]))
    if name in {"operatorname", "operatorname*"}:
        return _operator(_argument(arguments[0], "roman"), limits=name.endswith("*"))
    if name in {"hspace", "vspace"}:
        return formulas.Space(_length(arguments[0])) if name == "hspace" else None
    if name.rstrip("lrm") in _SIZES:
        return _sized(name, arguments[0])
    rows = [_argument(argument, font) for argument in arguments]
    if name in {"frac", "binom"}:
        fraction = formulas.Fraction(rows[0], rows[1], ruled=name == "frac")
        return fraction if name == "frac" else formulas.Fenced("(", formulas.Row((fraction,)), ")")
    if name == "sqrt":
        return formulas.Root(rows[0], None if option is None else _row(option, font))
    if name == "substack":
        return formulas.Matrix("c", tuple((row,) for row in rows))
    if name == "pmod":
        return _modulus(arguments[0], font)
    if name in ACCENTS or name in {"bcancel", "xcancel"}:
        return formulas.Accented("cancel" if name.endswith("cancel") else name, rows[0])
    if name in {"stackrel", "overset"}:
        return formulas.Stacked(rows[1], rows[0], None)
    if name == "underset":
        return formulas.Stacked(rows[1], None, rows[0])
    if name in _ARROWS:
        arrow = formulas.Row((formulas.Sign(_ARROWS[name], "relation"),))
        return formulas.Stacked(arrow, rows[0], None if option is None else _row(option, font))
    if name.endswith("phantom"):
        return formulas.Hidden(rows[0])
    if name in {"boxed", "fbox"}:
        return formulas.Boxed(rows[0])
    if name in _TRANSPARENT:
        return _unwrapped(rows[0])
    raise NotationError(f"The formula uses \\{name}, whose meaning outside LaTeX is not known.")


def _argument(node: latex.Node, font: Font) -> formulas.Row:
    return _row(node.items if isinstance(node, latex.Group) else (node,), font)


def _modulus(argument: latex.Node, font: Font) -> formulas.Fenced:
    return formulas.Fenced(
        "(", formulas.Row((formulas.Word("mod", function=True), *_argument(argument, font).items)), ")"
    )


def _unwrapped(row: formulas.Row) -> formulas.Math:
    return row.items[0] if len(row.items) == 1 else row


def _operator(name: formulas.Row, *, limits: bool) -> formulas.Math:
    text = formulas.plain_text(formulas.Row(tuple(item for item in name.items if not isinstance(item, formulas.Space))))
    return name if text is None else formulas.Word(text, function=True, limits=limits)


def _sized(name: str, delimiter: latex.Node) -> formulas.Sign:
    assert isinstance(delimiter, latex.Symbol)
    character = _delimiter(delimiter.token)
    _, role = SIGNS.get(delimiter.token, ("", "ordinary"))
    side: Role = {"l": "open", "r": "close", "m": "relation"}.get(name[-1], role)  # type: ignore[assignment]
    return formulas.Sign(character, side, _SIZES[name.rstrip("lrm")])


def _delimiter(token: str) -> str:
    if token not in DELIMITERS:
        raise NotationError(f"The formula uses the delimiter {token}, whose meaning outside LaTeX is not known.")
    return DELIMITERS[token]


def _length(argument: latex.Node) -> float:
    items = argument.items if isinstance(argument, latex.Group) else (argument,)
    text = "".join(item.token for item in items if isinstance(item, latex.Symbol)).replace(" ", "").replace(",", ".")
    try:
        return max(-_WIDEST, min(_WIDEST, float(text[:-2]) * EM_OF_UNIT[text[-2:]]))
    except (ValueError, KeyError):
        return 1.0  # \fill, or a length given by a name: some space


def _negated(item: formulas.Math) -> formulas.Math:
    if isinstance(item, formulas.Sign):
        return formulas.Sign(NEGATED.get(item.character, item.character + "\u0338"), item.role, item.size)
    return formulas.Accented("cancel", formulas.Row((item,)))


def _joined(items: Iterator[formulas.Math]) -> list[formulas.Math]:
    """Join digits to numbers and upright letters to words."""
    joined: list[formulas.Math] = []
    for item in items:
        last = joined[-1] if joined else None
        before = joined[-2] if len(joined) > 1 else None
        match last, item:
            case formulas.Number(text, font), formulas.Number(more, other) if font == other:
                joined[-1] = formulas.Number(text + more, font)
            case formulas.Sign("."), formulas.Number(more, font) if (
                isinstance(before, formulas.Number) and "." not in before.text
            ):
                joined[-2:] = [formulas.Number(f"{before.text}.{more}", before.font)]
            case formulas.Letter(one, "roman"), formulas.Letter(two, "roman"):
                joined[-1] = formulas.Word(one + two)
            case formulas.Word(text, "roman", False), formulas.Letter(more, "roman"):
                joined[-1] = formulas.Word(text + more)
            case _:
                joined.append(item)
    return joined
