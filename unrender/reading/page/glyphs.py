"""Characters of a PDF's text layer as they are meant: ligatures, accents set beside letters, and what is unknown.

Fonts without a table of characters give codes of TeX's encodings, or codes that mean nothing.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

UNKNOWN = "\ufffd"  # a sign of which only the place is known
SOFT = ("\u00ad", "\x02", "\ufffe")  # how PDFs and PDFium write a hyphen at the end of a line
_SPELLINGS = str.maketrans(
    {"ﬁ": "fi", "ﬂ": "fl", "ﬀ": "ff", "ﬃ": "ffi", "ﬄ": "ffl", "\u00a0": " ", "−": "-", "‐": "-"}
    | {"\x0b": "ff", "\x0c": "fi", "\x0e": "ffi", "\x0f": "ffl"}  # TeX's encoding OT1
    | {"\x10": "“", "\x11": "”", "\x15": "–", "\x16": "—"}  # and T1
    | {"\x1b": "ff", "\x1c": "fi", "\x1d": "fl", "\x1e": "ffi", "\x1f": "ffl"}
)
_ACCENTS = {
    "`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307",
    "¨": "\u0308", "˚": "\u030a", "˝": "\u030b", "ˇ": "\u030c", "¸": "\u0327", "˛": "\u0328",
}  # fmt: skip
_FIRST_OTHER, _FEWEST_OTHERS = 0x370, 4  # Greek is the first that is not Latin; letters of a line
_MATHEMATICAL = re.compile("[\u2100-\u214f\U0001d400-\U0001d7ff]")
_NOT_MEANT = frozenset({"Cc", "Co", "Cn"})  # categories of characters that no text has


def spell(character: str) -> str:
    """Return what a character is written with; empty where it is blank."""
    text = character.translate(_SPELLINGS)
    if text != character or character in SOFT:
        return text
    if character.isspace():
        return ""
    return UNKNOWN if unicodedata.category(character) in _NOT_MEANT else text


def join_accents(texts: Sequence[str], boxes: NDArray[np.float64]) -> list[str]:
    """Give letters the accents that are set over them; `texts` stand from left to right. What was joined is empty."""
    joined = list(texts)
    for index, accent in enumerate(texts):
        combining = _ACCENTS.get(accent)
        if combining is None:
            continue
        middle = (boxes[index, 0] + boxes[index, 2]) / 2
        for other in (index + 1, index - 1):
            inside = 0 <= other < len(texts) and boxes[other, 0] < middle < boxes[other, 2]
            whole = unicodedata.normalize("NFC", joined[other] + combining) if inside else ""
            if len(whole) == 1 and joined[other].isalpha():
                joined[index], joined[other] = "", whole
                break
    return joined


def is_other_script(text: str) -> bool:
    """Say whether most letters of a text are of a script that the line reader has not seen."""
    letters = [sign for sign in text if sign.isalpha()]
    others = sum(ord(sign) >= _FIRST_OTHER and not _MATHEMATICAL.match(sign) for sign in letters)
    return others >= _FEWEST_OTHERS and 2 * others > len(letters)


def fill_unknown(said: str, read: str) -> list[str] | None:
    """Return for each sign of the layer its text, unknown ones as they were read; None where that is not clear."""
    texts = list(said)
    for start, stop, first, last in _differences(read, said):
        if UNKNOWN not in said[first:last]:
            continue
        if set(said[first:last]) != {UNKNOWN}:
            return None
        texts[first:last] = [read[start:stop], *[""] * (last - first - 1)]
    return texts


def _differences(read: str, said: str) -> Iterator[tuple[int, int, int, int]]:
    """Give the parts in which two texts differ: from, to in one, and in the other."""
    for same, run in groupby(Levenshtein.opcodes(read, said), key=lambda code: code.tag == "equal"):
        codes = list(run)
        if not same:
            yield codes[0].src_start, codes[-1].src_end, codes[0].dest_start, codes[-1].dest_end
