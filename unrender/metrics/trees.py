"""Metrics for extracted fields: Donut's field F1 and tree edit accuracy, and ANLS for answers to questions.

A JSON value becomes a tree: keys are inner nodes, sorted by length and name; values are leaves, compared as stripped
text; what is empty does not exist; the items of a list of objects are nodes of their own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from rapidfuzz.distance import Levenshtein

from unrender.metrics.measure import Counts, Measure, mean_of, measure

_ITEM = "<item>"
_FARTHEST_ANSWER = 0.5  # ANLS gives nothing to an answer that is this far off


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


def anls(references: Sequence[Sequence[str]], predictions: Sequence[str]) -> Measure:
    """Average normalised Levenshtein similarity: the best over the accepted answers, 0 if half or more is wrong."""
    scores = []
    for answers, prediction in zip(references, predictions, strict=True):
        distances = [Levenshtein.normalized_distance(_fold(answer), _fold(prediction)) for answer in answers]
        nearest = min(distances, default=1.0)
        scores.append(1 - nearest if nearest < _FARTHEST_ANSWER else 0.0)
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


def _fold(text: str) -> str:
    return " ".join(text.lower().split())
