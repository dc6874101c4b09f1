"""LayoutLMv2's pre-training (seed 003): masked visual-language modelling, text-image alignment, text-image matching.

What the seed asks for so that nothing leaks: the picture of a masked word is masked before the CNN sees it; a word
that is masked has no part in the alignment loss; a negative picture is masked and covered like a positive one, and all
of its words count as covered.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.engines.labelling import Ids, LabelTokenizer, Pixels, stack_windows
from unrender.errors import DataError
from unrender.images.pixels import prepare, stack
from unrender.models.config import ImagePrep
from unrender.training.batches import IGNORED, Stream
from unrender.training.receipt.label_batches import random_window

MATCHED, REPLACED, DROPPED = "matched", "replaced", "dropped"
COVERED, VISIBLE = 1, 0
_HIDDEN_INK = 0  # masked and covered places are black
_PAPER = 255
_COORDINATES = 1000
_BAND_MARGIN = 5  # of those


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """Which tasks are trained, and their shares as published."""

    masking: bool = True
    alignment: bool = True
    matching: bool = True
    masked: float = 0.15  # of the words
    as_mask: float = 0.8  # of those: [MASK]
    as_random: float = 0.1  # another token; the rest stays as it is
    covered: float = 0.15  # of the lines
    replaced: float = 0.15  # of the pages: another page's picture
    dropped: float = 0.05  # of the pages: no picture

    def __post_init__(self) -> None:
        if not (self.masking or self.alignment or self.matching):
            raise DataError("pre-training needs at least one task")

    def chance(self) -> dict[str, float]:
        """Return the losses of a model that knows how often each answer is right, and nothing else."""
        negative = self.replaced + self.dropped if self.matching else 0.0
        covered = negative + (1 - negative) * self.covered
        return {"tia": _entropy(covered), "tim": _entropy(negative)}


@dataclass(frozen=True)
class PlainPage:
    """A page without labels: its picture, or where that is, and its words with boxes and lines."""

    image: Image.Image | Path
    words: tuple[str, ...]
    boxes: Ids  # (N, 4), 0 to 1000
    lines: tuple[int, ...]

    def open_image(self) -> Image.Image:
        if isinstance(self.image, Image.Image):
            return self.image
        with Image.open(self.image) as picture:
            return picture.convert("L")


@dataclass
class Example:
    """One page on its way into a batch; each task changes it in turn.

    `hidden` are places of the page, (M, 4) in 0 to 1000, that are blackened in the raw picture before anything else.
    """

    pieces: list[list[int]]
    boxes: Ids
    lines: Ids
    image: Image.Image
    kind: str = MATCHED
    masked: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))  # (N,) words
    covered: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))  # (N,) words
    targets: list[list[int]] = field(default_factory=list)  # tokens to recover, IGNORED elsewhere
    hidden: list[tuple[int, int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.masked, self.covered = (np.zeros(len(self.pieces), dtype=bool) for _ in range(2))
        self.targets = [[IGNORED] * len(piece) for piece in self.pieces]

    def mask_tokens(self, tasks: Tasks, tokenizer: LabelTokenizer, rng: np.random.Generator) -> None:
        """MVLM: hide words, keep their boxes, and hide them in the picture too."""
        self.masked = rng.random(len(self.pieces)) < tasks.masked
        for index in np.flatnonzero(self.masked):
            piece, draw = self.pieces[index], rng.random()
            self.targets[index] = list(piece)
            if draw < tasks.as_mask:
                self.pieces[index] = [tokenizer.mask] * len(piece)
            elif draw < tasks.as_mask + tasks.as_random:
                self.pieces[index] = rng.integers(tokenizer.mask + 1, tokenizer.size, len(piece)).tolist()
            self._hide(self.boxes[index])

    def cover_lines(self, tasks: Tasks, rng: np.random.Generator) -> None:
        """TIA: cover whole lines in the picture; their words are labelled, not hidden in the text."""
        numbers = np.unique(self.lines)
        chosen = numbers[rng.random(len(numbers)) < tasks.covered]
        self.covered = np.isin(self.lines, chosen)
        for number in chosen:
            members = self.boxes[self.lines == number]
            self._hide(np.concatenate([members[:, :2].min(axis=0), members[:, 2:].max(axis=0)]))

    def exchange_image(self, tasks: Tasks, other: Image.Image, rng: np.random.Generator) -> None:
        """TIM: sometimes take another page's picture, or none; the places hidden stay hidden."""
        draw = rng.random()
        if draw < tasks.replaced:
            self.kind, self.image = REPLACED, other
        elif draw < tasks.replaced + tasks.dropped:
            self.kind, self.image = DROPPED, Image.new("L", self.image.size, _PAPER)

    def picture(self) -> Image.Image:
        """Return the raw picture with every hidden place blackened."""
        image = self.image.convert("L")
        values = np.array(image)
        for x0, y0, x1, y1 in self.hidden:
            left, right = (x0 * image.width) // _COORDINATES, -(-(x1 + 1) * image.width // _COORDINATES)
            top, bottom = (y0 * image.height) // _COORDINATES, -(-(y1 + 1) * image.height // _COORDINATES)
            values[top:bottom, left:right] = _HIDDEN_INK
        return Image.fromarray(values)

    def alignment_labels(self) -> Ids:
        """Return each word's label for TIA: in a negative all are covered; masked words have none."""
        labels = np.where(self.covered | (self.kind != MATCHED), COVERED, VISIBLE)
        return np.where(self.masked, IGNORED, labels)

    def _hide(self, box: Ids) -> None:
        x0, y0, x1, y1 = (int(corner) for corner in box)
        self.hidden.append((x0, y0, x1, y1))


