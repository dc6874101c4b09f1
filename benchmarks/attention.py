"""What two choices of seed 002 cost or gain: no output projection in its attention, and its positions (eq. 1).

    python benchmarks/attention.py FOLDER [SAMPLES]

Trains four small word readers on the same samples in the same order, from the same seed, and reads the same held-out
words with each: as the seed writes it, with the usual output projection, without positions on the feature sequence,
and with both changes. FOLDER gets a JSON line for each; those that are there already are not trained again. The data
are the prepared sets of `unrender data word`.
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from unrender import metrics, tasks
from unrender.checkpoints import cache_folder
from unrender.engines.torch_engine import TorchEngine
from unrender.layers.cnn import CnnEncoder
from unrender.layers.seq2seq import VisionText
from unrender.models.config import CnnConfig, TextConfig
from unrender.models.word import word
from unrender.reading.reader import Reader
from unrender.reading.text import TextSystem
from unrender.tokens import CharacterTokenizer
from unrender.training.batches import Stage
from unrender.training.data import Cache
from unrender.training.loop import Trainer
from unrender.training.recipe import Schedule
from unrender.training.recipes import WORD
from unrender.training.runs import Request
from unrender.training.text_runs import PreparedCourse

SAMPLES, LONGEST, READ = 16_000, 9, 200
HELD = ("fonts-held", "scene-held")
VARIANTS = {  # output projection, positions
    "as the seed writes it": (False, True),
    "with an output projection": (True, True),
    "without positions": (False, False),
    "with an output projection, without positions": (True, False),
}


def small(vocabulary: int, *, projection: bool) -> TextConfig:
    """Return the word reader at half its width."""
    config = word(vocabulary)
    assert isinstance(config.encoder, CnnConfig)
    return replace(
        config,
        encoder=replace(config.encoder, widths=(8, 16, 32, 64, 96), hidden=96),
        decoder=replace(
            config.decoder, hidden=96, feed_forward=256, memory_width=96, output_projection=projection
        ),
    )  # fmt: skip


def no_positions(rows: int, columns: int, visible: Tensor | None, device: torch.device) -> Tensor:
    return torch.zeros(1, device=device)


def run(folder: Path, name: str, samples: int) -> dict[str, float | int | str]:
    projection, positions = VARIANTS[name]
    recipe = replace(WORD.recipe, samples=samples, schedule=Schedule(peak=1e-3, warm_up=100), validate_seconds=1e9)
    course: PreparedCourse = replace(
        WORD,
        model=lambda vocabulary: small(vocabulary, projection=projection),
        stages=(Stage(samples=samples, max_tokens=LONGEST, batch=32, mix=(("words", 1.0),), fade=0.05),),
        recipe=recipe,
        held_out=(),
    )
    prepared = course.prepare(Request(folder=folder))
    module = prepared.objective.module
    assert isinstance(module, VisionText) and isinstance(module.encoder, CnnEncoder)  # noqa: PT018
    if not positions:
        module.encoder._positions = no_positions  # type: ignore[method-assign]
    place = folder / name.replace(" ", "-").replace(",", "")
    place.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    trainer = Trainer(prepared.objective, prepared.stream, recipe, place)
    trainer.run()
    spent = time.process_time() - began
    module.load_state_dict(trainer.final_state())
    module.eval()
    parameters = sum(parameter.numel() for parameter in module.parameters())
    losses = {part: round(sum(kept) / len(kept), 4) for part, kept in trainer.recent.items()}
    figures: dict[str, float | int | str] = {
        "variant": name,
        "samples": samples,
        "parameters": parameters,
        "processor_seconds": round(spent),
    }
    return {**figures, **losses, **read(module)}


def read(module: VisionText) -> dict[str, float]:
    """Read held-out words that are no longer than those of the training."""
    found: dict[str, float] = {}
    for name in HELD:
        cache = Cache(cache_folder() / "word" / name)
        tokenizer = CharacterTokenizer(cache.vocabulary)
        reader = Reader(TextSystem(module.config, TorchEngine(module.config, module), tokenizer, tasks.find("word")))
        numbers = [number for number in range(len(cache)) if cache.index["length"][number] <= LONGEST][:READ]
        truths = [tokenizer.decode(cache.tokens(number).tolist()) for number in numbers]
        images = (Image.fromarray(cache.gray(number)) for number in numbers)
        texts = [document.written for document in reader.read_many(images, batch=16)]
        for metric in (metrics.exact, metrics.cer):
            found[f"{name} {metric.__name__}"] = round(metric(truths, texts).value, 4)
        found[f"{name} n"] = len(truths)
    return found


def main(folder: Path, samples: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.jsonl"
    done = {json.loads(line)["variant"] for line in results.read_text().splitlines()} if results.exists() else set()
    for name in VARIANTS:
        if name not in done:
            line = json.dumps(run(folder, name, samples))
            print(line, flush=True)
            with results.open("a") as lines:
                lines.write(line + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else SAMPLES)
