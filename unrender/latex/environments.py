"""Which environment an array is, and the arrays that environments stand for."""

from unrender.latex.commands import COLUMNS, MATRICES
from unrender.latex.tree import Array

_CASES, _ALIGNED, _GATHERED, _MATRIX = "cases", "aligned", "gathered", "matrix"
_FENCED = {fence: name for name, fence in reversed(MATRICES.items()) if fence is not None}  # cases, not dcases


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
