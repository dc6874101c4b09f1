"""How much of a formula is seen where it should be: glyphs matched by kind and place, as CDM does (Wang et al., 2024).

Both formulas are typeset, so spacing, braces and synonyms do not count: only what stands on the paper. Glyphs of the
same kind are paired in the order in which TeX sets them. A pair is right when it is displaced like others: something
missing or too much may move the rest along the line, and a whole part up or down, but not a single glyph.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

_RISE = 0.2  # of a font size: how far a glyph may be off the height of those displaced like it
_PART = 3  # glyphs that make a part, which may be displaced as a whole
_SIZE_STEP = 0.85  # a glyph smaller than this share of its twin is set in another size


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
