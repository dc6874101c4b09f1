"""Labelled pages as batches for LayoutLMv2: words, boxes, lines, labels and the picture.

A batch is a pure function of the seed, the epoch and its index, so a stopped run goes on exactly where it was.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.engines.labelling import Ids, LabelTokenizer, Pixels, Window, stack_windows
from unrender.images.pixels import prepare, stack
from unrender.models.config import ImagePrep
from unrender.training.batches import IGNORED, Stream
from unrender.words import WordPage

_TORN_LINES = 4
_LENGTH_STEP = 32  # lengths are sorted by this many tokens, so that batches hold like with like


@dataclass(frozen=True)
class LabelledPage:
    """A page ready for training; `labels` are indices of the list of labels, IGNORED where unknown."""

    name: str
    image: Path
    words: tuple[str, ...]
    boxes: Ids  # (N, 4), 0 to 1000
    lines: tuple[int, ...]
    labels: tuple[int, ...]

    @classmethod
    def of(cls, name: str, image: Path, page: WordPage, labels: Iterable[int]) -> "LabelledPage":
        """Take the words from a page."""
        lines = tuple(word.line for word in page.words)
        return cls(name, image, tuple(page.texts), page.normalised(), lines, tuple(labels))


class LabelBatch(NamedTuple):
    """One batch of windows with the label of each word's first token; IGNORED elsewhere."""

    tokens: Ids  # (B, L)
    boxes: Ids  # (B, L, 4)
    mask: NDArray[np.bool_]  # (B, L)
    pixels: Pixels  # (B, C, H, W)
    labels: Ids  # (B, L)
    name: str
    whole: int  # pages of all processes


@dataclass(frozen=True, kw_only=True)
class PageNoise:
    """How pages are varied while labelling is learnt; all of it off measures nothing but memory."""

    masked: float = 0.08  # share of tokens hidden
    misread: float = 0.02  # share of characters exchanged, as OCR would
    moved: float = 0.03  # of the page: how far boxes may shift
    scaled: float = 0.08
    dropped: float = 0.03  # share of unlabelled words left out
    torn: float = 0.0  # share of pages torn off above the first word with one of these labels
    torn_at: tuple[int, ...] = ()


