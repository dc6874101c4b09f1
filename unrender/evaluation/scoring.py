"""How a reading is compared with what is known of its picture, said by name.

Texts: `tokens` takes both as they are, white space folded; `unified` brings both to one spelling; `symbols` leaves only
the symbols and where they stand (handwriting whose truth was spelled by many hands). A text that cannot be parsed is
compared as it is. Fields: `tree` compares whole trees of keys and values, as Donut does; `record` compares fields of
one text each, by the rule of SROIE.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, get_args

from rapidfuzz.distance import Levenshtein

from unrender import latex
from unrender.documents import Block, Document, Json, StatusKind
from unrender.errors import ConfigError, DataError, LatexError, MissingExtraError
from unrender.evaluation.datasets import Dataset, Example
from unrender.evaluation.datasets.folders import as_record
from unrender.formats.blocks import as_lines
from unrender.formats.json import PLAIN_TEXT_KEY, parse_tags
from unrender.formats.markdown import write_markdown
from unrender.metrics import Glyph, Measure, calibration_error, glyph_f1, is_right, score_records, valid
from unrender.metrics.measure import mean_of
from unrender.tasks import Task
from unrender.typesetting import Style, find_latex, lay_out
from unrender.typesetting.dvi import POINTS_PER_INCH, Layout

Comparison = Literal["tokens", "unified", "symbols", "tree", "record"]
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)
_OF_FIELDS: tuple[Comparison, ...] = ("tree", "record")
_FORMULAS_PER_RUN = 200
_DPI = 100.0
_RULE = "rule"


@dataclass(frozen=True)
class Judged:
    """One thing a reader claimed, how sure it was, and whether it was right; `name` is empty for a whole text."""

    name: str
    confidence: float
    right: bool


@dataclass(frozen=True, kw_only=True)
class Case:
    """One picture that was read; `reference` and `prediction` are the texts as they were compared."""

    example: Example
    text: str  # as the model wrote it
    reference: str
    prediction: str
    confidence: float | None
    status: StatusKind
    right: bool
    fields: Json = None  # what was found, where fields are compared
    parts: tuple[Judged, ...] = ()  # fields found by their words, each with a confidence of its own

    @property
    def errors(self) -> int:
        """How many tokens are wrong, missing or too many."""
        return Levenshtein.distance(self.reference.split(), self.prediction.split())


def judge(cases: Sequence[Case]) -> list[tuple[Judged, ...]]:
    """Return what was claimed of each picture: its fields where a reader finds them apart, else the whole reading."""
    if any(case.parts for case in cases):
        return [case.parts for case in cases]
    return [(Judged("", case.confidence or 0.0, case.right),) for case in cases]


@dataclass(frozen=True)
class Scoring:
    """The comparison of one task's readings with one dataset."""

    task: Task
    comparison: Comparison
    names: tuple[str, ...] = ()  # of the fields in the truth

    def case(self, example: Example, document: Document) -> Case:
        """Compare one reading with its truth."""
        return self._fields(example, document) if self.comparison in _OF_FIELDS else self._text(example, document)

    def measures(self, cases: Sequence[Case]) -> dict[str, Measure]:
        """Return the figures of a set; a DataError where readings and truth name no field in common."""
        if self.comparison not in _OF_FIELDS:
            references, predictions = [case.reference for case in cases], [case.prediction for case in cases]
            found = {name: metric(references, predictions) for name, metric in self.task.metrics.items()}
            found = {name: value for name, value in found.items() if value.samples}  # no tables, nothing to say of them
            check = self.task.check
            return found if check is None else {**found, "valid": valid([case.text for case in cases], check)}
        self._check_names(cases)
        if self.comparison == "tree":
            trees = [case.example.fields for case in cases], [case.fields for case in cases]
            return {name: metric(*trees) for name, metric in self.task.field_metrics.items()}
        records = [case.example.record for case in cases], [as_record(case.fields) for case in cases]
        judged = [one for claims in judge(cases) for one in claims]
        error = calibration_error([one.confidence for one in judged], [one.right for one in judged])
        f1, without_spaces, *others = score_records(*records, self.names).items()
        return dict([f1, without_spaces, ("calibration_error", error), *others])

    def _text(self, example: Example, document: Document) -> Case:
        truth = example.text or ""
        lines = self.task.notation == "markdown"  # where blocks end is part of the text
        written = write_markdown(document) if lines else document.written
        reference, prediction = (_form(text, self.comparison, lines) for text in (truth, written))
        return Case(
            example=example,
            text=written,
            reference=reference,
            prediction=prediction,
            confidence=document.confidence,
            status=document.status.kind,
            right=reference.split() == prediction.split(),
        )

    def _fields(self, example: Example, document: Document) -> Case:
        found = fields_of(document)
        texts = ["\n".join(sorted(as_lines(fields))) for fields in (example.fields, found)]
        truth, record = example.record, as_record(found)
        children = [child for block in document.blocks for child in block.children]
        sure = {child.kind: child.confidence for child in children if child.confidence is not None}
        parts = (Judged(name, sure[name], is_right(truth, record, name)) for name in record if name in sure)
        return Case(
            example=example,
            text=document.text,
            reference=texts[0],
            prediction=texts[1],
            confidence=document.confidence,
            status=document.status.kind,
            right=texts[0].split() == texts[1].split(),
            fields=found,
            parts=tuple(parts),
        )

    def _check_names(self, cases: Sequence[Case]) -> None:
        found = _names(case.fields for case in cases)
        if found and self.names and not set(found) & set(self.names):
            raise DataError(
                f"The model finds {_list(found)}, but the truth has {_list(self.names)}: they share no field."
            )


