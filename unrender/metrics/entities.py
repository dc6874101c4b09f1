"""Entity F1 over BIO labels, by the rules of conlleval and seqeval's default mode.

An entity is right when its label, first and last token all are. A label that continues (`I-`) what is not there, or
something of another kind, begins a new entity.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from unrender.metrics.measure import Counts, Measure, measure


@dataclass(frozen=True, order=True)
class Entity:
    """A labelled span of tokens, from `start` up to but not including `stop`."""

    label: str
    start: int
    stop: int


@dataclass(frozen=True)
class EntityScores:
    """Precision, recall and F1, micro-averaged over all entities; `labels` has the F1 of each label."""

    precision: Measure
    recall: Measure
    f1: Measure
    labels: tuple[tuple[str, float], ...]


def entity_f1(references: Sequence[Sequence[str]], predictions: Sequence[Sequence[str]]) -> EntityScores:
    """Compare two sets of BIO label sequences, one sequence a sample."""
    rows, by_label = [], Counter[tuple[str, int]]()
    for reference, prediction in zip(references, predictions, strict=True):
        assert len(reference) == len(prediction), f"{len(reference)} labels expected, {len(prediction)} predicted"
        expected, found = set(find_entities(reference)), set(find_entities(prediction))
        rows.append((len(expected & found), len(found), len(expected)))
        for column, group in enumerate((expected & found, found, expected)):
            by_label.update((entity.label, column) for entity in group)
    labels = sorted({label for label, _ in by_label})
    scores = [_share(2 * by_label[label, 0], by_label[label, 1] + by_label[label, 2]) for label in labels]
    return EntityScores(
        precision=measure(rows, 3, lambda sums: _share(sums[0], sums[1])),
        recall=measure(rows, 3, lambda sums: _share(sums[0], sums[2])),
        f1=measure(rows, 3, _f1),
        labels=tuple(zip(labels, scores, strict=True)),
    )


def find_entities(labels: Sequence[str]) -> list[Entity]:
    """Return the entities of one BIO sequence (`B-NAME`, `I-NAME`, `O`), in order."""
    entities: list[Entity] = []
    start, open_label = 0, ""
    for index, label in enumerate([*labels, "O"]):
        prefix, _, name = label.partition("-")
        if open_label and (prefix != "I" or name != open_label):
            entities.append(Entity(open_label, start, index))
            open_label = ""
        if prefix in {"B", "I"} and not open_label:
            start, open_label = index, name or "_"
    return entities


def _f1(sums: Counts) -> float:
    return _share(2 * sums[0], sums[1] + sums[2])


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
