"""SymPy source for formulas that have a meaning as algebra; a NotationError for those that have none.

What LaTeX leaves open is settled so: letters side by side are a product; f, g, h before a bracket, and any letter
before a bracket with commas, are functions; a subscript is part of the name; e to a power is the exponential.
"""

# ruff: noqa: RUF001 - characters that look alike are meant

from collections.abc import Callable, Sequence

from unrender.errors import NotationError
from unrender.formats import formulas
from unrender.formats.formulas.meaning import read_formula
from unrender.formats.formulas.sympy_names import (
    FUNCTIONS,
    Names,
    bare,
    cannot,
    grouped,
    is_atom,
    is_d,
    name_of,
    pair_brackets,
    split_power,
)

_RELATIONS = {"=": "Eq", "≠": "Ne", "<": "Lt", ">": "Gt", "≤": "Le", "≥": "Ge", "⩽": "Le", "⩾": "Ge"}
_INVERSES = {"sin": "asin", "cos": "acos", "tan": "atan", "sinh": "asinh", "cosh": "acosh", "tanh": "atanh"}
_LARGE = {"∑": "Sum", "∏": "Product"}
_FENCED = {"()": "", "[]": "", "{}": "", "||": "Abs", "⌊⌋": "floor", "⌈⌉": "ceiling"}  # the function a fence stands for
_MATRICES = {"()": "", "[]": "", "||": ".det()"}
_MAX_DEPTH = 40  # of brackets; deeper ones must not exhaust the stack
_FUNCTION_LETTERS = "fghFGH"
_ENDS_ARGUMENT = formulas.Word | formulas.Fenced | formulas.Sign  # of a function without brackets


def formula_to_sympy(text: str) -> str:
    """Write a LaTeX formula as a short Python program that ends in `formula = ...`."""
    names = Names()
    items = list(read_formula(text).items)
    while items and (
        isinstance(items[-1], formulas.Space)
        or items[-1] in (formulas.Sign(".", "punctuation"), formulas.Sign(",", "punctuation"))
    ):
        items.pop()
    return names.program(_Parser(items, names).formula())


