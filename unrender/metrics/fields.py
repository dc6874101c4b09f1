"""Metrics for extracted fields: Donut's field F1 and tree edit accuracy, SROIE's rule, entities.

A JSON value becomes a tree: keys are inner nodes, sorted by length and name; values are leaves, compared as stripped
text; what is empty does not exist; the items of a list of objects are nodes of their own.
A record has one text for each name, by the rule of SROIE's task 3: a field is right when its text is, white space
folded, upper and lower case one, as the set knows only capitals.
Entities are runs of BIO labels, by the rules of conlleval and seqeval's default mode: one is right when its label,
first and last token all are; a label that continues (`I-`) what is not there, or another kind, begins a new one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from rapidfuzz.distance import Levenshtein

from unrender.metrics.measure import Counts, Measure, f1, mean_of, measure

_ITEM = "<item>"
Record = Mapping[str, str]


@dataclass(frozen=True)
class _Node:
    label: str
    leaf: bool = False
    children: tuple["_Node", ...] = field(default=(), repr=False)

    @property
    def cost(self) -> int:
        """What it costs to insert or remove the node."""
        return len(self.label) if self.leaf else 1


def field_f1(references: Sequence[object], predictions: Sequence[object]) -> Measure:
    """Micro F1 over (path, value) pairs: true positives / (true positives + half of all that is wrong)."""
    rows = []
    for reference, prediction in zip(references, predictions, strict=True):
        expected, found = Counter(_pairs(_tree(reference))), Counter(_pairs(_tree(prediction)))
        right = (expected & found).total()
        rows.append((right, expected.total() + found.total() - 2 * right))
    return measure(rows, 2, _f1)


def tree_accuracy(references: Sequence[object], predictions: Sequence[object]) -> Measure:
    """Mean of 1 - tree edit distance / cost of building the reference from nothing, at least 0."""
    scores = []
    for reference, prediction in zip(references, predictions, strict=True):
        expected = _tree(reference)
        whole = sum(node.cost for node in _post_order(expected)) - 1  # the root is always there
        distance = tree_distance(_tree(prediction), expected)
        scores.append(max(0.0, 1 - distance / whole) if whole else float(distance == 0))
    return mean_of(scores)


def tree_distance(one: _Node, other: _Node) -> int:
    """Return the cheapest way to turn one tree into the other (Zhang and Shasha, 1989)."""
    ours, theirs = _post_order(one), _post_order(other)
    our_first, their_first = _first_leaves(one), _first_leaves(other)
    distances = np.zeros((len(ours), len(theirs)), dtype=np.int64)
    for i in _key_roots(our_first):
        for j in _key_roots(their_first):
            _fill(distances, (ours, theirs), (our_first, their_first), (i, j))
    return int(distances[-1, -1])


def _fill(
    distances: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    nodes: tuple[list[_Node], list[_Node]],
    first_leaves: tuple[list[int], list[int]],
    roots: tuple[int, int],
) -> None:
    """Compute the distances of all pairs of subtrees that share their first leaf with the two roots."""
    (ours, theirs), (our_first, their_first), (i, j) = nodes, first_leaves, roots
    start_i, start_j = our_first[i], their_first[j]
    forest = [[0] * (j - start_j + 2) for _ in range(i - start_i + 2)]
    for y in range(start_j, j + 1):
        forest[0][y - start_j + 1] = forest[0][y - start_j] + theirs[y].cost
    for x in range(start_i, i + 1):
        above, row = forest[x - start_i], forest[x - start_i + 1]
        row[0] = above[0] + ours[x].cost
        for y in range(start_j, j + 1):
            index = y - start_j + 1
            moved = min(above[index] + ours[x].cost, row[index - 1] + theirs[y].cost)
            if our_first[x] == start_i and their_first[y] == start_j:
                row[index] = min(moved, above[index - 1] + _change(ours[x], theirs[y]))
                distances[x, y] = row[index]
            else:
                before = forest[our_first[x] - start_i][their_first[y] - start_j]
                row[index] = min(moved, before + int(distances[x, y]))


def _change(one: _Node, other: _Node) -> int:
    if one.leaf and other.leaf:
        return Levenshtein.distance(one.label, other.label)
    if one.leaf or other.leaf:
        return 1 + len(one.label if one.leaf else other.label)
    return int(one.label != other.label)


def _tree(value: object) -> _Node:
    children = _keys(value) if isinstance(value, Mapping) else _children(value)
    return _Node("<root>", children=children)


def _children(value: object) -> tuple[_Node, ...]:
    items: Sequence[object] = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    objects = [item for item in items if isinstance(item, Mapping)]
    if len(objects) == len(items):
        nodes = [_Node(_ITEM, children=_keys(item)) for item in objects]
        return tuple(node for node in nodes if node.children)
    return tuple(_Node(text, leaf=True) for text in map(_text, items) if text)


def _keys(value: Mapping[str, object]) -> tuple[_Node, ...]:
    keys = sorted(value, key=lambda key: (len(key), key))
    nodes = [_Node(key, children=_children(value[key])) for key in keys]
    return tuple(node for node in nodes if node.children)


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, Mapping | list | tuple) else str(value).strip()


def _pairs(node: _Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    for child in node.children:
        if child.leaf:
            yield path, child.label
        else:
            yield from _pairs(child, path if child.label == _ITEM else (*path, child.label))


def _post_order(node: _Node) -> list[_Node]:
    return [*(below for child in node.children for below in _post_order(child)), node]


def _first_leaves(node: _Node, start: int = 0) -> list[int]:
    """Return, for each node in post-order, the index of the leftmost leaf under it."""
    indices: list[int] = []
    for child in node.children:
        indices += _first_leaves(child, start + len(indices))
    return [*indices, start]


def _key_roots(first_leaves: list[int]) -> list[int]:
    """Return the highest node above each leftmost leaf, in order."""
    return sorted({first: index for index, first in enumerate(first_leaves)}.values())


def _f1(sums: Counts) -> float:
    right, wrong = sums
    return float(right / (right + wrong / 2)) if right or wrong else 1.0


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
        figures[f"{name}_f1"] = measure(rows, 3, f1)
    return figures


def record_f1(
    references: Sequence[Record], predictions: Sequence[Record], names: Sequence[str], *, spaces: bool = True
) -> Measure:
    """Micro F1 over the named fields."""
    return measure(_rows(references, predictions, names, spaces), 3, f1)


def is_right(reference: Record, prediction: Record, name: str, *, spaces: bool = True) -> bool:
    """Say whether a field was read right; one that is not there never is."""
    truth, found = (
        (" " if spaces else "").join(values.get(name, "").upper().split()) for values in (reference, prediction)
    )
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
        f1=measure(rows, 3, f1),
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


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
