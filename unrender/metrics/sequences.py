"""Metrics that compare a predicted text with a reference, over a whole set; and formulas as TeX sets them.

Words are what lies between white space: LaTeX tokens where the text is canonical LaTeX (seed 004, 5.1).
How much of a typeset formula is seen where it should be, glyphs matched by kind and place tell, as CDM does (Wang et
al., 2024): spacing, braces and synonyms do not count, only what stands on the paper. Glyphs of the same kind are paired
in the order in which TeX sets them. A pair is right when it is displaced like others: something missing or too much may
move the rest along the line, and a whole part up or down, but not a single glyph.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq, Levenshtein

from unrender.metrics.measure import Counts, Measure, mean_of, measure, ratio

Texts = Sequence[str]

SPACING = frozenset({
    r"\,", r"\;", r"\:", r"\!", r"\>", "~", "\\", r"\quad", r"\qquad", r"\enspace", r"\enskip", r"\space", r"\relax",
    r"\thinspace", r"\medspace", r"\thickspace", r"\negthinspace", r"\negmedspace", r"\negthickspace", r"\null",
    r"\nobreakspace", r"\hfill", r"\hfil", r"\nobreak", r"\allowbreak",
})  # fmt: skip
SPACING_WITH_ARGUMENT = frozenset(
    (r"\hspace", r"\hspace*", r"\vspace", r"\vspace*", r"\mspace", r"\hskip", r"\mskip", r"\kern", r"\mkern")
)
_LONGEST_GRAM = 4
_SHORTEST_PAGE = 4  # Nougat leaves shorter texts out of its averages
_RISE = 0.2  # of a font size: how far a glyph may be off the height of those displaced like it
_PART = 3  # glyphs that make a part, which may be displaced as a whole
_SIZE_STEP = 0.85  # a glyph smaller than this share of its twin is set in another size


def wer(references: Texts, predictions: Texts) -> Measure:
    """Word error rate: (substitutions + insertions + deletions) / words of the reference (seed 004, 5.1).

    It divides the sums over the set, and may exceed 1.
    """
    return _error_rate([(one.split(), other.split()) for one, other in _pairs(references, predictions)])


def wer_visible(references: Texts, predictions: Texts) -> Measure:
    """Word error rate without the tokens that only make space, which no picture shows reliably."""
    return _error_rate([(visible(one), visible(other)) for one, other in _pairs(references, predictions)])


def cer(references: Texts, predictions: Texts) -> Measure:
    """Character error rate; a run of white space is one space, and none at the ends."""
    pairs = [(" ".join(one.split()), " ".join(other.split())) for one, other in _pairs(references, predictions)]
    return _error_rate(pairs)


def bleu(references: Texts, predictions: Texts) -> Measure:
    """BLEU-4 of the whole set by the rules of multi-bleu.perl: one reference, words as they are, no smoothing."""
    rows = [_gram_counts(one.split(), other.split()) for one, other in _pairs(references, predictions)]
    return measure(rows, 2 * _LONGEST_GRAM + 2, _bleu)


def edit(references: Texts, predictions: Texts) -> Measure:
    """Edit accuracy of im2markup: 1 - sum of word distances / sum of the longer lengths."""
    rows = [
        (_distance(one.split(), other.split()), max(len(one.split()), len(other.split())))
        for one, other in _pairs(references, predictions)
    ]
    return measure(rows, 2, lambda sums: 1.0 - ratio(sums))


def exact(references: Texts, predictions: Texts) -> Measure:
    """Share of predictions whose words are exactly those of the reference."""
    return mean_of([float(one.split() == other.split()) for one, other in _pairs(references, predictions)])


def exp_rate(references: Texts, predictions: Texts, errors: int = 0) -> Measure:
    """Expression recognition rate: share with at most `errors` wrong tokens, spacing tokens left out."""
    distances = [_distance(visible(one), visible(other)) for one, other in _pairs(references, predictions)]
    return mean_of([float(distance <= errors) for distance in distances])


def accuracy_folded(references: Texts, predictions: Texts) -> Measure:
    """Share of predictions with the letters and digits of the reference, upper and lower case one (scene text)."""
    return mean_of([float(_folded(one) == _folded(other)) for one, other in _pairs(references, predictions)])


def valid(predictions: Texts, checker: Callable[[str], bool]) -> Measure:
    """Share of predictions that the checker calls well-formed."""
    return mean_of([float(checker(prediction)) for prediction in predictions])


def normalised_distance(references: Texts, predictions: Texts, shortest: int = _SHORTEST_PAGE) -> Measure:
    """Mean of character distance / longer length; pages under 4 characters are left out, as Nougat does."""
    kept = [pair for pair in _pairs(references, predictions) if min(map(len, pair)) >= shortest]
    return mean_of([Levenshtein.normalized_distance(one, other) for one, other in kept])


def word_set_f1(references: Texts, predictions: Texts) -> Measure:
    """Mean F1 of the two sets of words, as Nougat reports it; easily gamed, here only to compare."""
    scores = []
    for one, other in _pairs(references, predictions):
        expected, found = set(one.split()), set(other.split())
        scores.append(2 * len(expected & found) / (len(expected) + len(found)) if expected or found else 1.0)
    return mean_of(scores)


def visible(text: str) -> list[str]:
    r"""Return the tokens of canonical LaTeX that leave ink: no `\,`, `\quad`, `~`, `\hspace { 1 c m }` and the like."""
    kept: list[str] = []
    tokens = iter(text.split())
    for token in tokens:
        if token in SPACING_WITH_ARGUMENT:
            _skip_group(tokens, kept)
        elif token not in SPACING:
            kept.append(token)
    return kept


def _skip_group(tokens: Iterator[str], kept: list[str]) -> None:
    """Pass over the braced group that comes next; what is not one is kept."""
    depth = 0
    for token in tokens:
        if depth == 0 and token != "{":
            if token not in SPACING:
                kept.append(token)
            return
        depth += {"{": 1, "}": -1}.get(token, 0)
        if depth == 0:
            return


def _folded(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _pairs(references: Texts, predictions: Texts) -> list[tuple[str, str]]:
    assert len(references) == len(predictions), f"{len(references)} references, {len(predictions)} predictions"
    return list(zip(references, predictions, strict=True))


def _distance(reference: Sequence[Hashable], prediction: Sequence[Hashable]) -> int:
    return Levenshtein.distance(reference, prediction)


def _error_rate(pairs: Sequence[tuple[Sequence[Hashable], Sequence[Hashable]]]) -> Measure:
    return measure([(_distance(one, other), len(one)) for one, other in pairs], 2, ratio)


def _gram_counts(reference: Sequence[str], prediction: Sequence[str]) -> list[int]:
    """Return clipped matches and totals of 1- to 4-grams, then the two lengths."""
    matches, totals = [], []
    for size in range(1, _LONGEST_GRAM + 1):
        expected, found = _grams(reference, size), _grams(prediction, size)
        matches.append((expected & found).total())
        totals.append(found.total())
    return [*matches, *totals, len(reference), len(prediction)]


def _grams(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(size)), strict=False))


def _bleu(sums: Counts) -> float:
    matches, totals = sums[:_LONGEST_GRAM], sums[_LONGEST_GRAM : 2 * _LONGEST_GRAM]
    reference_length, prediction_length = sums[-2:]
    if min(matches) == 0:
        return 0.0
    precision = math.exp(
        sum(math.log(match / total) for match, total in zip(matches, totals, strict=True)) / len(matches)
    )
    return precision * min(1.0, math.exp(1 - reference_length / prediction_length))


@dataclass(frozen=True)
class Glyph:
    """One glyph or rule of a typeset formula: its kind, the height it stands at and its size, in font sizes."""

    kind: Hashable
    height: float
    size: float


def glyph_f1(reference: Sequence[Glyph], prediction: Sequence[Glyph]) -> float:
    """Return the F1 of the glyphs that are seen as they should be; 1 for two formulas that look alike."""
    if not reference and not prediction:
        return 1.0
    right = count_matches(reference, prediction)
    return 2 * right / (len(reference) + len(prediction))


def count_matches(reference: Sequence[Glyph], prediction: Sequence[Glyph]) -> int:
    """Count the glyphs that have a twin of their kind, displaced as their neighbours are."""
    kinds: dict[Hashable, int] = {}
    ours, theirs = ([kinds.setdefault(glyph.kind, len(kinds)) for glyph in side] for side in (reference, prediction))
    pairs = [
        (reference[index], prediction[block.b + offset])
        for block in LCSseq.editops(ours, theirs).as_matching_blocks()
        for offset, index in enumerate(range(block.a, block.a + block.size))
    ]
    groups = _group([(twin.height - glyph.height, _size_change(glyph, twin)) for glyph, twin in pairs])
    largest = max(groups.values(), default=0)
    first = next((group for group, size in groups.items() if size == largest), None)
    return sum(size for group, size in groups.items() if group == first or size >= _PART)


def _size_change(glyph: Glyph, twin: Glyph) -> int:
    """Say whether a glyph is set smaller (-1), larger (1) or alike (0)."""
    if twin.size < _SIZE_STEP * glyph.size:
        return -1
    return int(glyph.size < _SIZE_STEP * twin.size)


def _group(displacements: Sequence[tuple[float, int]]) -> Counter[tuple[int, float]]:
    """Count the displacements that are alike: of the same size change, and near one another in height.

    The most frequent height, to a half of what is allowed, is the middle of the first group, and so on.
    """
    groups: Counter[tuple[int, float]] = Counter()
    left = list(displacements)
    while left:
        steps = Counter((size, round(rise / (_RISE / 2))) for rise, size in left)
        (size, step), _ = steps.most_common(1)[0]
        middle = step * _RISE / 2
        groups[size, middle] = sum(one == size and abs(rise - middle) <= _RISE for rise, one in left)
        left = [(rise, one) for rise, one in left if one != size or abs(rise - middle) > _RISE]
    return groups
