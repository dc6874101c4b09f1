"""The parsed form of a formula, and which environments its arrays stand for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from unrender.latex.commands import COLUMNS, MATRICES

_ALIGNED, _GATHERED, _MATRIX = "aligned", "gathered", "matrix"
_FENCED = {fence: name for name, fence in reversed(MATRICES.items()) if fence is not None}  # cases, not dcases
_COLUMNS = frozenset("lcr")


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
    columns: list[int] = field(default_factory=list)  # indices of the letters that declare them
    declared: bool = False  # whether the declaration is complete
    cells: int = 1
    widest: int = 1


def fit_columns(tokens: Sequence[str]) -> list[int]:
    """Return the indices of the tokens that make every array declare as many columns as its widest row has cells.

    Letters of columns that no row fills are left out, which no picture shows; where cells have no column, which TeX
    refuses, the index of the last letter is repeated.
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


def unwrap_cells(tokens: Sequence[str]) -> list[int]:
    """Return the indices of the tokens that are left when arrays of a single cell are groups, which looks the same."""
    kept: list[int | None] = list(range(len(tokens)))
    opened: list[tuple[int, list[int]]] = []  # where arrays begin, and where their cells end
    for index, token in enumerate(tokens):
        if token == r"\begin{array}":
            opened.append((index, []))
        elif opened and token in ("&", r"\\", r"\hline"):
            opened[-1][1].append(index)
        elif opened and token == r"\end{array}":
            start, ends = opened.pop()
            columns = next((place for place in range(start, index) if tokens[place] == "}"), None)
            if columns is not None and (not ends or (ends == [index - 1] and tokens[index - 1] == r"\\")):
                last = index - len(ends)
                braces = (None, None) if _is_group(tokens[columns + 1 : last]) else (start + 1, columns)
                kept[start : columns + 1] = [braces[0], *[None] * (columns - start)]
                kept[last : index + 1] = [braces[1], *[None] * len(ends)]
    return [index for index in kept if index is not None]


def _is_group(tokens: Sequence[str]) -> bool:
    """Whether a brace opens before all of it and closes after all of it."""
    depths = list(accumulate((token == "{") - (token == "}") for token in tokens))
    return len(tokens) > 1 and tokens[0] == "{" and depths[-1] == 0 and 0 not in depths[:-1]


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
