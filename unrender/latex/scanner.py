"""From characters to tokens with their positions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from unrender.errors import LatexError
from unrender.latex.commands import ALIASES, DELIMITERS

_LEXEME = re.compile(
    r"(?P<environment>\\(?:begin|end)\s*\{\s*[a-zA-Z]+\*?\s*\})"
    r"|(?P<fence>\\(?:left|right|middle)(?![a-zA-Z])\s*)"
    r"|(?P<command>\\[a-zA-Z]+(?:(?<=\\operatorname)\*|(?<=\\hspace)\*|(?<=\\vspace)\*|(?<=\\tag)\*)?)"
    r"|(?P<symbol>\\[^\sa-zA-Z])"
    r"|(?P<space>\\(?:\s|$))"
    r"|(?P<comment>%[^\n]*)"
    r"|(?P<blank>\s+)"
    r"|(?P<dashes>-{2,3})"
    r"|(?P<character>[!-~°])",
)
_DELIMITER = re.compile(r"\\[a-zA-Z]+|\\[^\sa-zA-Z]|[!-~]")
_DEGREES = frozenset({"°", "\\degree"})
_IGNORED_CHARACTERS = frozenset("$")


@dataclass(frozen=True)
class Lexeme:
    """One token and where it began."""

    token: str
    position: int
    after_blank: bool = False  # white space stood before it: matters inside \text


def tokenise(text: str) -> list[str]:
    """Split LaTeX into tokens, comments and white space dropped."""
    return [lexeme.token for lexeme in scan(text)]


def scan(text: str) -> list[Lexeme]:
    """Split LaTeX into tokens with positions; a LatexError names a character that cannot stand in a formula."""
    lexemes: list[Lexeme] = []
    position, blank = 0, False
    while position < len(text):
        match = _LEXEME.match(text, position)
        if match is None:
            raise LatexError(f"{text[position]!r} cannot stand in a formula", position)
        kind, piece, start = str(match.lastgroup), match.group(), position
        position = match.end()
        if kind in ("blank", "comment") or piece in _IGNORED_CHARACTERS:
            blank = blank or kind == "blank"
            continue
        if kind == "fence":
            piece, position = _with_delimiter(text, piece.strip(), position)
        if piece in _DEGREES:
            lexemes += [Lexeme("^", start, blank), Lexeme("\\circ", start)]
        else:
            lexemes.append(Lexeme(_canonical(kind, piece), start, blank))
        blank = False
    return lexemes


def is_spaced(lexemes: Sequence[Lexeme], start: int) -> bool:
    """Say whether every token of the group from `start` on follows white space: blanks only separate them."""
    depth, index = 1, start
    while depth and index < len(lexemes):
        if not lexemes[index].after_blank:
            return False
        depth += (lexemes[index].token == "{") - (lexemes[index].token == "}")
        index += 1
    return True


def _with_delimiter(text: str, fence: str, position: int) -> tuple[str, int]:
    match = _DELIMITER.match(text, position)
    if match is None or match.group() not in DELIMITERS:
        raise LatexError(f"{fence} needs a delimiter", position)
    return fence + match.group(), match.end()


def _canonical(kind: str, piece: str) -> str:
    if kind == "environment":
        return "".join(piece.split())
    if kind == "space":
        return "\\"
    if piece in ("\\hspace*", "\\vspace*"):
        return piece[:-1]
    return ALIASES.get(piece, piece)
