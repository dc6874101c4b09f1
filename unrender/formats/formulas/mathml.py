"""MathML for browsers and word processors, in the subset that browsers draw (MathML Core).

Fonts are written as the mathematical letters of Unicode, because browsers ignore the old mathvariant attribute.
"""

# ruff: noqa: RUF001 - accents that look alike are meant

from html import escape

from unrender.formats import formulas
from unrender.formats.formulas.meaning import read_formula
from unrender.latex.characters import UNDER, in_font

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_MARKS = {
    "hat": "^", "widehat": "^", "tilde": "~", "widetilde": "~", "bar": "¯", "overline": "‾", "underline": "_",
    "breve": "˘", "dot": "˙", "ddot": "¨", "dddot": "⃛", "mathring": "˚", "check": "ˇ", "acute": "´", "grave": "`",
    "vec": "→", "overrightarrow": "→", "overleftarrow": "←", "overleftrightarrow": "↔", "overbrace": "⏞",
    "underbrace": "⏟",
}  # fmt: skip
_STRETCHES = frozenset({"widehat", "widetilde", "overline", "underline", "overrightarrow", "overleftarrow",
                        "overleftrightarrow", "overbrace", "underbrace"})  # fmt: skip
_SIGNS = frozenset("+-−±∓")  # after what follows they belong to the next term, as in = -2; browsers do not know that
_BEFORE_A_TERM = frozenset({"relation", "binary", "open", "punctuation"})
_ALIGN = {"l": "left", "c": "center", "r": "right"}


def formula_to_mathml(text: str, *, display: bool = True) -> str:
    """Write a LaTeX formula as one <math> element, with its source as an annotation."""
    body = _row(read_formula(text))
    kind = "block" if display else "inline"
    source = f'<annotation encoding="application/x-tex">{escape(text, quote=False)}</annotation>'
    return f'<math xmlns="{NAMESPACE}" display="{kind}"><semantics>{body}{source}</semantics></math>'


def _row(row: formulas.Row | None) -> str:
    """Write a row as exactly one element."""
    items = row.items if row is not None else ()
    parts = [_write(item, before) for before, item in zip((None, *items), items, strict=False)]
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _write(item: formulas.Math | None, before: formulas.Math | None = None) -> str:
    match item:
        case None:
            return "<mrow></mrow>"
        case formulas.Letter(character, font):
            upright = (
                ' mathvariant="normal"' if font == "roman" or (not character.isascii() and character.isupper()) else ""
            )
            return f"<mi{upright}>{escape(in_font(character, font))}</mi>"
        case formulas.Number(digits, font):
            return f"<mn>{''.join(in_font(digit, font) for digit in digits)}</mn>"
        case formulas.Word(text, font, function):
            return _word("".join(in_font(letter, font) for letter in text), function)
        case formulas.Sign():
            term = isinstance(before, formulas.Sign) and before.role in _BEFORE_A_TERM
            return f'<mo form="prefix">{item.character}</mo>' if term and item.character in _SIGNS else _sign(item)
        case formulas.Space(em):
            return f'<mspace width="{em:.3g}em"></mspace>'
        case formulas.Row():
            return _row(item)
        case formulas.Fraction(numerator, denominator, ruled):
            rule = "" if ruled else ' linethickness="0"'
            return f"<mfrac{rule}>{_row(numerator)}{_row(denominator)}</mfrac>"
        case formulas.Root(radicand, degree):
            return (
                f"<msqrt>{_row(radicand)}</msqrt>"
                if degree is None
                else f"<mroot>{_row(radicand)}{_row(degree)}</mroot>"
            )
        case formulas.Scripted():
            return _scripted(item)
        case _:
            return _layout(item)


