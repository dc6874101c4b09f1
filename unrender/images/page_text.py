"""The text that a PDF page carries itself: characters, where they stand, and which are set in fonts of formulas."""

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pypdfium2

CharacterBox = tuple[float, float, float, float]  # left, bottom, right, top in points

_FIRST_HALF, _SECOND_HALF = 0xD800 >> 10, 0xDC00 >> 10  # of a character in UTF-16
_NAME_BYTES = 128
# Computer Modern's (cmmi, cmsy, cmex), the AMS's, those of txfonts, pxfonts and MathTime, TeX's encodings OML and OMS
# in the names of others (7m, 7y), and whatever says Math.
_FORMULA_FONT = re.compile(
    r"(?i)math|cmmi|cmsy|cmex|cmbsy|ms[ab]m|eu[fs]m|rsfs|[tp]xs?(?:mi|sy|ex)|mt(?:mi|sy|ex)|7[my]$"
)
# Fonts of signs whose codes PDFium gives as the characters of the same number, where the PDF has no table of them.
_SIGNS_FONT = re.compile(r"(?i)cmsy|cmbsy|cmex|ms[ab]m|[tp]xs?(?:sy|ex)|mt(?:sy|ex)|7y$")
_NO_SIGN = re.compile(r"[a-z0-9!-)+,.:-@^-`~]")  # that such a font prints
_UNKNOWN = "\ufffd"


@dataclass(frozen=True)
class PageText:
    """The characters of a PDF page that carries its own text; the size is in points.

    `formulas` are the numbers of the characters in fonts that only formulas are set in.
    """

    width: float
    height: float
    characters: tuple[tuple[str, CharacterBox], ...]
    formulas: frozenset[int] = frozenset()


def collect_text(text: "pypdfium2.PdfTextpage", width: float, height: float) -> PageText:
    """Take the characters of a page."""
    found = list(_characters(text))
    fonts = [_font_name(text, spot) for _, spot in found]
    characters = tuple(
        (_meant(character, font), text.get_charbox(spot, loose=True))
        for (character, spot), font in zip(found, fonts, strict=True)
    )
    formulas = (number for number, font in enumerate(fonts) if _FORMULA_FONT.search(font))
    return PageText(width, height, characters, frozenset(formulas))


def _meant(character: str, font: str) -> str:
    """Return a character, or that it is unknown: a letter in a font that has none."""
    return _UNKNOWN if _NO_SIGN.match(character) and _SIGNS_FONT.search(font) else character


def _characters(text: "pypdfium2.PdfTextpage") -> Iterator[tuple[str, int]]:
    """Give the characters of a page with PDFium's numbers; it counts those beyond the first plane as two halves."""
    from pypdfium2 import raw

    first = 0
    for spot in range(text.count_chars()):
        code = raw.FPDFText_GetUnicode(text, spot)
        if code >> 10 == _FIRST_HALF:
            first = code
            continue
        if code >> 10 == _SECOND_HALF and first:
            code = 0x10000 + ((first & 0x3FF) << 10 | code & 0x3FF)
        first = 0
        yield chr(code) if code >> 11 != _FIRST_HALF >> 1 else "\ufffd", spot


def _font_name(text: "pypdfium2.PdfTextpage", spot: int) -> str:
    from pypdfium2 import raw

    name, flags = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()
    length = raw.FPDFText_GetFontInfo(text, spot, name, _NAME_BYTES, ctypes.byref(flags))
    return name.value.decode("latin-1") if 0 < length <= _NAME_BYTES else ""
