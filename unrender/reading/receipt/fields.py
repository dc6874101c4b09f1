"""From labelled words to the fields of a receipt: company, date, address and total, and whatever else was trained.

A receipt has each field once at most, so the best run of words is taken rather than every run that is labelled. What
must look like a date or an amount is checked, and what the words around it say counts beside the network's opinion.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.calibration import confidence_of
from unrender.reading.receipt.clues import ONLY_DATE, date_clues, total_clues
from unrender.reading.receipt.keywords import MALAY, fold, without_accents
from unrender.reading.receipt.rows import DATE, Row, find_rows, is_currency_word, parse_date, parse_time
from unrender.words import Word

FIELDS = ("company", "date", "address", "total")
LABELS = ("O", *(f"{position}-{name.upper()}" for name in FIELDS for position in "BI"))

Probabilities = NDArray[np.float64]  # (words, fields): how likely each word belongs to each field

_AMOUNT = re.compile(
    r"(?<![\d.,])(?:RM|MYR|USD|EUR|GBP|SGD|CHF|[$€£])?\s?-?\d{1,3}(?:[.,']?\d{3})*[.,]\d\d(?![\d%])(?:\s?(?:€|£|EUR))?",
    re.IGNORECASE,
)
_REGISTRATION = re.compile(r"\(?\d{5,8}-?[A-Z]\)?", re.IGNORECASE)  # a firm's number, as Malaysia gives them
_REGISTERED = re.compile(r"(?<=\w)\s*\((?:CO\.?)?\s*(?:REG\.?)?\s*(?:NO\.?)?\s*:?\s*\d{4,8}-?[A-Z]\)$", re.IGNORECASE)
_MAX_DATE_WORDS = 6
_LEAST = 1e-6  # probabilities are kept this far from 0 and 1
_NEXT_LINE = {"company": 4.0, "address": 0.0}  # log-odds that a run must win to go on in the next line
_WITHIN_LINE = 5.0  # log-odds that a run must win to begin or end within a line
_OWN_NEXT_LINE, _OWN_WITHIN_LINE = 2.0, 0.0  # the same, for fields that a user has trained
_MEANT = 0.5  # a currency beside the amount belongs to the total from here on
_MIN_SCORES = {"company": 0.15, "date": 0.15, "address": 0.15, "total": 0.3}  # below, a field is said to be absent
_MIN_OWN_SCORE = 0.3
_NAMED, _MIN_UNNAMED = 1.0, 0.5  # a total that neither its words nor sums speak for is absent below this score
_SUREST = 4.0  # log-odds: the network's opinion of a total or date counts no more than this
_CLUES = 1.0  # how much a clue counts beside it


@dataclass(frozen=True)
class Found:
    """One field as it was found: its text, the words it was read from, and a score from 0 to 1."""

    name: str
    text: str
    words: tuple[int, ...]  # indices in the list of words
    score: float


@dataclass(frozen=True)
class Calibration:
    """What turns scores into confidences: a slope and an offset of the log-odds for each field."""

    slopes: tuple[float, ...] = (1.0,) * len(FIELDS)
    offsets: tuple[float, ...] = (0.0,) * len(FIELDS)

    def confidence(self, name: str, score: float) -> float:
        if name not in FIELDS:
            return score
        index = FIELDS.index(name)
        return confidence_of(math.log(score), (self.slopes[index], self.offsets[index]))


def field_probabilities(scores: NDArray[np.float32], labels: Sequence[str], temperature: float = 1.0) -> Probabilities:
    """Turn label scores (N, K) into probabilities (N, fields), whether a word begins or continues a field."""
    shares = label_probabilities(scores, temperature)
    columns = [[index for index, label in enumerate(labels) if label[2:].lower() == name] for name in names_of(labels)]
    return np.stack([shares[:, indices].sum(axis=1) for indices in columns], axis=1)


def label_probabilities(scores: NDArray[np.float32], temperature: float) -> Probabilities:
    """Turn label scores (N, K) into probabilities (N, K)."""
    shifted = scores.astype(np.float64) / temperature
    shifted = np.exp(shifted - shifted.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def names_of(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the fields that some labels are of, in their order."""
    return tuple(dict.fromkeys(label[2:].lower() for label in labels if label != "O"))


def find_fields(words: Sequence[Word], probabilities: Probabilities, names: Sequence[str] = FIELDS) -> dict[str, Found]:
    """Find each field at most once; one that is not there is left out."""
    found: dict[str, Found] = {}
    rows = find_rows(words)
    plain = any(MALAY.search(row.folded) for row in rows)
    for index, name in enumerate(names):
        share = np.clip(probabilities[:, index], _LEAST, 1 - _LEAST)
        if name == "date":
            best = _best_date(words, rows, share)
        elif name == "total":
            best = _best_total(words, rows, share)
        else:
            best = _best_run(name, words, share)
            if best is not None and plain:  # an accent was misread
                best = replace(best, text=without_accents(best.text))
        if best is not None and best.score >= _MIN_SCORES.get(name, _MIN_OWN_SCORE):
            found[name] = replace(best, score=min(best.score, 1 - _LEAST))
    return found


