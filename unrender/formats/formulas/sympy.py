"""SymPy source for formulas that have a meaning as algebra; a NotationError for those that have none.

What LaTeX leaves open is settled so: letters side by side are a product; f, g, h before a bracket, and any letter
before a bracket with commas, are functions; a subscript is part of the name; e to a power is the exponential.
"""

# ruff: noqa: RUF001 - characters that look alike are meant

from collections.abc import Callable, Sequence

from unrender.errors import NotationError
from unrender.formats.formulas.meaning import (
    Accented,
    Fenced,
    Fraction,
    Hidden,
    Letter,
    Math,
    Matrix,
    Number,
    Root,
    Row,
    Scripted,
    Sign,
    Space,
    Word,
    read_formula,
)
from unrender.formats.formulas.sympy_names import (
    FUNCTIONS,
    Names,
    bare,
    cannot,
    grouped,
    is_atom,
    is_d,
    name_of,
    split_power,
)

_RELATIONS = {"=": "Eq", "≠": "Ne", "<": "Lt", ">": "Gt", "≤": "Le", "≥": "Ge", "⩽": "Le", "⩾": "Ge"}
_INVERSES = {"sin": "asin", "cos": "acos", "tan": "atan", "sinh": "asinh", "cosh": "acosh", "tanh": "atanh"}
_LARGE = {"∑": "Sum", "∏": "Product"}
_CLOSING = {"(": ")", "[": "]", "{": "}", "⌊": "⌋", "⌈": "⌉"}
_ROUNDING = {"⌊": "floor", "⌈": "ceiling"}
_MAX_DEPTH = 40  # of brackets; deeper ones must not exhaust the stack
_FUNCTION_LETTERS = "fghFGH"


def formula_to_sympy(text: str) -> str:
    """Write a LaTeX formula as a short Python program that ends in `formula = ...`."""
    names = Names()
    items = list(read_formula(text).items)
    while items and (isinstance(items[-1], Space) or items[-1] in (Sign(".", "punctuation"), Sign(",", "punctuation"))):
        items.pop()
    body = _Parser(items, names).formula()
    lines = [f"from sympy import {', '.join(sorted({*names.imports, *(['symbols'] if names.symbols else [])}))}"]
    if names.symbols:
        variables = sorted(names.symbols)
        quoted = " ".join(names.symbols[variable] for variable in variables)
        lines += ["", f'{", ".join(variables)} = symbols("{quoted}")']
    return "\n".join([*(lines if names.imports or names.symbols else []), f"formula = {body}"])


