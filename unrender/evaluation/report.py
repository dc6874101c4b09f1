"""An evaluation as one HTML page that needs nothing beside it: figures, plots, the worst cases and random ones."""

import base64
import html
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image
from rapidfuzz.distance import Levenshtein

from unrender.errors import ImageError, UnrenderError
from unrender.evaluation import Evaluation
from unrender.evaluation.scoring import Case
from unrender.images.opening import open_pages
from unrender.metrics import Interval, calibration_error

FILE = "report.html"
MEANINGS = {
    "wer": "word error rate, micro: wrong, missing and extra tokens / tokens of the truth",
    "wer_visible": "the same without the tokens that only make space",
    "cer": "character error rate, micro, white space folded",
    "bleu": "BLEU-4 of the whole set by the rules of multi-bleu.perl",
    "edit": "1 - sum of token distances / sum of the longer lengths (im2markup)",
    "exact": "share with exactly the tokens of the truth",
    "exp_rate": "share without a wrong token, spacing left out (ExpRate)",
    "exp_rate_1": "ExpRate with at most 1 error",
    "exp_rate_2": "ExpRate with at most 2 errors",
    "exp_rate_3": "ExpRate with at most 3 errors",
    "valid": "share of well-formed LaTeX among what the model wrote",
    "cdm": "mean F1 of the glyphs of both formulas when typeset, by kind and place (CDM)",
    "exp_rate_cdm": "share of formulas where that F1 is 1",
    "field_f1": "micro F1 over the fields",
    "field_f1_without_spaces": "the same with all white space taken away",
    "calibration_error": "how far confidences are from the share that is right, on average",
    "tree_accuracy": "1 - tree edit distance / size of the truth",
    "accuracy": "share of texts that are exactly right",
    "accuracy_folded": "the same by letters and digits alone, upper and lower case one",
    "normalised_distance": "character distance / longer length",
    "word_set_f1": "mean F1 of the two sets of words",
    "meteor": "METEOR by exact words",
    "order_errors": "share of pairs of blocks that were read in the wrong order",
    "n": "pictures",
    "seconds_per_image": "wall clock, opening and preparing included",
    "characters_per_second": "of what was written, by the same clock",
}
_LENGTHS = (10, 20, 40, 80, 150)  # upper ends of the bins of truth lengths
_CONFIDENCE_BINS = 10
_SHOWN = 20  # cases of each kind
_PICTURE_WIDTH, _PICTURE_HEIGHT = 1000, 500
_WIDTH, _HEIGHT = 720, 260
_LEFT, _BOTTOM, _TOP = 60, 62, 14
_GAP = 0.25  # of a bar's width
_LINES = 4  # of the grid


def write_report(
    evaluation: Evaluation, intervals: Mapping[str, Interval], folder: Path, rng: np.random.Generator
) -> Path:
    """Write report.html into a folder, made if need be, and return its path."""
    path = folder / FILE
    page = render(evaluation, intervals, rng)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UnrenderError(f"{path} cannot be written ({error.strerror}).") from error
    return path


def render(evaluation: Evaluation, intervals: Mapping[str, Interval], rng: np.random.Generator) -> str:
    """Return the page; `rng` draws the cases that are shown beside the worst."""
    wrong_first = sorted(evaluation.cases, key=lambda case: -case.errors)
    worst = [case for case in wrong_first[:_SHOWN] if case.errors]
    picked = rng.permutation(len(evaluation.cases))[:_SHOWN]
    chance = [evaluation.cases[index] for index in sorted(picked)]
    title = html.escape(f"{evaluation.model} on {evaluation.dataset.path}")
    parts = [
        f"<h1>{title}</h1>",
        _settings(evaluation),
        _table(evaluation, intervals),
        _error_by_length(evaluation.cases),
        _confidence(evaluation.cases),
        "<h2>The worst cases</h2>",
        *(_case(case) for case in worst),
        "<h2>Cases drawn at random</h2>",
        *(_case(case) for case in chance),
    ]
    body = "\n".join(parts)
    head = f'<head><meta charset="utf-8"><title>{title}</title>{_STYLE}</head>'
    return f'<!doctype html>\n<html lang="en">{head}<body>\n{body}\n</body></html>\n'