def _layout(item: formulas.Layout) -> str:
    match item:
        case formulas.Accented("cancel", body):
            return f'<menclose notation="updiagonalstrike">{_row(body)}</menclose>'
        case formulas.Accented(accent, body):
            stretch = "true" if accent in _STRETCHES else "false"
            mark = f'<mo stretchy="{stretch}">{_MARKS[accent]}</mo>'
            if accent in UNDER:
                return f'<munder accentunder="true">{_row(body)}{mark}</munder>'
            return f'<mover accent="true">{_row(body)}{mark}</mover>'
        case formulas.Stacked(base, above, below):
            return _under_over(_row(base), below, above)
        case formulas.Fenced(left, body, right):
            return f"<mrow>{_fence(left, 'prefix')}{_row(body)}{_fence(right, 'postfix')}</mrow>"
        case formulas.Matrix():
            return _matrix(item)
        case formulas.Hidden(body):
            return f"<mphantom>{_row(body)}</mphantom>"
        case formulas.Boxed(body):
            return f'<mrow style="border: 1px solid; padding: 0.2em">{_row(body)}</mrow>'


def _word(text: str, function: bool) -> str:
    if function:
        return _applied(_identifier(text))
    return f"<mtext>{escape(text)}</mtext>" if len(text) > 1 else _identifier(text, upright=True)


def _identifier(text: str, *, upright: bool = False) -> str:
    return f"""<mi{' mathvariant="normal"' if upright else ""}>{escape(text)}</mi>"""


def _applied(function: str) -> str:
    """Follow a function's name with the invisible sign of application, which sets the space after it."""
    return f"<mrow>{function}<mo>\u2061</mo></mrow>"


def _sign(sign: formulas.Sign) -> str:
    character = escape(sign.character)
    if sign.size > 1:
        return f'<mo minsize="{sign.size:g}em" maxsize="{sign.size:g}em" stretchy="true">{character}</mo>'
    if sign.role in {"open", "close"}:
        return f'<mo stretchy="false" form="{"prefix" if sign.role == "open" else "postfix"}">{character}</mo>'
    if sign.character in "|‖":
        return f'<mo stretchy="false" lspace="0" rspace="0">{character}</mo>'
    if sign.role == "ordinary":
        return _identifier(sign.character, upright=True)
    if sign.role == "punctuation":
        return f'<mo separator="true">{character}</mo>'
    return f"<mo>{character}</mo>"


def _fence(character: str, form: str) -> str:
    return f'<mo fence="true" stretchy="true" form="{form}">{escape(character)}</mo>' if character else ""


def _scripted(item: formulas.Scripted) -> str:
    base = item.base
    attach = _under_over if formulas.has_limits(base) else _sub_sup
    if isinstance(base, formulas.Word) and base.function:
        return _applied(attach(_identifier(base.text), item.sub, item.sup))
    return attach(_write(base), item.sub, item.sup)


def _sub_sup(base: str, sub: formulas.Row | None, sup: formulas.Row | None) -> str:
    return _attached(base, sub, sup, ("msub", "msup", "msubsup"))


def _under_over(base: str, below: formulas.Row | None, above: formulas.Row | None) -> str:
    return _attached(base, below, above, ("munder", "mover", "munderover"))


def _attached(base: str, low: formulas.Row | None, high: formulas.Row | None, names: tuple[str, str, str]) -> str:
    name = names[2] if low is not None and high is not None else names[0] if high is None else names[1]
    scripts = "".join(_row(script) for script in (low, high) if script is not None)
    return f"<{name}>{base}{scripts}</{name}>"


def _matrix(matrix: formulas.Matrix) -> str:
    rows = "".join(
        "<mtr>"
        + "".join(_cell(cell, matrix.columns[column : column + 1]) for column, cell in enumerate(row))
        + "</mtr>"
        for row in matrix.rows
    )
    return f"<mtable>{rows}</mtable>"


def _cell(cell: formulas.Row, column: str) -> str:
    align = f' style="text-align: {_ALIGN[column]}"' if column in {"l", "r"} else ""
    return f"<mtd{align}>{_row(cell)}</mtd>"
