"""Confidences that mean what they say: fit slope and offset of their log-odds on readings whose truth is known.

A whole text has one line; where a reader finds fields by their words, each field has its own. The pictures must not be
among those the model was trained on.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from unrender.checkpoints import load, write_config
from unrender.decoding.calibration import AS_IT_IS, Line, confidence_of, fit_line, log_odds
from unrender.evaluation import Progress, Reads, Words, evaluate
from unrender.evaluation.datasets import Dataset
from unrender.evaluation.scoring import Judged, judge
from unrender.metrics import calibration_error
from unrender.models.config import TextConfig
from unrender.reading.receipt.fields import FIELDS
from unrender.reading.systems import DEFAULTS, Options

_FOLDS = 5
_LEAST = 1e-300  # probabilities of long texts may round to nothing

Lines = Mapping[str, Line]  # by the name of the field; the empty name is the whole text


@dataclass(frozen=True)
class Calibrated:
    """What makes confidences true; their expected calibration error before and, on unseen cases, after."""

    lines: Lines
    before: float
    after: float
    n: int


def calibrate(
    reader: Reads,
    dataset: Dataset,
    *,
    options: Options = DEFAULTS,
    words: Sequence[Words] = ("given",),
    progress: Progress = lambda cases, _: cases,
) -> Calibrated:
    """Fit a reader's confidences on a dataset, read with each kind of words; the reader itself stays as it is."""
    raw = replace(options, calibrated=False)
    kinds = words if any(example.words for example in dataset) else words[:1]
    runs = [evaluate(reader, dataset, options=raw, words=kind, progress=progress).cases for kind in kinds]
    by_picture = [[one for claims in several for one in claims] for several in zip(*map(judge, runs), strict=True)]
    judged = [one for cases in by_picture for one in cases]
    before = calibration_error([one.confidence for one in judged], [one.right for one in judged])
    return Calibrated(fit_lines(judged), float(before), cross_validated_error(by_picture), len(dataset))


def store(model: str, lines: Lines) -> None:
    """Write the lines into the config.json of a model folder."""
    loaded = load(model)
    if isinstance(loaded.config, TextConfig):
        write_config(loaded.folder, replace(loaded.config, calibration=lines.get("", AS_IT_IS)))
        return
    slopes, offsets = zip(*(lines.get(name, AS_IT_IS) for name in FIELDS), strict=True)
    write_config(loaded.folder, replace(loaded.config, calibration=(slopes, offsets)))


def fit_lines(judged: Sequence[Judged]) -> dict[str, Line]:
    """Fit slope and offset for each name; one that was never found has none."""
    names = dict.fromkeys(one.name for one in judged)
    grouped = {name: [one for one in judged if one.name == name] for name in names}
    return {
        name: fit_line([log_odds(_log(one)) for one in mine], [one.right for one in mine])
        for name, mine in grouped.items()
    }


def cross_validated_error(by_picture: Sequence[Sequence[Judged]]) -> float:
    """Return the calibration error on pictures that the lines have not seen, by five folds."""
    confidences, rights = [], []
    for fold in range(_FOLDS):
        lines = fit_lines([one for index, judged in enumerate(by_picture) if index % _FOLDS != fold for one in judged])
        for one in (one for judged in by_picture[fold::_FOLDS] for one in judged):
            confidences.append(confidence_of(_log(one), lines.get(one.name, AS_IT_IS)))
            rights.append(one.right)
    return float(calibration_error(confidences, rights))


def _log(judged: Judged) -> float:
    return math.log(max(judged.confidence, _LEAST))
