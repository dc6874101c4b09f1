"""What a reader learns in the same minutes if it is larger, or taught by its own five looks; one thread.

    python benchmarks/growth.py MINUTES [NAME ...]

Needs the arrays of `unrender data formula`. Every variant begins with the weights that ship and reads as they do:
what is added begins by adding nothing. It then learns as `formula-further` does, at a rate that stays. Prints the mean
cross-entropy of a token on held-out pictures, undistorted and given the tokens before it; what
docs/notebook/formula.md says of it was printed by this.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, interpolate

from unrender.checkpoints import cache_folder
from unrender.images.opening import prepare
from unrender.layers.seq2seq import VisionText
from unrender.models.config import CnnConfig, TextConfig
from unrender.models.formula import formula
from unrender.tokens import LatexTokenizer
from unrender.training.batches import IGNORED, Batch, BatchStream, Framed, Framing, assemble, frame
from unrender.training.data import Cache
from unrender.training.loop import Trainer
from unrender.training.objectives import Transcription
from unrender.training.recipe import Schedule
from unrender.training.recipes import FURTHER
from unrender.training.text_runs import start_from
from unrender.training.validation import pairs_of

ROOT = cache_folder() / "formula"
HELD = ("printed-held", "handwritten-held", "typeset-held")
_PICTURES = 200  # of each held-out set
_ROWS = 4
_RECIPE = replace(
    FURTHER.recipe, samples=10**9, schedule=Schedule(peak=4e-4, warm_up=100), average=0.99, validate_seconds=10**9
)
_STAGE = replace(FURTHER.stages[0], samples=10**9, learning_rate=1.0, fade=1.0)
_LOOKS = (0.9, 1.0, 1.07, 1.15, 1.3)
# What a branch beside a shortcut does last; where it is zero, the branch adds nothing.
_LAST = tuple(f"{part}.{kind}" for part in ("output", "contract", "second_norm") for kind in ("weight", "bias"))
_TAUGHT = 0.5  # share of the loss that the teacher's chances have


class Taught(Transcription):
    """Learns the labels, and what the model it began as reads on average in five looks at the same picture."""

    def __init__(self, module: VisionText) -> None:
        super().__init__(module, _RECIPE)
        teacher = VisionText(module.config).eval().requires_grad_(False)
        teacher.load_state_dict(module.state_dict())
        self.teacher = (teacher,)  # in a tuple, so that it is not trained along

    def token_loss(self, scores: Tensor, targets: Tensor, batch: Batch) -> Tensor:
        pixels, inputs, every = (torch.from_numpy(one) for one in (batch.pixels, batch.inputs, batch.targets))
        wanted = every != IGNORED
        chances = torch.stack([self._look(pixels, inputs, wanted, size) for size in _LOOKS]).mean(0)
        taught = -(chances * scores.log_softmax(-1)).sum()
        return (1 - _TAUGHT) * super().token_loss(scores, targets, batch) + _TAUGHT * taught

    @torch.no_grad()
    def _look(self, pixels: Tensor, inputs: Tensor, wanted: Tensor, size: float) -> Tensor:
        [teacher] = self.teacher
        height, width = (max(8, round(side * size / 8) * 8) for side in pixels.shape[2:])
        resized = interpolate(pixels, (height, width), mode="bilinear", antialias=True)
        memory, mask = teacher.encode(resized)
        return teacher.decoder.score(teacher.decoder.hidden(inputs, memory, mask)[wanted]).float().softmax(-1)


class Variant(NamedTuple):
    """A shape to grow into, and what it is trained for."""

    grow: Callable[[TextConfig], TextConfig]
    taught: bool = False


def _layers(config: TextConfig) -> TextConfig:
    return replace(config, decoder=replace(config.decoder, layers=config.decoder.layers + 1))


def _encoder(change: Callable[[CnnConfig], CnnConfig]) -> Callable[[TextConfig], TextConfig]:
    def grow(config: TextConfig) -> TextConfig:
        assert isinstance(config.encoder, CnnConfig)
        return replace(config, encoder=change(config.encoder))

    return grow


VARIANTS = {
    "as it is": Variant(lambda config: config),
    "one more decoder layer": Variant(_layers),
    "one more encoder layer": Variant(_encoder(lambda encoder: replace(encoder, layers=encoder.layers + 1))),
    "wider encoder": Variant(
        _encoder(lambda encoder: replace(encoder, feed_forward=2 * encoder.feed_forward, blocks=(1, 2, 5)))
    ),
    "five looks": Variant(lambda config: config, taught=True),
}


def grown(variant: Variant, config: TextConfig, tokens: list[str]) -> VisionText:
    """Return the shipped reader in a larger shape; what is new adds nothing yet."""
    small = start_from("formula", config, tokens, 0)
    module = VisionText(variant.grow(config))
    module.init_weights(torch.Generator().manual_seed(0))
    given = small.state_dict()
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            old = given.get(name)
            if old is None:
                if name.endswith(_LAST):
                    tensor.zero_()
            elif old.shape == tensor.shape:
                tensor.copy_(old)
            else:  # more hidden values: the new ones are listened to by nobody yet
                if name.endswith("contract.weight"):
                    tensor.zero_()
                tensor[tuple(slice(side) for side in old.shape)] = old
    return module


def cross_entropy_of(module: VisionText, name: str, tokenizer: LatexTokenizer) -> float:
    """Return the mean cross-entropy of a token on a held-out set, as the reader sees its pictures."""
    config, framing = module.config, Framing.of(module.config)
    rng, total, count = np.random.default_rng(0), 0.0, 0
    framed = []
    for picture, text in pairs_of(Cache(ROOT / name), tokenizer, _PICTURES):
        label = np.array(tokenizer.encode(text), dtype=np.int64)
        framed.append(Framed(prepare(picture, config.image), *frame(label, framing, rng, 0.0)))
    framed.sort(key=lambda one: one.pixels.shape[-1])
    for start in range(0, len(framed), _ROWS):
        batch = assemble(framed[start : start + _ROWS], framing)
        pixels, inputs, targets = (torch.from_numpy(one) for one in (batch.pixels, batch.inputs, batch.targets))
        sizes = torch.tensor([one.pixels.shape[-2:] for one in framed[start : start + _ROWS]])
        with torch.inference_mode():
            memory, mask = module.encode(pixels, sizes)
            scores = module.decoder.score(module.decoder.hidden(inputs, memory, mask))
        losses = cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum")
        total, count = total + float(losses), count + int((targets != IGNORED).sum())
    return total / count


def compare(name: str, minutes: float) -> dict[str, object]:
    """Train one variant for so many minutes; return what it reached."""
    caches = {set_name: Cache(ROOT / set_name) for set_name, _ in _STAGE.mix}
    vocabulary = next(iter(caches.values())).vocabulary
    tokenizer, config = LatexTokenizer(vocabulary), formula(len(vocabulary))
    module = grown(VARIANTS[name], config, list(tokenizer.tokens))
    stream = BatchStream(caches, (_STAGE,), Framing.of(config), FURTHER.augmentation, seed=5, token_noise=0.03)
    objective = Taught(module) if VARIANTS[name].taught else Transcription(module, _RECIPE)
    folder = Path("runs") / "growth" / name.replace(" ", "-")
    trainer = Trainer(objective, stream, _RECIPE, folder)
    before = {held: round(cross_entropy_of(module.eval(), held, tokenizer), 4) for held in HELD}
    trainer.run(seconds=minutes * 60)
    module.load_state_dict(trainer.final_state())
    after = {held: round(cross_entropy_of(module.eval(), held, tokenizer), 4) for held in HELD}
    size = sum(parameter.numel() for parameter in module.parameters())
    return {"variant": name, "parameters": size, "samples": trainer.progress.seen, "before": before, **after}


if __name__ == "__main__":
    for chosen in sys.argv[2:] or VARIANTS:
        print(json.dumps(compare(chosen, float(sys.argv[1]))), flush=True)
