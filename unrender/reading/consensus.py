"""Which of several readings of one picture is the best."""

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from unrender.decoding.paths import Decoded

_TRUST = 32  # the power of its sureness with which a reading counts
_LEAST = 1e-30  # what even the least sure one counts
_ROW = 5  # tokens that may be a row of an array, its end included
_INVENTED = 10.0  # errors that a reading is charged for each stroke it has and the picture has not
_LEFT_OUT = 0.3  # errors that a longer reading is spared for each token more: readings leave out more than they add


def rank_readings(readings: Sequence[Decoded], invented: Sequence[int] = ()) -> list[int]:
    """Return the indices of the readings, best first; of those with the same tokens only the surest.

    `invented` says how many strokes each has that the picture has not, where that is known.

    The best has the least expected edit distance to what is really there, if each reading is that as often as its
    sureness says (Bayes risk), less something for each token it has, those left aside that only repeat what stands
    before them, as a row of an array that is read twice. One that was not completed comes last and counts
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
        - _LEFT_OUT * (len(tokens) - _said_twice(tokens))
        + (_INVENTED * invented[index] if invented else 0.0)
        for tokens, index in surest.items()
    }
    return sorted(risks, key=lambda index: (not readings[index].complete, risks[index]))


def _said_twice(tokens: Sequence[int]) -> int:
    """Return how many tokens at most repeat as many right before them; 0 for fewer than a row's worth."""
    for length in range(len(tokens) // 2, _ROW - 1, -1):
        run = 0  # how many tokens in a row are those `length` places before
        for one, other in zip(tokens, tokens[length:], strict=False):
            run = run + 1 if one == other else 0
            if run == length:
                return length
    return 0