def choose_scoring(task: Task, dataset: Dataset, wanted: Comparison | None, model: str) -> Scoring:
    """Say how a task is measured on a dataset; a DataError where its truth does not fit."""
    if wanted in _OF_FIELDS or (wanted is None and task.field_metrics):
        if not task.field_metrics:
            raise ConfigError(f"{model} writes text; compare it as {_list(COMPARISONS[:3])}, not as {wanted}.")
        names = _names(example.fields for example in dataset)
        if not names:
            raise DataError(f"{model} finds fields, but the truth of {dataset.path} is plain text without any.")
        return Scoring(task, wanted or ("record" if dataset.kind == "sroie" else "tree"), names)
    if task.field_metrics:
        raise ConfigError(f"{model} finds fields; compare it as {_list(_OF_FIELDS)}, not as {wanted}.")
    if all(example.text is None or (example.words and task.notation == "latex") for example in dataset):
        raise DataError(f"{model} reads the task {task.name}, but the truth of {dataset.path} is fields.")
    return Scoring(task, wanted or ("symbols" if dataset.kind == "inkml" else "tokens"))


def find_comparison(name: str) -> Comparison:
    """Return a comparison by name."""
    for comparison in COMPARISONS:
        if comparison == name:
            return comparison
    raise ConfigError(f"There is no comparison called {name}; choose one of {', '.join(COMPARISONS)}.")


def fields_of(document: Document) -> Json:
    """Return the fields that were found: by their words, by the task's parser, or as tags in the text."""
    children = [child for block in document.blocks for child in block.children]
    if children:
        return _collected(children)
    known = [block.fields for block in document.blocks if block.fields is not None]
    return known[0] if known else parse_tags(document.text)


def _collected(parts: Sequence[Block]) -> Json:
    """Name each text; a name that comes more than once has a list of them."""
    texts: dict[str, list[str]] = {}
    for part in parts:
        texts.setdefault(part.kind, []).append(part.text)
    return {name: found[0] if len(found) == 1 else found for name, found in texts.items()}


def _names(fields: Iterable[Json]) -> tuple[str, ...]:
    """Return the outermost names of many fields, in the order they come."""
    names = {name: None for value in fields if isinstance(value, Mapping) for name in value if name != PLAIN_TEXT_KEY}
    return tuple(names)


def _form(text: str, comparison: Comparison, lines: bool) -> str:
    """Bring a text to the form in which it is compared."""
    if lines:
        return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())
    try:
        if comparison == "unified":
            return latex.normalise(text, unify=True)
        if comparison == "symbols":
            return latex.bare(text)
    except LatexError:
        pass  # the text is wrong, which the comparison will show
    return " ".join(text.split())


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)


def check_typesetting(task: Task, model: str) -> None:
    """Raise an error where formulas cannot be typeset, or where there are none."""
    if task.notation != "latex":
        raise ConfigError(f"{model} reads the task {task.name}; only what is read as LaTeX can be typeset and seen.")
    if find_spec("matplotlib") is None:
        raise MissingExtraError("Typesetting needs matplotlib; install it with: pip install 'unrender[train]'")
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
    style = Style()
    once = list(dict.fromkeys(formulas))
    found: dict[str, tuple[Glyph, ...] | None] = {}
    for start in range(0, len(once), _FORMULAS_PER_RUN):
        piece = once[start : start + _FORMULAS_PER_RUN]
        for formula, layout in zip(piece, lay_out(piece, style, _DPI), strict=True):
            found[formula] = None if layout is None else _glyphs(layout, style.points * _DPI / POINTS_PER_INCH, fonts)
    return found


def _glyphs(layout: Layout, font_size: float, fonts: bool) -> tuple[Glyph, ...]:
    glyphs = [
        Glyph(_kind(*glyph.key, fonts=fonts), glyph.y / font_size, glyph.size / font_size) for glyph in layout.glyphs
    ]
    return (*glyphs, *(Glyph(_RULE, rule.y / font_size, 1.0) for rule in layout.rules))


def _kind(family: str, code: int, *, fonts: bool) -> tuple[str, int]:
    letter = chr(code)
    return (family if fonts or not (letter.isascii() and letter.isalnum()) else "", code)