def _best_run(name: str, words: Sequence[Word], share: NDArray[np.float64]) -> Found | None:
    """Take the run of words with the highest sum of log-odds; a weak word inside does not cut it.

    In nearly all receipts a company or address begins and ends with a line, or ends before a bracket, and a company has
    one line: other runs have to be worth it.
    """
    odds = np.log(share / (1 - share))
    next_line = _NEXT_LINE.get(name, _OWN_NEXT_LINE)
    within_line = _WITHIN_LINE if name in _NEXT_LINE else _OWN_WITHIN_LINE
    best, span = 0.0, (0, 0)
    total, start = -math.inf, 0
    for index, word in enumerate(words):
        at_start = index == 0 or words[index - 1].line != word.line
        fresh = float(odds[index]) - (0.0 if at_start else within_line)
        longer = total + float(odds[index]) - (next_line if at_start else 0.0)
        total, start = (fresh, index) if fresh >= longer else (longer, start)
        following = words[index + 1] if index + 1 < len(words) else None
        ends_well = following is None or following.line != word.line or following.text.startswith("(")
        ended = total - (0.0 if ends_well else within_line)
        if ended > best:
            best, span = ended, (start, index + 1)
    if span[0] == span[1]:
        return None
    indices = tuple(range(*span))
    while name == "address" and len(indices) > 1 and _REGISTRATION.fullmatch(words[indices[0]].text):
        indices = indices[1:]
    text = " ".join(words[index].text for index in indices)
    if name == "company":
        text = _REGISTERED.sub("", text)
    return Found(name, text, indices, _mean_score(share, indices))


def _best_date(words: Sequence[Word], rows: Sequence[Row], share: NDArray[np.float64]) -> Found | None:
    """Take the likeliest of all things on the page that are dates."""
    clues = _clues_of_rows(rows)
    candidates: dict[str, list[Found]] = {}
    for indices, text in _find_dates(words):
        found = Found("date", text, indices, _mean_score(share, indices))
        candidates.setdefault(text.upper(), []).append(found)
    alone = ONLY_DATE if len(candidates) == 1 else 0.0
    weighed = {
        text: [replace(one, score=_weighed(one.score, clues.get(one.words[0], 0.0) + alone)) for one in found]
        for text, found in candidates.items()
    }
    return _likeliest(weighed)


def _find_dates(words: Sequence[Word]) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the words and the text of everything on the page that is a date."""
    for start in range(len(words)):
        for stop in range(start + 1, min(len(words), start + _MAX_DATE_WORDS) + 1):
            if words[stop - 1].line != words[start].line:
                break
            text = " ".join(word.text for word in words[start:stop])
            match = DATE.search(fold(text))
            if match is None or parse_date(text) is None:
                continue
            if match.start() < len(words[start].text) and match.end() > len(text) - len(words[stop - 1].text):
                yield tuple(range(start, stop)), text[match.start() : match.end()]
            break


def _clues_of_rows(rows: Sequence[Row]) -> dict[int, float]:
    """Return for each word what its row says of a date in it."""
    clues: dict[int, float] = {}
    for number, row in enumerate(rows):
        odds = date_clues(row, rows[number - 1] if number else None, parse_time(row.text) is not None)
        clues.update(dict.fromkeys(row.indices, odds))
    return clues


def _best_total(words: Sequence[Word], rows: Sequence[Row], share: NDArray[np.float64]) -> Found | None:
    """Take the likeliest amount; the same amount printed twice counts for more."""
    clues = {index: odds for money, odds in total_clues(rows).items() for index in money.words}
    candidates: dict[str, list[Found]] = {}
    for index, word in enumerate(words):
        match = _AMOUNT.search(word.text)
        if match is None:
            continue
        text, first, last = match[0].strip(), index, index
        before, after = _beside(words, index, -1), _beside(words, index, 1)
        if before is not None and is_currency(before, word) and share[index - 1] > _MEANT:
            text, first = f"{before.text} {text}", index - 1
        elif after is not None and is_currency(after, word) and share[index + 1] > _MEANT:
            text, last = f"{text} {after.text}", index + 1
        score = _weighed(float(share[index]), clues.get(index, 0.0))
        found = Found("total", text, tuple(range(first, last + 1)), score)
        candidates.setdefault(found.text.upper(), []).append(found)
    best = _likeliest(candidates)
    if best is None or best.score >= _MIN_UNNAMED:
        return best
    indices = [index for found in candidates[best.text.upper()] for index in found.words]
    return best if max(clues.get(index, 0.0) for index in indices) >= _NAMED else None


def _weighed(share: float, clue: float) -> float:
    """Add what the words say to what the network says."""
    odds = min(_SUREST, max(-_SUREST, math.log(share / (1 - share)))) + _CLUES * clue
    return 1 / (1 + math.exp(-odds))


def _beside(words: Sequence[Word], index: int, step: int) -> Word | None:
    return words[index + step] if 0 <= index + step < len(words) else None


def is_currency(word: Word, amount: Word) -> bool:
    """Say whether a word is a currency that stands right beside an amount."""
    return word.line == amount.line and is_currency_word(word.text)


def _likeliest(candidates: Mapping[str, list[Found]]) -> Found | None:
    """Take the text that is right if any place it was found at is; show it where it is surest."""
    best: Found | None = None
    for found in candidates.values():
        score = 1 - math.prod(1 - one.score for one in found)
        surest = max(found, key=lambda one: one.score)
        if best is None or score > best.score:
            best = Found(surest.name, surest.text, surest.words, score)
    return best


def _mean_score(share: NDArray[np.float64], indices: Sequence[int]) -> float:
    return float(np.exp(np.log(share[list(indices)]).mean()))
