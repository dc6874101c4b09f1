"""A formula as one line of plain text: Unicode scripts and accents where they exist, brackets where they do not."""

# ruff: noqa: RUF001 - characters that look alike are meant

import re
import unicodedata

from unrender.formats import formulas
from unrender.formats.formulas.meaning import read_formula
from unrender.latex.characters import ACCENTS, in_font

_RAISED = dict(zip("0123456789+−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWαβγδθφχ′∗†",
                   "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵅᵝᵞᵟᶿᵠᵡ′*†", strict=True))  # fmt: skip
_LOWERED = dict(zip("0123456789+−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
_ROOTS = {"": "√", "2": "√", "3": "∛", "4": "∜"}
_NARROW = 0.4  # em; a narrower space is not written
_BEFORE_A_WORD = formulas.Word | formulas.Letter | formulas.Number | formulas.Scripted
_ONE_THING = formulas.Letter | formulas.Number | formulas.Word | formulas.Fenced | formulas.Accented


def formula_to_text(text: str) -> str:
    """Write a LaTeX formula as plain text."""
    return unicodedata.normalize("NFC", _row(read_formula(text)))


def _row(row: formulas.Row | None) -> str:
    items = row.items if row is not None else ()
    visible: list[formulas.Math | None] = [
        None,
        *(item for item in items if not isinstance(item, formulas.Space)),
        None,
    ]
    parts: list[str] = []
    index = 1
    for item in items:
        if isinstance(item, formulas.Space):
            parts.append(_write(item))
        else:
            parts.append(_spaced(item, visible[index - 1], visible[index + 1]))
            index += 1
    return re.sub(" {2,}", " ", "".join(parts)).strip()


def _spaced(item: formulas.Math, before: formulas.Math | None, after: formulas.Math | None) -> str:
    """Write an item with the spaces or brackets it needs between its neighbours."""
    text = _write(item)
    core = formulas.core(item)
    if isinstance(item, formulas.Fraction) and item.ruled and (_ends_operand(before) or _begins_operand(after)):
        return f"({text})"
    match core:
        case formulas.Word(function=True) | formulas.Sign(role="large" | "relation"):
            return f" {text} "
        case formulas.Sign(character, "binary") if character != "/":
            return f" {text} " if _ends_operand(before) else text
        case formulas.Sign(role="punctuation"):
            return f"{text} "
        case formulas.Word() if isinstance(before, _BEFORE_A_WORD):
            return f" {text}"
        case formulas.Sign():
            return text
    return f" {text}" if isinstance(before, formulas.Word) and not before.function else text


def _begins_operand(item: formulas.Math | None) -> bool:
    core = formulas.core(item)
    if isinstance(core, formulas.Sign):
        return core.role in {"open", "ordinary"} and core.character not in "|‖!′…⋯"
    return core is not None


def _ends_operand(item: formulas.Math | None) -> bool:
    core = formulas.core(item)
    if isinstance(core, formulas.Sign):
        return core.role in {"close", "ordinary"}
    return core is not None


def _write(item: formulas.Math | None) -> str:
    match item:
        case None:
            return ""
        case formulas.Letter(character, font):
            return in_font(character, font)
        case formulas.Number(text, font) | formulas.Word(text, font):
            return "".join(in_font(character, font) for character in text)
        case formulas.Sign(character):
            return character
        case formulas.Space(em):
            return " " if em > _NARROW else ""
        case formulas.Row():
            return _row(item)
        case formulas.Fraction(numerator, denominator, ruled):
            return f"{_grouped(numerator)}{'/' if ruled else ' over '}{_grouped(denominator)}"
        case formulas.Root(radicand, degree):
            index = _row(degree)
            sign = _ROOTS.get(index) or _script(index, _RAISED, "") + "√"
            return sign + _grouped(radicand)
        case formulas.Scripted(base, sub, sup):
            return _write(base) + _script(_row(sub), _LOWERED, "_") + _script(_row(sup), _RAISED, "^")
        case _:
            return _layout(item)


def _layout(item: formulas.Layout) -> str:
    match item:
        case formulas.Accented("overbrace" | "underbrace", body) | formulas.Boxed(body):
            return _row(body)
        case formulas.Accented(accent, body):
            text = _row(body)
            return text + ACCENTS[accent] if len(text) == 1 else f"{accent}({text})"
        case formulas.Stacked(base, above, below):
            return _row(base) + _script(_row(below), {}, "_") + _script(_row(above), {}, "^")
        case formulas.Fenced("(", formulas.Row((formulas.Fraction(top, bottom, False),)), ")"):
            return f"binomial({_row(top)}, {_row(bottom)})"
        case formulas.Fenced(left, formulas.Row((formulas.Matrix() as matrix,)), right):
            return f"{left}{_cells(matrix)}{right}"
        case formulas.Fenced(left, body, right):
            return f"{left}{_row(body)}{right}"
        case formulas.Matrix():
            return f"[{_cells(item)}]"
        case formulas.Hidden():
            return " "


def _cells(matrix: formulas.Matrix) -> str:
    return "; ".join(", ".join(_row(cell) for cell in row) for row in matrix.rows)


def _grouped(row: formulas.Row) -> str:
    """Write a row in brackets unless it is one thing anyway."""
    text = _row(row)
    if len(row.items) == 1:
        [item] = row.items
        inner = formulas.core(item)
        if isinstance(inner, formulas.Row):
            return _grouped(inner) if inner is item else f"({text})"
        if isinstance(inner, _ONE_THING) or (isinstance(inner, formulas.Sign) and inner.role == "ordinary"):
            return text
    return f"({text})"


def _script(text: str, raised: dict[str, str], mark: str) -> str:
    """Write a script in small characters if all of them exist, else after its mark."""
    compact = text.replace(" ", "")
    if not compact:
        return ""
    if all(character in raised for character in compact):
        return "".join(raised[character] for character in compact)
    return f"{mark}{text}" if len(text) == 1 else f"{mark}({text})"
