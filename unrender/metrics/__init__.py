"""How good a reading is: error rates, BLEU, matches, fields, entities, calibration; each with its convention named.

Every share and rate runs from 0 to 1 (an error rate may exceed 1), never in per cent.
"""

from unrender.metrics.fields import (
    entity_f1,
    field_f1,
    find_entities,
    is_right,
    record_f1,
    score_records,
    tree_accuracy,
)
from unrender.metrics.measure import Interval, Measure, calibration_error
from unrender.metrics.pages import MATH, PARTS, meteor, on_part, order_errors
from unrender.metrics.sequences import (
    Glyph,
    accuracy_folded,
    bleu,
    cer,
    edit,
    exact,
    exp_rate,
    glyph_f1,
    normalised_distance,
    valid,
    wer,
    wer_visible,
    word_set_f1,
)

__all__ = [
    "MATH",
    "PARTS",
    "Glyph",
    "Interval",
    "Measure",
    "accuracy_folded",
    "bleu",
    "calibration_error",
    "cer",
    "edit",
    "entity_f1",
    "exact",
    "exp_rate",
    "field_f1",
    "find_entities",
    "glyph_f1",
    "is_right",
    "meteor",
    "normalised_distance",
    "on_part",
    "order_errors",
    "record_f1",
    "score_records",
    "tree_accuracy",
    "valid",
    "wer",
    "wer_visible",
    "word_set_f1",
]
