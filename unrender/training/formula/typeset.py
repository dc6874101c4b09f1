"""Typeset formulas with a real TeX: hundreds in one run, each cropped to its ink.

Needs `latex` and `dvipng` on PATH (Debian: texlive-latex-base texlive-latex-recommended texlive-fonts-recommended
dvipng preview-latex-style). TeX runs without shell escape, may read and write only its own folder, and is stopped
after a time limit; the formula that made it fail is found by halving and dropped. Formulas that define, read or write
anything are dropped unseen.
"""

import os
import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.errors import MissingExtraError

Gray = NDArray[np.uint8]

FONTS = {
    "computer-modern": "",
    "times": r"\usepackage{mathptmx}",
    "palatino": r"\usepackage{mathpazo}",
    "euler": r"\usepackage{eulervm}",
    "charter": r"\usepackage[charter]{mathdesign}",
    "fourier": r"\usepackage{fourier}",
    "tx": r"\usepackage{txfonts}",
    "kp": r"\usepackage{kpfonts}",
    "stix": r"\usepackage{stix}",
    "libertine": r"\usepackage{libertine,libertinust1math}",
    "bright": r"\usepackage{cmbright}",
    "arev": r"\usepackage{arev}",
    "iwona": r"\usepackage[math]{iwona}",
    "antykwa": r"\usepackage[math]{anttor}",
}
_SYMBOLS = {"charter", "tx", "kp", "stix", "libertine"}  # bring their own AMS symbols
_HALVING = 2  # pages are drawn at twice the resolution and reduced, as the Im2Latex pictures were
_SECONDS_PER_RUN = 20
_WHITE = 250
_FIRST_PAGE = "! Preview: Snippet 1 started"
# What no formula needs, and what could change the formulas after it or the files around it.
_MEDDLING = re.compile(
    r"\\(?:[egx]?def|let|futurelet|global|(?:re|provide)?(?:new)?command|catcode|input|include|openin|openout|closein|closeout"
    r"|read|write|immediate|csname|special|loop|repeat|scantokens|everymath|output|(?:batch|scroll|nonstop|errorstop)mode)"
    r"(?![a-zA-Z])"
)


@dataclass(frozen=True, kw_only=True)
class Style:
    """How a formula is set and drawn. The defaults are those of the Im2Latex pictures."""

    points: int = 12
    dpi: int = 100
    font: str = "computer-modern"
    display: bool = True


def find_tools() -> tuple[str, str]:
    """Return the paths of latex and dvipng, or say which packages bring them."""
    latex, dvipng = shutil.which("latex"), shutil.which("dvipng")
    if latex is None or dvipng is None:
        raise MissingExtraError(
            "typesetting needs latex and dvipng: install texlive-latex-base texlive-latex-recommended "
            "texlive-fonts-recommended dvipng preview-latex-style (Debian packages)"
        )
    return latex, dvipng


def typeset(formulas: Sequence[str], style: Style) -> list[Gray | None]:
    """Draw each formula; None stands for one that does not compile or has no ink."""
    find_tools()
    with tempfile.TemporaryDirectory(prefix="unrender-tex-", dir=fast_folder()) as folder:
        good = compile_formulas(formulas, style, Path(folder))
        pages = iter(_draw(Path(folder), style)) if any(good) else iter(())
        return [next(pages) if fine else None for fine in good]


def compile_formulas(
    formulas: Sequence[str], style: Style, folder: Path, *, written: Sequence[str] | None = None
) -> list[bool]:
    """Write formulas.dvi with one page for each formula that compiles; say which did.

    `written` replaces the formulas once they are found harmless: what is put in by us may be what they may not.
    """
    allowed = [index for index, formula in enumerate(formulas) if not _MEDDLING.search(formula)]
    formulas = formulas if written is None else written
    good = [False] * len(formulas)
    for index, fine in zip(allowed, _compile([formulas[index] for index in allowed], style, folder), strict=True):
        good[index] = fine
    return good


