"""Which glyph prints which character or token, and in which line."""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from unrender.formats.marked import SOFT_HYPHEN
from unrender.training.formula.pointing import token_boxes
from unrender.typesetting.dvi import Box, PlacedGlyph, Rule, union

Place = tuple[int, int]  # number of the page, number of the line's box in the file
_OLD_ENCODING = "cm"  # how fonts in TeX's old encoding are called
_SHARED = {39: "’", 96: "‘", 127: "-"}
_NEW = {16: "“", 17: "”", 21: "–", 22: "—", 27: "ff", 28: "fi", 29: "fl", 30: "ffi", 31: "ffl", **_SHARED}
_OLD = {11: "ff", 12: "fi", 13: "fl", 14: "ffi", 15: "ffl", 34: "”", 92: "“", 123: "–", 124: "—", 39: "’", 96: "‘"}
_OLD_ACCENTS = frozenset([18, 19, 20, 21, 22, 23, 24, 32, 94, 95, 125, 126, 127])
_LIGATURES = ("ffi", "ffl", "fft", "ff", "fi", "fl", "ft", "fj", "fb", "fh", "fk", "tt", "ti", "Th", "Qu", "ct", "st")
_HYPHEN, _ACCENT = 0, -1  # glyphs that print no character of their own
_SYMBOL_FONTS = ("cmsy", "cmmi", "cmex")
_LETTERS_END = 127
_LONGEST = 400  # characters of a word that is looked at
_LARGE = 1.05  # times the size of the font: so tall are only large operators and brackets
_BEFORE_INK = frozenset(["{", "^", "_", r"\left.", r"\begin{array}"])


class Sign(NamedTuple):
    """One character of text or one token of a formula, in print."""

    text: str
    box: Box | None
    place: Place


class Segment(NamedTuple):
    """What stands behind one mark: `token` is its number in a formula, 0 for a word."""

    token: int
    page: int
    stack: tuple[int, ...]
    glyphs: Sequence[PlacedGlyph]
    rules: Sequence[Rule]


def decode(glyph: PlacedGlyph) -> str:
    """Return the characters that a glyph prints, where the font is a text font."""
    table = _OLD if _is_old(glyph) and "tt" not in glyph.key[0] else _NEW
    return table.get(glyph.key[1]) or chr(glyph.key[1])


def align_text(text: str, segments: Sequence[Segment]) -> list[Sign] | None:
    """Give each character its glyph; None when what is printed is not this text."""
    depth = len(segments[0].stack)
    printed = [
        (glyph, (segment.page, glyph.stack[depth - 1]))
        for segment in segments
        for glyph in segment.glyphs
        if len(glyph.stack) >= depth
    ]
    counts = _read(text, printed, 0, 0) if printed and len(text) < _LONGEST else None
    if counts is None:
        return None
    signs: list[Sign] = []
    accent: Box | None = None
    position = 0
    for (glyph, place), count in zip(printed, counts, strict=True):
        start = _skip(text, position, glyph)
        signs += [Sign(character, None, place) for character in text[position:start]]
        position = start + max(0, count)
        if count == _HYPHEN:
            signs.append(Sign(SOFT_HYPHEN, glyph.box, place))
        elif count == _ACCENT:
            accent = glyph.box
        else:
            box = glyph.box if accent is None else union([accent, glyph.box])
            signs += _divided(text[start:position], box, place)
            accent = None
    return signs


def _read(text: str, printed: Sequence[tuple[PlacedGlyph, Place]], index: int, position: int) -> list[int] | None:
    """Say how many characters each glyph prints, so that together they print the text; None when they do not."""
    if index == len(printed):
        return [] if position == len(text) else None
    glyph, place = printed[index]
    position = _skip(text, position, glyph)
    ends_line = index + 1 < len(printed) and printed[index + 1][1] != place
    for count in _choices(text, position, glyph, ends_line=ends_line):
        rest = _read(text, printed, index + 1, position + max(0, count))
        if rest is not None:
            return [count, *rest]
    return None


