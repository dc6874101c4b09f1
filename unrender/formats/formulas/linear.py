"""A formula as one line of plain text: Unicode scripts and accents where they exist, brackets where they do not."""

# ruff: noqa: RUF001 - characters that look alike are meant

import re
import unicodedata

from unrender.formats.formulas.meaning import (
    Accented,
    Boxed,
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
    Stacked,
    Word,
    read_formula,
)
from unrender.latex.characters import ACCENTS, in_font

_RAISED = dict(zip("0123456789+−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWαβγδθφχ′∗†",
                   "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵅᵝᵞᵟᶿᵠᵡ′*†", strict=True))  # fmt: skip
_LOWERED = dict(zip("0123456789+−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
_ROOTS = {"": "√", "2": "√", "3": "∛", "4": "∜"}
_NARROW = 0.4  # em; a narrower space is not written
_BRACKETS = {("(", ")"), ("[", "]"), ("{", "}"), ("⟨", "⟩"), ("⌊", "⌋"), ("⌈", "⌉")}
_ONE_THING = Letter | Number | Word | Fenced | Accented


def formula_to_text(text: str) -> str:
    """Write a LaTeX formula as plain text."""
    return unicodedata.normalize("NFC", _row(read_formula(text)))


def _row(row: Row | None) -> str:
    items = row.items if row is not None else ()
    visible: list[Math | None] = [None, *(item for item in items if not isinstance(item, Space)), None]
    parts: list[str] = []
    place = 1
    for item in items:
        if isinstance(item, Space):
            parts.append(_write(item))
        else:
            parts.append(_spaced(item, visible[place - 1], visible[place + 1]))
            place += 1
    return re.sub(" {2,}", " ", "".join(parts)).strip()


def _spaced(item: Math, before: Math | None, after: Math | None) -> str:
    """Write an item with the spaces or brackets it needs between its neighbours."""
    text = _write(item)
    core = item.base if isinstance(item, Scripted) else item
    if isinstance(item, Fraction) and item.ruled and (_ends_operand(before) or _begins_operand(after)):
        return f"({text})"
    match core:
        case Word(function=True) | Sign(role="large" | "relation"):
            return f" {text} "
        case Sign(character, "binary") if character != "/":
            return f" {text} " if _ends_operand(before) else text
        case Sign(role="punctuation"):
            return f"{text} "
        case Word() if isinstance(before, Word | Letter | Number | Scripted):
            return f" {text}"
        case Sign():
            return text
    return f" {text}" if isinstance(before, Word) and not before.function else text


def _begins_operand(item: Math | None) -> bool:
    core = item.base if isinstance(item, Scripted) else item
    if isinstance(core, Sign):
        return core.role in {"open", "ordinary"} and core.character not in "|‖!′…⋯"
    return core is not None


def _ends_operand(item: Math | None) -> bool:
    core = item.base if isinstance(item, Scripted) else item
    if isinstance(core, Sign):
        return core.role in {"close", "ordinary"}
    return core is not None


def _write(item: Math | None) -> str:
    match item:
        case None:
            return ""
        case Letter(character, font):
            return in_font(character, font)
        case Number(text, font) | Word(text, font):
            return "".join(in_font(character, font) for character in text)
        case Sign(character):
            return character
        case Space(em):
            return " " if em > _NARROW else ""
        case Row():
            return _row(item)
        case Fraction(numerator, denominator, ruled):
            return f"{_grouped(numerator)}{'/' if ruled else ' over '}{_grouped(denominator)}"
        case Root(radicand, degree):
            index = _row(degree)
            sign = _ROOTS.get(index) or _script(index, _RAISED, "") + "√"
            return sign + _grouped(radicand)
        case Scripted(base, sub, sup):
            return _write(base) + _script(_row(sub), _LOWERED, "_") + _script(_row(sup), _RAISED, "^")
        case _:
            return _layout(item)


def _layout(item: Accented | Stacked | Fenced | Matrix | Hidden | Boxed) -> str:
    match item:
        case Accented("overbrace" | "underbrace", body) | Boxed(body):
            return _row(body)
        case Accented(accent, body):
            text = _row(body)
            return text + ACCENTS[accent] if len(text) == 1 else f"{accent}({text})"
        case Stacked(base, above, below):
            return _row(base) + _script(_row(below), {}, "_") + _script(_row(above), {}, "^")
        case Fenced("(", Row((Fraction(top, bottom, False),)), ")"):
            return f"binomial({_row(top)}, {_row(bottom)})"
        case Fenced(left, Row((Matrix() as matrix,)), right):
            return f"{left}{_cells(matrix)}{right}"
        case Fenced(left, body, right):
            return f"{left}{_row(body)}{right}"
        case Matrix():
            return f"[{_cells(item)}]"
        case Hidden():
            return " "


def _cells(matrix: Matrix) -> str:
    return "; ".join(", ".join(_row(cell) for cell in row) for row in matrix.rows)


def _grouped(row: Row) -> str:
    """Write a row in brackets unless it is one thing anyway."""
    text = _row(row)
    if len(row.items) == 1:
        [item] = row.items
        inner = item.base if isinstance(item, Scripted) else item
        if isinstance(inner, Row):
            return _grouped(inner) if inner is item else f"({text})"
        if isinstance(inner, _ONE_THING) or (isinstance(inner, Sign) and inner.role == "ordinary"):
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
