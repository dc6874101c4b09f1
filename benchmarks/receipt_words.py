"""Whose words the receipt reader should take: RapidOCR's, ours read in RapidOCR's boxes, or the better of both.

    python benchmarks/receipt_words.py find RECEIPTS KEPT held       let RapidOCR find and read the lines, and keep them
    python benchmarks/receipt_words.py find RECEIPTS KEPT train 56   the same on training receipts
    python benchmarks/receipt_words.py read RECEIPTS KEPT held       read the boxes that were found with our reader
    python benchmarks/receipt_words.py read RECEIPTS KEPT train 56
    python benchmarks/receipt_words.py compare RECEIPTS KEPT         the table

RECEIPTS is a folder of SROIE receipts. KEPT holds two files for each; what is there is not read again. `compare`
fits on lines of training receipts how often each of the two is right when it is so sure, and measures field F1 from
pixels on the held-out ones. Our reader has been trained on lines of the training receipts, so it looks better there.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rapidfuzz.distance import Levenshtein

from unrender.checkpoints import load
from unrender.documents import Box
from unrender.evaluation.datasets import Example
from unrender.evaluation.datasets.folders import open_sroie
from unrender.images.lines import Strip
from unrender.metrics import record_f1
from unrender.reading.labels import LabelSystem
from unrender.reading.reader import Reader
from unrender.reading.receipt.fields import FIELDS
from unrender.words import Line, RapidReader, part_words, receipt_lexicon
from unrender.words.ocr import FoundLines, tidy

SEED = 0
SAME_PLACE = 0.5  # of the two boxes' union that they share: then a line that was found is a line that is known
Choose = Callable[["Both"], Line]
Pages = list[tuple[Example, FoundLines, list["Both"]]]


@dataclass(frozen=True)
class Both:
    """A line as RapidOCR and as we read it; `truth` where it is known."""

    rapid: Line
    ours: Line
    truth: str | None = None


def find(receipts: list[Example], kept: Path) -> None:
    """Let RapidOCR find and read the lines of receipts."""
    reader = RapidReader(threads=1)
    kept.mkdir(parents=True, exist_ok=True)
    for receipt in receipts:
        path = kept / f"{receipt.name}.json"
        if not path.is_file():
            found = reader.find(picture_of(receipt))
            lines = [[line.text, line.confidence, _sides(line.box)] for line in found.lines]
            kept_of = {"size": found.size, "turns": found.turns, "levelled": found.levelled, "lines": lines}
            path.write_text(json.dumps({**kept_of, "quads": found.quads.tolist()}))


def read(receipts: list[Example], kept: Path) -> None:
    """Read the boxes that were found with our reader."""
    reader = Reader.open("word", task="line", threads=1)
    for receipt in receipts:
        source, path = kept / f"{receipt.name}.json", kept / f"{receipt.name}.tsv"
        if source.is_file() and not path.is_file():
            found = open_kept(source)
            image = picture_of(receipt).rotate(-90 * found.turns, expand=True)
            crops = [Strip(tuple(map(tuple, quad))).cut(image) for quad in found.quads.tolist()]
            texts = reader.read_many(crops, batch=16)
            path.write_text("".join(f"{one.confidence or 0.0:.5f}\t{' '.join(one.text.split())}\n" for one in texts))


def open_ours(path: Path, found: FoundLines) -> list[Line]:
    rows = [row.split("\t", 1) for row in path.read_text().splitlines()]
    return [Line(tidy(text), line.box, float(sure)) for (sure, text), line in zip(rows, found.lines, strict=True)]


def open_kept(path: Path) -> FoundLines:
    kept = json.loads(path.read_text())
    lines = [Line(text, Box(*sides), sure) for text, sure, sides in kept["lines"]]
    quads = np.array(kept["quads"], dtype=np.float64).reshape(-1, 4, 2)
    return FoundLines(tuple(kept["size"]), kept["turns"], lines, quads, kept["levelled"])


def compare(folder: Path, kept: Path) -> None:
    sets: dict[str, Pages] = {}
    for which in ("train", "held"):
        sets[which] = []
        for receipt in open_sroie(folder, held_out=which == "held"):
            path = kept / which / f"{receipt.name}.tsv"
            if path.is_file():
                found = open_kept(path.with_suffix(".json"))
                sets[which].append((receipt, found, _paired(receipt, found, open_ours(path, found))))
    choices = choose_on([line for _, _, lines in sets["train"] for line in lines])
    print("| words | set | receipts | lines | lines right | character error rate |\n|---|---|---|---|---|---|")
    for which, pages in sets.items():
        for name, choose in choices.items():
            print(f"| {name} | {which} | {len(pages)} | {lines_row(pages, choose)} |", flush=True)
    work = LabelSystem.open(load("receipt"), threads=1)
    print("\n| words | receipts | field F1 | without white space | " + " | ".join(FIELDS) + " |")
    print("|---" * (4 + len(FIELDS)) + "|")
    for name, choose in choices.items():
        print(f"| {name} | {len(sets['held'])} | {fields_row(work, sets['held'], choose)} |", flush=True)


def choose_on(lines: Sequence[Both]) -> dict[str, Choose]:
    """Return the choices to compare; how sure each reader is was fitted to lines whose truth is known."""
    known = [line for line in lines if line.truth is not None]
    sure_rapid = fitted([line.rapid.confidence for line in known], [_right(line.rapid, line) for line in known])
    sure_ours = fitted([line.ours.confidence for line in known], [_right(line.ours, line) for line in known])

    def better(line: Both) -> Line:
        return line.ours if sure_ours(line.ours.confidence) > sure_rapid(line.rapid.confidence) else line.rapid

    def spaced(line: Both) -> Line:
        alike = _letters(line.ours.text) == _letters(line.rapid.text)
        return replace(line.rapid, text=line.ours.text) if alike else line.rapid

    return {
        "RapidOCR's": lambda line: line.rapid,
        "ours": lambda line: line.ours,
        "the surer of both": better,
        "the surer, spaces ours": lambda line: spaced(line) if better(line) is line.rapid else line.ours,
    }


def fitted(sure: Sequence[float], right: Sequence[bool]) -> Callable[[float], float]:
    """Fit how often a reader is right when it is so sure: logistic, by Newton's method."""
    x = np.stack([_log_odds(np.array(sure)), np.ones(len(sure))])
    y, weights = np.array(right, dtype=np.float64), np.zeros(2)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-weights @ x))
        slope = x @ (y - chance) - 1e-3 * weights
        weights = weights + np.linalg.solve((x * (chance * (1 - chance))) @ x.T + 1e-3 * np.eye(2), slope)
    return lambda value: float(weights @ np.array([float(_log_odds(np.array(value))), 1.0]))


