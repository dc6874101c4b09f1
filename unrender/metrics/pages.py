r"""Metrics for pages of Markdown: the whole page, its text, mathematics and tables, as in the Nougat paper.

Mathematics stands between `\(` `\)`, `\[` `\]` or dollars; a table is a LaTeX tabular or lines that begin with `|`.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from rapidfuzz.distance import Indel

from unrender.metrics.measure import Measure, mean_of, measure, ratio

Part = Literal["all", "text", "math", "tables"]
PARTS: tuple[Part, ...] = ("text", "math", "tables")
Texts = Sequence[str]
PageMetric = Callable[[Texts, Texts], Measure]

_PIPES = re.compile(r"(?:^[ \t]*\|[^\n]*(?:\n|\Z))+", re.MULTILINE)
_TABULAR = re.compile(r"\\begin\{tabular\}.*?(?:\\end\{tabular\}|\Z)", re.DOTALL)
MATH = re.compile(
    r"\\\((.+?)(?<!\\)\\\)|\\\[(.+?)(?<!\\)\\\]|\$\$(.+?)\$\$|(?<![\\$])\$(?![\s$])([^$]+?)(?<![\\\s])\$(?!\d)",
    re.DOTALL,
)
_SHORTEST_PART = 4  # characters; as Nougat leaves out shorter texts
_RECALL_WEIGHT, _CHUNK_WEIGHT, _CHUNK_POWER = 0.9, 0.5, 3  # METEOR's alpha, gamma and beta
_ALIKE = 0.5  # two blocks less alike than this are not the same block


def take_part(markdown: str, part: Part) -> str:
    """Return one part of a page, white space folded."""
    if part == "all":
        return _fold(markdown)
    tables = [*_TABULAR.findall(markdown), *_PIPES.findall(_TABULAR.sub("", markdown))]
    if part == "tables":
        return _fold("\n".join(tables))
    rest = _PIPES.sub("\n", _TABULAR.sub("\n", markdown))
    if part == "math":
        return _fold("\n".join("".join(found) for found in MATH.findall(rest)))
    return _fold(MATH.sub(" ", rest))


def on_part(part: Part, metric: PageMetric) -> PageMetric:
    """Return a metric of one part of pages; pages whose truth has no such part are left out."""

    def measure_part(references: Texts, predictions: Texts) -> Measure:
        pairs = zip(references, predictions, strict=True)
        parts = [(take_part(one, part), take_part(other, part)) for one, other in pairs]
        kept = parts if part == "all" else [pair for pair in parts if len(pair[0]) >= _SHORTEST_PART]
        return metric([one for one, _ in kept], [other for _, other in kept])

    return measure_part


def meteor(references: Texts, predictions: Texts) -> Measure:
    """Mean METEOR by exact words, case folded: an F score that favours recall, less where matches are scattered."""
    return mean_of([_meteor(one, other) for one, other in zip(references, predictions, strict=True)])


def order_errors(references: Texts, predictions: Texts) -> Measure:
    """Share of pairs of blocks that were read in the wrong order, among the blocks of the truth that were found.

    Blocks are parted by empty lines and found by their text, the most alike first.
    """
    rows = []
    for one, other in zip(references, predictions, strict=True):
        found = _find_blocks(_blocks(one), _blocks(other))
        inversions = sum(later < earlier for index, earlier in enumerate(found) for later in found[index + 1 :])
        rows.append((inversions, len(found) * (len(found) - 1) // 2))
    return measure(rows, 2, ratio)


def _meteor(reference: str, prediction: str) -> float:
    expected, found = reference.lower().split(), prediction.lower().split()
    matches = _align(expected, found)
    if not matches:
        return float(not expected and not found)
    precision, recall = len(matches) / len(found), len(matches) / len(expected)
    mean = precision * recall / (_RECALL_WEIGHT * precision + (1 - _RECALL_WEIGHT) * recall)
    chunks = 1 + sum(later != (earlier[0] + 1, earlier[1] + 1) for earlier, later in pairwise(matches))
    return float(mean * (1 - _CHUNK_WEIGHT * (chunks / len(matches)) ** _CHUNK_POWER))


def _align(expected: Sequence[str], found: Sequence[str]) -> list[tuple[int, int]]:
    """Pair equal words, each with the last that is still free; return (found, expected) indices in order."""
    free: dict[str, list[int]] = {}
    for index, word in enumerate(expected):
        free.setdefault(word, []).append(index)
    pairs = [(index, free[word].pop()) for index, word in reversed(list(enumerate(found))) if free.get(word)]
    return pairs[::-1]


def _find_blocks(expected: Sequence[str], found: Sequence[str]) -> list[int]:
    """Return, in the order of the truth, where each of its blocks was read; those that were not are left out."""
    alike = [
        (Indel.normalized_similarity(one, other, score_cutoff=_ALIKE), -index, -twin)
        for index, one in enumerate(expected)
        for twin, other in enumerate(found)
    ]
    twins: dict[int, int] = {}
    for similarity, index, twin in sorted(alike, reverse=True):
        if similarity >= _ALIKE and -index not in twins and -twin not in twins.values():
            twins[-index] = -twin
    return [twins[index] for index in sorted(twins)]


def _blocks(markdown: str) -> list[str]:
    return [folded for block in re.split(r"\n\s*\n", markdown) if (folded := _fold(block))]


def _fold(text: str) -> str:
    return " ".join(text.split())
