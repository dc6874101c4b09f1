"""The page reader's vocabulary: the formula tokens, then characters of text, then markers.

A character that looks like a formula token is that token: what is text and what is formula, the markers say.
"""

from collections.abc import Sequence

from unrender.checkpoints import resolve
from unrender.formats.marked import DISPLAY, MARKERS, MATH, SOFT_HYPHEN, character_of, token_of
from unrender.tokens import FILE_NAME, LatexTokenizer, read_list
from unrender.training.page.prose import CHARACTERS


def make_tokenizer() -> LatexTokenizer:
    """Append characters and markers to the vocabulary of the embedded formula reader, whose ids stay."""
    formulas = read_list(resolve("formula") / FILE_NAME)
    characters = sorted(token_of(character) for character in CHARACTERS)
    return LatexTokenizer([*formulas, *characters, SOFT_HYPHEN, *MARKERS])


def as_text(tokens: Sequence[str]) -> str:
    """Write tokens as a person would read them, formulas between dollars; for looking at samples."""
    pieces: list[str] = []
    inside = False
    for token in tokens:
        if token in (*MATH, *DISPLAY):
            inside = token in (MATH[0], DISPLAY[0])
            pieces.append("$")
        else:
            pieces.append(token + " " if inside else character_of(token))
    return "".join(pieces)
