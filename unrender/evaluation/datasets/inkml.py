"""Handwriting as pen strokes: InkML files with LaTeX truth, as CROHME has them."""

import re
from pathlib import Path

from unrender import latex
from unrender.errors import DataError, LatexError
from unrender.evaluation.datasets.example import Dataset, Example
from unrender.evaluation.datasets.strokes import INKML, read_ink

_GLUED = re.compile(r"\\([lg]t)(?=[a-zA-Z])(?!e|eq)")  # \ltN stands for \lt N in some truths


def open_inkml(path: Path) -> Dataset:
    """Open one file, or all those under a folder; what has no truth or cannot be read is left out, and noted."""
    files = [path] if path.is_file() else sorted(path.rglob(f"*{INKML}"))
    base = path.parent if path.is_file() else path
    examples: list[Example] = []
    unreadable: list[DataError] = []
    for file in files:
        try:
            truth = read_ink(file).truth
            if truth:
                examples.append(Example(file, _canonical(truth, file), str(file.relative_to(base))))
        except DataError as error:
            unreadable.append(error)
    if not examples:
        raise unreadable[0] if unreadable else DataError(f"{path}: there is no InkML file with a truth in it.")
    without = len(files) - len(examples) - len(unreadable)
    notes = [f"{without:,} of {len(files):,} files have no truth and are left out."] if without else []
    notes += [f"{len(unreadable):,} of {len(files):,} files are left out: {unreadable[0]}"] if unreadable else []
    return Dataset(path, "inkml", tuple(examples), tuple(notes))


def _canonical(truth: str, path: Path) -> str:
    try:
        return latex.normalise(_GLUED.sub(r"\\\1 ", truth), unify=True)
    except LatexError as error:
        raise DataError(f"{path}: the truth {truth!r} is not LaTeX that can be parsed: {error}.") from error
