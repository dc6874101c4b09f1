"""Measure a reader on a dataset: every picture is read as a user would read it, and compared with its truth.

How the two texts are compared is said by name: `tokens` takes both as they are, white space folded; `unified`
brings both to one spelling; `symbols` leaves only the symbols and where they stand (handwriting whose truth was
spelled by many hands). A text that cannot be parsed is compared as it is.
"""

import copy
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

import numpy as np
from rapidfuzz.distance import Levenshtein

from unrender import latex
from unrender.decoding.calibration import AS_IT_IS, Line, cross_validated_error, fit_line, log_odds
from unrender.documents import Document, StatusKind
from unrender.errors import ConfigError, LatexError
from unrender.evaluation.datasets import Dataset, Example
from unrender.metrics import Interval, Measure, calibration_error, score_formulas, valid
from unrender.models.config import ModelConfig
from unrender.reading.options import Input, Options
from unrender.reading.reader import Reader

Comparison = Literal["tokens", "unified", "symbols"]
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)

_FORMULA = "formula"
_DIGITS = 6
_BATCH = 8
_LEAST = 1e-300  # probabilities of long texts may round to nothing


@dataclass(frozen=True)
class Case:
    """One picture that was read; `reference` and `prediction` are the texts as they were compared."""

    example: Example
    text: str  # as the model wrote it
    reference: str
    prediction: str
    confidence: float | None
    status: StatusKind

    @property
    def errors(self) -> int:
        """How many tokens are wrong, missing or too many."""
        return Levenshtein.distance(self.reference.split(), self.prediction.split())


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A reader's results on a dataset, in the order of the dataset."""

    model: str
    task: str
    dataset: Dataset
    comparison: Comparison
    beams: int
    cases: tuple[Case, ...]
    measures: Mapping[str, Measure]
    seconds_per_image: float

    def summary(self) -> dict[str, float | int]:
        """Return every figure by name, flat: what `--json` prints."""
        values: dict[str, float | int] = {name: round(float(found), _DIGITS) for name, found in self.measures.items()}
        return {**values, "n": len(self.cases), "seconds_per_image": round(self.seconds_per_image, _DIGITS)}

    def intervals(self, rng: np.random.Generator) -> dict[str, Interval]:
        """Return the 95 % bootstrap interval of each measure."""
        return {name: found.interval(rng) for name, found in self.measures.items()}

    def statuses(self) -> Counter[StatusKind]:
        """Count how the readings ended."""
        return Counter(case.status for case in self.cases)


Progress = Callable[[Iterable[Case], int], Iterable[Case]]


def evaluate(
    reader: Reader,
    dataset: Dataset,
    *,
    beams: int | None = None,
    comparison: Comparison | None = None,
    progress: Progress = lambda cases, _: cases,
) -> Evaluation:
    """Read all pictures of a dataset and compute the metrics of the reader's task.

    `progress` may watch the cases go by; it must pass them on. A picture that cannot be read counts as read empty.
    """
    chosen: Comparison = comparison or ("symbols" if dataset.kind == "inkml" else "tokens")
    places = sorted(range(len(dataset)), key=lambda place: -len(dataset.examples[place].target))
    ordered = [dataset.examples[place] for place in places]  # alike lengths share a batch; the results are the same
    inputs = (Input(example.image, example.name) for example in ordered)
    documents = reader.read_many(inputs, batch=_BATCH, options=Options(beams=beams))
    began = time.perf_counter()
    cases = (_case(example, document, chosen) for example, document in zip(ordered, documents, strict=True))
    watched = list(progress(cases, len(ordered)))
    seconds = time.perf_counter() - began
    by_place = dict(zip(places, watched, strict=True))
    in_order = tuple(by_place[place] for place in range(len(dataset)))
    return Evaluation(
        model=reader.name,
        task=reader.task.name,
        dataset=dataset,
        comparison=chosen,
        beams=beams or reader.beams,
        cases=in_order,
        measures=_measure(reader, in_order),
        seconds_per_image=seconds / max(1, len(in_order)),
    )


@dataclass(frozen=True)
class Calibrated:
    """What makes confidences true; their expected calibration error before and, on unseen cases, after."""

    line: Line
    before: float
    after: float
    n: int


def calibrate(
    reader: Reader, dataset: Dataset, *, beams: int | None = None, progress: Progress = lambda cases, _: cases
) -> Calibrated:
    """Fit a reader's confidence of being right in every token on a dataset; the reader itself stays as it is."""
    if not isinstance(reader.config, ModelConfig):
        raise ConfigError(f"{reader.name} labels words; only confidences of texts are calibrated here.")
    raw = copy.copy(reader)
    raw.config = replace(reader.config, calibration=AS_IT_IS)
    cases = evaluate(raw, dataset, beams=beams, progress=progress).cases
    sure = [max(case.confidence or 0.0, _LEAST) for case in cases]
    logs, right = [math.log(one) for one in sure], [case.errors == 0 for case in cases]
    line = fit_line([log_odds(log) for log in logs], right)
    return Calibrated(line, float(calibration_error(sure, right)), cross_validated_error(logs, right), len(cases))


def find_comparison(name: str) -> Comparison:
    """Return a comparison by name."""
    for comparison in COMPARISONS:
        if comparison == name:
            return comparison
    raise ConfigError(f"There is no comparison called {name}; choose one of {', '.join(COMPARISONS)}.")


def describe(evaluation: Evaluation, intervals: Mapping[str, Interval]) -> str:
    """Write the figures as a table, each measure with its interval."""
    lines = []
    for name, value in evaluation.summary().items():
        interval = f"  ({intervals[name].low:.4f} to {intervals[name].high:.4f})" if name in intervals else ""
        lines.append(f"{name:<18}{value:>10,}" if isinstance(value, int) else f"{name:<18}{value:>10.4f}{interval}")
    return "\n".join(lines)


def _case(example: Example, document: Document, comparison: Comparison) -> Case:
    return Case(
        example=example,
        text=document.text,
        reference=_form(example.target, comparison),
        prediction=_form(document.text, comparison),
        confidence=document.confidence,
        status=document.status.kind,
    )


def _form(text: str, comparison: Comparison) -> str:
    """Bring a text to the form in which it is compared."""
    try:
        if comparison == "unified":
            return latex.normalise(text, unify=True)
        if comparison == "symbols":
            return latex.bare(text)
    except LatexError:
        pass  # the text is wrong, which the comparison will show
    return " ".join(text.split())


def _measure(reader: Reader, cases: Sequence[Case]) -> dict[str, Measure]:
    references, predictions = [case.reference for case in cases], [case.prediction for case in cases]
    if reader.task.name != _FORMULA:
        return {name: metric(references, predictions) for name, metric in reader.task.metrics.items()}
    scores = score_formulas(references, predictions, _is_well_formed)
    measures = {field.name: getattr(scores, field.name) for field in fields(scores) if field.name != "n"}
    return {**measures, "valid": valid([case.text for case in cases], _is_well_formed)}


def _is_well_formed(text: str) -> bool:
    """Ask it of what the model wrote; nothing is no formula."""
    return bool(text.strip()) and latex.check(text) is None
