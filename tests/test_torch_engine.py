"""The torch engine: NumPy in, NumPy out, one engine for many runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from systems import DECODER, build, config

from unrender import checkpoints
from unrender.decoding import DecoderRun, Engine, beam, greedy
from unrender.engines.torch_engine import TorchEngine, open_engine
from unrender.errors import ConfigError

_SIZES = np.array([[32, 48], [17, 48], [32, 21]])
_END = 2


@pytest.fixture(scope="module")
def engine() -> TorchEngine:
    settings = config(decoder=replace(DECODER, tied=False))
    module = build(settings)
    for layer in module.decoder.layers:
        layer.cross_attention.query.weight.data *= 8  # look sharply at the image, so that texts vary
    return TorchEngine(settings, module)


def _pixels(images: int = 3) -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=(images, 1, 32, 48)).astype(np.float32)


def _prompt(images: int = 3) -> NDArray[np.int64]:
    return np.ones((images, 1), dtype=np.int64)


def test_it_keeps_the_protocol(engine: TorchEngine) -> None:
    kept: Engine = engine
    run: DecoderRun = kept.start(_pixels(), _SIZES)
    scores = run.step(_prompt())
    assert (type(scores), scores.dtype, scores.shape) == (np.ndarray, np.float32, (3, 11))


def test_runs_of_one_engine_do_not_disturb_each_other(engine: TorchEngine) -> None:
    first, second = engine.start(_pixels()), engine.start(_pixels())
    expected = [first.step(_prompt()), first.step(_prompt() * 5)]
    other = engine.start(_pixels()[::-1].copy())
    found = [second.step(_prompt())]
    other.step(_prompt() * 7)
    found.append(second.step(_prompt() * 5))
    assert np.array_equal(np.stack(found), np.stack(expected))


@pytest.mark.parametrize("beams", [1, 3])
def test_a_batch_gives_the_tokens_of_single_images(engine: TorchEngine, beams: int) -> None:
    def read(pixels: NDArray[np.float32], sizes: NDArray[np.int64] | None) -> list[tuple[int, ...]]:
        run, prompt = engine.start(pixels, sizes), _prompt(len(pixels))
        if beams == 1:
            return [row.tokens for row in greedy(run, prompt, end=_END, max_tokens=9)]
        return [row.tokens for row in beam(run, prompt, beams=beams, end=_END, max_tokens=9)]

    together = read(_pixels(), _SIZES)
    alone = [
        read(_pixels()[row : row + 1, :, :height, :width].copy(), None)[0] for row, (height, width) in enumerate(_SIZES)
    ]
    assert together == alone
    assert len(set(together)) > 1


def test_too_many_tokens_are_refused(engine: TorchEngine) -> None:
    run = engine.start(_pixels())
    with pytest.raises(ConfigError, match="the decoder has 12 positions"):
        run.step(np.ones((3, 13), dtype=np.int64))


def test_attention_is_given_only_when_asked_for(engine: TorchEngine) -> None:
    run = engine.start(_pixels(), _SIZES)
    run.step(_prompt())
    assert run.attention is None
    watching = TorchEngine(engine.config, engine.module, watch=1).start(_pixels(), _SIZES)
    watching.step(_prompt())
    seen = watching.attention
    assert seen is not None
    assert seen.shape == (3, 8 * 12)  # 32 x 48 pixels, strides of 4
    assert np.allclose(seen.sum(axis=1), 1)
    [found, *_] = greedy(
        TorchEngine(engine.config, engine.module, watch=1).start(_pixels()), _prompt(), end=_END, max_tokens=4
    )
    assert len(found.attention) == len(found.tokens)


def test_a_saved_model_is_opened_with_its_own_scores(engine: TorchEngine, tmp_path: Path) -> None:
    checkpoints.save(tmp_path, engine.config, engine.module.state_dict())
    opened = open_engine(checkpoints.load(tmp_path))
    assert np.array_equal(opened.start(_pixels()).step(_prompt()), engine.start(_pixels()).step(_prompt()))


def test_the_engine_reads_with_dropout_off() -> None:
    module = build(config()).train()
    engine = TorchEngine(config(), module)
    assert not module.training
    first, second = (engine.start(_pixels()).step(_prompt()) for _ in range(2))
    assert np.array_equal(first, second)


def test_nothing_is_kept_for_gradients(engine: TorchEngine) -> None:
    run = engine.start(_pixels())
    run.step(_prompt())
    assert not any(tensor.requires_grad for pair in run._state.memory for tensor in pair)
    assert torch.is_grad_enabled()
