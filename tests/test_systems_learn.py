"""Every system of the seeds learns: at a tiny size, eight pictures by heart."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.training_models import EXAMPLES, TOKENIZER, fresh, tiny_decoder, tiny_formula, tiny_vit
from unrender import metrics, tasks
from unrender.engines.torch_engine import TorchEngine
from unrender.models.config import CnnConfig, Generation, ImagePrep, SwinConfig, TextConfig
from unrender.reading.reader import Reader
from unrender.reading.text import TextSystem
from unrender.training.loop import Trainer
from unrender.training.objectives import Transcription
from unrender.training.recipe import Recipe, Schedule
from unrender.training.text_runs import ExampleStream

_SWIN = SwinConfig(width=16, depths=(2, 2), heads=(2, 4), window=4, drop_path=0.0)
_CANVAS = ImagePrep(height=32, width=64)
_START = Generation(start=(1,), end=2, pad=0, max_tokens=20)


def _model(name: str, **parts: object) -> TextConfig:
    return replace(tiny_formula(), name=name, generation=_START, **parts)  # type: ignore[arg-type]


SYSTEMS = (
    _model("donut", image=_CANVAS, encoder=_SWIN, decoder=tiny_decoder(32)),
    _model("nougat", image=replace(_CANVAS, crop_margin=True), encoder=_SWIN, decoder=tiny_decoder(32, tied=False)),
    _model(
        "swimnet",
        image=replace(_CANVAS, fit="squash"),
        encoder=replace(_SWIN, final_norm=True),
        decoder=tiny_decoder(32, pre_norm=False, final_norm=False, scale_embedding=False),
    ),
    replace(tiny_vit(), name="trocr"),
    _model(
        "recognizer",
        image=ImagePrep(height=32, width=64, channels=1, mean=(0.5,), std=(0.5,)),
        encoder=CnnConfig(
            widths=(16, 32), blocks=(1, 1), strides=((4, 2), (4, 2)), hidden=32, layers=0, position_2d=False
        ),
        decoder=tiny_decoder(
            32, positions="sinusoidal", position_offset=0, activation="relu", pre_norm=False, final_norm=False,
            embedding_norm=False, output_projection=False, layers=4,
        ),
    ),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("config", SYSTEMS, ids=lambda config: config.name)
def test_a_tiny_one_learns_eight_pictures_by_heart(config: TextConfig, tmp_path: Path) -> None:
    module = fresh(config)
    stream = ExampleStream(EXAMPLES, config, TOKENIZER, batch=8, seed=0)
    recipe = Recipe(schedule=Schedule(peak=3e-3, warm_up=20), epochs=250, threads=1)
    trainer = Trainer(Transcription(module, recipe), stream, recipe, tmp_path)
    reader = Reader(TextSystem(config, TorchEngine(config, module), TOKENIZER, tasks.find("formula")))

    for _ in range(5):  # as soon as it has them all, it is done
        trainer.recipe = replace(recipe, samples=trainer.progress.seen + 50 * len(EXAMPLES))
        trainer.run()
        module.eval()
        texts = [reader.read(example.image).written for example in EXAMPLES]
        error = metrics.wer([example.target for example in EXAMPLES], texts).value
        if error == 0:
            break
    assert error == 0, texts