def _choices(text: str, position: int, glyph: PlacedGlyph, *, ends_line: bool) -> Iterator[int]:
    """Give what a glyph may be, the likeliest first."""
    characters = decode(glyph)
    if text.startswith(characters, position):
        yield len(characters)
    if ends_line and characters == "-":
        yield _HYPHEN
    if position < len(text) and _is_old(glyph) and _base(text[position]) == characters:
        yield 1
    elif position < len(text) and not _is_letter(glyph, characters):
        if not text[position].isascii() and _is_old(glyph) and glyph.key[1] in _OLD_ACCENTS:
            yield _ACCENT
        yield from (len(ligature) for ligature in _LIGATURES if text.startswith(ligature, position))
        yield 1


def _skip(text: str, position: int, glyph: PlacedGlyph) -> int:
    """Pass over spaces, and over what is printed as a rule."""
    while position < len(text) and (text[position] == " " or (text[position] == "_" and decode(glyph) != "_")):
        position += 1
    return position


def align_formula(tokens: Sequence[str], segments: Sequence[Segment]) -> list[Sign]:
    """Give each token its glyphs and rules; tokens without ink stand in the line of what they belong to."""
    depth = len(segments[0].stack)
    boxes = np.full((len(tokens), 4), np.nan)
    places: dict[int, Place] = {}
    for page in sorted({segment.page for segment in segments}):
        here = [segment for segment in segments if segment.page == page]
        marks, glyphs, rules = list[tuple[int, int, int]](), list[PlacedGlyph](), list[Rule]()
        for segment in here:
            marks.append((segment.token, len(glyphs), len(rules)))
            places.setdefault(segment.token, (page, segment.stack[depth - 1]))
            glyphs += segment.glyphs
            rules += segment.rules
        large = [glyph.height + glyph.depth > _LARGE * glyph.size for glyph in glyphs]
        found = token_boxes(tokens, marks, [glyph.box for glyph in glyphs], [rule.box for rule in rules], large)
        boxes = np.where(np.isnan(boxes), found, boxes)
    boxed = [None if np.isnan(row).any() else (row[0], row[1], row[2], row[3]) for row in boxes.tolist()]
    filled = _fill(tokens, {token: place for token, place in places.items() if boxed[token] is not None}, places)
    return [Sign(token, box, place) for token, box, place in zip(tokens, boxed, filled, strict=True)]


def _fill(tokens: Sequence[str], inked: dict[int, Place], marked: dict[int, Place]) -> list[Place]:
    """Put what opens something into the line of what follows, all else into the line of what went before."""
    following: list[Place] = []
    ahead = min(marked.items())[1] if not inked else inked[max(inked)]
    for index in range(len(tokens) - 1, -1, -1):
        ahead = inked.get(index, ahead)
        following.append(ahead)
    following.reverse()
    filled: list[Place] = []
    for index, token in enumerate(tokens):
        if index in inked or not filled or token in _BEFORE_INK or _takes_argument(tokens, index):
            filled.append(following[index])
        else:
            filled.append(filled[-1])
    return filled


def _takes_argument(tokens: Sequence[str], index: int) -> bool:
    return tokens[index].startswith("\\") and index + 1 < len(tokens) and tokens[index + 1] == "{"


def _divided(characters: str, box: Box, place: Place) -> list[Sign]:
    """Give each letter of a ligature its share of the glyph."""
    left, top, right, bottom = box
    step = (right - left) / len(characters)
    return [
        Sign(character, (left + step * index, top, left + step * (index + 1), bottom), place)
        for index, character in enumerate(characters)
    ]


def _base(character: str) -> str:
    """Return the letter below an accent."""
    return {"ł": "l", "Ł": "L"}.get(character) or unicodedata.normalize("NFD", character)[0]


def _is_letter(glyph: PlacedGlyph, characters: str) -> bool:
    """Whether a glyph can be nothing but the letter or digit that its code says."""
    symbols = glyph.key[0].startswith(_SYMBOL_FONTS)
    return not symbols and glyph.key[1] < _LETTERS_END and len(characters) == 1 and characters.isalnum()


def _is_old(glyph: PlacedGlyph) -> bool:
    return glyph.key[0].startswith(_OLD_ENCODING)