def _settings(evaluation: Evaluation) -> str:
    statuses = ", ".join(f"{count:,} {status}" for status, count in evaluation.statuses().most_common())
    sentences = [
        f"Task {evaluation.task}, format {evaluation.dataset.kind}, beam {evaluation.beams}, "
        f"compared as {evaluation.comparison}.",
        f"Readings: {statuses}.",
        *evaluation.dataset.notes,
    ]
    return "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)


def _table(evaluation: Evaluation, intervals: Mapping[str, Interval]) -> str:
    rows = []
    for name, value in evaluation.summary().items():
        shown = f"{value:.4f}" if isinstance(value, float) else f"{value}"
        interval = f"{intervals[name].low:.4f} to {intervals[name].high:.4f}" if name in intervals else ""
        meaning = html.escape(MEANINGS.get(name, ""))
        rows.append(f"<tr><th>{name}</th><td>{shown}</td><td>{interval}</td><td class=words>{meaning}</td></tr>")
    head = "<tr><th>figure</th><th>value</th><th>95 % interval (bootstrap)</th><th>meaning</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _error_by_length(cases: Sequence[Case]) -> str:
    """Plot the error rate over the length of the truth."""
    names, rates, notes = [], [], []
    low = 0
    for high in (*_LENGTHS, None):
        members = [case for case in cases if low < len(case.reference.split()) <= (high or 10**9)]
        if members:
            tokens = sum(len(case.reference.split()) for case in members)
            names.append(f"{low + 1}-{high}" if high else f"over {low}")
            rates.append(sum(case.errors for case in members) / tokens)
            notes.append(f"n = {len(members):,}")
        low = high or low
    chart = bars(names, rates, notes, horizontal="tokens of the truth", vertical="token error rate")
    return f"<h2>Error by length</h2>{chart}"


def _confidence(cases: Sequence[Case]) -> str:
    """Plot how often a reading is right over how sure the model was."""
    known = [(case.confidence, case.right) for case in cases if case.confidence is not None]
    if not known:
        return ""
    bins: list[list[bool]] = [[] for _ in range(_CONFIDENCE_BINS)]
    for sure, right in known:
        bins[min(int(sure * _CONFIDENCE_BINS), _CONFIDENCE_BINS - 1)].append(right)
    names = [f"{index / _CONFIDENCE_BINS:.1f}-{(index + 1) / _CONFIDENCE_BINS:.1f}" for index in range(len(bins))]
    shares = [sum(members) / len(members) if members else None for members in bins]
    ideal = [(index + 0.5) / _CONFIDENCE_BINS for index in range(len(bins))]
    chart = bars(
        names,
        shares,
        [f"n = {len(members):,}" for members in bins],
        horizontal="confidence",
        vertical="share exactly right",
        marks=ideal,
    )
    error = float(calibration_error([sure for sure, _ in known], [right for _, right in known]))
    return (
        f"<h2>Confidence against correctness</h2>{chart}"
        f"<p>The marks show where the bars of a model that knows itself would end. "
        f"Expected calibration error: {error:.4f}.</p>"
    )


def _case(case: Case) -> str:
    expected, found = _marked(case.reference.split(), case.prediction.split())
    length = len(case.reference.split())
    sure = "" if case.confidence is None else f", confidence {case.confidence:.3f}"
    notes = f"{html.escape(case.example.name)}: {case.errors} errors in {length} tokens{sure}, {case.status}"
    return (
        f"<section>{_picture(case)}<p class=note>{notes}</p>"
        f"<p><b>truth</b> <code>{expected}</code></p><p><b>read</b> <code>{found}</code></p></section>"
    )


