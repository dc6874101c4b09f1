"""Where the edit distance of formulas comes from: which were missed, invented, merged, parted, or misread.

    python benchmarks/page_formulas.py ~/.cache/unrender/page/pages-held --limit 12 --seed 1 [--show 20]

Formulas of each page, in one spelling, are aligned with those that were read; T>D says that a formula in the text (T)
was read as a display (D), TT>T that two were read as one, T> that one was not read as a formula, >T that one was read
where there is none. Each line is a share of the mean distance of the formulas of a page.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

from unrender.evaluation.datasets.folders import open_pages
from unrender.formats import write
from unrender.metrics import MATH
from unrender.reading.reader import Reader
from unrender.tasks import spelled_out

_STEPS = ((1, 0), (0, 1), (1, 1), (2, 1), (1, 2), (3, 1), (1, 3))  # formulas of the truth and of the reading
_ALIKE = 0.8  # formulas that differ more are not the same
Formula = tuple[str, str]  # T or D, and its tokens


@dataclass(frozen=True)
class Match:
    """Formulas of the truth, what they were read as, and what share of the page's distance that makes."""

    truth: tuple[Formula, ...]
    read: tuple[Formula, ...]
    share: float

    @property
    def kind(self) -> str:
        return "".join(kind for kind, _ in self.truth) + ">" + "".join(kind for kind, _ in self.read)


def main() -> None:
    arguments = _arguments()
    reader = Reader.open(arguments.model, task="page")
    dataset = open_pages(arguments.folder).sample(arguments.limit, np.random.default_rng(arguments.seed))
    matches: list[Match] = []
    pages = 0
    for example in dataset.examples:
        truth = _formulas(example.target)
        if truth:
            pages += 1
            matches += _align(truth, _formulas(write(reader.read(example.image), "markdown")))
    counts = Counter(match.kind for match in matches)
    shares = {kind: sum(match.share for match in matches if match.kind == kind) / pages for kind in counts}
    for kind in sorted(counts, key=lambda kind: -shares[kind]):
        print(f"{kind:<8} {shares[kind]:.4f} {counts[kind]:>5}")
    for match in sorted(matches, key=lambda match: -match.share)[: arguments.show]:
        print(f"\n{match.share:.3f}\n  {_text(match.truth)}\n  {_text(match.read)}")


def _formulas(page: str) -> list[Formula]:
    found = MATH.finditer(spelled_out(page))
    return [("D" if one[0].startswith(("$$", "\\[")) else "T", " ".join(one[0].strip("$").split())) for one in found]


def _align(truth: Sequence[Formula], read: Sequence[Formula]) -> list[Match]:
    """Pair the formulas of a page, in order, so that as few characters as possible differ."""
    length = max(sum(len(text) + 1 for _, text in side) for side in (truth, read))
    costs = {(0, 0): 0}
    steps: dict[tuple[int, int], tuple[int, int]] = {}
    for row in range(len(truth) + 1):
        for column in range(len(read) + 1):
            ways = [
                (costs[row - one, column - other] + cost, (one, other))
                for one, other in _STEPS
                if one <= row and other <= column
                if (cost := _cost(_text(truth[row - one : row]), _text(read[column - other : column]))) is not None
            ]
            if ways:
                costs[row, column], steps[row, column] = min(ways)
    matches: list[Match] = []
    row, column = len(truth), len(read)
    while row or column:
        one, other = steps[row, column]
        cost = costs[row, column] - costs[row - one, column - other]
        matches.append(Match(tuple(truth[row - one : row]), tuple(read[column - other : column]), cost / length))
        row, column = row - one, column - other
    return matches


@cache
def _cost(one: str, other: str) -> int | None:
    """Return how many characters differ; None if these are not the same formulas."""
    distance = Levenshtein.distance(one, other)
    return None if one and other and distance > _ALIKE * max(len(one), len(other)) else distance


def _text(formulas: Sequence[Formula]) -> str:
    return " ".join(text for _, text in formulas)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="page")
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
