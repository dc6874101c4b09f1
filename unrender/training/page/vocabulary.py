"""The page reader's vocabulary: the formula tokens, then characters of text, then markers.

A character that looks like a formula token is that token: what is text and what is formula, the markers say.
"""

from collections.abc import Sequence

from unrender.checkpoints import resolve
from unrender.tokens import FILE_NAME, LatexTokenizer, read_list
from unrender.training.page.alignment import SOFT_HYPHEN
from unrender.training.page.prose import BOLD, CHARACTERS, ITALIC, MONO, NOTE

SPACE, BREAK, CELL = "␣", "<br>", "<cell>"
MATH, DISPLAY = ("<m>", "</m>"), ("<d>", "</d>")
STYLES = {BOLD: ("<b>", "</b>"), ITALIC: ("<i>", "</i>"), MONO: ("<tt>", "</tt>"), NOTE: ("<note>", "</note>")}
HEADINGS = ("<h1>", "<h2>", "<h3>", "<h4>")  # the first is a title
MARKERS = (SPACE, BREAK, CELL, *MATH, *DISPLAY, *(marker for pair in STYLES.values() for marker in pair), *HEADINGS)
_LIKE_TOKENS = {
    " ": SPACE, "%": r"\%", "&": r"\&", "_": r"\_", "{": r"\{", "}": r"\}", "\\": r"\backslash", "~": r"\sim",
    "’": "'", "‘": "`", "–": "--", "—": "---", "§": r"\S", "•": r"\bullet", "†": r"\dagger", "‡": r"\ddagger",
    "£": r"\pounds", "Å": r"\AA", "Ø": r"\O", "ø": r"\o", "Ł": r"\L", "ł": r"\l", "±": r"\pm", "×": r"\times",
    "¬": r"\neg", "·": r"\cdot", "'": "'", "`": "`",
}  # fmt: skip
_AS_CHARACTERS = {token: character for character, token in _LIKE_TOKENS.items() if character not in "'`"}


def token_of(character: str) -> str:
    """Return the token of a character of text."""
    return _LIKE_TOKENS.get(character, character)


def character_of(token: str) -> str:
    """Return the character that a token outside formulas prints; markers stay as they are."""
    return _AS_CHARACTERS.get(token, token)


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
