"""SROIE's field strings as labels of words: fuzzy where the receipt and its truth differ, broken over lines."""

from collections.abc import Mapping, Sequence

from rapidfuzz import fuzz

from unrender.reading.receipts import LABELS, is_currency, parse_amount, parse_date
from unrender.training.batches import IGNORED
from unrender.words import Word

_ALIKE = 75.0  # per cent: a field whose best run of words is less alike is not labelled
_LONGEST_RUN = 40  # words of one field
_TOTAL_WORDS = ("TOTAL", "AMOUNT", "AMT", "DUE", "JUMLAH", "ROUND", "NETT", "NET")
_NOT_TOTAL = ("SUB", "TAX", "EXCL", "CASH", "CHANGE", "DISC", "GST SUMMARY", "QTY", "SAVING")


def label_receipt(words: Sequence[Word], fields: Mapping[str, str]) -> list[int]:
    """Return the index in LABELS of each word's label, IGNORED where it is unsure."""
    labels = [0] * len(words)
    for name in ("address", "company"):
        span = find_run(words, fields.get(name, ""))
        if span is not None:
            _mark(labels, range(*span), name)
    for span in find_dates(words, fields.get("date", "")):
        _mark(labels, range(*span), "date")
    likely, others = find_totals(words, fields.get("total", ""))
    for index in others:
        labels[index] = IGNORED
    for index in likely:
        first = index - 1 if _names_currency(words, index, fields["total"]) else index
        _mark(labels, range(first, index + 1), "total")
    return labels


def find_run(words: Sequence[Word], text: str) -> tuple[int, int] | None:
    """Find the run of words most like a text, whatever the spaces; None if nothing is like it."""
    wanted = squeeze(text)
    if not wanted:
        return None
    squeezed = [squeeze(word.text) for word in words]
    best, span = 0.0, None
    for start in range(len(words)):
        joined = ""
        for stop in range(start, min(len(words), start + _LONGEST_RUN)):
            joined += squeezed[stop]
            if len(joined) > 1.5 * len(wanted) + 3:
                break
            if len(joined) < 0.5 * len(wanted):
                continue
            alike = fuzz.ratio(joined, wanted, score_cutoff=best)
            if alike > best:
                best, span = alike, (start, stop + 1)
    return span if best >= _ALIKE else None


def find_dates(words: Sequence[Word], text: str) -> list[tuple[int, int]]:
    """Find every place where the date stands."""
    wanted = squeeze(text)
    if not wanted:
        return []
    spans = []
    for start in range(len(words)):
        joined = ""
        for stop in range(start, min(len(words), start + 4)):
            joined += squeeze(words[stop].text)
            if wanted in joined:
                if stop == start or wanted not in joined[len(squeeze(words[start].text)) :]:
                    spans.append((start, stop + 1))
                break
    if not spans and parse_date(text) is not None:
        same = parse_date(text)
        spans = [(index, index + 1) for index, word in enumerate(words) if parse_date(word.text) == same]
    return spans


def find_totals(words: Sequence[Word], text: str) -> tuple[list[int], list[int]]:
    """Find the words that are the total, and others that only happen to be the same amount."""
    amount = parse_amount(text)
    if amount is None:
        return [], []
    same = [index for index, word in enumerate(words) if parse_amount(word.text) == amount]
    likely = [index for index in same if _speaks_of_total(_row(words, index))]
    if not likely:
        return same, []
    return likely, [index for index in same if index not in likely]


def squeeze(text: str) -> str:
    """Return a text without spaces, in upper case."""
    return "".join(text.split()).upper()


def _row(words: Sequence[Word], index: int) -> str:
    """Return what stands at the height of a word, and before it."""
    box = words[index].box
    level = [word.text for word in words if min(word.box.y1, box.y1) - max(word.box.y0, box.y0) > 0.4 * box.height]
    return " ".join(level).upper()


def _speaks_of_total(row: str) -> bool:
    return any(word in row for word in _TOTAL_WORDS) and not any(word in row for word in _NOT_TOTAL)


def _names_currency(words: Sequence[Word], index: int, text: str) -> bool:
    """Say whether the word before an amount is the currency that the field begins with."""
    before = words[index - 1] if index else None
    return before is not None and is_currency(before, words[index]) and text.upper().startswith(before.text.upper())


def _mark(labels: list[int], span: range, name: str) -> None:
    for number, index in enumerate(span):
        labels[index] = LABELS.index(f"{'B' if number == 0 else 'I'}-{name.upper()}")