class _Parser:
    """Recursive descent over the items of a row."""

    def __init__(self, items: Sequence[Math], names: Names, depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            raise NotationError(f"SymPy cannot express brackets nested more than {_MAX_DEPTH} deep.")
        self._depth = depth
        self._items = [item for item in items if not isinstance(item, Space | Hidden)]
        self._place = 0
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
        if self._place < len(self._items):
            raise cannot(self._items[self._place])

    def _relation(self) -> str:
        sides, relations = [bare(self._sum())], list[str]()
        while sign := self._take_sign("".join(_RELATIONS)):
            relations.append(self._names.use(_RELATIONS[sign]))
            sides.append(bare(self._sum()))
        pairs = [f"{name}({sides[place]}, {sides[place + 1]})" for place, name in enumerate(relations)]
        if not pairs:
            return sides[0]
        return pairs[0] if len(pairs) == 1 else f"{self._names.use('And')}({', '.join(pairs)})"

    def _sum(self) -> str:
        result = ""
        while True:
            sign = self._take_sign("+−")
            if result and not sign:
                return result
            minus = "-" if sign == "−" else ""
            joint = (" - " if minus else " + ") if result else minus
            result += joint + self._term()

    def _term(self) -> str:
        result = self._factor()
        while True:
            if self._take_sign("⋅×∗"):
                result = f"{result}*{self._factor()}"
            elif self._take_sign("/"):
                result = self._quotient(result, self._factor())
            elif self._begins_factor():
                result = f"{result}*{self._factor()}"
            else:
                return result

    def _begins_factor(self) -> bool:
        item = self._peek()
        core = item.base if isinstance(item, Scripted) else item
        if isinstance(core, Sign):
            return core.role in {"open", "large"} or core.character == "∞"
        return core is not None

    def _factor(self) -> str:
        item = self._take()
        power: Row | None = None
        if isinstance(item, Scripted) and not isinstance(item.base, Sign | Word):
            item, power = split_power(item)
        if isinstance(item, Letter) and item.character == "e" and power is not None:
            return f"{self._names.use('exp')}({self._inner(power)})"
        base = self._atom(item)
        if self._take_sign("!"):
            base = f"{self._names.use('factorial')}({base})"
        return base if power is None else self._power(base, power)

    def _atom(self, item: Math) -> str:
        match item:
            case Number(text):
                return text
            case Letter("π"):
                return self._names.use("pi")
            case Letter():
                return self._named(item)
            case Sign("∞"):
                return self._names.use("oo")
            case Sign(character, "open") if character in _CLOSING:
                return self._bracketed(character)
            case Sign(role="large") | Scripted(base=Sign(role="large")):
                return self._large(item)
            case Word() | Scripted(base=Word()):
                return self._word(item)
            case Scripted(base=Letter() | Accented()):
                return self._named(item)
            case Accented():
                return self._named(item)
            case Row():
                return f"({self._inner(item)})"
            case Fraction(numerator, denominator, True):
                return self._fraction(numerator, denominator)
            case Root(radicand, degree):
                inner = self._inner(radicand)
                if degree is None:
                    return f"{self._names.use('sqrt')}({inner})"
                return f"{self._names.use('root')}({inner}, {self._inner(degree)})"
            case Fenced():
                return self._fenced(item)
        raise cannot(item)

    def _bracketed(self, opening: str) -> str:
        """Parse up to the closing bracket, which may carry a power."""
        depth, start = 1, self._place
        while depth:
            item = self._take()
            core = item.base if isinstance(item, Scripted) else item
            if isinstance(core, Sign):
                depth += (core.character == opening) - (core.character == _CLOSING[opening])
        closing = self._items[self._place - 1]
        inner = f"({self._part(self._items[start : self._place - 1]).expression()})"
        if opening in _ROUNDING:
            inner = self._names.use(_ROUNDING[opening]) + inner
        if not isinstance(closing, Scripted):
            return inner
        if closing.sub is not None or closing.sup is None:
            raise cannot(closing)
        return self._power(inner, closing.sup)

    def _fenced(self, item: Fenced) -> str:
        match item:
            case Fenced("(", Row((Fraction(top, bottom, False),)), ")"):
                return f"{self._names.use('binomial')}({self._inner(top)}, {self._inner(bottom)})"
            case Fenced(left, Row((Matrix() as matrix,)), right) if (left, right) in {
                ("(", ")"),
                ("[", "]"),
                ("|", "|"),
            }:
                if len({len(row) for row in matrix.rows}) > 1:
                    raise NotationError("SymPy cannot express a matrix whose rows differ in length.")
                rows = ", ".join(f"[{', '.join(self._inner(cell) for cell in row)}]" for row in matrix.rows)
                return f"{self._names.use('Matrix')}([{rows}])" + (".det()" if left == "|" else "")
            case Fenced(left, body, right):
                if _CLOSING.get(left) == right and left not in _ROUNDING:
                    return f"({self._inner(body)})"
                name = {("|", "|"): "Abs", ("⌊", "⌋"): "floor", ("⌈", "⌉"): "ceiling"}.get((left, right))
                if name is not None:
                    return f"{self._names.use(name)}({self._inner(body)})"
        raise cannot(item)

    def _named(self, item: Math) -> str:
        name = name_of(item)
        if self._is_application(name):
            arguments = self._call_arguments()
            return f'{self._names.use("Function")}("{name}")({", ".join(arguments)})'
        return self._names.symbol(name)

    def _is_application(self, name: str) -> bool:
        """Whether the bracket that follows a name, if one does, holds the arguments of a function."""
        following = self._peek()
        if isinstance(following, Fenced) and (following.left, following.right) == ("(", ")"):
            inside: Sequence[Math] = following.body.items
        elif following == Sign("(", "open"):
            inside = self._until_closing()
        else:
            return False
        return name in _FUNCTION_LETTERS or Sign(",", "punctuation") in inside

    def _until_closing(self) -> Sequence[Math]:
        depth = 0
        for place in range(self._place, len(self._items)):
            item = self._items[place]
            depth += (item == Sign("(", "open")) - (item == Sign(")", "close"))
            if depth == 0:
                return self._items[self._place + 1 : place]
        raise NotationError("SymPy cannot express a formula with an unclosed bracket.")

    def _call_arguments(self) -> list[str]:
        if isinstance(self._peek(), Fenced):
            fenced = self._take()
            assert isinstance(fenced, Fenced)
            return self._part(fenced.body.items).arguments()
        inside = self._until_closing()
        self._place += len(inside) + 2
        return self._part(inside).arguments()

    def _word(self, item: Math) -> str:
        word = item.base if isinstance(item, Scripted) else item
        assert isinstance(word, Word)
        scripts = item if isinstance(item, Scripted) else Scripted(word, None, None)
        if word.text == "lim" and scripts.sub is not None:
            return self._limit(scripts.sub)
        if word.text not in FUNCTIONS:
            if word.function:
                raise NotationError(f"SymPy cannot express the operator {word.text}.")
            return self._named(item)
        name = FUNCTIONS[word.text]
        if scripts.sup == Row((Sign("−", "binary"), Number("1"))) and name in _INVERSES:
            name, scripts = _INVERSES[name], Scripted(word, scripts.sub, None)
        arguments = self._function_arguments()
        if name == "log" and (scripts.sub is not None or word.text == "lg"):
            arguments.append("10" if scripts.sub is None else self._inner(scripts.sub))
        applied = f"{self._names.use(name)}({', '.join(arguments)})"
        return applied if scripts.sup is None else self._power(applied, scripts.sup)

    def _function_arguments(self) -> list[str]:
        following = self._peek()
        if following == Sign("(", "open") or (isinstance(following, Fenced) and following.left == "("):
            return self._call_arguments()
        product = [self._factor()]
        while self._begins_factor() and not isinstance(self._peek(), Word | Fenced) and not self._is_function_ahead():
            product.append(self._factor())
        return ["*".join(product)]

    def _is_function_ahead(self) -> bool:
        item = self._peek()
        core = item.base if isinstance(item, Scripted) else item
        return isinstance(core, Word) or (isinstance(core, Sign) and core.role in {"open", "large"})

    def _limit(self, sub: Row) -> str:
        arrows = [place for place, item in enumerate(sub.items) if item == Sign("→", "relation")]
        if len(arrows) != 1:
            raise NotationError("SymPy cannot express a limit without an arrow.")
        variable = self._part(sub.items[: arrows[0]]).expression()
        target = self._part(sub.items[arrows[0] + 1 :]).expression()
        return f"{self._names.use('Limit')}({self._term()}, {variable}, {target})"

    def _large(self, item: Math) -> str:
        sign = item.base if isinstance(item, Scripted) else item
        scripts = item if isinstance(item, Scripted) else Scripted(sign, None, None)
        assert isinstance(sign, Sign)
        if sign.character == "∫":
            return self._integral(scripts)
        if sign.character not in _LARGE or scripts.sub is None or scripts.sup is None:
            raise NotationError(f"SymPy cannot express {sign.character} without its limits.")
        equals = Sign("=", "relation")
        if equals not in scripts.sub.items:
            raise NotationError(f"SymPy cannot express {sign.character} without a first value of its index.")
        middle = scripts.sub.items.index(equals)
        index = self._part(scripts.sub.items[:middle]).expression()
        if not index.isidentifier():
            raise NotationError(f"SymPy cannot express {sign.character} over {index}; its index must be a name.")
        first = self._part(scripts.sub.items[middle + 1 :]).expression()
        body = self._term()
        return f"{self._names.use(_LARGE[sign.character])}({body}, ({index}, {first}, {self._inner(scripts.sup)}))"

    def _integral(self, scripts: Scripted) -> str:
        """Parse an integrand and its d x, whichever comes first."""
        start = self._place
        pairs = enumerate(zip(self._items[start:], self._items[start + 1 :], strict=False), start)
        end = next((place for place, (one, two) in pairs if is_d(one) and isinstance(two, Letter)), None)
        if end is None:
            raise NotationError("SymPy cannot express an integral whose variable is not given as d x.")
        variable = self._names.symbol(name_of(self._items[end + 1]))
        if end == start:
            self._place = start + 2
            body = self._term() if self._begins_factor() else "1"
        else:
            body = self._part(self._items[start:end]).expression()
            self._place = end + 2
        if scripts.sub is None or scripts.sup is None:
            return f"{self._names.use('Integral')}({body}, {variable})"
        limits = f"({variable}, {self._inner(scripts.sub)}, {self._inner(scripts.sup)})"
        return f"{self._names.use('Integral')}({body}, {limits})"

    def _fraction(self, numerator: Row, denominator: Row) -> str:
        if len(denominator.items) == 2 and is_d(denominator.items[0]) and numerator.items and is_d(numerator.items[0]):
            if denominator.items[0] != numerator.items[0] or not isinstance(denominator.items[1], Letter):
                raise NotationError("SymPy cannot express this derivative.")
            body = self._part(numerator.items[1:]).expression() if len(numerator.items) > 1 else self._factor()
            return f"{self._names.use('Derivative')}({body}, {self._names.symbol(name_of(denominator.items[1]))})"
        quotient = self._quotient(grouped(self._inner(numerator)), grouped(self._inner(denominator)))
        return quotient if is_atom(quotient) else f"({quotient})"

    def _quotient(self, dividend: str, divisor: str) -> str:
        """Divide exactly: Python's own / would turn two whole numbers into a float."""
        if dividend.isdigit() and divisor.isdigit():
            return f"{self._names.use('Rational')}({dividend}, {divisor})"
        return f"{self._exact(dividend)}/{divisor}"

    def _power(self, base: str, power: Row) -> str:
        return f"{self._exact(base)}**{grouped(self._inner(power))}"

    def _exact(self, number: str) -> str:
        has_letters = any(character.isalpha() for character in number)
        return number if has_letters else f"{self._names.use('sympify')}({number})"

    def _inner(self, row: Row) -> str:
        return self._part(row.items).expression()

    def _part(self, items: Sequence[Math]) -> "_Parser":
        """Return a parser for what stands inside something here."""
        return _Parser(items, self._names, self._depth + 1)

    def _peek(self) -> Math | None:
        return self._items[self._place] if self._place < len(self._items) else None

    def _take(self) -> Math:
        if self._place >= len(self._items):
            raise NotationError("SymPy cannot express this formula: something is missing after its last sign.")
        self._place += 1
        return self._items[self._place - 1]

    def _take_sign(self, characters: str) -> str:
        item = self._peek()
        if isinstance(item, Sign) and item.character in characters:
            self._place += 1
            return item.character
        return ""
