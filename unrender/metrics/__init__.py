"""How good a reading is: error rates, BLEU, matches, fields, entities, calibration; each with its convention named.

Every share and rate runs from 0 to 1 (an error rate may exceed 1), never in per cent.
"""

from unrender.metrics.calibration import brier_score, calibration_error
from unrender.metrics.entities import Entity, EntityScores, entity_f1, find_entities
from unrender.metrics.fields import anls, field_f1, tree_accuracy
from unrender.metrics.measure import Interval, Measure
from unrender.metrics.sequences import (
    FormulaScores,
    bleu,
    cer,
    edit,
    exact,
    exp_rate,
    normalised_distance,
    score_formulas,
    valid,
    visible,
    wer,
    wer_visible,
    word_set_f1,
)

__all__ = [
    "Entity",
    "EntityScores",
    "FormulaScores",
    "Interval",
    "Measure",
    "anls",
    "bleu",
    "brier_score",
    "calibration_error",
    "cer",
    "edit",
    "entity_f1",
    "exact",
    "exp_rate",
    "field_f1",
    "find_entities",
    "normalised_distance",
    "score_formulas",
    "tree_accuracy",
    "valid",
    "visible",
    "wer",
    "wer_visible",
    "word_set_f1",
]
