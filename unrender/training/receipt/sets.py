"""What LayoutLMv2 is trained on: receipts with given and with recognised words, forms, documents made up by us.

SROIE gives fields as strings; they become labels of words, fuzzily where the receipt and its truth differ.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from rapidfuzz import fuzz

from unrender.documents import Box
from unrender.errors import DataError
from unrender.evaluation.datasets import Example
from unrender.reading.receipt.fields import LABELS, is_currency
from unrender.reading.receipt.rows import parse_amount, parse_date
from unrender.training.batches import IGNORED
from unrender.training.receipt.label_batches import LabelledPage
from unrender.training.receipt.made_documents import MadeDocument, make_document
from unrender.training.receipt.made_others import make_other
from unrender.training.receipt.made_receipts import make_marked
from unrender.training.receipt.pretraining import PlainPage
from unrender.words import Word, WordPage, WordReader, part_words, receipt_lexicon

FORM_KINDS = ("header", "question", "answer")
FORM_LABELS = ("O", *(f"{begun}-{kind.upper()}" for kind in FORM_KINDS for begun in "BI"))
_ALIKE = 75.0  # per cent: a field whose best run of words is less alike is not labelled
_LONGEST_RUN = 40  # words of one field
_TOTAL_WORDS = ("TOTAL", "AMOUNT", "AMT", "DUE", "JUMLAH", "ROUND", "NETT", "NET")
_NOT_TOTAL = ("SUB", "TAX", "EXCL", "CASH", "CHANGE", "DISC", "GST SUMMARY", "QTY", "SAVING")


@dataclass(frozen=True)
class Form:
    """One labelled form (FUNSD): words in the order of its boxes, labels as indices in FORM_LABELS."""

    name: str
    image: Path
    page: WordPage
    labels: tuple[int, ...]


def receipt_page(receipt: Example, page: WordPage | None = None) -> LabelledPage:
    """Label a receipt's words: the given ones, or others found in the same picture."""
    page = page or receipt.words
    assert page is not None, f"{receipt.name} has no words"
    return LabelledPage.of(receipt.name, receipt.path, page, label_receipt(page.words, receipt.record))


def recognised_pages(
    receipts: Iterable[Example], cache: Path, find_words: Callable[[], WordReader]
) -> dict[str, WordPage]:
    """Return what OCR reads on each receipt; it is slow, so results are kept in `cache`."""
    lexicon = receipt_lexicon()
    cache.mkdir(parents=True, exist_ok=True)
    pages = {}
    for receipt in receipts:
        path = cache / f"{receipt.name}.json"
        if not path.is_file():
            with Image.open(receipt.path) as picture:
                path.write_text(page_to_json(find_words()(picture.convert("RGB"))), encoding="utf-8")
        pages[receipt.name] = part_words(page_from_json(path.read_text(encoding="utf-8")), lexicon)
    return pages


def page_to_json(page: WordPage) -> str:
    """Write a page of words so that `page_from_json` gives the very same."""
    words = [
        [word.text, word.box.x0, word.box.y0, word.box.x1, word.box.y1, word.line, word.confidence]
        for word in page.words
    ]
    tilted = {"tilt": page.tilt, "tilted": page.tilted} if page.tilt else {}
    return json.dumps({"width": page.width, "height": page.height, "turns": page.turns, "in_order": words} | tilted)


def page_from_json(text: str) -> WordPage:
    """Read what `page_to_json` wrote."""
    try:
        values = json.loads(text)
        words = tuple(
            Word(word, Box(x0, y0, x1, y1), line, sure) for word, x0, y0, x1, y1, line, sure in values["in_order"]
        )
        size = values.get("tilted", (0, 0))
        tilt = float(values.get("tilt", 0.0))
        return WordPage(values["width"], values["height"], words, values["turns"], tilt, (size[0], size[1]))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"this is not a page of words written by unrender: {error}") from error


def made_pages(folder: Path, count: int, seed: int, kind: str = "") -> list[LabelledPage]:
    """Make up documents and save their pictures; receipts are labelled, in the others every word is outside."""
    pages = []
    for number in range(count):
        made = make_document(np.random.default_rng([seed, number]), kind)
        outside = [LABELS.index("O")] * len(made.page.words)
        labels = label_receipt(made.page.words, made.fields) if made.fields else outside
        pages.append(_saved(folder, f"{seed}-{number:05d}", made, labels))
    return pages


def marked_pages(folder: Path, count: int, seed: int) -> list[LabelledPage]:
    """Make up receipts of seven countries, whose labels are exact, and save their pictures."""
    makers = (make_marked(np.random.default_rng([seed, number])) for number in range(count))
    return [_saved(folder, f"{seed}-{number:05d}", made.document, made.labels) for number, made in enumerate(makers)]


def other_pages(folder: Path, count: int, seed: int) -> list[LabelledPage]:
    """Make up documents that are no receipts, every word outside, and save their pictures."""
    makers = (make_other(np.random.default_rng([seed, number])) for number in range(count))
    outside = LABELS.index("O")
    return [
        _saved(folder, f"{seed}-{number:05d}", made, [outside] * len(made.page.words))
        for number, made in enumerate(makers)
    ]


def _saved(folder: Path, name: str, made: MadeDocument, labels: Sequence[int]) -> LabelledPage:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{made.kind.replace(' ', '-')}-{name}.png"
    if not path.is_file():
        made.image.save(path)
    return LabelledPage.of(path.stem, path, made.page, labels)


def plain(pages: Sequence[LabelledPage]) -> list[PlainPage]:
    """Forget the labels."""
    return [PlainPage(page.image, page.words, page.boxes, page.lines) for page in pages if len(page.words) > 1]


def read_forms(folder: Path) -> list[Form]:
    """Read FUNSD: annotations/NAME.json beside images/NAME.png."""
    paths = sorted((folder / "annotations").glob("*.json"))
    if not paths:
        raise DataError(
            f"{folder} has no forms; it needs annotations/NAME.json and images/NAME.png, as FUNSD gives them"
        )
    return [_read_form(path, folder / "images" / f"{path.stem}.png") for path in paths]


def form_page(form: Form) -> LabelledPage:
    """Make a form ready for training."""
    return LabelledPage.of(form.name, form.image, form.page, form.labels)


def _read_form(path: Path, image: Path) -> Form:
    with Image.open(image) as picture:
        width, height = picture.size
    words: list[Word] = []
    labels: list[int] = []
    for number, entity in enumerate(json.loads(path.read_text(encoding="utf-8"))["form"]):
        inner = [word for word in entity["words"] if word["text"].strip()]
        for index, word in enumerate(inner):
            kind = entity["label"] if entity["label"] in FORM_KINDS else ""
            words.append(Word(word["text"], Box(*map(float, word["box"])), number))
            labels.append(FORM_LABELS.index(f"{'I' if index else 'B'}-{kind.upper()}" if kind else "O"))
    return Form(path.stem, image, WordPage(width, height, tuple(words)), tuple(labels))


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