class _Parser:
    """Recursive descent over the items of a row."""

    def __init__(self, items: Sequence[formulas.Math], names: Names, depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise NotationError(f"SymPy cannot express brackets nested more than {_MAX_DEPTH} deep.")
        self._depth = depth
        self._items = pair_brackets(item for item in items if not isinstance(item, formulas.Space | formulas.Hidden))
        self._next = 0
        self._names = names

    def formula(self) -> str:
        """Parse equations, parted by commas."""
        parts = self._list(self._relation)
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    def arguments(self) -> list[str]:
        return [bare(argument) for argument in self._list(self._sum)]

    def expression(self) -> str:
        result = self._sum()
        self._finish()
        return bare(result)

    def _list(self, parse: Callable[[], str]) -> list[str]:
        parts = [parse()]
        while self._take_sign(",;"):
            parts.append(parse())
        self._finish()
        return parts

    def _finish(self) -> None:
        if self._next < len(self._items):
            raise cannot(self._items[self._next])

    def _relation(self) -> str:
        sides, relations = [bare(self._sum())], list[str]()
        while sign := self._take_sign("".join(_RELATIONS)):
            relations.append(self._names.use(_RELATIONS[sign]))
            sides.append(bare(self._sum()))
        pairs = [f"{name}({sides[index]}, {sides[index + 1]})" for index, name in enumerate(relations)]
        if len(pairs) > 1:
            return self._names.call("And", *pairs)
        return pairs[0] if pairs else sides[0]

    def _sum(self) -> str:
        result = ""
        while True:
            sign = self._take_sign("+−")
            if result and not sign:
                return result
            joint = " - " if sign == "−" else " + "
            result += (joint if result else joint.strip(" +")) + self._term()

    def _term(self) -> str:
        result = self._factor()
        while True:
            if self._take_sign("⋅×∗") or self._begins_factor():
                result = f"{result}*{self._factor()}"
            elif self._take_sign("/"):
                result = self._names.quotient(result, self._factor())
            else:
                return result

    def _begins_factor(self) -> bool:
        core = formulas.core(self._peek())
        return (core.role == "large" or core.character == "∞") if isinstance(core, formulas.Sign) else core is not None

    def _factor(self) -> str:
        item = self._take()
        power: formulas.Row | None = None
        if isinstance(item, formulas.Scripted) and not isinstance(item.base, formulas.Sign | formulas.Word):
            item, power = split_power(item)
        if isinstance(item, formulas.Letter) and item.character == "e" and power is not None:
            return self._names.call("exp", self._inner(power))
        base = self._atom(item)
        if self._take_sign("!"):
            base = self._names.call("factorial", base)
        return base if power is None else self._power(base, power)

    def _atom(self, item: formulas.Math) -> str:
        match item:
            case formulas.Number(text):
                return text
            case formulas.Letter("π"):
                return self._names.use("pi")
            case (
                formulas.Letter()
                | formulas.Accented()
                | formulas.Scripted(base=formulas.Letter() | formulas.Accented())
            ):
                return self._named(item)
            case formulas.Sign("∞"):
                return self._names.use("oo")
            case formulas.Sign(role="large") | formulas.Scripted(base=formulas.Sign(role="large")):
                return self._large(item)
            case formulas.Word() | formulas.Scripted(base=formulas.Word()):
                return self._word(item)
            case formulas.Row():
                return f"({self._inner(item)})"
            case formulas.Fraction(numerator, denominator, True):
                return self._fraction(numerator, denominator)
            case formulas.Root(radicand, None):
                return self._names.call("sqrt", self._inner(radicand))
            case formulas.Root(radicand, degree) if degree is not None:
                return self._names.call("root", self._inner(radicand), self._inner(degree))
            case formulas.Fenced():
                return self._fenced(item)
        raise cannot(item)

    def _fenced(self, item: formulas.Fenced) -> str:
        match item.left + item.right, item.body:
            case "()", formulas.Row((formulas.Fraction(top, bottom, False),)):
                return self._names.call("binomial", self._inner(top), self._inner(bottom))
            case fence, formulas.Row((formulas.Matrix() as matrix,)) if fence in _MATRICES:
                if len({len(row) for row in matrix.rows}) > 1:
                    raise NotationError("SymPy cannot express a matrix whose rows differ in length.")
                rows = ", ".join(f"[{', '.join(self._inner(cell) for cell in row)}]" for row in matrix.rows)
                return f"{self._names.use('Matrix')}([{rows}]){_MATRICES[fence]}"
            case fence, body if fence in _FENCED:
                name = _FENCED[fence]
                return f"{self._names.use(name) if name else ''}({self._inner(body)})"
        raise cannot(item)

    def _named(self, item: formulas.Math) -> str:
        name, bracket = name_of(item), self._bracket_ahead()
        if bracket and (name in _FUNCTION_LETTERS or formulas.Sign(",", "punctuation") in bracket.body.items):
            return self._call(f'{self._names.use("Function")}("{name}")')
        return self._names.symbol(name)

    def _bracket_ahead(self) -> formulas.Fenced | None:
        """Return the round brackets that come next, perhaps with a power; they may hold arguments."""
        bracket = formulas.core(self._peek())
        return bracket if isinstance(bracket, formulas.Fenced) and bracket.left + bracket.right == "()" else None

    def _call(self, function: str, *more: str) -> str:
        """Apply a function to the bracket that comes next; a power of the bracket is one of the result."""
        item = self._take()
        bracket = formulas.core(item)
        assert isinstance(bracket, formulas.Fenced)
        applied = f"{function}({', '.join([*self._part(bracket.body.items).arguments(), *more])})"
        if not isinstance(item, formulas.Scripted):
            return applied
        if item.sub is not None or item.sup is None:
            raise cannot(item)
        return self._power(applied, item.sup)

    def _word(self, item: formulas.Math) -> str:
        word = formulas.core(item)
        assert isinstance(word, formulas.Word)
        scripts = item if isinstance(item, formulas.Scripted) else formulas.Scripted(word, None, None)
        if word.text == "lim" and scripts.sub is not None:
            return self._limit(scripts.sub)
        if word.text not in FUNCTIONS:
            if word.function:
                raise NotationError(f"SymPy cannot express the operator {word.text}.")
            return self._named(item)
        name = FUNCTIONS[word.text]
        if scripts.sup == formulas.Row((formulas.Sign("−", "binary"), formulas.Number("1"))) and name in _INVERSES:
            name, scripts = _INVERSES[name], formulas.Scripted(word, scripts.sub, None)
        logarithm = name == "log" and (scripts.sub is not None or word.text == "lg")
        base = [("10" if scripts.sub is None else self._inner(scripts.sub))] if logarithm else []
        applied = self._applied(self._names.use(name), base)
        return applied if scripts.sup is None else self._power(grouped(applied), scripts.sup)

    def _applied(self, function: str, more: list[str]) -> str:
        """Apply a function to the bracket that comes next or, without one, to the factors up to the next function."""
        if self._bracket_ahead():
            return self._call(function, *more)
        product = [self._factor()]
        while self._begins_factor() and not isinstance(formulas.core(self._peek()), _ENDS_ARGUMENT):
            product.append(self._factor())
        return f"{function}({', '.join(['*'.join(product), *more])})"

    def _limit(self, sub: formulas.Row) -> str:
        arrows = [index for index, item in enumerate(sub.items) if item == formulas.Sign("→", "relation")]
        if len(arrows) != 1:
            raise NotationError("SymPy cannot express a limit without an arrow.")
        variable = self._part(sub.items[: arrows[0]]).expression()
        target = self._part(sub.items[arrows[0] + 1 :]).expression()
        return self._names.call("Limit", self._term(), variable, target)

    def _large(self, item: formulas.Math) -> str:
        sign = formulas.core(item)
        scripts = item if isinstance(item, formulas.Scripted) else formulas.Scripted(sign, None, None)
        assert isinstance(sign, formulas.Sign)
        if sign.character == "∫":
            return self._integral(scripts)
        if sign.character not in _LARGE or scripts.sub is None or scripts.sup is None:
            raise NotationError(f"SymPy cannot express {sign.character} without its limits.")
        equals = formulas.Sign("=", "relation")
        if equals not in scripts.sub.items:
            raise NotationError(f"SymPy cannot express {sign.character} without a first value of its index.")
        middle = scripts.sub.items.index(equals)
        index = self._part(scripts.sub.items[:middle]).expression()
        if not index.isidentifier():
            raise NotationError(f"SymPy cannot express {sign.character} over {index}; its index must be a name.")
        first = self._part(scripts.sub.items[middle + 1 :]).expression()
        return self._names.call(_LARGE[sign.character], self._term(), f"({index}, {first}, {self._inner(scripts.sup)})")

    def _integral(self, scripts: formulas.Scripted) -> str:
        """Parse an integrand and its d x, whichever comes first."""
        start = self._next
        pairs = enumerate(zip(self._items[start:], self._items[start + 1 :], strict=False), start)
        end = next((index for index, (one, two) in pairs if is_d(one) and isinstance(two, formulas.Letter)), None)
        if end is None:
            raise NotationError("SymPy cannot express an integral whose variable is not given as d x.")
        variable = self._names.symbol(name_of(self._items[end + 1]))
        if end == start:
            self._next = start + 2
            body = self._term() if self._begins_factor() else "1"
        else:
            body = self._part(self._items[start:end]).expression()
            self._next = end + 2
        if scripts.sub is not None and scripts.sup is not None:
            variable = f"({variable}, {self._inner(scripts.sub)}, {self._inner(scripts.sup)})"
        return self._names.call("Integral", body, variable)

    def _fraction(self, numerator: formulas.Row, denominator: formulas.Row) -> str:
        if len(denominator.items) == 2 and is_d(denominator.items[0]) and numerator.items and is_d(numerator.items[0]):
            if denominator.items[0] != numerator.items[0] or not isinstance(denominator.items[1], formulas.Letter):
                raise NotationError("SymPy cannot express this derivative.")
            body = self._part(numerator.items[1:]).expression() if len(numerator.items) > 1 else self._factor()
            return self._names.call("Derivative", body, self._names.symbol(name_of(denominator.items[1])))
        quotient = self._names.quotient(grouped(self._inner(numerator)), grouped(self._inner(denominator)))
        return quotient if is_atom(quotient) else f"({quotient})"

    def _power(self, base: str, power: formulas.Row) -> str:
        return f"{self._names.exact(base)}**{grouped(self._inner(power))}"

    def _inner(self, row: formulas.Row) -> str:
        return self._part(row.items).expression()

    def _part(self, items: Sequence[formulas.Math]) -> "_Parser":
        """Return a parser for what stands inside something here."""
        return _Parser(items, self._names, self._depth + 1)

    def _peek(self) -> formulas.Math | None:
        return self._items[self._next] if self._next < len(self._items) else None

    def _take(self) -> formulas.Math:
        if self._next >= len(self._items):
            raise NotationError("SymPy cannot express this formula: something is missing after its last sign.")
        self._next += 1
        return self._items[self._next - 1]

    def _take_sign(self, characters: str) -> str:
        item = self._peek()
        if isinstance(item, formulas.Sign) and item.character in characters:
            self._next += 1
            return item.character
        return ""
