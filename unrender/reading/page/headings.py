"""Which blocks are headings, and of which level; what only seems one is a part of a sentence, code, or an item."""

import re
from collections.abc import Iterator, Sequence

from unrender.formats.marked import SPACE, STYLES, plain_text
from unrender.reading.page.places import Kind, Region
from unrender.reading.page.rows import ReadRow

_NUMBERED = re.compile(r"^(\d+(?:\.\d+)*)\.?\s")
_LABEL = re.compile(r"^[(\[]?(?:\d{1,2}|[a-zA-Z])[.)\]]+\s+")
_DEEPEST = 4
_WORDS = 5  # of a heading with a full stop, at most
_UNLIKELY = 0.7  # a block that is as likely text as a heading: the line reader decides
_LARGE, _HIGH = 1.3, 2.8  # times the small letters of a page: those of a title, and its lines
_MOST_LINES = 4  # of a title
_STYLE = re.compile(r"\*\*|`")
_CODE = re.compile(r"[\\{}<>$=;_]|\w\(")
_OPEN = frozenset("a an and are as at by of or than that the to was were with".split())  # what no heading ends with
_MONO = STYLES["mono"]


def is_heading(region: Region, rows: Sequence[ReadRow], text: str, letters: float) -> bool:
    """Say whether a block is a heading; `letters` is the height of small letters on its page."""
    if region.kind not in (Kind.HEADING, Kind.TEXT):
        return False
    if is_title(region, letters) and any(sign.islower() for sign in text):
        return True
    seems = region.kind == Kind.HEADING or bool(rows[0].heading and len(rows) <= 2 and region.likely < _UNLIKELY)
    return seems and not _is_broken_off(text) and not is_code(rows, text)


def is_title(region: Region, letters: float) -> bool:
    """Say whether all lines of a block are larger than those of the page, and high as well."""
    rows = region.rows
    large = all(row.letters > _LARGE * letters and row.box[3] - row.box[1] > _HIGH * letters for row in rows)
    return large and 0 < len(rows) <= _MOST_LINES


def is_code(rows: Sequence[ReadRow], text: str) -> bool:
    """Say whether all lines are in typewriter type and hold signs of program code."""
    mono = all(row.tokens and row.tokens[0] == _MONO[0] and row.tokens[-1] == _MONO[1] for row in rows)
    return mono and _CODE.search(text) is not None


def find_headings(rows: Sequence[ReadRow]) -> Iterator[int]:
    """Give the lines of a heading at which another one begins, with a number of its own."""
    texts = [plain_text(row.tokens).replace(SPACE, " ") for row in rows]
    numbers = [_NUMBERED.match(text) for text in texts]
    for index, number in enumerate(numbers):
        if index and numbers[0] and number and texts[index][number.end() :][:1].isupper():
            yield index


def heading_level(text: str, *, title: bool) -> int:
    """Guess the level of a heading without a marker from its number."""
    numbered = _NUMBERED.match(text)
    return min(_DEEPEST, 2 + numbered[1].count(".")) if numbered else 2 - title


def plain_heading(text: str) -> str:
    """Return a heading without marks of styles that headings have anyway."""
    return " ".join(_STYLE.sub("", text).split())


def _is_broken_off(text: str) -> bool:
    """Say whether a text begins or ends in the middle of a sentence, or is a long one, as no heading is."""
    begun, last = _LABEL.sub("", text), text.rpartition(" ")[2]
    if begun[:1].islower() or last in _OPEN or text.endswith((",", ";", ":")):
        return True
    return text.endswith(".") and text.count(" ") > _WORDS
