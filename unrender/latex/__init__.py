"""LaTeX formulas: tokenise, parse, normalise to one canonical form, check.

The canonical form is that of the Im2Latex-100K labels: tokens between spaces, scripts always braced, sub before
sup, `\\over` as `\\frac`, `\\left(` one token, operator names spelled letter by letter, arrays with explicit columns.
"""

from unrender.errors import LatexError
from unrender.latex.canonical import bare, normalise, write
from unrender.latex.parser import parse
from unrender.latex.readable import readable
from unrender.latex.scanner import tokenise
from unrender.latex.tree import Array, Command, Fence, Group, Node, Script, Symbol

__all__ = [
    "Array",
    "Command",
    "Fence",
    "Group",
    "Node",
    "Script",
    "Symbol",
    "bare",
    "check",
    "normalise",
    "parse",
    "readable",
    "tokenise",
    "write",
]


def check(text: str) -> str | None:
    """Say what is wrong with a formula, or None when it is well-formed."""
    try:
        parse(text)
    except LatexError as error:
        return str(error)
    return None
