"""What the receipt reader costs and what limits it, measured on the held-out fifth of a folder of SROIE receipts.

Run from the project's root: python benchmarks/receipts.py FOLDER [--pictures N]
"""

import argparse
import json
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from unrender.checkpoints import load
from unrender.evaluation.datasets import Example
from unrender.evaluation.datasets.folders import open_sroie
from unrender.metrics import record_f1
from unrender.reading.labels import LabelSystem
from unrender.reading.receipt.fields import FIELDS, LABELS, find_fields
from unrender.words import RapidReader, WordPage, part_words, receipt_lexicon


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=int, default=20, help="how many are read from pixels")
    arguments = parser.parse_args()
    receipts = list(open_sroie(arguments.folder, held_out=True))
    loaded = load("receipt")
    reader = RapidReader(threads=1)
    work = LabelSystem.open(loaded)
    said: dict[str, object] = {"torn": torn(work, receipts)}
    said |= timed(LabelSystem.open(loaded), reader, receipts[: arguments.pictures])
    said["peak_memory_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    said["bound_given"] = bound(receipts)
    said["bound_ocr"] = bound(list(recognised(receipts, arguments.folder.parent / "recognised", reader)))
    print(json.dumps(said, indent=2))


def bound(receipts: list[Example]) -> dict[str, float]:
    """Label words from the truth itself and decode them: what no labelling of these words can surpass."""
    from unrender.training.receipt.sets import label_receipt

    records = []
    for receipt in receipts:
        words = _words(receipt).words
        names = [LABELS[max(0, label)][2:].lower() for label in label_receipt(words, receipt.record)]
        shares = np.array([[mine == name for name in FIELDS] for mine in names], dtype=float)
        found = find_fields(words, shares) if names else {}
        records.append({name: one.text for name, one in found.items()})
    truths = [receipt.record for receipt in receipts]
    figures = {"field_f1": True, "without_spaces": False}
    return {
        name: round(float(record_f1(truths, records, FIELDS, spaces=spaces)), 4) for name, spaces in figures.items()
    }


def recognised(receipts: list[Example], cache: Path, reader: RapidReader) -> Iterator[Example]:
    """Read receipts with RapidOCR, or take what a training run has kept of it."""
    from unrender.training.receipt.sets import page_from_json

    for receipt in receipts:
        kept = cache / f"{receipt.name}.json"
        page = page_from_json(kept.read_text()) if kept.is_file() else reader(_open(receipt))
        yield replace(receipt, words=part_words(page, receipt_lexicon()))


def torn(work: LabelSystem, receipts: list[Example]) -> dict[str, int]:
    """Take away everything from the line above the total's amount on; a total that is found then is a guess."""
    tried = null = 0
    for receipt in receipts:
        amount = receipt.record.get("total", "").removeprefix("RM").strip()
        lines = [word.line for word in _words(receipt).words if amount and amount in word.text]
        kept = tuple(word for word in _words(receipt).words if lines and word.line < min(lines) - 1)
        if kept:
            tried += 1
            null += _total_is_null(work, replace(_words(receipt), words=kept), _open(receipt))
    return {"receipts": tried, "null": null}


def timed(work: LabelSystem, reader: RapidReader, receipts: list[Example]) -> dict[str, float]:
    """Time RapidOCR by itself and with everything that follows, in processor time, one after the other."""
    alone, whole = [], []
    for receipt in receipts:
        image = _open(receipt)
        started = time.process_time()
        page = reader(image)
        read = time.process_time()
        work.read_words(part_words(page, receipt_lexicon()), image)
        alone.append(read - started)
        whole.append(time.process_time() - started)
    return {
        "ocr_seconds": round(statistics.median(alone), 3),
        "read_seconds": round(statistics.median(whole), 3),
        "times_ocr": round(statistics.median(b / a for a, b in zip(alone, whole, strict=True)), 3),
    }


def _total_is_null(work: LabelSystem, page: WordPage, image: Image.Image) -> bool:
    found = work.read_words(page, image).fields
    assert isinstance(found, dict)
    return found["total"] is None


def _words(receipt: Example) -> WordPage:
    assert receipt.words is not None
    return receipt.words


def _open(receipt: Example) -> Image.Image:
    with Image.open(receipt.path) as picture:
        return picture.convert("RGB")


if __name__ == "__main__":
    main()
