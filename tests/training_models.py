"""Tiny models and datasets that train in seconds."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw

from tests import layout_models
from unrender.layers.seq2seq import VisionText
from unrender.layers.spatial import LabelModel
from unrender.models.config import CnnConfig, DecoderConfig, Generation, ImagePrep, TextConfig, ViTConfig
from unrender.tokens import LatexTokenizer
from unrender.training.augment import Augmentation
from unrender.training.batches import Batch, BatchStream, Framing, Stage
from unrender.training.data import BOXES, Cache, Sample, write_cache
from unrender.training.loop import Trainer
from unrender.training.objectives import Labelling, Transcription
from unrender.training.receipt.label_batches import LabelBatch, LabelledPage, LabelStream
from unrender.training.recipe import Recipe, Schedule
from unrender.training.text_runs import ExampleStream

FORMULAS = ("a b", "a + b", "x = y", "c ^ { 2 }", "a _ { 1 }", "x + y = 2", "b", "y - 1")
TOKENIZER = LatexTokenizer(sorted({token for text in FORMULAS for token in text.split()}))


class Example:
    """A picture with its text drawn on it."""

    def __init__(self, text: str, width: int = 64, height: int = 32) -> None:
        self.target = text
        self.name = text
        self.image = Image.new("RGB", (width, height), "white")
        ImageDraw.Draw(self.image).text((3, 8), text.replace(" ", ""), fill="black")


EXAMPLES = tuple(Example(text) for text in FORMULAS)


def tiny_decoder(memory_width: int, **changes: object) -> DecoderConfig:
    settings: dict[str, object] = {
        "vocabulary": TOKENIZER.size,
        "hidden": 32,
        "layers": 2,
        "heads": 4,
        "feed_forward": 64,
        "max_positions": 24,
        "memory_width": memory_width,
        "dropout": 0.0,
    }
    return DecoderConfig(**{**settings, **changes})  # type: ignore[arg-type]


def tiny_formula() -> TextConfig:
    """The shape of the formula reader."""
    return TextConfig(
        name="tiny",
        seed="004",
        task="formula",
        image=ImagePrep(
            height=64, width=128, fit="free", channels=1, mean=(1.0,), std=(0.3,), crop_margin=True, margin=2,
            pad_value=1.0, multiple=8,
        ),
        encoder=CnnConfig(
            widths=(8, 16, 32), blocks=(1, 1, 1), strides=((2, 2), (2, 2), (2, 2)), hidden=32, layers=1, heads=4,
            feed_forward=64,
        ),
        decoder=tiny_decoder(32, positions="sinusoidal", position_offset=0, embedding_norm=False),
        generation=Generation(start=(1,), end=2, pad=0, max_tokens=20),
        vocabulary="latex",
    )  # fmt: skip


def tiny_vit() -> TextConfig:
    """The shape of TrOCR: no batch norm, so that processes can share a batch exactly."""
    return TextConfig(
        name="tiny-trocr",
        seed="004",
        task="formula",
        image=ImagePrep(height=32, width=64, fit="squash"),
        encoder=ViTConfig(height=32, width=64, patch=8, hidden=32, layers=2, heads=4, feed_forward=64),
        decoder=tiny_decoder(32, pre_norm=False, final_norm=False, scale_embedding=False),
        generation=Generation(start=(2,), end=2, pad=0, max_tokens=20),
        vocabulary="latex",
    )


def tiny_cache(folder: Path) -> Cache:
    samples = [
        Sample(np.asarray(example.image.convert("L"))[:, : 20 + 6 * number], tuple(TOKENIZER.encode(example.target)))
        for number, example in enumerate(EXAMPLES)
    ]
    write_cache(folder / "tiny-cache", TOKENIZER.tokens, samples)
    boxes = [[3 + 6 * place, 8, 9 + 6 * place, 18] for sample in samples for place in range(len(sample.tokens))]
    (folder / "tiny-cache" / BOXES).write_bytes(np.array(boxes, dtype="<i2").tobytes())
    return Cache(folder / "tiny-cache")


def fresh(config: TextConfig, seed: int = 0) -> VisionText:
    module = VisionText(config)
    module.init_weights(torch.Generator().manual_seed(seed))
    return module


def tiny_trainer(folder: Path, samples: int, naming: float = 0.0) -> Trainer[Batch]:
    config = tiny_formula()
    folder.mkdir(parents=True, exist_ok=True)
    stages = (Stage(samples=10**6, max_tokens=99, mix=(("tiny", 1.0),), batch=4),)
    stream = BatchStream(
        {"tiny": tiny_cache(folder)}, stages, Framing.of(config), Augmentation(), seed=0, token_noise=0.1
    )
    recipe = Recipe(
        schedule=Schedule(peak=1e-3), samples=samples, average=0.9, smoothing=0.05, accumulate=2, threads=1,
        pointing=naming, naming=naming,
    )  # fmt: skip
    return Trainer(Transcription(fresh(config), recipe), stream, recipe, folder)


def tiny_vit_trainer(folder: Path) -> Trainer[Batch]:
    config = tiny_vit()
    stream = ExampleStream(EXAMPLES, config, TOKENIZER, batch=5, seed=0)
    recipe = Recipe(schedule=Schedule(peak=1e-3), epochs=4, threads=1)
    return Trainer(Transcription(fresh(config), recipe), stream, recipe, folder)


def tiny_label_trainer(folder: Path) -> Trainer[LabelBatch]:
    """A labelling model without a picture, so without batch norm."""
    folder.mkdir(parents=True, exist_ok=True)
    config = layout_models.tiny(visual=None, attention_dropout=0.0)
    Image.new("L", (20, 20), 255).save(folder / "page.png")
    pages = [
        LabelledPage(
            str(count), folder / "page.png", ("total", "ab", "9") * count, layout_models.boxes(3 * count),
            tuple(range(3 * count)), (0, 1, 2) * count,
        )
        for count in range(1, 7)
    ]  # fmt: skip
    stream = LabelStream(pages, layout_models.tokenizer(folder, config), config.image, seed=0, batch=3)
    module = LabelModel(config)
    module.init_weights(torch.Generator().manual_seed(0))
    recipe = Recipe(updates=8, schedule=Schedule.linear(3e-3, 8), threads=1)
    return Trainer(Labelling(module), stream, recipe, folder, rate_of=lambda name: 2.0 if "head" in name else 1.0)
