"""Confidences of fields that mean what they say: for each field a slope and an offset of the log-odds.

Both are fitted on receipts whose fields are known and that the model was not trained on.
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from unrender.decoding.calibration import fit_line
from unrender.evaluation.datasets.sroie import Receipt
from unrender.evaluation.field_evaluation import Progress, ReceiptCase, Words, evaluate_fields, is_right
from unrender.metrics import calibration_error
from unrender.reading.labels import PageWork
from unrender.reading.receipts import FIELDS, Calibration, log_odds_of

_FOLDS = 5


@dataclass(frozen=True)
class Judged:
    """A field that was found, how sure the reader was before any calibration, and whether it was right."""

    name: str
    score: float
    right: bool


@dataclass(frozen=True)
class FieldsCalibrated:
    """What makes confidences true; their expected calibration error before and, on unseen receipts, after."""

    calibration: Calibration
    before: float
    after: float
    n: int


def calibrate_fields(
    work: PageWork, receipts: Sequence[Receipt], *, words: Iterable[Words], progress: Progress = lambda cases: cases
) -> FieldsCalibrated:
    """Fit a reader's confidences on receipts, read with each kind of words; the reader itself stays as it is."""
    raw = copy.copy(work)
    raw.config = replace(work.config, calibration=())
    runs = [evaluate_fields(raw, receipts, words=kind, progress=progress).cases for kind in words]
    by_receipt = [[judged for case in cases for judged in _judge(case)] for cases in zip(*runs, strict=True)]
    found = [one for judged in by_receipt for one in judged]
    before = float(calibration_error([one.score for one in found], [one.right for one in found]))
    return FieldsCalibrated(fit_calibration(found), before, cross_validated_error(by_receipt), len(receipts))


def fit_calibration(judged: Sequence[Judged]) -> Calibration:
    """Fit slope and offset of each field; a field that was never found keeps its scores."""
    lines = []
    for name in FIELDS:
        mine = [one for one in judged if one.name == name]
        lines.append(fit_line([log_odds_of(one.score) for one in mine], [one.right for one in mine]))
    return Calibration(tuple(slope for slope, _ in lines), tuple(offset for _, offset in lines))


def cross_validated_error(by_receipt: Sequence[Sequence[Judged]]) -> float:
    """Return the calibration error on receipts that the calibration has not seen, by five folds."""
    confidences, rights = [], []
    for fold in range(_FOLDS):
        kept = [one for place, receipt in enumerate(by_receipt) if place % _FOLDS != fold for one in receipt]
        fitted = fit_calibration(kept)
        for one in (one for receipt in by_receipt[fold::_FOLDS] for one in receipt):
            confidences.append(fitted.confidence(one.name, one.score))
            rights.append(one.right)
    return float(calibration_error(confidences, rights))


def _judge(case: ReceiptCase) -> list[Judged]:
    return [Judged(name, case.confidence[name], is_right(case, name)) for name in case.found]