def cut_band(page: PlainPage, count: int, rng: np.random.Generator) -> PlainPage:
    """Cut `count` neighbouring lines out of a page, over its whole width; a page that has no more stays as it is."""
    lines = np.array(page.lines)
    numbers = np.unique(lines)
    if len(numbers) <= count:
        return page
    by_height = numbers[np.argsort([page.boxes[lines == number, 1].min() for number in numbers], kind="stable")]
    first = int(rng.integers(0, len(numbers) - count + 1))
    chosen = np.flatnonzero(np.isin(lines, by_height[first : first + count]))
    boxes = page.boxes[chosen].copy()
    top = max(0, int(boxes[:, 1].min()) - _BAND_MARGIN)
    bottom = min(_COORDINATES, int(boxes[:, 3].max()) + _BAND_MARGIN)
    boxes[:, 1::2] = (boxes[:, 1::2] - top) * _COORDINATES // max(1, bottom - top)
    image = page.open_image()
    upper = top * image.height // _COORDINATES
    lower = max(upper + 1, -(-bottom * image.height // _COORDINATES))
    return PlainPage(
        image.crop((0, upper, image.width, lower)),
        tuple(page.words[index] for index in chosen),
        boxes,
        tuple(page.lines[index] for index in chosen),
    )


class PretrainBatch(NamedTuple):
    """One batch with the targets of all three tasks."""

    tokens: Ids  # (B, L)
    boxes: Ids  # (B, L, 4)
    mask: NDArray[np.bool_]  # (B, L)
    pixels: Pixels  # (B, C, H, W)
    targets: Ids  # (B, L) tokens to recover
    alignment: Ids  # (B, L) COVERED or VISIBLE
    matched: NDArray[np.float32]  # (B,) 1: the picture belongs to the text
    name: str
    whole: int  # pages of all processes


@dataclass(frozen=True)
class Beginning:
    """Up to some batch, pages are easier: bands of so many lines, perhaps without masked words beside covered ones.

    Where masking is the only task, words are masked all the same.
    """

    until: int
    lines: int
    masking: bool = True


class PretrainStream(Stream[PretrainBatch]):
    """Batches of plain pages, one to a block; each of the `beginnings` holds until the next one does."""

    def __init__(
        self,
        pages: Sequence[PlainPage],
        tokenizer: LabelTokenizer,
        prep: ImagePrep,
        tasks: Tasks,
        *,
        seed: int,
        batch: int = 4,
        max_tokens: int = 512,
        beginnings: Sequence[Beginning] = (),
    ) -> None:
        if len(pages) < 2:
            raise DataError("pre-training needs at least two pages: pictures are exchanged between them")
        self._pages, self._tokenizer, self._prep, self._tasks = pages, tokenizer, prep, tasks
        self._seed, self._batch, self._room, self._beginnings = seed, batch, max_tokens - 2, beginnings
        lengths = np.array([sum(map(len, tokenizer.pieces(page.words))) for page in pages])
        self._by_length = np.argsort(lengths, kind="stable")

    @property
    def epoch_samples(self) -> int:
        return len(self._pages)

    def batches(self, number: int, index: int, seen: int, part: int = 0, parts: int = 1) -> Iterator[PretrainBatch]:
        if index == 0:
            yield self.batch(number, part, parts)

    def batch(self, number: int, part: int = 0, parts: int = 1) -> PretrainBatch:
        """Draw pages of like length and make the examples of this part of them."""
        rng = np.random.default_rng([self._seed, number])
        near = self._by_length[int(rng.integers(0, len(self._pages))) :][: 4 * self._batch]
        near = near if len(near) >= self._batch else self._by_length[-4 * self._batch :]
        chosen = rng.choice(near, size=self._batch, replace=len(near) < self._batch)
        beginning = next((one for one in self._beginnings if number < one.until), None)
        rows = list(range(len(chosen)))[part::parts] or [0]
        drawn = {row: np.random.default_rng([self._seed, number, row]) for row in rows}
        batch = self.assemble([self.make_example(int(chosen[row]), drawn[row], beginning) for row in rows])
        return batch._replace(name=f"page {chosen[0]}", whole=len(chosen))

    def make_example(self, index: int, rng: np.random.Generator, beginning: Beginning | None = None) -> Example:
        """Draw a window of a page and apply the tasks to it."""

        def draw(number: int) -> PlainPage:
            page = self._pages[number]
            return page if beginning is None else cut_band(page, beginning.lines, rng)

        page, tasks = draw(index), self._tasks
        pieces = self._tokenizer.pieces(page.words)
        start, stop = random_window([len(piece) for piece in pieces], self._room, rng)
        lines = np.array(page.lines[start:stop])
        example = Example(pieces[start:stop], page.boxes[start:stop], lines, page.open_image())
        masking_alone = not (tasks.alignment or tasks.matching)
        if tasks.masking and (beginning is None or beginning.masking or masking_alone):
            example.mask_tokens(tasks, self._tokenizer, rng)
        if tasks.alignment:
            example.cover_lines(tasks, rng)
        if tasks.matching:
            other = int(rng.integers(0, len(self._pages) - 1))
            other += other >= index
            example.exchange_image(tasks, draw(other).open_image(), rng)
        return example

    def assemble(self, examples: Sequence[Example]) -> PretrainBatch:
        """Frame, pad and stack."""
        windows = [self._tokenizer.frame(example.pieces, example.boxes) for example in examples]
        tokens, boxes, mask = stack_windows(windows, self._tokenizer.pad)
        targets, alignment = np.full(tokens.shape, IGNORED), np.full(tokens.shape, IGNORED)
        for row, (example, window) in enumerate(zip(examples, windows, strict=True)):
            inner = slice(1, len(window.tokens) - 1)
            targets[row, inner] = [token for piece in example.targets for token in piece]
            alignment[row, inner] = example.alignment_labels()[window.words[inner]]
        pixels, _ = stack([prepare(example.picture(), self._prep) for example in examples], self._prep)
        matched = np.array([example.kind == MATCHED for example in examples], dtype=np.float32)
        return PretrainBatch(tokens, boxes, mask, pixels, targets, alignment, matched, "", len(examples))


def _entropy(share: float) -> float:
    return -sum(part * math.log(part) for part in (share, 1 - share) if part)
