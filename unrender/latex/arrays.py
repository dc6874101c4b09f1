"""Arrays: the columns they declare and the cells their rows have."""

from collections.abc import Sequence
from dataclasses import dataclass, field

_COLUMNS = frozenset("lcr")


@dataclass
class _Array:
    columns: list[int] = field(default_factory=list)  # places of the letters that declare them
    declared: bool = False  # whether the declaration is complete
    cells: int = 1
    widest: int = 1


def surplus_columns(tokens: Sequence[str]) -> set[int]:
    """Return the places of the column letters that no row of their array has a cell for."""
    surplus: set[int] = set()
    opened: list[_Array] = []
    for place, token in enumerate(tokens):
        if token == r"\begin{array}":
            opened.append(_Array())
        elif not opened:
            continue
        elif not opened[-1].declared:
            if token in _COLUMNS:
                opened[-1].columns.append(place)
            opened[-1].declared = token == "}"
        elif token == r"\end{array}":
            array = opened.pop()
            surplus.update(array.columns[array.widest :])
        elif token == r"\\":
            opened[-1].cells = 1
        elif token == "&":
            opened[-1].cells += 1
            opened[-1].widest = max(opened[-1].widest, opened[-1].cells)
    return surplus
