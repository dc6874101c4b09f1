"""`unrender data donut`: receipts and made documents as arrays, for a Donut that learns to read before it picks fields.

| prepared set | what it holds |
|---|---|
| strips-train, strips-made | some rows of a document in full width, and all their text |
| fields-train, fields-made | whole receipts, and their fields as tags |

Every character has the place where it stands, so that a decoder can be taught to look there. The fifth of the
receipts that the receipt reader holds out is left out here too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rapidfuzz.distance import Levenshtein

from unrender.checkpoints import cache_folder
from unrender.documents import Box
from unrender.evaluation.datasets.folders import open_sroie
from unrender.images.pixels import Placement, place
from unrender.models.donut import RECEIPT_FIELDS, SMALL_TOKENS, donut_small
from unrender.reading.receipt.fields import LABELS
from unrender.tokens import CharacterTokenizer
from unrender.training.data import Gray, Sample, write_cache
from unrender.training.receipt.made_documents import faces, make_document
from unrender.training.receipt.sets import label_receipt, squeeze
from unrender.words import Word

TOKENIZER = CharacterTokenizer(SMALL_TOKENS)
PREP = donut_small(TOKENIZER.size).image
_MADE_RECEIPTS, _MADE_OTHERS = 1_200, 300
_STRIPS = 10  # of each real document; half as many of each made one
_MOST_ROWS, _MOST_TOKENS = 6, 150  # of a strip
_SAME_ROW = 0.5  # of the lower one's height that two boxes share
_FONTS = (
    "vt323 share-tech-mono space-mono courier-prime cousine ibm-plex-mono nova-mono cutive-mono anonymous-pro "
    "overpass-mono b612-mono dotgothic16 doto oxygen-mono pt-mono inconsolata arimo roboto-condensed pt-sans open-sans"
).split()
_AIR = 3  # pixels above and below a strip
Mark = tuple[str, Box | None]  # a token, and where it stands


@dataclass(frozen=True)
class Picture:
    """A picture as the model sees it, the words in it, and its fields if it is a receipt."""

    gray: Gray
    words: tuple[Word, ...]
    fields: Mapping[str, str]


def make(source: Path, out: Path | None = None) -> Path:
    """Prepare every set from the raw sets under `source`; what is there already stays."""
    folder = out or cache_folder() / "donut"
    if not (folder / "fields-train" / "index.npy").exists():
        real = list(real_receipts(source / "sroie-train"))
        _write(folder / "strips-train", _strips(real, _STRIPS, seed=1))
        _write(folder / "fields-train", map(fields_sample, real))
    if not (folder / "fields-made" / "index.npy").exists():
        receipts = list(made_documents(_MADE_RECEIPTS, seed=2, kind="receipt"))
        _write(folder / "fields-made", map(fields_sample, receipts))
        others = list(made_documents(_MADE_OTHERS, seed=3))
        _write(folder / "strips-made", _strips([*receipts, *others], _STRIPS // 2, seed=4))
    return folder


def real_receipts(folder: Path) -> Iterator[Picture]:
    """Give the receipts that may be trained on."""
    for example in open_sroie(folder, held_out=False).examples:
        assert example.words is not None
        with Image.open(example.path) as picture:
            yield document(picture.convert("L"), example.words.words, example.record)


def made_documents(count: int, seed: int, kind: str = "") -> Iterator[Picture]:
    """Make documents up; without a kind, of all kinds."""
    for number in range(count):
        made = make_document(np.random.default_rng([seed, number]), kind, receipt_fonts())
        yield document(made.image, made.page.words, made.fields)


@cache
def receipt_fonts() -> tuple[str, ...]:
    """List the fonts of tills and typewriters that npm's packages gave, and those that are always there."""
    folder = cache_folder() / "node" / "node_modules" / "@fontsource"
    found = (folder / name / "files" / f"{name}-latin-400-normal.woff" for name in _FONTS)
    return (*(str(path) for path in found if path.is_file()), *faces())


def document(image: Image.Image, words: Sequence[Word], fields: Mapping[str, str]) -> Picture:
    """Bring a picture, and the boxes in it, to the size at which the model sees it."""
    bare = replace(PREP, multiple=1, contrast=False, mean=(0.0,), std=(1.0,))
    pixels, placement = place(image, bare)
    gray = np.rint(pixels[0] * 255).astype(np.uint8)
    moved = (replace(word, box=_moved(word.box, placement)) for word in words)
    return Picture(gray, tuple(word for word in moved if word.box.width > 0 and word.box.height > 0), fields)


