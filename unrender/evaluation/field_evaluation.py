"""Measure a receipt reader by the rule of SROIE's task 3: a field is right when its text is, white space folded.

Upper and lower case are one, as the set knows only capitals. Beside the rule, `field_f1_without_spaces` takes all white
space away, because the truth often sets it otherwise than the receipt does.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image

from unrender.documents import Block
from unrender.errors import ConfigError
from unrender.evaluation.datasets.sroie import Receipt
from unrender.metrics import Measure, calibration_error
from unrender.metrics.measure import Counts, measure
from unrender.reading.labels import PageWork, Sheet
from unrender.reading.receipts import FIELDS, LABELS

Words = Literal["given", "ocr"]
Progress = Callable[[Iterable["ReceiptCase"]], Iterable["ReceiptCase"]]
_DIGITS = 4


@dataclass(frozen=True)
class ReceiptCase:
    """One receipt that was read: what its fields say, what was found, and how sure the reader was."""

    name: str
    truth: dict[str, str]
    found: dict[str, str]
    confidence: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class FieldEvaluation:
    """The results on a set of receipts."""

    model: str
    words: Words
    cases: tuple[ReceiptCase, ...]
    seconds_per_image: float

    def f1(self, names: Sequence[str] = FIELDS, *, spaces: bool = True) -> Measure:
        """Micro F1 over the fields."""
        return measure(self._rows(names, spaces), 3, _f1)

    def precision(self, name: str) -> Measure:
        return measure(self._rows([name], True), 3, lambda sums: float(sums[0] / (sums[1] or 1)))

    def recall(self, name: str) -> Measure:
        return measure(self._rows([name], True), 3, lambda sums: float(sums[0] / (sums[2] or 1)))

    def calibration(self) -> Measure:
        """How far confidences are from shares of right fields, on average."""
        pairs = [(case.confidence[name], is_right(case, name)) for case in self.cases for name in case.found]
        return calibration_error([sure for sure, _ in pairs], [right for _, right in pairs])

    def summary(self) -> dict[str, float | int | str]:
        """Return every figure by name, flat: what `--json` prints."""
        values = {
            "field_f1": self.f1(),
            "field_f1_without_spaces": self.f1(spaces=False),
            "calibration_error": self.calibration(),
        }
        for name in FIELDS:
            values |= {f"{name}_precision": self.precision(name), f"{name}_recall": self.recall(name)}
            values[f"{name}_f1"] = self.f1([name])
        rounded = {name: round(float(value), _DIGITS) for name, value in values.items()}
        seconds = round(self.seconds_per_image, _DIGITS)
        return {"words": self.words, **rounded, "n": len(self.cases), "seconds_per_image": seconds}

    def _rows(self, names: Sequence[str], spaces: bool) -> list[tuple[int, int, int]]:
        return [
            (
                sum(is_right(case, name, spaces) for name in names),
                sum(bool(case.found.get(name)) for name in names),
                sum(bool(case.truth.get(name)) for name in names),
            )
            for case in self.cases
        ]


def evaluate_fields(
    work: PageWork,
    receipts: Iterable[Receipt],
    *,
    words: Words = "given",
    progress: Progress = lambda cases: cases,
) -> FieldEvaluation:
    """Read every receipt, with the words that come with the set or with those OCR finds in the picture."""
    if work.config.labels != LABELS:
        raise ConfigError(f"{work.config.name} does not read receipts")
    began = time.perf_counter()
    cases = tuple(progress(_read(work, receipt, words) for receipt in receipts))
    seconds = (time.perf_counter() - began) / max(1, len(cases))
    return FieldEvaluation(model=work.config.name, words=words, cases=cases, seconds_per_image=seconds)


def find_words(name: str) -> Words:
    """Return where words come from, by name."""
    known: dict[str, Words] = {"given": "given", "ocr": "ocr"}
    if name in known:
        return known[name]
    raise ConfigError(f"The words are given or found by ocr, not {name}.")


def describe_fields(evaluation: FieldEvaluation, rng: np.random.Generator) -> str:
    """Write the figures as a table."""
    interval = evaluation.f1().interval(rng)
    lines = [
        f"field F1 {float(evaluation.f1()):.4f}  ({interval.low:.4f} to {interval.high:.4f}), words {evaluation.words}"
    ]
    lines.append(f"without spaces {float(evaluation.f1(spaces=False)):.4f}")
    lines.append(f"calibration error {float(evaluation.calibration()):.4f}")
    for name in FIELDS:
        numbers = (evaluation.precision(name), evaluation.recall(name), evaluation.f1([name]))
        lines.append(
            f"{name:<10}" + "  ".join(f"{float(number):.4f}" for number in numbers) + "  precision, recall, F1"
        )
    lines.append(f"{len(evaluation.cases)} receipts, {evaluation.seconds_per_image:.2f} seconds each")
    return "\n".join(lines)


def _read(work: PageWork, receipt: Receipt, words: Words) -> ReceiptCase:
    with Image.open(receipt.image) as picture:
        image = picture.convert("RGB")
    page = receipt.page if words == "given" else work.words_of(Sheet(image, image))
    parts: tuple[Block, ...] = work.read_words(page, image).children if page.words else ()
    return ReceiptCase(
        receipt.name,
        {name: receipt.fields.get(name, "") for name in FIELDS},
        {part.kind: part.text for part in parts},
        {part.kind: part.confidence or 0.0 for part in parts},
    )


def is_right(case: ReceiptCase, name: str, spaces: bool = True) -> bool:
    """Say whether a field was read right; one that the receipt does not have never is."""
    truth, found = (_fold(values.get(name, ""), spaces) for values in (case.truth, case.found))
    return bool(truth) and truth == found


def _fold(text: str, spaces: bool) -> str:
    return (" " if spaces else "").join(text.upper().split())


def _f1(sums: Counts) -> float:
    return float(2 * sums[0] / (sums[1] + sums[2])) if sums[1] + sums[2] else 0.0