def _compile(formulas: Sequence[str], style: Style, folder: Path) -> list[bool]:
    failed = _run_latex(formulas, style, folder)
    if failed is None:
        return _halve(formulas, style, folder)
    good = [index not in failed for index in range(len(formulas))]
    kept = [index for index, fine in enumerate(good) if fine]
    if failed and kept:
        for index, fine in zip(kept, _compile([formulas[index] for index in kept], style, folder), strict=True):
            good[index] = fine
    return good


def _halve(formulas: Sequence[str], style: Style, folder: Path) -> list[bool]:
    """Find the formulas that stop a whole run, and compile the others together."""
    if len(formulas) == 1:
        return [False]
    middle = len(formulas) // 2
    good = [*_compile(formulas[:middle], style, folder), *_compile(formulas[middle:], style, folder)]
    together = [formula for formula, fine in zip(formulas, good, strict=True) if fine]
    if together and _run_latex(together, style, folder) != set():
        return [False] * len(formulas)  # they disturb one another: no page can be trusted
    return good


def _run_latex(formulas: Sequence[str], style: Style, folder: Path) -> set[int] | None:
    """Compile; return the numbers of the formulas with errors, or None when the run as a whole failed."""
    (folder / "formulas.tex").write_text(_document(formulas, style))
    environment = {**os.environ, "openin_any": "p", "openout_any": "p", "max_print_line": "1000"}
    try:
        subprocess.run(
            ["latex", "-no-shell-escape", "-interaction=nonstopmode", "formulas.tex"],
            cwd=folder,
            env=environment,
            timeout=_SECONDS_PER_RUN,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        log = (folder / "formulas.log").read_text(errors="replace")
    except (subprocess.TimeoutExpired, FileNotFoundError):
        return None
    missing = re.search(r"File `([^']+)' not found", log.partition(_FIRST_PAGE)[0])
    if missing is not None:
        package = "preview-latex-style" if missing[1] == "preview.sty" else "texlive-fonts-extra"
        raise MissingExtraError(f"TeX has no {missing[1]}, needed for the font {style.font}; install {package}")
    ended = len(re.findall(r"^! Preview: Snippet \d+ ended", log, flags=re.MULTILINE))
    if ended != len(formulas):
        return None
    return _erroneous(log)


def _erroneous(log: str) -> set[int]:
    failed: set[int] = set()
    for piece in log.split("! Preview: Snippet ")[1:]:
        head, _, body = piece.partition("\n")
        if head.endswith("started.") and re.search(r"^! (?!Preview)", body, flags=re.MULTILINE):
            failed.add(int(head.split()[0]) - 1)
    return failed


def _document(formulas: Sequence[str], style: Style) -> str:
    symbols = "" if style.font in _SYMBOLS else r"\usepackage{amssymb,amsfonts}"
    opening = r"$\displaystyle " if style.display else "$"
    pages = "\n".join(r"\begin{preview}\mbox{" + opening + formula + r"$}\end{preview}" for formula in formulas)
    return (
        rf"\documentclass[{style.points}pt]{{article}}\usepackage{{amsmath,mathrsfs}}{symbols}{FONTS[style.font]}"
        r"\usepackage[active,tightpage,auctex]{preview}\setlength\PreviewBorder{2pt}"
        r"\newcommand\mathbbm{\mathbb}\begin{document}"
        f"\n{pages}\n\\end{{document}}\n"
    )


def _draw(folder: Path, style: Style) -> list[Gray | None]:
    for old in folder.glob("page*.png"):
        old.unlink()
    resolution = str(style.dpi * _HALVING)
    command = ["dvipng", "-D", resolution, "-T", "tight", "-z", "1", "-o", "page%06d.png", "formulas.dvi"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_SECONDS_PER_RUN * 10)
    return [_reduced(path) for path in sorted(folder.glob("page*.png"))]


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


def fast_folder() -> str | None:
    """Return a folder in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
