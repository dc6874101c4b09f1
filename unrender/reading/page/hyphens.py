"""Hyphens at the ends of lines: put in there to break a word, or a part of it."""

import re
from collections.abc import Sequence, Set

from unrender.formats.marked import MATH, SOFT_HYPHEN
from unrender.reading.page.rows import ReadRow

_COMPOUND = re.compile(r"[^\W\d_]+-[^\W\d_]+")
_LAST_WORD, _FIRST_WORD = re.compile(r"([^\W\d_]+)-$"), re.compile(r"[a-zß-ÿ]+")
_PREFIXES = frozenset("self non well high low long short two three one so semi quasi pseudo multi cross ultra".split())
_SHORTEST_FIRST = 4  # letters of a compound's first part; shorter ones (in-dependent) are syllables
# What the second part of a compound often is, and hardly ever the end of a word that was hyphenated.
_SECONDS = frozenset(
    "based body bound called defined degenerate dependent dimensional driven energy error factor field fitting fold "
    "free frequency function group independent induced invariant known level like line linear loop mass matter "
    "model neutral parameter particle phase point product range resolution sample scale sided space spin state "
    "step structure symmetric temperature term theoretic time trivial type uniform valued vector wave wide".split()
)


def settle_hyphens(pieces: Sequence[Sequence[ReadRow]]) -> list[tuple[ReadRow, ...]]:
    """Take a hyphen at a line's end for one that was put in there, unless something says that it is the word's own.

    Something is: a number or a formula before it, the same compound elsewhere on the page, or parts that compounds
    often have.
    """
    whole = " ".join(row.markdown for rows in pieces for row in rows)
    compounds = {word.lower() for word in _COMPOUND.findall(whole)}
    return [
        tuple(_settled(row, following, compounds) for row, following in zip(rows, [*rows[1:], None], strict=False))
        for rows in pieces
    ]


def _settled(row: ReadRow, following: ReadRow | None, compounds: Set[str]) -> ReadRow:
    if following is None or not row.tokens or row.tokens[-1] not in ("-", SOFT_HYPHEN):
        return row
    own = _is_own(row, following, compounds)
    return row if own is None else row.with_tokens((*row.tokens[:-1], "-" if own else SOFT_HYPHEN))


def _is_own(row: ReadRow, following: ReadRow, compounds: Set[str]) -> bool | None:
    """Say whether a hyphen is the word's own; None where nothing tells."""
    if len(row.tokens) > 1 and (row.tokens[-2] == MATH[1] or row.tokens[-2].isdigit()):
        return True
    begun, rest = _LAST_WORD.search(row.markdown), _FIRST_WORD.match(following.markdown)
    if begun is None or rest is None:
        return None
    first, second = begun[1].lower(), rest[0]
    usual = first in _PREFIXES or (second in _SECONDS and len(first) >= _SHORTEST_FIRST)
    return usual or f"{first}-{second}" in compounds
