"""The tokens of a formula with their positions, its parsed form, and which environments its arrays stand for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from unrender.errors import LatexError
from unrender.latex.commands import ALIASES, COLUMNS, DELIMITERS, MATRICES

_ALIGNED, _GATHERED, _MATRIX = "aligned", "gathered", "matrix"
_FENCED = {fence: name for name, fence in reversed(MATRICES.items()) if fence is not None}  # cases, not dcases
_COLUMNS = frozenset("lcr")
_LEXEME = re.compile(
    r"(?P<environment>\\(?:begin|end)\s*\{\s*[a-zA-Z]+\*?\s*\})"
    r"|(?P<fence>\\(?:left|right|middle)(?![a-zA-Z])\s*)"
    r"|(?P<command>\\[a-zA-Z]+(?:(?<=\\operatorname)\*|(?<=\\hspace)\*|(?<=\\vspace)\*|(?<=\\tag)\*)?)"
    r"|(?P<symbol>\\[^\sa-zA-Z])"
    r"|(?P<space>\\(?:\s|$))"
    r"|(?P<comment>%[^\n]*)"
    r"|(?P<blank>\s+)"
    r"|(?P<dashes>-{2,3})"
    r"|(?P<character>[!-~°])",
)
_DELIMITER = re.compile(r"\\[a-zA-Z]+|\\[^\sa-zA-Z]|[!-~]")
_DEGREES = frozenset({"°", "\\degree"})
_IGNORED_CHARACTERS = frozenset("$")


@dataclass(frozen=True)
class Symbol:
    """One token that stands for itself: a letter, a relation, a space, a font switch."""

    token: str


@dataclass(frozen=True)
class Group:
    """What stands between braces."""

    items: tuple["Node", ...]


@dataclass(frozen=True)
class Script:
    """A base, perhaps absent, with a subscript or a superscript or both."""

    base: "Node | None"
    sub: "Node | None"
    sup: "Node | None"


@dataclass(frozen=True)
class Command:
    """A command with its arguments; `option` is what stood in square brackets."""

    name: str
    arguments: tuple["Node", ...]
    option: "tuple[Node, ...] | None" = None


@dataclass(frozen=True)
class Fence:
    """What stands between \\left and \\right."""

    left: str
    items: tuple["Node", ...]
    right: str


@dataclass(frozen=True)
class Array:
    """Rows of cells; each cell is a sequence of nodes. `lines` are the rows before which \\hline stands."""

    columns: str
    rows: tuple[tuple[tuple["Node", ...], ...], ...]
    lines: tuple[int, ...] = ()


Node = Symbol | Group | Script | Command | Fence | Array


def columns_of(name: str, width: int) -> str:
    """Return the columns of an array that stands for the environment `name`."""
    return (COLUMNS[name] * width)[:width] if name in COLUMNS else "c" * width


def environment_of(array: Array, fence: tuple[str, str] | None) -> str | None:
    """Return the environment that means this array, between this fence if there is one; None when none does."""
    width = max((len(row) for row in array.rows), default=0)
    if array.lines or not width:
        return None
    if fence is not None:
        names = [_FENCED[fence]] if fence in _FENCED else []
    else:
        names = [_GATHERED if width == 1 else _MATRIX, *([_ALIGNED] if len(array.rows) > 1 else [])]
    return next((name for name in names if columns_of(name, width) == array.columns), None)


@dataclass
class _Array:
    columns: list[int] = field(default_factory=list)  # places of the letters that declare them
    declared: bool = False  # whether the declaration is complete
    cells: int = 1
    widest: int = 1


def fit_columns(tokens: Sequence[str]) -> list[int]:
    """Return the places of the tokens that make every array declare as many columns as its widest row has cells.

    Letters of columns that no row fills are left out, which no picture shows; where cells have no column, which TeX
    refuses, the place of the last letter is repeated.
    """
    times = [1] * len(tokens)
    opened: list[_Array] = []
    for index, token in enumerate(tokens):
        if token == r"\begin{array}":
            opened.append(_Array())
        elif not opened:
            continue
        elif not opened[-1].declared:
            if token in _COLUMNS:
                opened[-1].columns.append(index)
            opened[-1].declared = token == "}"
        elif token == r"\end{array}":
            array = opened.pop()
            for surplus in array.columns[array.widest :]:
                times[surplus] = 0
            if array.columns:
                times[array.columns[-1]] += max(0, array.widest - len(array.columns))
        elif token == r"\\":
            opened[-1].cells = 1
        elif token == "&":
            opened[-1].cells += 1
            opened[-1].widest = max(opened[-1].widest, opened[-1].cells)
    return [index for index, count in enumerate(times) for _ in range(count)]


def roman_scope(nodes: list[Node]) -> tuple[Node, ...]:
    """Turn each switch \\rm into \\mathrm over what follows it, up to the next one."""
    switches = [index for index, node in enumerate(nodes) if node == Symbol("\\rm")]
    if not switches:
        return tuple(nodes)
    scoped = nodes[: switches[0]]
    for start, end in zip(switches, [*switches[1:], len(nodes)], strict=True):
        scope = tuple(nodes[start + 1 : end])
        if len(scope) == 1 and isinstance(scope[0], Group):
            scope = scope[0].items
        scoped.append(Command("\\mathrm", (Group(scope),)))
    return tuple(scoped)


@dataclass(frozen=True)
class Lexeme:
    """One token and where it began."""

    token: str
    position: int
    after_blank: bool = False  # white space stood before it: matters inside \text


def tokenise(text: str) -> list[str]:
    """Split LaTeX into tokens, comments and white space dropped."""
    return [lexeme.token for lexeme in scan(text)]


def scan(text: str) -> list[Lexeme]:
    """Split LaTeX into tokens with positions; a LatexError names a character that cannot stand in a formula."""
    lexemes: list[Lexeme] = []
    position, blank = 0, False
    while position < len(text):
        match = _LEXEME.match(text, position)
        if match is None:
            raise LatexError(f"{text[position]!r} cannot stand in a formula", position)
        kind, piece, start = str(match.lastgroup), match.group(), position
        position = match.end()
        if kind in ("blank", "comment") or piece in _IGNORED_CHARACTERS:
            blank = blank or kind == "blank"
            continue
        if kind == "fence":
            piece, position = _with_delimiter(text, piece.strip(), position)
        if piece in _DEGREES:
            lexemes += [Lexeme("^", start, blank), Lexeme("\\circ", start)]
        else:
            lexemes.append(Lexeme(_canonical(kind, piece), start, blank))
        blank = False
    return lexemes


def is_spaced(lexemes: Sequence[Lexeme], start: int) -> bool:
    """Say whether every token of the group from `start` on follows white space: blanks only separate them."""
    depth, index = 1, start
    while depth and index < len(lexemes):
        if not lexemes[index].after_blank:
            return False
        depth += (lexemes[index].token == "{") - (lexemes[index].token == "}")
        index += 1
    return True


def _with_delimiter(text: str, fence: str, position: int) -> tuple[str, int]:
    match = _DELIMITER.match(text, position)
    if match is None or match.group() not in DELIMITERS:
        raise LatexError(f"{fence} needs a delimiter", position)
    return fence + match.group(), match.end()


def _canonical(kind: str, piece: str) -> str:
    if kind == "environment":
        return "".join(piece.split())
    if kind == "space":
        return "\\"
    if piece in ("\\hspace*", "\\vspace*"):
        return piece[:-1]
    return ALIASES.get(piece, piece)