def _marked(reference: list[str], prediction: list[str]) -> tuple[str, str]:
    """Write both token lists as HTML with what differs marked."""
    expected, found = list[str](), list[str]()
    for step in Levenshtein.opcodes(reference, prediction):
        here = html.escape(" ".join(reference[step.src_start : step.src_end]))
        there = html.escape(" ".join(prediction[step.dest_start : step.dest_end]))
        same = step.tag == "equal"
        expected += [here if same else f"<del>{here}</del>"] if here else []
        found += [there if same else f"<ins>{there}</ins>"] if there else []
    return " ".join(expected), " ".join(found)


def _picture(case: Case) -> str:
    try:
        image = open_pages(case.example.image, name=case.example.name)[0]
    except ImageError as error:
        return f"<p>{html.escape(str(error))}</p>"
    image.thumbnail((_PICTURE_WIDTH, _PICTURE_HEIGHT), Image.Resampling.LANCZOS)
    data = io.BytesIO()
    image.convert("L" if _is_grey(image) else "RGB").save(data, "PNG", optimize=True)
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}">'


def _is_grey(image: Image.Image) -> bool:
    values = np.asarray(image)
    return bool((values == values[..., :1]).all())


_STYLE = """<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1040px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse } td, th { padding: 2px 12px 2px 0; text-align: left }
td { font-variant-numeric: tabular-nums } .words, .note { color: #666 }
section { border-top: 1px solid #ddd; padding: 12px 0 } section p { margin: 4px 0 }
img, svg { max-width: 100% } code { font: 13px/1.6 ui-monospace, monospace }
del { background: #ffd7d5; text-decoration: none } ins { background: #ffe9a8; text-decoration: none }
</style>"""


def bars(
    names: Sequence[str],
    values: Sequence[float | None],
    notes: Sequence[str],
    *,
    horizontal: str,
    vertical: str,
    marks: Sequence[float] = (),
) -> str:
    """Draw one bar a name, a note under each, and a short line across it at the height of its mark."""
    top = _ceiling(max([value for value in values if value is not None] + list(marks), default=0.0))
    step = (_WIDTH - _LEFT) / max(1, len(names))
    parts = [_grid(top)]
    for index, (name, value, note) in enumerate(zip(names, values, notes, strict=True)):
        left, width = _LEFT + step * (index + _GAP / 2), step * (1 - _GAP)
        middle = left + width / 2
        if value is not None:
            y = _level(value, top)
            parts.append(
                f'<rect x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_floor() - y:.1f}" fill="#4a7fb5"/>'
            )
            parts.append(_text(middle, y - 3, f"{value:.3f}"))
        if marks:
            y = _level(marks[index], top)
            parts.append(f'<path d="M{left:.1f} {y:.1f}h{width:.1f}" stroke="#c33" stroke-width="2"/>')
        parts += [_text(middle, _floor() + 15, name), _text(middle, _floor() + 29, note, "#777")]
    parts.append(_text((_LEFT + _WIDTH) / 2, _HEIGHT - 12, horizontal))
    parts.append(f'<g transform="translate(14 {(_TOP + _floor()) / 2:.0f}) rotate(-90)">{_text(0, 0, vertical)}</g>')
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img">{"".join(parts)}</svg>'


def _grid(top: float) -> str:
    lines = []
    for number in range(_LINES + 1):
        value = top * number / _LINES
        y = _level(value, top)
        lines.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH}" stroke="#ddd"/>')
        lines.append(_text(_LEFT - 6, y + 4, f"{value:.2f}", anchor="end"))
    return "".join(lines)


def _ceiling(value: float) -> float:
    """Round up to a value that the grid divides well."""
    return next((top for top in (0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0) if value <= top), value)


def _level(value: float, top: float) -> float:
    return _floor() - value / top * (_floor() - _TOP)


def _floor() -> float:
    return _HEIGHT - _BOTTOM


def _text(x: float, y: float, text: str, colour: str = "#333", anchor: str = "middle") -> str:
    attributes = f'x="{x:.1f}" y="{y:.1f}" font-size="11" fill="{colour}" text-anchor="{anchor}"'
    return f"<text {attributes}>{html.escape(text)}</text>"
