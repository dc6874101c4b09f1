"""A formula by what it means rather than how LaTeX spells it: the one form that every other notation is written from.

Every symbol is a Unicode character with its role. `meaning` makes this form from LaTeX, a module a notation writes it.
"""

from dataclasses import dataclass

from unrender.latex.characters import Font, Role

_INTEGRALS = "∫∬∭∮"


@dataclass(frozen=True)
class Letter:
    character: str
    font: Font = "italic"


@dataclass(frozen=True)
class Number:
    text: str
    font: Font = "italic"


@dataclass(frozen=True)
class Word:
    """Upright letters that belong together; `function` ones are operators, `limits` ones carry their scripts below."""

    text: str
    font: Font = "roman"
    function: bool = False
    limits: bool = False


@dataclass(frozen=True)
class Sign:
    character: str
    role: Role
    size: float = 1.0


@dataclass(frozen=True)
class Space:
    em: float


@dataclass(frozen=True)
class Row:
    items: tuple["Math", ...]


@dataclass(frozen=True)
class Fraction:
    numerator: Row
    denominator: Row
    ruled: bool = True


@dataclass(frozen=True)
class Root:
    radicand: Row
    degree: Row | None


@dataclass(frozen=True)
class Scripted:
    base: "Math | None"
    sub: Row | None
    sup: Row | None


@dataclass(frozen=True)
class Accented:
    """A body under (or, for underlines, over) an accent named as in LaTeX."""

    accent: str
    body: Row


@dataclass(frozen=True)
class Stacked:
    """A base with something above or below it."""

    base: Row
    above: Row | None
    below: Row | None


@dataclass(frozen=True)
class Fenced:
    """A body between delimiters that grow with it; an empty string is no delimiter."""

    left: str
    body: Row
    right: str


@dataclass(frozen=True)
class Matrix:
    columns: str
    rows: tuple[tuple[Row, ...], ...]


@dataclass(frozen=True)
class Hidden:
    """Something that only takes up space."""

    body: Row


@dataclass(frozen=True)
class Boxed:
    body: Row


Layout = Accented | Stacked | Fenced | Matrix | Hidden | Boxed
Math = Letter | Number | Word | Sign | Space | Row | Fraction | Root | Scripted | Layout


def core(item: Math | None) -> Math | None:
    """Return what carries the scripts of an item; one without scripts is that itself."""
    return item.base if isinstance(item, Scripted) else item


def has_limits(base: Math | None) -> bool:
    """Say whether the scripts of this stand below and above it rather than beside it."""
    match base:
        case Word(limits=limits):
            return limits
        case Sign(character, "large"):
            return character not in _INTEGRALS
        case Accented("overbrace" | "underbrace"):
            return True
        case _:
            return False


def plain_text(row: Row) -> str | None:
    """Return the text of a row of letters, words and numbers; None if there is anything else in it."""
    parts = []
    for item in row.items:
        match item:
            case Letter(character):
                parts.append(character)
            case Number(text) | Word(text):
                parts.append(text)
            case _:
                return None
    return "".join(parts)
