"""What SymPy sources are made of: names with subscripts, primes and accents, imports, brackets in pairs."""

# ruff: noqa: RUF001 - characters that look alike are meant

import keyword
from collections.abc import Iterable
from dataclasses import replace

from unrender.errors import NotationError
from unrender.formats import formulas
from unrender.latex.characters import GREEK

FUNCTIONS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "tg": "tan", "cot": "cot", "ctg": "cot", "sec": "sec", "csc": "csc",
    "cosec": "csc", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctg": "atan", "arcctg": "acot",
    "sinh": "sinh", "sh": "sinh", "cosh": "cosh", "ch": "cosh", "tanh": "tanh", "th": "tanh", "coth": "coth",
    "cth": "coth", "ln": "log", "log": "log", "lg": "log", "exp": "exp", "max": "Max", "min": "Min", "gcd": "gcd",
    "arg": "arg", "erf": "erf",
}  # fmt: skip
_CLOSING = {"(": ")", "[": "]", "{": "}", "⌊": "⌋", "⌈": "⌉"}
_NAMED = {character: name for name, character in GREEK.items()} | {"ℓ": "ell", "ℏ": "hbar", "ı": "i", "ȷ": "j"}
_ACCENT_NAMES = {"bar": "bar", "overline": "bar", "hat": "hat", "widehat": "hat", "tilde": "tilde",
                 "widetilde": "tilde", "vec": "vec", "dot": "dot", "ddot": "ddot"}  # fmt: skip


class Names:
    """What the program must import, and the symbols it declares: variable to SymPy's name."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.symbols: dict[str, str] = {}

    def use(self, name: str) -> str:
        self.imports.add(name)
        return name

    def symbol(self, name: str) -> str:
        variable = f"{name}_" if keyword.iskeyword(name) or name in FUNCTIONS.values() else name
        self.symbols[variable] = name
        return variable

    def call(self, name: str, *arguments: str) -> str:
        return f"{self.use(name)}({', '.join(arguments)})"

    def exact(self, number: str) -> str:
        """Return a number as SymPy's own, so that Python does not round it."""
        return number if any(map(str.isalpha, number)) else self.call("sympify", number)

    def quotient(self, dividend: str, divisor: str) -> str:
        """Divide exactly: Python's own / would turn two whole numbers into a float."""
        if dividend.isdigit() and divisor.isdigit():
            return self.call("Rational", dividend, divisor)
        return f"{self.exact(dividend)}/{divisor}"

    def program(self, formula: str) -> str:
        """Return the formula after what it imports and declares."""
        lines = [f"formula = {formula}"]
        if self.symbols:
            variables = sorted(self.symbols)
            quoted = " ".join(self.symbols[variable] for variable in variables)
            lines = ["", f'{", ".join(variables)} = symbols("{quoted}")', *lines]
        imported = sorted({*self.imports, *(["symbols"] if self.symbols else [])})
        return "\n".join([f"from sympy import {', '.join(imported)}", *lines] if imported else lines)


def pair_brackets(items: Iterable[formulas.Math]) -> list[formulas.Math]:
    """Turn brackets and what stands between them into one item, which has the scripts of the closing one."""
    rows: list[list[formulas.Math]] = [[]]
    opened: list[str] = []
    for item in items:
        core = formulas.core(item)
        character = core.character if isinstance(core, formulas.Sign) else ""
        if item == core and character in _CLOSING:
            opened.append(character)
            rows.append([])
        elif opened and character == _CLOSING[opened[-1]]:
            fenced = formulas.Fenced(opened.pop(), formulas.Row(tuple(rows.pop())), character)
            rows[-1].append(replace(item, base=fenced) if isinstance(item, formulas.Scripted) else fenced)
        else:
            rows[-1].append(item)
    if opened:
        raise NotationError("SymPy cannot express a formula with an unclosed bracket.")
    return rows[0]


def split_power(item: formulas.Scripted) -> tuple[formulas.Math, formulas.Row | None]:
    """Part a scripted name into the name, with its subscript and primes, and its power."""
    if item.sup is None or all(isinstance(sign, formulas.Sign) and sign.character == "′" for sign in item.sup.items):
        return item, None
    if item.base is None or any(
        isinstance(sign, formulas.Sign) and sign.character in "∗†′⟂" for sign in item.sup.items
    ):
        raise cannot(item)
    return (item.base if item.sub is None else formulas.Scripted(item.base, item.sub, None)), item.sup


def name_of(item: formulas.Math) -> str:
    match item:
        case formulas.Letter(character, font):
            name = _NAMED.get(character, character)
            if not name.isidentifier():
                raise cannot(item)
            return name if font in {"italic", "roman"} else f"{name}_{font}"
        case formulas.Word(text):
            return text
        case formulas.Accented(accent, formulas.Row((formulas.Letter() as letter,))) if accent in _ACCENT_NAMES:
            return f"{name_of(letter)}_{_ACCENT_NAMES[accent]}"
        case formulas.Scripted(formulas.Letter() | formulas.Accented() | formulas.Word() as base, sub, sup):
            primes = "" if sup is None else "_" + "prime" * len(sup.items)
            return f"{name_of(base)}{'' if sub is None else '_' + _subscript(sub)}{primes}"
    raise cannot(item)


def _subscript(row: formulas.Row) -> str:
    text = formulas.plain_text(row)
    if text is None:
        raise NotationError("SymPy cannot express a subscript that is more than letters and digits.")
    name = "".join(_NAMED.get(character, character) for character in text)
    if not name.isalnum() or not name.isascii():
        raise NotationError(f"SymPy cannot express the subscript {text}.")
    return name


def is_d(item: formulas.Math) -> bool:
    return item in (formulas.Letter("d"), formulas.Letter("d", "roman"), formulas.Sign("∂", "ordinary"))


def cannot(item: formulas.Math) -> NotationError:
    what = item.character if isinstance(item, formulas.Sign | formulas.Letter) else type(item).__name__.lower()
    if isinstance(item, formulas.Scripted):
        what = "a script on what is no name or number"
    return NotationError(f"SymPy cannot express {what} in this place.")


def _closing_of_first_bracket(text: str) -> int:
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")":
            return index
    return -1


def is_atom(text: str) -> bool:
    """Whether a piece of source is one name, number, call or bracket."""
    name, bracket, _ = text.partition("(")
    return (not name or name.isidentifier() or name.isdigit()) and (
        not bracket or _closing_of_first_bracket(text) == len(text) - 1
    )


def grouped(text: str) -> str:
    return text if is_atom(text) else f"({text})"


def bare(text: str) -> str:
    """Take away brackets around the whole."""
    return text[1:-1] if text.startswith("(") and is_atom(text) else text
