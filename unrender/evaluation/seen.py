"""Measure what is seen of formulas: typeset reading and truth with TeX, and compare the glyphs and where they stand."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unrender.errors import ConfigError, MissingExtraError
from unrender.evaluation.scoring import Case, Comparison
from unrender.metrics import Glyph, Measure, glyph_f1
from unrender.metrics.measure import mean_of
from unrender.tasks import Task

if TYPE_CHECKING:
    from unrender.typesetting import Layout

_FORMULAS_PER_RUN = 200
_DPI = 100.0
_RULE = "rule"
_POINTS = 72.27  # TeX points in an inch


def check_typesetting(task: Task, model: str) -> None:
    """Raise an error where formulas cannot be typeset, or where there are none."""
    if task.notation != "latex":
        raise ConfigError(f"{model} reads the task {task.name}; only what is read as LaTeX can be typeset and seen.")
    try:
        from unrender.typesetting import find_latex
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"Typesetting needs {error.name}; install it with: pip install 'unrender[train]'"
        ) from error
    find_latex()


def measure_seen(cases: Sequence[Case], comparison: Comparison) -> dict[str, Measure]:
    """Return the mean F1 of glyphs and the share of formulas where it is 1; a truth that TeX refuses is left out."""
    references, predictions = [case.example.target for case in cases], [case.text for case in cases]
    scores = see(references, predictions, fonts=comparison != "symbols")
    known = [score for score in scores if score is not None]
    return {"cdm": mean_of(known), "exp_rate_cdm": mean_of([float(score == 1.0) for score in known])}


def see(references: Sequence[str], predictions: Sequence[str], *, fonts: bool = True) -> list[float | None]:
    """Return the F1 of each formula's glyphs: 0 for a prediction that does not compile, None for such a truth.

    Without `fonts`, letters and digits are the same in every font (handwriting has none).
    """
    glyphs = _typeset([*references, *predictions], fonts)
    pairs = ((glyphs[truth], glyphs[text]) for truth, text in zip(references, predictions, strict=True))
    return [None if expected is None else glyph_f1(expected, found or ()) for expected, found in pairs]


def _typeset(formulas: Sequence[str], fonts: bool) -> dict[str, tuple[Glyph, ...] | None]:
    """Typeset each formula once."""
    from unrender.typesetting import Style, lay_out

    style = Style()
    once = list(dict.fromkeys(formulas))
    found: dict[str, tuple[Glyph, ...] | None] = {}
    for start in range(0, len(once), _FORMULAS_PER_RUN):
        piece = once[start : start + _FORMULAS_PER_RUN]
        for formula, layout in zip(piece, lay_out(piece, style, _DPI), strict=True):
            found[formula] = None if layout is None else _glyphs(layout, style.points * _DPI / _POINTS, fonts)
    return found


def _glyphs(layout: "Layout", font_size: float, fonts: bool) -> tuple[Glyph, ...]:
    glyphs = [
        Glyph(_kind(*glyph.key, fonts=fonts), glyph.y / font_size, glyph.size / font_size) for glyph in layout.glyphs
    ]
    return (*glyphs, *(Glyph(_RULE, rule.y / font_size, 1.0) for rule in layout.rules))


def _kind(family: str, code: int, *, fonts: bool) -> tuple[str, int]:
    letter = chr(code)
    return (family if fonts or not (letter.isascii() and letter.isalnum()) else "", code)