def lines_row(pages: Pages, choose: Choose) -> str:
    """Say how many lines whose truth is known are right, case ignored, and how many of their characters are wrong."""
    known = [line for _, _, lines in pages for line in lines if line.truth is not None]
    right = sum(_right(choose(line), line) for line in known) / max(1, len(known))
    wrong = sum(Levenshtein.distance(_folded(choose(line).text), _folded(line.truth or "")) for line in known)
    return f"{len(known)} | {right:.3f} | {wrong / max(1, sum(len(_folded(line.truth or '')) for line in known)):.3f}"


def fields_row(work: LabelSystem, pages: Pages, choose: Choose) -> str:
    """Say how many fields are right when these words are labelled."""
    truths, records = [], []
    for receipt, found, lines in pages:
        page = part_words(replace(found, lines=[choose(line) for line in lines]).page(), receipt_lexicon())
        truths.append(receipt.record)
        read = work.read_words(page, picture_of(receipt)).children if page.words else ()
        records.append({block.kind: block.text for block in read})
    figures = [float(record_f1(truths, records, FIELDS, spaces=spaces)) for spaces in (True, False)]
    figures += [float(record_f1(truths, records, (field,))) for field in FIELDS]
    return " | ".join(f"{figure:.3f}" for figure in figures)


def _paired(receipt: Example, found: FoundLines, ours: Sequence[Line]) -> list[Both]:
    """Put both readings of each line together, with the truth of the line at the same place."""
    known = json.loads(receipt.path.with_suffix(".json").read_text())["lines"]
    truths = np.array([line["box"] for line in known], dtype=np.float64).reshape(-1, 4)
    pairs = []
    for rapid, mine in zip(found.lines, ours, strict=True):
        shared = _shared(np.array(_sides(rapid.box)), truths)
        sure = shared.size and shared.max() >= SAME_PLACE and not found.turns and not found.levelled
        pairs.append(Both(rapid, mine, known[int(shared.argmax())]["text"] if sure else None))
    return pairs


def _shared(box: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    both = np.prod(np.maximum(sides, 0), axis=1)
    return np.asarray(both / (np.prod(box[2:] - box[:2]) + np.prod(others[:, 2:] - others[:, :2], axis=1) - both))


def _log_odds(sure: NDArray[np.float64]) -> NDArray[np.float64]:
    kept = np.clip(sure, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(kept / (1 - kept)))


def _right(line: Line, both: Both) -> bool:
    return both.truth is not None and _folded(line.text) == _folded(both.truth)


def _folded(text: str) -> str:
    return " ".join(text.upper().split())


def _letters(text: str) -> str:
    return "".join(text.upper().split())


def _sides(box: Box) -> list[float]:
    return [box.x0, box.y0, box.x1, box.y1]


def picture_of(receipt: Example) -> Image.Image:
    with Image.open(receipt.path) as picture:
        return picture.convert("RGB")


def chosen(folder: Path, which: str, most: int = 0) -> list[Example]:
    """Return the held-out receipts, or some of those trained on."""
    receipts = list(open_sroie(folder, held_out=which == "held"))
    order = np.random.default_rng(SEED).permutation(len(receipts))[:most] if most else range(len(receipts))
    return [receipts[index] for index in order]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["find", folder, kept, which, *rest]:
            find(chosen(Path(folder), which, int(rest[0]) if rest else 0), Path(kept) / which)
        case ["read", folder, kept, which, *rest]:
            read(chosen(Path(folder), which, int(rest[0]) if rest else 0), Path(kept) / which)
        case ["compare", folder, kept]:
            compare(Path(folder), Path(kept))
        case _:
            sys.exit(__doc__)
