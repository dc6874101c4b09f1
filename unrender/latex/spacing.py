"""Where a person puts blanks between the pieces of a formula; TeX ignores all of them but those after a command."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from unrender.latex.characters import SIGNS

Side = Literal["plain", "sign", "relation", "name", "dots", "comma", "open", "close", "wide", "narrow"]

_COMMAND_AT_END = re.compile(r"\\[a-zA-Z]+\*?\Z")
_DOTS = frozenset({"\\ldots", "\\cdots", "\\dots", "\\dotsc", "\\dotsb", "\\dotsm", "\\dotsi", "\\dotso", "\\ddots"})
_WIDE = frozenset({"\\quad", "\\qquad", "\\enspace", "\\hfill", "\\displaystyle", "\\textstyle", "\\bmod", "\\mod"})
_NARROW = frozenset({"\\,", "\\;", "\\:", "\\!", "\\>", "\\", "~", "\\thinspace"})
_SIDES: dict[str, Side] = {
    "ordinary": "plain",
    "binary": "sign",
    "relation": "relation",
    "large": "name",
    "punctuation": "comma",
    "open": "open",
    "close": "close",
}


@dataclass(frozen=True)
class Piece:
    """A piece of LaTeX and what it is to its neighbours on either side."""

    text: str
    left: Side = "plain"
    right: Side = "plain"


def piece_of(token: str) -> Piece:
    """Return a token as a piece."""
    if token in _DOTS:
        return Piece(token, "dots", "dots")
    if token in _WIDE:
        return Piece(token, "wide", "wide")
    if token in _NARROW:
        return Piece("\\ " if token == "\\" else token, "narrow", "narrow")
    if token in ("/", ".", "!") or token not in SIGNS:
        return Piece(token)
    side = _SIDES[SIGNS[token][1]]
    return Piece(token, side, side)


def join(pieces: Sequence[Piece], *, tight: bool = False) -> str:
    """Join pieces with the blanks they need and those that please; `tight`, as in scripts, leaves out most of these."""
    text, before = "", None
    in_operand = False  # whether a sign here stands between two operands
    for piece in pieces:
        is_joint = piece.left == "sign" and in_operand
        current = piece if piece.left != "sign" or is_joint else Piece(piece.text)
        if before is not None:
            text += " " * _needs_blank(before, current, tight=tight)
        text += piece.text
        if piece.left not in ("narrow", "wide"):
            in_operand = piece.right in ("plain", "close", "dots") or (piece.right == "sign" and not is_joint)
            in_operand = in_operand and not (piece.left == "sign" and not is_joint)
        before = current
    return text


def _needs_blank(before: Piece, after: Piece, *, tight: bool) -> bool:
    if not before.text or not after.text or before.text.endswith(" "):
        return False
    if _COMMAND_AT_END.search(before.text) and after.text[0].isalpha():
        return True
    if "wide" in (before.right, after.left):
        return True
    if after.left in ("relation", "sign") or before.right in ("relation", "sign"):
        sign = after if after.left in ("relation", "sign") else before
        return not tight or len(sign.text) > 1
    if before.right == "comma":
        return not tight and after.left not in ("narrow", "comma", "close")
    if after.left in ("name", "dots"):
        return before.right not in ("open", "narrow") and not (tight and after.left == "dots")
    if before.right in ("name", "dots"):
        return after.left not in ("open", "close", "comma", "narrow") and not (tight and before.right == "dots")
    return False
