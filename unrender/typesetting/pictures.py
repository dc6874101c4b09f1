"""Formulas as pictures: drawn by TeX and dvipng or, where there is no TeX, by ziamath, which is all Python.

Each takes LaTeX and gives gray pictures (dark on white), None where it cannot draw the formula.
"""

import io
import shutil
import subprocess
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.errors import MissingExtraError
from unrender.typesetting import SECONDS_PER_RUN, Style, each_compiled

Gray = NDArray[np.uint8]
Draw = Callable[[Sequence[str]], list[Gray | None]]
Draws = tuple[Draw, ...]
_HALVING = 2  # pages are drawn at twice the resolution and reduced, as the Im2Latex pictures were
_WHITE = 250
_POINTS, _ZOOM = 24, 2  # of what ziamath draws
_STYLES = (Style(dpi=200), Style(dpi=200, display=False))


def find_typesetters() -> Draws:
    """Return what draws formulas here: TeX where it is, otherwise ziamath; in display style and inline."""
    if shutil.which("latex") and shutil.which("dvipng"):
        return tuple(partial(typeset, style=style) for style in _STYLES)
    try:
        import resvg_py  # noqa: F401
        import ziamath  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "Checking a reading needs something that typesets it; install TeX with dvipng, or: "
            "pip install 'unrender[verify]'"
        ) from error
    return (draw_with_ziamath, partial(draw_with_ziamath, inline=True))


def draw_with_ziamath(formulas: Sequence[str], *, inline: bool = False) -> list[Gray | None]:
    """Draw each formula with ziamath; None stands for one it cannot draw."""
    return [_ziamath(formula, inline) for formula in formulas]


def _ziamath(formula: str, inline: bool) -> Gray | None:
    from resvg_py import svg_to_bytes
    from ziamath.zmath import Latex

    try:
        svg = Latex(formula, size=_POINTS, inline=inline).svg()
    except Exception:  # noqa: BLE001 - whatever it cannot draw, for whatever reason, is left out
        return None
    drawn = bytes(svg_to_bytes(svg_string=svg, background="white", zoom=_ZOOM))
    return crop_to_ink(np.asarray(Image.open(io.BytesIO(drawn)).convert("L")))


def find_tools() -> None:
    """Say which packages bring latex and dvipng where one of them is missing."""
    if shutil.which("latex") is None or shutil.which("dvipng") is None:
        raise MissingExtraError(
            "typesetting needs latex and dvipng: install texlive-latex-base texlive-latex-recommended "
            "texlive-fonts-recommended dvipng preview-latex-style (Debian packages)"
        )


def typeset(formulas: Sequence[str], style: Style) -> list[Gray | None]:
    """Draw each formula; None stands for one that does not compile or has no ink."""
    find_tools()
    return each_compiled(formulas, style, lambda dvi: _draw(dvi, style))


def _draw(dvi: Path, style: Style) -> list[Gray | None]:
    pages = run_dvipng(dvi, style.dpi * _HALVING, ("-T", "tight"), SECONDS_PER_RUN * 10)
    return [_reduced(path) for path in pages]


def run_dvipng(dvi: Path, dpi: float, area: Sequence[str], seconds: float) -> list[Path]:
    """Draw the pages of a DVI file beside it and return the pictures in order; `area` says what of a page to draw."""
    for old in dvi.parent.glob("page*.png"):
        old.unlink()
    command = ["dvipng", "-q", "-D", str(round(dpi)), "-z", "1", *area, "-o", "page%06d.png", dvi.name]
    subprocess.run(command, cwd=dvi.parent, check=True, capture_output=True, timeout=seconds)
    return sorted(dvi.parent.glob("page*.png"))


def _reduced(path: Path) -> Gray | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                gray = image.convert("L")
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        return None
    width, height = -(-gray.width // _HALVING), -(-gray.height // _HALVING)
    padded = Image.new("L", (width * _HALVING, height * _HALVING), 255)
    padded.paste(gray, (0, 0))
    return crop_to_ink(np.asarray(padded.resize((width, height), Image.Resampling.LANCZOS)))


def crop_to_ink(gray: Gray) -> Gray | None:
    """Cut away white borders; None when there is no ink."""
    ink = gray < _WHITE
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if not rows.size:
        return None
    return np.ascontiguousarray(gray[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
