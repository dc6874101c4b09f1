"""The fonts of made pictures: those of Debian and of npm's @fontsource packages; some are for measuring only."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fontTools.ttLib import TTFont
from PIL import ImageFont

from unrender.checkpoints import cache_folder
from unrender.errors import DataError
from unrender.models.word import ALPHABET

_SYSTEM = Path("/usr/share/fonts")
_TEX = Path("/usr/share/texmf/fonts/opentype/public/lm")
_UNUSABLE = ("Symbol", "Dingbats", "D050000L", "lmmath", "porson", "StandardSymbols")
HELD_OUT = ("vollkorn", "josefin-sans", "nunito", "gochi-hand", "fragment-mono", "cabin", "bitter", "titan-one")
_LEAST = 90  # characters of the alphabet that a font must have


@dataclass(frozen=True)
class Font:
    """One font file and which characters of the alphabet it has."""

    path: Path
    known: frozenset[str]

    def sized(self, size: int) -> ImageFont.FreeTypeFont:
        """Open it at a size in pixels."""
        return _open(self.path, size)

    def writes(self, text: str) -> bool:
        """Say whether it has every character of the text."""
        return self.known.issuperset(text)


def find_fonts(*, held_out: bool = False) -> list[Font]:
    """Find the fonts to train with, or those that are kept for measuring."""
    files = cache_folder() / "node" / "node_modules" / "@fontsource"
    packages = [
        path
        for package in sorted(files.glob("*"))
        if (package.name in HELD_OUT) == held_out
        for path in sorted(package.glob("files/*-latin-[4,7]00-*.woff"))
    ]
    system = [] if held_out else sorted(
        path for root in (_SYSTEM, _TEX) for kind in ("*.ttf", "*.otf") for path in root.rglob(kind)
    )  # fmt: skip
    usable = [path for path in (*packages, *system) if not any(name in path.name for name in _UNUSABLE)]
    fonts = [Font(path, _known(path)) for path in usable]
    found = [font for font in fonts if len(font.known) >= _LEAST]
    if not found:
        raise DataError(f"there are no fonts in {files} nor in {_SYSTEM}; see docs/word.md for where to get them")
    return found


def _known(path: Path) -> frozenset[str]:
    with TTFont(path, lazy=True) as font:
        codes = font.getBestCmap() or {}
    return frozenset(character for character in ALPHABET if ord(character) in codes)


@cache
def _open(path: Path, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(path), size, layout_engine=ImageFont.Layout.BASIC)
