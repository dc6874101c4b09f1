"""Receipts without OCR: the small Donut beside RapidOCR with LayoutLMv2, on the same held-out receipts, in one run.

    python benchmarks/donut.py compare FOLDER [COUNT] [MODEL ...]
    python benchmarks/donut.py curve FOLDER COUNT CHECKPOINT ...
    python benchmarks/donut.py fit HOURS:F1 ...

FOLDER holds SROIE's receipts. `compare` reads every receipt from its pixels, one after the other, on one thread, each
model in a process of its own. `curve` measures checkpoints of a training run (`last.pt`, copied from time to time).
`fit` draws the line of F1 over the logarithm of the hours and says when it would reach the target.
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from unrender.checkpoints import resolve
from unrender.documents import Document
from unrender.evaluation.datasets import Example
from unrender.evaluation.datasets.folders import as_record, open_sroie
from unrender.evaluation.scoring import fields_of
from unrender.metrics import score_records, tree_accuracy
from unrender.reading.reader import Reader
from unrender.reading.receipt.fields import FIELDS

COUNT, TARGET = 111, 0.60
MODELS = ("donut-receipt", "receipt")


def compare(folder: Path, count: int, models: Sequence[str]) -> None:
    for model in models:
        command = [sys.executable, __file__, "one", str(folder), str(count), model]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="", flush=True)


def one(folder: Path, count: int, model: str) -> dict[str, float | str]:
    """Measure one model, and the process that it runs in."""
    reader = Reader.open(model, threads=1)
    receipts = chosen(folder, count)
    reader.read(receipts[0].path)  # what is opened at the first reading
    seconds, processor, found = [], [], []
    for receipt in receipts:
        began, used = time.perf_counter(), time.process_time()
        found.append(reader.read(receipt.path))
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    size = sum(path.stat().st_size for path in resolve(model).iterdir() if path.suffix == ".onnx")
    return {
        "model": model,
        **figures(receipts, found),
        "median_seconds": round(statistics.median(seconds), 3),
        "median_processor_seconds": round(statistics.median(processor), 3),
        "peak_memory_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "graphs_megabytes": round(size / 1e6, 1),
    }


def figures(receipts: Sequence[Example], found: Sequence[Document]) -> dict[str, float]:
    truths = [receipt.record for receipt in receipts]
    records = [as_record(fields_of(document)) for document in found]
    scored = score_records(truths, records, FIELDS)
    capitals = [{name: text.upper() for name, text in record.items()} for record in records]
    kept = {name: float(scored[name]) for name in scored if name.endswith(("f1", "spaces"))}
    kept["tree_accuracy"] = float(tree_accuracy(truths, capitals))
    return {"n": len(receipts), **{name: round(value, 4) for name, value in kept.items()}}


def chosen(folder: Path, count: int) -> list[Example]:
    held = open_sroie(folder, held_out=True).examples
    return [held[index] for index in sorted(np.random.default_rng(0).permutation(len(held))[:count])]


def curve(folder: Path, count: int, checkpoints: Sequence[Path]) -> Iterator[dict[str, float | str]]:
    """Read with the averaged weights of each checkpoint."""
    import torch

    from unrender import tasks
    from unrender.engines.torch_engine import TorchEngine
    from unrender.layers.seq2seq import VisionText
    from unrender.models.donut import SMALL_TOKENS, donut_small
    from unrender.reading.text import TextSystem
    from unrender.tokens import CharacterTokenizer

    torch.set_num_threads(1)
    tokenizer = CharacterTokenizer(SMALL_TOKENS)
    config = donut_small(tokenizer.size)
    module, receipts = VisionText(config), chosen(folder, count)
    for path in checkpoints:
        saved = torch.load(path, weights_only=True)
        module.load_state_dict(dict(zip(module.state_dict(), saved["averages"], strict=True)))
        module.eval()
        reader = Reader(TextSystem(config, TorchEngine(config, module), tokenizer, tasks.find("receipt")))
        found = list(reader.read_many((receipt.path for receipt in receipts), batch=4))
        progress = saved["progress"]
        yield {
            "checkpoint": path.name,
            "samples": progress["seen"],
            "hours": round(progress["seconds"] / 3600, 3),
            **figures(receipts, found),
        }


def fit(points: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return F1 = slope * log2(hours) + offset, and the hours at which that is the target."""
    hours, scores = (np.array(side) for side in zip(*points, strict=True))
    slope, offset = np.polyfit(np.log2(hours), scores, 1)
    reached = float(2 ** ((TARGET - offset) / slope)) if slope > 0 else float("inf")
    return {"f1_by_doubling": round(float(slope), 4), "f1_after_one_hour": round(float(offset), 4), "hours": reached}


def main(command: str, *arguments: str) -> None:
    match command:
        case "fit":
            pairs = [point.split(":") for point in arguments]
            print(json.dumps(fit([(float(hours), float(score)) for hours, score in pairs])))
        case "curve":
            for line in curve(Path(arguments[0]), int(arguments[1]), [Path(one) for one in arguments[2:]]):
                print(json.dumps(line), flush=True)
        case "one":
            print(json.dumps(one(Path(arguments[0]), int(arguments[1]), arguments[2])))
        case _:
            count = int(arguments[1]) if len(arguments) > 1 else COUNT
            compare(Path(arguments[0]), count, arguments[2:] or MODELS)


if __name__ == "__main__":
    main(*sys.argv[1:])