def fields_sample(receipt: Picture) -> Sample:
    """Return a whole receipt and its fields as tags; each character has the place where it was found."""
    labels = label_receipt(receipt.words, receipt.fields)
    marks: list[Mark] = []
    for name in RECEIPT_FIELDS:
        text = " ".join(receipt.fields.get(name, "").split())
        if text:
            run = _run_of(labels, name)
            marks += [(f"<s_{name}>", None), *_placed(text, [receipt.words[index] for index in run])]
            marks.append((f"</s_{name}>", None))
    return _sample(receipt.gray, marks)


def strip_sample(source: Picture, rng: np.random.Generator) -> Sample | None:
    """Return some neighbouring rows and their text; None if that is too long."""
    rows = rows_of(source.words)
    count = int(rng.integers(1, _MOST_ROWS + 1))
    first = int(rng.integers(0, max(1, len(rows) - count + 1)))
    chosen = rows[first : first + count]
    boxes = [word.box for row in chosen for word in row]
    top = max(0, round(min(box.y0 for box in boxes)) - _AIR)
    bottom = min(len(source.gray), round(max(box.y1 for box in boxes)) + _AIR)
    marks: list[Mark] = []
    for number, row in enumerate(chosen):
        marks += [("\n", None)] if number else []
        for index, word in enumerate(row):
            marks += [(" ", None)] if index else []
            marks += characters(replace(word, box=_down(word.box, -top)))
    if bottom - top < 2 or len(marks) > _MOST_TOKENS:
        return None
    return _sample(source.gray[top:bottom], marks)


def rows_of(words: Sequence[Word]) -> list[list[Word]]:
    """Join the lines that stand side by side."""
    rows: list[list[Word]] = []
    for word in words:
        last = rows[-1][-1].box if rows else None
        shared = 0.0 if last is None else min(last.y1, word.box.y1) - max(last.y0, word.box.y0)
        if last is not None and shared > _SAME_ROW * min(last.height, word.box.height) and word.box.x0 >= last.x0:
            rows[-1].append(word)
        else:
            rows.append([word])
    return rows


def characters(word: Word) -> list[Mark]:
    """Share a word's box out evenly among its characters."""
    step = (word.box.x1 - word.box.x0) / max(1, len(word.text))
    return [
        (letter, Box(word.box.x0 + index * step, word.box.y0, word.box.x0 + (index + 1) * step, word.box.y1))
        for index, letter in enumerate(word.text)
    ]


def _strips(documents: Sequence[Picture], count: int, seed: int) -> Iterator[Sample]:
    for number, source in enumerate(documents):
        rng = np.random.default_rng([seed, number])
        for _ in range(count if source.words else 0):
            sample = strip_sample(source, rng)
            if sample is not None:
                yield sample


def _run_of(labels: Sequence[int], name: str) -> list[int]:
    """Return the words of the first place where a field stands."""
    begin, inside = (LABELS.index(f"{part}-{name.upper()}") for part in "BI")
    if begin not in labels:
        return []
    run = [labels.index(begin)]
    while run[-1] + 1 < len(labels) and labels[run[-1] + 1] == inside:
        run.append(run[-1] + 1)
    return run


def _placed(text: str, words: Sequence[Word]) -> list[Mark]:
    """Say where the characters of a field stand, as far as they are those of the words."""
    there = [mark for word in words for mark in characters(word)]
    wanted = [index for index, letter in enumerate(text) if not letter.isspace()]
    marks: list[Mark] = [(letter, None) for letter in text]
    read = "".join(letter.upper() for letter, _ in there)
    for step in Levenshtein.opcodes(squeeze(text), read):
        if step.tag == "equal":
            for offset in range(step.src_end - step.src_start):
                index = wanted[step.src_start + offset]
                marks[index] = (text[index], there[step.dest_start + offset][1])
    return marks


def _sample(gray: Gray, marks: Sequence[Mark]) -> Sample:
    known = [(token, box) for piece, box in marks for token in TOKENIZER.encode(piece)]
    places: NDArray[np.int16] = np.array(
        [(-1,) * 4 if box is None else _corners(box) for _, box in known], dtype=np.int16
    ).reshape(-1, 4)
    return Sample(gray, tuple(token for token, _ in known), 0, places)


def _corners(box: Box) -> tuple[int, int, int, int]:
    return max(0, round(box.x0)), max(0, round(box.y0)), max(1, round(box.x1)), max(1, round(box.y1))


def _moved(box: Box, placement: Placement) -> Box:
    x0, x1 = ((x - placement.left) * placement.scale_x for x in (box.x0, box.x1))
    y0, y1 = ((y - placement.top) * placement.scale_y for y in (box.y0, box.y1))
    return Box(x0, y0, x1, y1)


def _down(box: Box, offset: float) -> Box:
    return Box(box.x0, box.y0 + offset, box.x1, box.y1 + offset)


def _write(folder: Path, samples: Iterator[Sample]) -> None:
    write_cache(folder, TOKENIZER.tokens, samples)
