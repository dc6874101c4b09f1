"""Which of several readings of one picture to believe: the one from which the others, surest first, differ least."""

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from unrender.decoding import Decoded

_TRUST = 16  # the power of its sureness with which a reading counts


def rank_readings(readings: Sequence[Decoded]) -> list[int]:
    """Return the places of the readings, best first; of those with the same tokens only the surest.

    The best has the least expected edit distance to what is really there, if each reading is that as often as its
    sureness says (Bayes risk). One that was not completed counts for nothing and comes last.
    """
    surest: dict[tuple[int, ...], int] = {}
    for place in sorted(range(len(readings)), key=lambda place: -readings[place].sureness):
        surest.setdefault(readings[place].tokens, place)
    risks = {
        place: sum(other.sureness**_TRUST * Levenshtein.distance(tokens, other.tokens) for other in readings)
        for tokens, place in surest.items()
    }
    return sorted(risks, key=lambda place: (not readings[place].complete, risks[place]))
