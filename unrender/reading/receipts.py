"""From labelled words to the fields of a receipt: company, date, address and total.

A receipt has each field once at most, so the best run of words is taken rather than every run that is labelled.
Texts are upper case, as in the SROIE set that defines the fields. What must look like a date or an amount is checked.
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.calibration import confidence_of
from unrender.documents import Box
from unrender.words import Word

FIELDS = ("company", "date", "address", "total")
LABELS = ("O", *(f"{position}-{name.upper()}" for name in FIELDS for position in "BI"))

Probabilities = NDArray[np.float64]  # (words, fields): how likely each word belongs to each field

_MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
_MONTH = rf"(?:{'|'.join(_MONTHS)})[A-Z]*"
_DATE = re.compile(
    rf"""(?<![\d])(?:
      (?P<y1>(?:19|20)\d\d)[-/.](?P<m1>\d{{1,2}})[-/.](?P<d1>\d{{1,2}})
    | (?P<d2>\d{{1,2}})[-/.](?P<m2>\d{{1,2}})[-/.](?P<y2>(?:19|20)?\d\d)
    | (?P<d3>\d{{1,2}})[-/.,\s]*(?P<m3>{_MONTH})[-/.,'\s]*(?P<y3>(?:19|20)?\d\d)
    | (?P<m4>{_MONTH})[-/.,\s]*(?P<d4>\d{{1,2}})[-/.,'\s]+(?P<y4>(?:19|20)\d\d)
    | (?P<y5>20\d\d)(?P<m5>[01]\d)(?P<d5>[0-3]\d)
    )(?!\d(?!\d?:\d\d))""",
    re.VERBOSE,
)
_AMOUNT = re.compile(
    r"(?<![\d.,])(?:RM|MYR|USD|EUR|GBP|SGD|[$€£])?\s?\d{1,3}(?:[.,]?\d{3})*[.,]\d\d(?!\d)", re.IGNORECASE
)
_BARE_AMOUNT = re.compile(r"\d[\d.,]*[.,]\d\d(?!\d)")
_CURRENCIES = ("RM", "MYR", "USD", "EUR", "GBP", "SGD", "$", "€", "£")
_MAX_DATE_WORDS = 4
_LEAST = 1e-6  # probabilities are kept this far from 0 and 1
_NEXT_LINE = {"company": 4.0, "address": 0.0}  # log-odds that a run must win to go on in the next line
_WITHIN_LINE = 5.0  # log-odds that a run must win to begin or end within a line
_MEANT = 0.5  # a currency before the amount belongs to the total from here on
_MIN_SCORES = {"company": 0.15, "date": 0.15, "address": 0.15, "total": 0.3}  # below, a field is said to be absent


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
        index = FIELDS.index(name)
        return confidence_of(math.log(score), (self.slopes[index], self.offsets[index]))


def field_probabilities(scores: NDArray[np.float32], labels: Sequence[str], temperature: float = 1.0) -> Probabilities:
    """Turn label scores (N, K) into probabilities (N, fields), whether a word begins or continues a field."""
    shifted = scores.astype(np.float64) / temperature
    shifted = np.exp(shifted - shifted.max(axis=1, keepdims=True))
    shares = shifted / shifted.sum(axis=1, keepdims=True)
    columns = [[index for index, label in enumerate(labels) if label[2:].lower() == name] for name in FIELDS]
    return np.stack([shares[:, indices].sum(axis=1) for indices in columns], axis=1)


def find_fields(words: Sequence[Word], probabilities: Probabilities) -> dict[str, Found]:
    """Find each field at most once; one that is not there is left out."""
    found: dict[str, Found] = {}
    for index, name in enumerate(FIELDS):
        share = np.clip(probabilities[:, index], _LEAST, 1 - _LEAST)
        if name in _NEXT_LINE:
            best = _best_run(name, words, share)
        elif name == "date":
            best = _best_date(words, share)
        else:
            best = _best_total(words, share)
        if best is not None and best.score >= _MIN_SCORES[name]:
            found[name] = replace(best, score=min(best.score, 1 - _LEAST))
    return found


def box_of(words: Sequence[Word], indices: Sequence[int]) -> Box:
    """Return the smallest box around some words."""
    boxes = [words[index].box for index in indices]
    return Box(
        min(box.x0 for box in boxes),
        min(box.y0 for box in boxes),
        max(box.x1 for box in boxes),
        max(box.y1 for box in boxes),
    )


def parse_date(text: str) -> date | None:
    """Read a date, the day before the month where both are numbers; None if there is no such day."""
    match = _DATE.search(text.upper())
    if match is None:
        return None
    parts = {name[0]: value for name, value in match.groupdict().items() if value}
    month = parts["m"]
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
    day, year = int(parts["d"]), int(parts["y"])
    year += 2000 if year < 100 else 0
    for m, d in ((number, day), (day, number)):  # American order only where the other is no date
        try:
            return date(year, m, d)
        except ValueError:
            continue
    return None


def parse_amount(text: str) -> float | None:
    """Read an amount of money with two decimals; None if there is none."""
    match = _BARE_AMOUNT.search(text)
    if match is None:
        return None
    digits = match[0].replace(",", ".")
    whole, _, cents = digits.rpartition(".")
    return float(f"{whole.replace('.', '')}.{cents}")


def plain_capitals(text: str) -> str:
    """Write a text in capitals without accents, as the fields are defined; other scripts stay as they are."""
    bases = (unicodedata.normalize("NFD", letter)[0] for letter in text.upper())
    return "".join(base if base.isascii() else letter for base, letter in zip(bases, text.upper(), strict=True))


def _best_run(name: str, words: Sequence[Word], share: NDArray[np.float64]) -> Found | None:
    """Take the run of words with the highest sum of log-odds; a weak word inside does not cut it.

    In nearly all receipts a company or address begins and ends with a line, or ends before a bracket, and a company has
    one line: other runs have to be worth it.
    """
    odds = np.log(share / (1 - share))
    best, span = 0.0, (0, 0)
    total, start = -math.inf, 0
    for index, word in enumerate(words):
        at_start = index == 0 or words[index - 1].line != word.line
        fresh = float(odds[index]) - (0.0 if at_start else _WITHIN_LINE)
        longer = total + float(odds[index]) - (_NEXT_LINE[name] if at_start else 0.0)
        total, start = (fresh, index) if fresh >= longer else (longer, start)
        following = words[index + 1] if index + 1 < len(words) else None
        ends_well = following is None or following.line != word.line or following.text.startswith("(")
        ended = total - (0.0 if ends_well else _WITHIN_LINE)
        if ended > best:
            best, span = ended, (start, index + 1)
    if span[0] == span[1]:
        return None
    indices = tuple(range(*span))
    text = plain_capitals(" ".join(words[index].text for index in indices))
    return Found(name, text, indices, _mean_score(share, indices))


def _best_date(words: Sequence[Word], share: NDArray[np.float64]) -> Found | None:
    """Take the likeliest of all things on the page that are dates."""
    candidates: dict[str, list[Found]] = {}
    for start in range(len(words)):
        for stop in range(start + 1, min(len(words), start + _MAX_DATE_WORDS) + 1):
            if words[stop - 1].line != words[start].line:
                break
            text = " ".join(word.text for word in words[start:stop]).upper()
            match = _DATE.search(text)
            if match is None or parse_date(text) is None:
                continue
            if match.start() < len(words[start].text) and match.end() > len(text) - len(words[stop - 1].text):
                indices = tuple(range(start, stop))
                found = Found("date", match[0], indices, _mean_score(share, indices))
                candidates.setdefault(found.text, []).append(found)
            break
    return _likeliest(candidates)


def _best_total(words: Sequence[Word], share: NDArray[np.float64]) -> Found | None:
    """Take the likeliest amount; the same amount printed twice counts for more."""
    candidates: dict[str, list[Found]] = {}
    for index, word in enumerate(words):
        match = _AMOUNT.search(word.text)
        if match is None:
            continue
        text, first = match[0].strip().upper(), index
        before = words[index - 1] if index else None
        if before is not None and is_currency(before, word) and share[index - 1] > _MEANT:
            text, first = f"{before.text.upper()} {text}", index - 1
        found = Found("total", text, tuple(range(first, index + 1)), float(share[index]))
        candidates.setdefault(found.text, []).append(found)
    return _likeliest(candidates)


def is_currency(word: Word, amount: Word) -> bool:
    """Say whether a word is a currency that stands right before an amount."""
    return word.line == amount.line and word.text.upper() in _CURRENCIES


def _likeliest(candidates: Mapping[str, list[Found]]) -> Found | None:
    """Take the text that is right if any place it was found at is; show it where it is surest."""
    best: Found | None = None
    for text, found in candidates.items():
        score = 1 - math.prod(1 - one.score for one in found)
        surest = max(found, key=lambda one: one.score)
        if best is None or score > best.score:
            best = Found(surest.name, text, surest.words, score)
    return best


def _mean_score(share: NDArray[np.float64], indices: Sequence[int]) -> float:
    return float(np.exp(np.log(share[list(indices)]).mean()))
