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


def fit_columns(tokens: Sequence[str]) -> list[int]:
    """Return the places of the tokens that make every array declare as many columns as its widest row has cells.

    Letters of columns that no row fills are left out, which no picture shows; where cells have no column, which TeX
    refuses, the place of the last letter is repeated.
    """
    times = [1] * len(tokens)
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
            for surplus in array.columns[array.widest :]:
                times[surplus] = 0
            if array.columns:
                times[array.columns[-1]] += max(0, array.widest - len(array.columns))
        elif token == r"\\":
            opened[-1].cells = 1
        elif token == "&":
            opened[-1].cells += 1
            opened[-1].widest = max(opened[-1].widest, opened[-1].cells)
    return [place for place, count in enumerate(times) for _ in range(count)]
