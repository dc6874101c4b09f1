"""Items of lists: lines that begin with a bullet, or with a label that counts on from the line before."""

import re
from collections.abc import Iterator, Sequence

from unrender.formats.marked import MATH, SPACE, STYLES, plain_text, token_of
from unrender.reading.page.places import Row
from unrender.reading.page.rows import ReadRow

_BULLETS = frozenset("• ◦ ∙ ▪ ■ ● ○ ▸ ▹ ► ▻".split())  # as a text layer says
_BULLET_TOKENS = frozenset(
    r"\bullet \circ \cdot \ast \star \diamond \triangleright \blacktriangleright \blacksquare".split()
)
_BULLET = re.compile(r"^(?:•|–|∙|◦|\*|▪|▸)\s+")
_LABEL = re.compile(r"^(?:\(?(?:\d{1,2}|[ivx]{1,4}|[a-h])\)|\d{1,2}\.|\[\d{1,3}\])\s+\S")
_COUNTED = re.compile(r"^([(\[]?)(\d{1,3}|[a-h])([.)\]]+) ")
_OPENERS = frozenset(pair[0] for pair in STYLES.values())
_ALIGNED = 0.6  # times small letters: how far the labels of one list differ


def is_bullet(character: str) -> bool:
    """Say whether a character is one that stands before items, and is no sign of a formula, whatever its font."""
    return character in _BULLETS


def is_item(text: str, *, labelled: bool) -> bool:
    """Say whether a text begins as an item of a list does, with a bullet or, where it may, with a label."""
    return bool(_BULLET.match(text) or (labelled and _LABEL.match(text)))


def as_item(text: str) -> str:
    """Write an item with the dash that Markdown has for bullets."""
    return _BULLET.sub("- ", text)


def plain_bullet(row: ReadRow) -> ReadRow:
    """Return a line whose bullet is plain text: not a formula, and outside of the style of what follows."""
    tokens = list(row.tokens)
    if tokens[:1] == [MATH[0]] and tokens[2:4] == [MATH[1], SPACE] and tokens[1] in _BULLET_TOKENS:
        return row.with_tokens([token_of("•"), *tokens[3:]])
    if tokens[:1] and tokens[0] in _OPENERS and tokens[1:3] == [token_of("•"), SPACE]:
        return row.with_tokens([*tokens[1:3], tokens[0], *tokens[3:]])
    return row


def find_items(rows: Sequence[ReadRow], places: Sequence[Row]) -> Iterator[int]:
    """Give the lines of a block at which an item begins that is not its first line."""
    texts = [plain_text(row.tokens).replace(SPACE, " ") for row in rows]
    label: re.Match[str] | None = None
    left = 0
    for number, (text, place) in enumerate(zip(texts, places, strict=True)):
        found = _COUNTED.match(text)
        counts_on = label is not None and found is not None and _follows(label, found)
        aligned = abs(place.box[0] - left) < _ALIGNED * place.letters
        if number and (is_bullet(text[:1]) or (counts_on and aligned)):
            yield number
        if found and (label is None or (counts_on and aligned)):
            label, left = found, place.box[0]


def _follows(before: re.Match[str], label: re.Match[str]) -> bool:
    """Say whether a label is the next one after another."""
    if before[1] != label[1] or before[3] != label[3] or before[2].isdigit() != label[2].isdigit():
        return False
    if label[2].isdigit():
        return int(label[2]) == int(before[2]) + 1
    return ord(label[2]) == ord(before[2]) + 1
