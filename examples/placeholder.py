"""Train the placeholder that stands in for the formula model: tiny, and shown nothing but these samples.

It lets `make demo` and the tests run through the real road, from a picture to LaTeX, before the trained model ships.
Run from the project's root: python examples/placeholder.py OUT
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from unrender import checkpoints, metrics, tasks
from unrender.datasets import open_dataset
from unrender.engines.torch_engine import TorchEngine
from unrender.layers.seq2seq import VisionText
from unrender.models.formula import formula
from unrender.reader import Options, Reader
from unrender.tokens import LatexTokenizer
from unrender.training.examples import ExampleStream
from unrender.training.loop import Recipe, Trainer
from unrender.training.schedule import Schedule

ROUNDS, EPOCHS = 12, 40
CARD = """# formula (placeholder)

A stand-in of 0.2 million parameters that has seen nothing but the sample pictures in examples/. It shows the road from
a picture to LaTeX; it does not read formulas. The trained formula reader takes its place.
"""


def main(out: Path) -> None:
    examples = open_dataset(Path("examples"), limits=None).examples
    tokenizer = LatexTokenizer(sorted({token for example in examples for token in example.target.split()}))
    full = formula(tokenizer.size)
    config = replace(
        full,
        encoder=replace(
            full.encoder, widths=(16, 32, 48), blocks=(1, 1, 1), hidden=64, layers=1, heads=4, feed_forward=128
        ),
        decoder=replace(full.decoder, hidden=64, layers=2, heads=4, feed_forward=128, memory_width=64, dropout=0.0),
    )
    module = VisionText(config)
    module.init_weights(torch.Generator().manual_seed(0))
    stream = ExampleStream(examples, config, tokenizer, batch=6, seed=0, augmented=True)
    reader = Reader(config, TorchEngine(config, module), tokenizer, tasks.find("formula"))
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            module, stream, Recipe(schedule=Schedule(peak=3e-3, warm_up=20), epochs=1, threads=1), Path(folder)
        )
        for _ in range(ROUNDS):
            samples = trainer.progress.seen + EPOCHS * len(examples)
            trainer.recipe = replace(trainer.recipe, samples=samples)
            trainer.run()
            module.eval()
            texts = [reader.read(example.image, Options(beams=1)).text for example in examples]
            error = metrics.wer([example.target for example in examples], texts).value
            if error == 0:
                break
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(out / "tokenizer.json")
    checkpoints.save(out, config, module.state_dict(), out / "tokenizer.json", card=CARD)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
