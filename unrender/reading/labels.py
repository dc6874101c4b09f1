"""Reading a page with LayoutLMv2: its words, their labels, and from these the fields of a receipt or plain entities."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from unrender.checkpoints.pages import LoadedPages
from unrender.documents import Block, Box, Json, Status, Token
from unrender.engines.labelling import LabelEngine, PageTokenizer, Scores, label_words
from unrender.engines.page_engine import open_page_engine
from unrender.errors import ModelError
from unrender.images.opening import Source, prepare
from unrender.metrics import find_entities
from unrender.models.layoutlmv2 import PageModelConfig
from unrender.reading.receipts import FIELDS, LABELS, Calibration, Found, box_of, field_probabilities, find_fields
from unrender.words import Lexicon, Word, WordPage, WordReader, open_reader, part_words, read_given, read_pdf_words

LEXICON = "lexicon.txt"  # in a model folder: parts words that OCR ran together
PDF_DPI = 150  # pages of a PDF are drawn so that OCR can read them
_DIGITS = 4


@dataclass(frozen=True)
class Sheet:
    """One page to read: its picture, where it came from, and its words or a file of them if the caller has one."""

    image: Image.Image
    source: Source
    number: int = 1
    words: WordPage | str | Path | None = None
    calibrated: bool = True


class PageWork:
    """A labelling model and all it needs to read pages."""

    def __init__(
        self,
        config: PageModelConfig,
        engine: LabelEngine,
        tokenizer: PageTokenizer,
        find_words: WordReader | None = None,
        lexicon: Lexicon | None = None,
    ) -> None:
        if config.head != "labels":
            raise ModelError(f"{config.name} has no labels to give; fine-tune it first (`unrender train`)")
        self.config = config
        self._engine = engine
        self._tokenizer = tokenizer
        self._find_words = find_words
        self._lexicon = lexicon

    @classmethod
    def open(cls, loaded: LoadedPages, engine: str | None = None, threads: int | None = None) -> "PageWork":
        """Load a model folder."""
        tokenizer = PageTokenizer(loaded.folder / "tokenizer.json", loaded.config)
        path = loaded.folder / LEXICON
        lexicon = Lexicon.load(path) if path.is_file() else None
        find_words = None if threads is None else lambda image: open_reader(threads)(image)
        return cls(loaded.config, open_page_engine(loaded, engine, threads), tokenizer, find_words, lexicon)

    def read(self, sheet: Sheet) -> tuple[Status, tuple[Block, ...]]:
        """Find the words of a page and label them; a page without words is empty."""
        page = self.words_of(sheet)
        if not page.words:
            return Status("empty"), ()
        return Status(), (self.read_words(page, sheet.image, calibrated=sheet.calibrated),)

    def words_of(self, sheet: Sheet) -> WordPage:
        """Take the words that were given, else the PDF's own, else let OCR find them."""
        if isinstance(sheet.words, WordPage):
            return sheet.words
        if sheet.words is not None:
            return read_given(sheet.words, sheet.image.width, sheet.image.height, sheet.number)
        data = _pdf_bytes(sheet.source)
        found = None if data is None else read_pdf_words(data, sheet.number - 1, PDF_DPI)
        if found is not None:
            return found
        page = (self._find_words or open_reader())(sheet.image)
        return page if self._lexicon is None else part_words(page, self._lexicon)

    def read_words(self, page: WordPage, image: Image.Image, *, calibrated: bool = True) -> Block:
        """Label the words of a page and put together what they say."""
        scores = self.score(page, image)
        if self.config.labels == LABELS:
            lines = self.config.calibration if calibrated else ()
            return self._receipt(page, scores, Calibration(*lines))
        return self._entities(page, scores)

    def score(self, page: WordPage, image: Image.Image) -> Scores:
        """Score each label for each word, (N, K)."""
        pixels = None
        if self.config.layout.visual is not None:
            turned = image.rotate(-90 * page.turns, expand=True) if page.turns else image
            pixels = prepare(turned, self.config.image)
        return label_words(self._engine, self._tokenizer, page.texts, page.normalised(), pixels)

    def _receipt(self, page: WordPage, scores: Scores, calibration: Calibration) -> Block:
        found = find_fields(page.words, field_probabilities(scores, self.config.labels, self.config.temperature))
        parts = [_field(page, found[name], calibration) for name in FIELDS if name in found]
        by_name = {part.kind: part for part in parts}
        fields: dict[str, Json] = {name: _object(by_name[name]) if name in by_name else None for name in FIELDS}
        sure = [part.confidence or 0.0 for part in parts]
        return Block(
            kind="fields",
            text="\n".join(f"{part.kind}: {part.text}" for part in parts),
            fields=fields,
            children=tuple(parts),
            confidence=sum(sure) / len(FIELDS),  # a field that is missing makes a receipt unlikely
        )

    def _entities(self, page: WordPage, scores: Scores) -> Block:
        """List every run of words with a label of its own, in reading order."""
        shifted = np.exp(
            scores / self.config.temperature - (scores / self.config.temperature).max(axis=1, keepdims=True)
        )
        shares = shifted / shifted.sum(axis=1, keepdims=True)
        best = [self.config.labels[place] for place in shares.argmax(axis=1)]
        parts = []
        for entity in find_entities(best):
            places = range(entity.start, entity.stop)
            sure = float(np.exp(np.log(shares[entity.start : entity.stop].max(axis=1)).mean()))
            parts.append(_entity(page, entity.label, page.words[entity.start : entity.stop], places, sure))
        fields: list[Json] = [{"label": part.kind, **_object(part)} for part in parts]
        text = "\n".join(f"{part.kind}: {part.text}" for part in parts)
        return Block(kind="fields", text=text, fields=fields, children=tuple(parts))


def _field(page: WordPage, found: Found, calibration: Calibration) -> Block:
    sure = calibration.confidence(found.name, found.score)
    words = [page.words[place] for place in found.words]
    box = page.in_picture(box_of(page.words, found.words))
    tokens = tuple(Token(word.text, sure, box=page.in_picture(word.box)) for word in words)
    return Block(kind=found.name, text=found.text, box=box, tokens=tokens, confidence=sure)


def _entity(page: WordPage, label: str, words: Sequence[Word], places: range, sure: float) -> Block:
    tokens = tuple(Token(word.text, sure, box=page.in_picture(word.box)) for word in words)
    box = page.in_picture(box_of(page.words, places))
    return Block(
        kind=label.lower(), text=" ".join(word.text for word in words), box=box, tokens=tokens, confidence=sure
    )


def _object(part: Block) -> dict[str, Json]:
    box = part.box or Box(0, 0, 0, 0)
    corners: list[Json] = [round(corner, 1) for corner in (box.x0, box.y0, box.x1, box.y1)]
    return {"text": part.text, "confidence": round(part.confidence or 0.0, _DIGITS), "box": corners}


def _pdf_bytes(source: Source) -> bytes | None:
    """Return the bytes of a PDF; None for anything else."""
    if isinstance(source, str | Path):
        with Path(source).open("rb") as file:
            if b"%PDF-" not in file.read(1024):
                return None
        return Path(source).read_bytes()
    return source if isinstance(source, bytes) and b"%PDF-" in source[:1024] else None
