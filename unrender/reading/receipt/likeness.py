"""Whether a page is a receipt at all: what its words say, in log-odds fitted on receipts and on other documents."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from unrender.reading.receipt import keywords
from unrender.reading.receipt.clues import total_clues
from unrender.reading.receipt.dates import DATE
from unrender.reading.receipt.fields import Found
from unrender.reading.receipt.rows import Row

_WEIGHTS = {
    "offset": -4.75,
    "total": 4.0,  # an amount that is called the total
    "taxed": 1.6,  # tax, payment or change beside an amount
    "date": 0.7,
    "dates": -1.8,  # for each beyond the second
    "words": 2.2,  # that receipts use, up to three
    "prose": -3.5,  # rows of many words and no amount
    "fields": 5.5,  # what the network found, mean score
}
UNLIKELY = 0.35  # below, a page is said to be no receipt
_NAMED = 2.0
_MANY_WORDS = 7
_USUAL_DATES = 2
_MOST_WORDS = 3


def likeness(rows: Sequence[Row], found: Mapping[str, Found]) -> float:
    """Return the chance that a page is a receipt, from 0 to 1."""
    odds = sum(_WEIGHTS[name] * value for name, value in features(rows, found).items())
    return 1 / (1 + math.exp(-odds))


def features(rows: Sequence[Row], found: Mapping[str, Found]) -> dict[str, float]:
    """Return what speaks for and against a receipt."""
    with_money = [row for row in rows if row.amounts]
    named = any(odds >= _NAMED for odds in total_clues(rows).values())
    payment = (keywords.TAX, keywords.CASH, keywords.CARD, keywords.CHANGE, keywords.PARTIAL)
    dates = sum(bool(DATE.search(row.folded)) for row in rows)
    known = {match[0] for row in rows for match in keywords.RECEIPT.finditer(row.folded)}
    long = [len(row.words) > _MANY_WORDS and not row.amounts for row in rows]
    scores = [found[name].score if name in found else 0.0 for name in ("company", "date", "address", "total")]
    return {
        "offset": 1.0,
        "total": float(named),
        "taxed": float(any(words.search(row.folded) for row in with_money for words in payment)),
        "date": float(dates > 0),
        "dates": float(max(0, dates - _USUAL_DATES)),
        "words": float(min(_MOST_WORDS, len(known))),
        "prose": fmean(long) if long else 0.0,
        "fields": fmean(scores),
    }
