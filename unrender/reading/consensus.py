"""Which of several readings of one picture to believe: the one from which the others, surest first, differ least."""

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from unrender.decoding.paths import Decoded

_TRUST = 32  # the power of its sureness with which a reading counts
_LEAST = 1e-30  # what even the least sure one counts
_LEFT_OUT = 0.3  # errors that a longer reading is spared for each token more: readings leave out more than they add


def rank_readings(readings: Sequence[Decoded]) -> list[int]:
    """Return the indices of the readings, best first; of those with the same tokens only the surest.

    The best has the least expected edit distance to what is really there, if each reading is that as often as its
    sureness says (Bayes risk), less something for each token it has. One that was not completed comes last and counts
    for nothing beside any that was.
    """
    surest: dict[tuple[int, ...], int] = {}
    for index in sorted(range(len(readings)), key=lambda index: -readings[index].sureness):
        surest.setdefault(readings[index].tokens, index)
    weights = [max(reading.sureness**_TRUST, _LEAST) for reading in readings]
    risks = {
        index: sum(
            weight * Levenshtein.distance(tokens, other.tokens) for weight, other in zip(weights, readings, strict=True)
        )
        / sum(weights)
        - _LEFT_OUT * len(tokens)
        for tokens, index in surest.items()
    }
    return sorted(risks, key=lambda index: (not readings[index].complete, risks[index]))
