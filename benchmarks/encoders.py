"""Which encoder learns formulas fastest: the same minutes, data and decoder for each, one thread.

    python benchmarks/encoders.py MINUTES [NAME ...]

Needs the arrays of `unrender data formula`. Short typeset formulas only, of up to 6 tokens and then 10: there an
encoder shows in minutes what it can do. Prints the word error rate of each on such formulas of papers kept aside,
read one by one in one look; the table in docs/formula.md is what it printed.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from unrender.checkpoints import cache_folder
from unrender.models.config import CnnConfig, EncoderConfig, SwinConfig
from unrender.models.formula import formula
from unrender.tokens import LatexTokenizer
from unrender.training.augment import Augmentation
from unrender.training.batches import BatchStream, Framing, Stage
from unrender.training.data import Cache
from unrender.training.loop import Trainer
from unrender.training.objectives import Transcription
from unrender.training.recipe import Recipe, Schedule
from unrender.training.text_runs import fresh
from unrender.training.validation import pairs_of, reading_validator

ROOT = cache_folder() / "formula"
LONGEST = 10
HELD = 200
_LAYERS = {"hidden": 256, "heads": 8, "feed_forward": 512, "dropout": 0.0}
_STRIDE_8 = {"widths": (32, 64, 128), "blocks": (1, 2, 3), "strides": ((2, 2),) * 3}
ENCODERS: dict[str, EncoderConfig] = {
    "cnn, 2 layers": CnnConfig(**_STRIDE_8, layers=2, **_LAYERS),
    "cnn": CnnConfig(**_STRIDE_8, layers=0, **_LAYERS),
    "swin": SwinConfig(
        channels=1, width=64, depths=(2, 2, 2), heads=(2, 4, 8), window=4, mlp_ratio=2, final_norm=True, drop_path=0.0
    ),
    "vit": CnnConfig(widths=(256,), blocks=(0,), strides=((8, 8),), layers=4, **_LAYERS),
}
_MIX = (("short", 1.0),)
_STAGES = (
    Stage(samples=10_000, max_tokens=6, batch=16, mix=_MIX),
    Stage(samples=10**9, max_tokens=LONGEST, batch=16, mix=_MIX),
)
_RECIPE = Recipe(
    schedule=Schedule(peak=1e-3, warm_up=100),
    betas=(0.9, 0.98),
    smoothing=0.05,
    pointing=0.3,
    average=0.99,
    samples=10**9,
    threads=1,
    checkpoint_seconds=60,
    validate_seconds=10**9,
)


def compare(name: str, minutes: float) -> dict[str, object]:
    """Train one encoder for so many minutes; return what it reached."""
    caches = {set_name: Cache(ROOT / set_name) for set_name, _ in _MIX}
    tokenizer = LatexTokenizer(caches["short"].vocabulary)
    usual = formula(tokenizer.size)
    config = replace(usual, encoder=ENCODERS[name], generation=replace(usual.generation, second_looks=()))
    module = fresh(config, 0)
    light = Augmentation(nougat=False, scale=0.3, smallest=0.8, largest=1.25, darken=0.3)
    stream = BatchStream(caches, _STAGES, Framing.of(config), light, seed=0, token_noise=0.02)
    pairs = pairs_of(Cache(ROOT / "typeset-held"), tokenizer)
    held = [(image, text) for image, text in pairs if len(text.split()) <= LONGEST]
    folder = Path("runs") / "encoders" / name.replace(", ", "-").replace(" ", "-")
    trainer = Trainer(Transcription(module, _RECIPE), stream, _RECIPE, folder)
    trainer.run(reading_validator(config, module, tokenizer, {"held": held[:HELD]}, batch=1), seconds=minutes * 60)
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    [rate] = [line["held"] for line in lines if line["event"] == "validate"]
    return {
        "encoder": name,
        "parameters": sum(parameter.numel() for parameter in module.encoder.parameters()),
        "samples": trainer.progress.seen,
        "word error rate": rate,
    }


if __name__ == "__main__":
    for chosen in sys.argv[2:] or ENCODERS:
        print(json.dumps(compare(chosen, float(sys.argv[1]))), flush=True)
