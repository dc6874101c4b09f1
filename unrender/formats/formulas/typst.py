"""Typst: formulas in its mathematics, and whole documents in its markup."""

# ruff: noqa: RUF001 - characters that look alike are meant

from unrender.formats import formulas
from unrender.formats.formulas.meaning import read_formula
from unrender.latex.characters import GREEK, Font

_VARIANTS = {"ϵ": "epsilon.alt", "ε": "epsilon", "ϕ": "phi.alt", "φ": "phi", "ϑ": "theta.alt", "ϰ": "kappa.alt",
             "ϖ": "pi.alt", "ϱ": "rho.alt", "ς": "sigma.alt"}  # fmt: skip
_LETTERS = {character: name for name, character in GREEK.items() if not name.startswith("var")} | _VARIANTS
_FONTS: dict[Font, str] = {"roman": "upright", "bold": "bold", "script": "cal", "blackboard": "bb", "fraktur": "frak",
                           "sans": "sans", "typewriter": "mono"}  # fmt: skip
_FUNCTIONS = frozenset({
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "csc", "ctg", "deg", "det", "dim", "exp", "gcd",
    "hom", "id", "im", "inf", "ker", "lg", "lim", "liminf", "limsup", "ln", "log", "max", "min", "mod", "Pr", "sec",
    "sin", "sinc", "sinh", "sup", "tan", "tanh", "tg", "tr",
})  # fmt: skip
_ACCENTS = {
    "hat": "hat", "widehat": "hat", "tilde": "tilde", "widetilde": "tilde", "bar": "macron", "overline": "overline",
    "underline": "underline", "breve": "breve", "dot": "dot", "ddot": "dot.double", "dddot": "dot.triple",
    "mathring": "circle", "check": "caron", "acute": "acute", "grave": "grave", "vec": "arrow",
    "overrightarrow": "arrow", "overleftarrow": "arrow.l", "overleftrightarrow": "arrow.l.r",
    "overbrace": "overbrace", "underbrace": "underbrace", "cancel": "cancel",
}  # fmt: skip
_NAMED_SIGNS = {"−": "-", "∗": "ast.op", "(": "paren.l", ")": "paren.r", "[": "bracket.l", "]": "bracket.r",
                "{": "brace.l", "}": "brace.r", ",": "comma", ";": "semi", ":": "colon", "/": "slash",
                "\\": "backslash", "#": "hash", "$": "dollar", "&": "amp", "_": "\\_", "′": "prime",
                "″": "prime.double", "‘": '"‘"', "@": "at", "%": "percent"}  # fmt: skip
_MATCHED = "⟨⟩⌊⌋⌈⌉⟦⟧⟮⟯⎰⎱⌜⌝"  # Typst wants these in pairs unless they are escaped
_PLAIN = {",": ",", ";": ";", ":": ":"}  # harmless where they do not part arguments
_BRACKETS = {"(": 1, ")": -1}
_SPACES = {3: "thin", 4: "med", 5: "thick", 18: "quad", 36: "wide"}  # in eighteenths of an em
_AROUND = {"()", "[]", "||", "‖‖", "{}"}


def formula_to_typst(text: str) -> str:
    """Write a LaTeX formula as Typst mathematics, without the dollar signs around it."""
    return _row(read_formula(text), call=False)


def _row(row: formulas.Row | None, *, call: bool = True) -> str:
    """Write a row; inside a call, commas and colons would part its arguments, so they go by name."""
    items = row.items if row is not None else ()
    names = dict(_NAMED_SIGNS) if call else _NAMED_SIGNS | _PLAIN
    if _is_balanced([_sign_of(item) for item in items]):
        names |= {"(": "(", ")": ")"}
    parts = [_write(item, names) for item in items]
    return " ".join(parts).replace("( ", "(").replace(" )", ")") or '""'


