"""The parsed form of a formula."""

from dataclasses import dataclass


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
