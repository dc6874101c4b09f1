"""Reading by labelling words (LayoutLMv2): words, their labels, and from these a receipt's fields or plain entities.

Whether a page is a receipt at all, its words say, in log-odds fitted on receipts and on other documents.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from PIL import Image

from unrender import tasks
from unrender.checkpoints import Loaded
from unrender.documents import COMPLETE, Block, Box, Json, Page, Status, Token
from unrender.engines import open_label_engine
from unrender.engines.labelling import LabelEngine, LabelTokenizer, Scores, label_words
from unrender.errors import ModelError, UnrenderError
from unrender.images.opening import prepare
from unrender.metrics import find_entities
from unrender.models.layoutlmv2 import LabelConfig
from unrender.reading.receipt import keywords
from unrender.reading.receipt.clues import total_clues
from unrender.reading.receipt.details import find_details
from unrender.reading.receipt.fields import (
    FIELDS,
    Calibration,
    Found,
    field_probabilities,
    find_fields,
    label_probabilities,
    names_of,
)
from unrender.reading.receipt.rows import DATE, Row, find_rows
from unrender.reading.systems import (
    BATCH,
    DEFAULTS,
    UNWATCHED,
    Options,
    Sheet,
    StoppedError,
    Watch,
    check_task,
    failed_page,
)
from unrender.tasks import Task
from unrender.words import (
    Lexicon,
    WordPage,
    WordReader,
    find_pdf_words,
    open_reader,
    part_words,
    read_given,
    turn_upright,
)

LEXICON = "lexicon.txt"  # in a model folder: parts words that OCR ran together
PDF_DPI = 150  # pages of a PDF are drawn so that OCR can read them
_DIGITS = 4
_NO_RECEIPT = "this does not look like a receipt"
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


@dataclass(frozen=True)
class LabelSystem:
    """A model that labels words, and what finds the words; holds nothing of any one page."""

    config: LabelConfig
    engine: LabelEngine
    tokenizer: LabelTokenizer
    find_words: WordReader | None = None  # None: OCR
    lexicon: Lexicon | None = None  # parts words that OCR ran together

    def __post_init__(self) -> None:
        if self.config.head != "labels":
            raise ModelError(f"{self.config.name} has no labels to give; fine-tune it first (`unrender train`)")

    @classmethod
    def open(cls, loaded: Loaded, engine: str | None = None, threads: int | None = None) -> "LabelSystem":
        """Open what a model folder holds."""
        tokenizer = LabelTokenizer(loaded.folder / "tokenizer.json", loaded.label_config)
        path = loaded.folder / LEXICON
        lexicon = Lexicon.load(path) if path.is_file() else None
        find_words = None if threads is None else lambda image: open_reader(threads)(image)
        return cls(loaded.label_config, open_label_engine(loaded, engine, threads), tokenizer, find_words, lexicon)

    @property
    def task(self) -> Task:
        return tasks.find(self.config.task)

    @property
    def finds_receipts(self) -> bool:
        """Whether the labels are fields of receipts, each of which stands there once at most."""
        return set(FIELDS) <= set(names_of(self.config.labels))

    @property
    def dpi(self) -> int:
        return PDF_DPI

    @property
    def beams(self) -> int:
        return 1

    def for_task(self, task: Task) -> "LabelSystem":
        check_task(self.config, task)
        return self

    def read(
        self,
        sheets: Iterator[Sheet | None],
        options: Options = DEFAULTS,
        watch: Watch = UNWATCHED,
        *,
        batch: int = BATCH,
    ) -> Iterator[tuple[Sheet, Page]]:
        self.task.prompt_text(options.question)  # complains about a question: none is asked here
        while (sheet := next(sheets, None)) is not None:
            try:
                page = self._read(sheet, options, watch)
            except UnrenderError as error:  # what is wrong with the words of one page is said of it alone
                page = failed_page(sheet.number, error)
            yield sheet, page

    def _read(self, sheet: Sheet, options: Options, watch: Watch) -> Page:
        """Find the words of a page and label them; a page without words is empty."""

        def check() -> None:
            if not watch.wants(sheet):
                raise StoppedError

        check()
        words = self.words_of(sheet, options.words)
        if not words.words:
            return sheet.page(Status("empty"))
        block = self.read_words(words, sheet.image, calibrated=options.calibrated, check=check)
        doubtful = self.finds_receipts and not block.children
        return sheet.page(Status("unlikely", reason=_NO_RECEIPT) if doubtful else COMPLETE, (block,))

    def words_of(self, sheet: Sheet, given: str | Path | None = None) -> WordPage:
        """Take the words that are known or given in a file, else the PDF's own, else let OCR find them."""
        if sheet.words is not None:
            return sheet.words
        if given is not None:
            return read_given(given, sheet.image.width, sheet.image.height, sheet.number)
        text = sheet.text()
        found = None if text is None else find_pdf_words(text, PDF_DPI)
        if found is not None:
            return found
        page = (self.find_words or open_reader())(sheet.image)
        return page if self.lexicon is None else part_words(page, self.lexicon)

    def read_words(
        self, page: WordPage, image: Image.Image, *, calibrated: bool = True, check: Callable[[], None] = lambda: None
    ) -> Block:
        """Label the words of a page and put together what they say; `check` may raise to stop it."""
        scores = self.score(page, image, check)
        if self.finds_receipts:
            return self._receipt(page, scores, Calibration(*(self.config.calibration if calibrated else ())))
        return self._entities(page, scores)

    def score(self, page: WordPage, image: Image.Image, check: Callable[[], None] = lambda: None) -> Scores:
        """Score each label for each word, (N, K)."""
        pixels = None
        if self.config.layout.visual is not None:
            pixels = prepare(turn_upright(image, page), self.config.image)
        return label_words(self.engine, self.tokenizer, page.texts, page.normalised(), pixels, check)

    def _receipt(self, page: WordPage, scores: Scores, calibration: Calibration) -> Block:
        """Put together the fields and details of a receipt; all of them null if the page does not look like one."""
        names = names_of(self.config.labels)
        shares = field_probabilities(scores, self.config.labels, self.config.temperature)
        found, rows = find_fields(page.words, shares, names), find_rows(page.words)
        chance = likeness(rows, found)
        found = found if chance >= UNLIKELY else {}
        parts: dict[str, Block] = {}
        for name in (name for name in names if name in found):
            sure = calibration.confidence(name, found[name].score)
            parts[name] = _part(page, name, found[name].text, found[name].words, sure)
        fields: dict[str, Json] = {name: _object(parts[name]) if name in parts else None for name in names}
        fields |= find_details(rows if found else [], found).as_json()
        certain = [part.confidence or 0.0 for name, part in parts.items() if name in FIELDS]
        return Block(
            kind="fields",
            text="\n".join(f"{name}: {part.text}" for name, part in parts.items()),
            fields=fields,
            children=tuple(parts.values()),
            confidence=chance * sum(certain) / len(FIELDS) if found else chance,
        )

    def _entities(self, page: WordPage, scores: Scores) -> Block:
        """List every run of words with a label of its own, in reading order."""
        shares = label_probabilities(scores, self.config.temperature)
        best = [self.config.labels[index] for index in shares.argmax(axis=1)]
        parts = []
        for entity in find_entities(best):
            sure = float(np.exp(np.log(shares[entity.start : entity.stop].max(axis=1)).mean()))
            text = " ".join(page.texts[entity.start : entity.stop])
            parts.append(_part(page, entity.label.lower(), text, range(entity.start, entity.stop), sure))
        fields: list[Json] = [{"label": part.kind, **_object(part)} for part in parts]
        text = "\n".join(f"{part.kind}: {part.text}" for part in parts)
        return Block(kind="fields", text=text, fields=fields, children=tuple(parts))


def _part(page: WordPage, kind: str, text: str, indices: Sequence[int], sure: float) -> Block:
    """Return the block of some words of a page."""
    words = [page.words[index] for index in indices]
    tokens = tuple(Token(word.text, sure, box=page.in_picture(word.box)) for word in words)
    box = page.in_picture(Box.around(word.box for word in words))
    return Block(kind=kind, text=text, box=box, tokens=tokens, confidence=sure)


def _object(part: Block) -> dict[str, Json]:
    box = part.box or Box(0, 0, 0, 0)
    corners: list[Json] = [round(corner, 1) for corner in (box.x0, box.y0, box.x1, box.y1)]
    return {"text": part.text, "confidence": round(part.confidence or 0.0, _DIGITS), "box": corners}


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
