"""Set formulas with a real TeX, hundreds in one run, and say where it put every glyph.

Needs `latex` on PATH (Debian: texlive-latex-base texlive-latex-recommended texlive-fonts-recommended
preview-latex-style). TeX runs without shell escape, may read and write only its own folder, and is stopped after a
time limit; the formula that made it fail is found by halving and dropped. Formulas that define, read or write anything
are dropped unseen.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from unrender.errors import MissingExtraError
from unrender.typesetting.dvi import Layout, read_dvi

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
_CANCEL = r"\IfFileExists{cancel.sty}{\usepackage{cancel}}{}"
_SYMBOLS = {"charter", "tx", "kp", "stix", "libertine"}  # bring their own AMS symbols
SECONDS_PER_RUN = 20
AnyPage = TypeVar("AnyPage")  # what is read of one page
DVI = "formulas.dvi"
MISSING_FILE = re.compile(r"File `([^']+)' not found")  # in the log
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


def find_latex() -> str:
    """Return the path of latex, or say which packages bring it."""
    found = shutil.which("latex")
    if found is None:
        raise MissingExtraError(
            "typesetting needs latex: install texlive-latex-base texlive-latex-recommended "
            "texlive-fonts-recommended preview-latex-style (Debian packages)"
        )
    return found


def lay_out(formulas: Sequence[str], style: Style, dpi: float) -> list[Layout | None]:
    """Say where TeX puts the glyphs of each formula; None stands for one that does not compile or has no glyph."""
    find_latex()
    return each_compiled(formulas, style, lambda dvi: read_layouts(dvi, dpi))


def each_compiled(
    formulas: Sequence[str],
    style: Style,
    read: Callable[[Path], Iterable[AnyPage]],
    *,
    written: Sequence[str] | None = None,
) -> list[AnyPage | None]:
    """Compile formulas as `compile_formulas` does; return what `read` makes of their pages in the DVI file."""
    with tempfile.TemporaryDirectory(prefix="unrender-tex-", dir=fast_folder()) as folder:
        good = compile_formulas(formulas, style, Path(folder), written=written)
        pages = iter(read(Path(folder) / DVI) if any(good) else ())
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


def run_latex(document: str, dvi: Path, seconds: float) -> str | None:
    """Run TeX, kept to the folder of its DVI file; return its log, or None if there is none or the time was up."""
    dvi.with_suffix(".tex").write_text(document, encoding="utf-8")
    try:
        subprocess.run(
            ["latex", "-no-shell-escape", "-interaction=nonstopmode", f"{dvi.stem}.tex"],
            cwd=dvi.parent,
            env={**os.environ, "openin_any": "p", "openout_any": "p", "max_print_line": "1000"},
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        return dvi.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
    except (subprocess.TimeoutExpired, FileNotFoundError):
        return None


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
    log = run_latex(_document(formulas, style), folder / DVI, SECONDS_PER_RUN)
    if log is None:
        return None
    missing = MISSING_FILE.search(log.partition(_FIRST_PAGE)[0])
    if missing is not None:
        package = "preview-latex-style" if missing[1] == "preview.sty" else "texlive-fonts-extra texlive-latex-extra"
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
        rf"\documentclass[{style.points}pt]{{article}}\usepackage{{amsmath,mathrsfs}}{_CANCEL}{symbols}{FONTS[style.font]}"
        r"\usepackage[active,tightpage,auctex]{preview}\setlength\PreviewBorder{2pt}"
        r"\newcommand\mathbbm{\mathbb}\begin{document}"
        f"\n{pages}\n\\end{{document}}\n"
    )


def read_layouts(dvi: Path, dpi: float) -> list[Layout | None]:
    """Read the pages of a DVI file; None stands for an empty one."""
    return [layout.at_origin() if layout.glyphs else None for layout in read_dvi(dvi, dpi)]


def fast_folder() -> str | None:
    """Return a folder in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