def _write(item: formulas.Math | None, names: dict[str, str]) -> str:
    match item:
        case None:
            return '""'
        case formulas.Letter(character, font):
            return _in_font(_LETTERS.get(character, character), font)
        case formulas.Number(digits, font):
            return _in_font(digits, "italic" if font == "roman" else font)
        case formulas.Word(text, font, function, limits):
            return _word(text, font, function, limits)
        case formulas.Sign(character):
            return _sign(character, names)
        case formulas.Space(em):
            return _SPACES.get(round(em * 18), f"#h({em:.3g}em)")
        case formulas.Row():
            return _row(item)
        case formulas.Fraction(numerator, denominator, ruled):
            over, under = _row(numerator), _row(denominator)
            return f"frac({over}, {under})" if ruled else f"mat(delim: #none, {over}; {under})"
        case formulas.Root(radicand, degree):
            return f"sqrt({_row(radicand)})" if degree is None else f"root({_row(degree)}, {_row(radicand)})"
        case formulas.Scripted():
            return _scripted(item, names)
        case _:
            return _layout(item)


def _layout(item: formulas.Layout) -> str:
    match item:
        case formulas.Accented(accent, body):
            return f"{_ACCENTS[accent]}({_row(body)})"
        case formulas.Stacked(base, above, below):
            return f"limits({_row(base)}){_scripts(below, above)}"
        case formulas.Fenced("(", formulas.Row((formulas.Fraction(top, bottom, False),)), ")"):
            return f"binom({_row(top)}, {_row(bottom)})"
        case formulas.Fenced(left, formulas.Row((formulas.Matrix() as matrix,)), right) if left + right in _AROUND:
            return _matrix(matrix, f'"{left}"')
        case formulas.Fenced("(", body, ")"):
            return f"({_row(body)})"
        case formulas.Fenced(left, body, right):
            inner = [_sign(left, _NAMED_SIGNS), _row(body), _sign(right, _NAMED_SIGNS)]
            return f"lr({' '.join(part for part in inner if part)})"
        case formulas.Matrix():
            return _matrix(item, "#none")
        case formulas.Hidden(body):
            return f"#hide($ {_row(body)} $)"
        case formulas.Boxed(body):
            return f"#box(stroke: 0.5pt, inset: 3pt, $ {_row(body)} $)"


def _word(text: str, font: Font, function: bool, limits: bool) -> str:
    if not function:
        quoted = f'"{text}"'
        return quoted if font == "roman" else _in_font(quoted, font)
    if text in _FUNCTIONS:
        return text
    return f'op("{text}"{", limits: #true" if limits else ""})'


def _in_font(text: str, font: Font) -> str:
    return f"{_FONTS[font]}({text})" if font in _FONTS else text


def _sign(character: str, names: dict[str, str]) -> str:
    return names.get(character, "\\" + character if character and character in _MATCHED else character)


def _sign_of(item: formulas.Math) -> str:
    base = formulas.core(item)
    return base.character if isinstance(base, formulas.Sign) else ""


def _is_balanced(characters: list[str]) -> bool:
    depth = 0
    for character in characters:
        depth += _BRACKETS.get(character, 0)
        if depth < 0:
            return False
    return depth == 0


def _scripted(item: formulas.Scripted, names: dict[str, str]) -> str:
    match item.base:
        case formulas.Accented("overbrace" | "underbrace" as accent, body):
            note = item.sup if accent == "overbrace" else item.sub
            other = (item.sub, None) if accent == "overbrace" else (None, item.sup)
            braced = f"{accent}({_row(body)})" if note is None else f"{accent}({_row(body)}, {_row(note)})"
            return braced + _scripts(*other)
        case formulas.Row(items) if len(items) != 1:
            below = "" if item.sub is None else f", br: {_row(item.sub)}"
            above = "" if item.sup is None else f", tr: {_row(item.sup)}"
            return f"attach({_row(item.base)}{below}{above})"
        case formulas.Sign(character) if character in _MATCHED or names.get(character) == "(":
            return f'{_sign(character, names)} ""{_scripts(item.sub, item.sup)}'
        case base:
            return _write(base, names) + _scripts(item.sub, item.sup)


def _scripts(sub: formulas.Row | None, sup: formulas.Row | None) -> str:
    below = "" if sub is None else f"_({_row(sub)})"
    above = "" if sup is None else f"^({_row(sup)})"
    return below + above


def _matrix(matrix: formulas.Matrix, delimiter: str) -> str:
    sides = set(matrix.columns)
    align = {"l": ", align: #left", "r": ", align: #right"}.get(sides.pop(), "") if len(sides) == 1 else ""
    rows = "; ".join(", ".join(_row(cell) for cell in row) for row in matrix.rows)
    return f"mat(delim: {delimiter}{align}, {rows})"