class LabelStream(Stream[LabelBatch]):
    """Batches of labelled pages, an epoch to a block; `pages` may hold several versions of one page."""

    def __init__(
        self,
        pages: Sequence[LabelledPage],
        tokenizer: LabelTokenizer,
        prep: ImagePrep,
        *,
        seed: int,
        batch: int = 4,
        max_tokens: int = 512,
        noise: PageNoise | None = None,
    ) -> None:
        self._pages = pages
        self._tokenizer = tokenizer
        self._prep = prep
        self._seed = seed
        self._batch = batch
        self._room = max_tokens - 2
        self._noise = noise
        self._lengths = np.array([sum(map(len, tokenizer.pieces(page.words))) for page in pages])

    @property
    def epoch_samples(self) -> int:
        return len(self._pages)

    def batches(self, number: int, index: int, seen: int, part: int = 0, parts: int = 1) -> Iterator[LabelBatch]:
        """Yield every page once, in an order of the epoch's own."""
        rng = np.random.default_rng([self._seed, number])
        order = np.lexsort((rng.random(len(self._pages)), np.minimum(self._lengths, self._room) // _LENGTH_STEP))
        groups = [order[start : start + self._batch] for start in range(0, len(order), self._batch)]
        for position, group in enumerate(rng.permutation(len(groups))):
            if position >= index:
                chosen = [self._pages[member] for member in groups[group]]
                rows = list(range(len(chosen)))[part::parts] or [0]
                drawn = {row: np.random.default_rng([self._seed, number, position, row]) for row in rows}
                batch = self._assemble([(chosen[row], drawn[row]) for row in rows])
                yield batch._replace(name=chosen[0].name, whole=len(chosen))

    def _assemble(self, pages: Sequence[tuple[LabelledPage, np.random.Generator]]) -> LabelBatch:
        windows, labels = zip(*(self._window(page, rng) for page, rng in pages), strict=True)
        tokens, boxes, mask = stack_windows(windows, self._tokenizer.pad)
        target = np.full(tokens.shape, IGNORED, dtype=np.int64)
        for row, marks in enumerate(labels):
            target[row, : len(marks)] = marks
        pixels, _ = stack([open_pixels(page.image, self._prep) for page, _ in pages], self._prep)
        return LabelBatch(tokens, boxes, mask, pixels, target, "", len(pages))

    def _window(self, page: LabelledPage, rng: np.random.Generator) -> tuple[Window, Ids]:
        words, boxes, labels = list(page.words), page.boxes, np.array(page.labels)
        if self._noise is not None:
            kept = tear(page, self._noise, rng)
            words, boxes, labels = vary(words[:kept], boxes[:kept], labels[:kept], self._noise, rng)
        pieces = self._tokenizer.pieces(words)
        start, stop = random_window([len(piece) for piece in pieces], self._room, rng)
        window = self._tokenizer.frame(pieces[start:stop], boxes[start:stop])
        tokens = window.tokens
        if self._noise is not None:
            hidden = (rng.random(len(tokens)) < self._noise.masked) & (window.words >= 0)
            tokens = np.where(hidden, self._tokenizer.mask, tokens)
        marks = np.where(window.firsts, labels[start:stop][np.maximum(window.words, 0)], IGNORED)
        return Window(tokens, window.boxes, window.words), marks


def open_pixels(image: Path, prep: ImagePrep) -> Pixels:
    """Open a page picture as the model's pixels."""
    with Image.open(image) as picture:
        return prepare(picture.convert("L" if prep.channels == 1 else "RGB"), prep)


def random_window(lengths: Sequence[int], room: int, rng: np.random.Generator) -> tuple[int, int]:
    """Draw a stretch of words that fits; all of them when they do (the paper's random sliding window)."""
    total = sum(lengths)
    if total <= room:
        return 0, len(lengths)
    ends = np.cumsum(lengths)
    start = int(np.searchsorted(ends, rng.integers(0, total - room + 1)))
    before = int(ends[start - 1]) if start else 0
    return start, int(np.searchsorted(ends, before + room, side="right"))


def tear(page: LabelledPage, noise: PageNoise, rng: np.random.Generator) -> int:
    """Return how many words are left of a page that is sometimes torn off, up to three lines above what it lacks."""
    if not noise.torn or rng.random() >= noise.torn:
        return len(page.words)
    found = np.flatnonzero(np.isin(page.labels, noise.torn_at))
    if not found.size:
        return len(page.words)
    last = page.lines[found[0]] - int(rng.integers(0, _TORN_LINES))
    kept = int(np.searchsorted(np.maximum.accumulate(page.lines), last))
    return kept or len(page.words)


def vary(
    words: list[str], boxes: Ids, labels: Ids, noise: PageNoise, rng: np.random.Generator
) -> tuple[list[str], Ids, Ids]:
    """Leave out a few words, misread a few characters, and move and scale the page a little."""
    kept = np.flatnonzero((rng.random(len(words)) >= noise.dropped) | (labels > 0))
    kept = kept if kept.size else np.arange(len(words))
    words = [misread(words[index], noise.misread, rng) for index in kept]
    scale = 1 + rng.uniform(-noise.scaled, noise.scaled, 2)
    shift = 1000 * rng.uniform(-noise.moved, noise.moved, 2)
    moved = (boxes[kept] - 500) * np.tile(scale, 2) + 500 + np.tile(shift, 2)
    return words, np.clip(moved, 0, 1000).astype(np.int64), labels[kept]


_LOOKALIKES = {"0": "OD8", "1": "IL7", "5": "S6", "8": "B3", "O": "0DQ", "I": "1L", "L": "I1", "S": "5", "B": "8",
               "A": "4"}  # fmt: skip
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def misread(word: str, share: float, rng: np.random.Generator) -> str:
    """Exchange, drop or double a few characters, mostly for ones that look alike."""
    if not share or rng.random() > share * len(word) * 2:
        return word
    letters = []
    for letter in word:
        if rng.random() >= share:
            letters.append(letter)
            continue
        kind = rng.integers(0, 4)
        alike = _LOOKALIKES.get(letter.upper(), _LETTERS)
        letters.append("" if kind == 0 else alike[rng.integers(0, len(alike))])
    return "".join(letters) or word
