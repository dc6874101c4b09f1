"""Metrics for records, fields that each have one name and one text, by the rule of SROIE's task 3.

A field is right when its text is: white space folded, upper and lower case one, as the set knows only capitals.
"""

from collections.abc import Mapping, Sequence

from unrender.metrics.measure import Counts, Measure, measure

Record = Mapping[str, str]


def score_records(
    references: Sequence[Record], predictions: Sequence[Record], names: Sequence[str]
) -> dict[str, Measure]:
    """Return micro F1 over all fields, the same with all white space taken away, and the figures of each field.

    White space is taken away because the truth often sets it otherwise than the receipt does.
    """
    figures = {
        "field_f1": record_f1(references, predictions, names),
        "field_f1_without_spaces": record_f1(references, predictions, names, spaces=False),
    }
    for name in names:
        rows = _rows(references, predictions, [name])
        figures[f"{name}_precision"] = measure(rows, 3, lambda sums: float(sums[0] / (sums[1] or 1)))
        figures[f"{name}_recall"] = measure(rows, 3, lambda sums: float(sums[0] / (sums[2] or 1)))
        figures[f"{name}_f1"] = measure(rows, 3, _f1)
    return figures


def record_f1(
    references: Sequence[Record], predictions: Sequence[Record], names: Sequence[str], *, spaces: bool = True
) -> Measure:
    """Micro F1 over the named fields."""
    return measure(_rows(references, predictions, names, spaces), 3, _f1)


def is_right(reference: Record, prediction: Record, name: str, *, spaces: bool = True) -> bool:
    """Say whether a field was read right; one that is not there never is."""
    truth, found = (_fold(values.get(name, ""), spaces) for values in (reference, prediction))
    return bool(truth) and truth == found


def _rows(
    references: Sequence[Record], predictions: Sequence[Record], names: Sequence[str], spaces: bool = True
) -> list[tuple[int, int, int]]:
    """Count, in each sample, the fields that are right, that were found and that are there."""
    return [
        (
            sum(is_right(truth, found, name, spaces=spaces) for name in names),
            sum(bool(found.get(name)) for name in names),
            sum(bool(truth.get(name)) for name in names),
        )
        for truth, found in zip(references, predictions, strict=True)
    ]


def _fold(text: str, spaces: bool) -> str:
    return (" " if spaces else "").join(text.upper().split())


def _f1(sums: Counts) -> float:
    return float(2 * sums[0] / (sums[1] + sums[2])) if sums[1] + sums[2] else 0.0
