"""Run TeX over many documents at once; what does not compile or does not fit is dropped, the rest is kept.

Where everything stands is said in points from the left and top edge of the paper.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unrender.errors import MissingExtraError
from unrender.training.page.manuscript import Paper
from unrender.training.page.source import Source, write_source
from unrender.training.page.styles import Style
from unrender.typesetting import MISSING_FILE, run_latex
from unrender.typesetting.dvi import POINTS_PER_INCH, Layout, read_dvi

DVI = "pages.dvi"
_SECONDS_PER_RUN = 60
_ROUNDS = 6
_BLOCK = re.compile(r"^unrender block (\d+)")
_TROUBLE = re.compile(r"^(?:! |Overfull \\hbox)")


@dataclass(frozen=True)
class Compiled:
    """Pages of one run and the source whose marks they carry; `dropped` counts the blocks that had to go."""

    source: Source
    pages: list[Layout]
    dvi: Path
    dropped: int
    names: tuple[str, ...]  # of the papers in it


def compile_papers(papers: Sequence[Paper], style: Style, folder: Path) -> list[Compiled]:
    """Set all papers in one run; when TeX cannot get through, halve until the culprit stands alone."""
    compiled = _compile(papers, style, folder)
    if compiled is not None:
        return [compiled]
    if len(papers) <= 1:
        return []
    middle = len(papers) // 2
    first, second = folder / "first", folder / "second"
    return [*compile_papers(papers[:middle], style, first), *compile_papers(papers[middle:], style, second)]


def _compile(papers: Sequence[Paper], style: Style, folder: Path) -> Compiled | None:
    folder.mkdir(parents=True, exist_ok=True)
    dropped: frozenset[tuple[int, int]] = frozenset()
    for _ in range(_ROUNDS):
        source = write_source(papers, style, dropped)
        troubled = _run_latex(source, folder)
        if troubled is None:
            return None
        if not troubled:
            pages = read_dvi(folder / DVI, POINTS_PER_INCH)
            return Compiled(source, pages, folder / DVI, len(dropped), tuple(paper.name for paper in papers))
        dropped |= {source.owners[number] for number in troubled}
    return None


def _run_latex(source: Source, folder: Path) -> set[int] | None:
    """Compile; return the numbers of the blocks with errors or too wide, or None when the run as a whole failed."""
    (folder / DVI).unlink(missing_ok=True)
    log = run_latex(source.text(), folder / DVI, _SECONDS_PER_RUN)
    if log is None:
        return None
    opening, _, _ = log.partition("unrender block")
    missing = MISSING_FILE.search(opening)
    if missing is not None:
        raise MissingExtraError(
            f"TeX has no {missing[1]}, needed for the font {source.style.font}; install texlive-fonts-extra"
        )
    if re.search(r"^! ", opening, flags=re.MULTILINE):
        return None
    troubled = _troubled(log)
    return troubled if troubled or (folder / DVI).exists() else None


def _troubled(log: str) -> set[int]:
    current, troubled = -1, set[int]()
    for line in log.splitlines():
        begun = _BLOCK.match(line)
        if begun is not None:
            current = int(begun[1])
        elif current >= 0 and _TROUBLE.match(line):
            troubled.add(current)
    return troubled
