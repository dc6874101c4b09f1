"""Our models against transformers: same weights, same pixels, same tokens."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import oracles
import pytest
import torch
from numpy.typing import NDArray
from transformers import VisionEncoderDecoderModel

from unrender import checkpoints
from unrender.decoding import beam, greedy
from unrender.decoding.rules import Ids, Scores
from unrender.engines.torch_engine import TorchEngine, open_engine
from unrender.models.trocr import TROCR_SMALL

_STEPS = oracles.STEPS
_TOLERANCE = 1e-4
_SMALL = [oracles.donut, oracles.nougat, oracles.trocr_base, oracles.trocr_small, oracles.swimnet]

Pair = tuple[VisionEncoderDecoderModel, TorchEngine, NDArray[np.float32]]


def _pair(oracle: Callable[[Path], VisionEncoderDecoderModel], folder: Path, images: int = oracles.IMAGES) -> Pair:
    model = oracle(folder)
    engine = open_engine(checkpoints.load(folder))
    return model, engine, oracles.pixels(model, images).numpy()


@pytest.fixture(scope="module", params=_SMALL, ids=lambda oracle: oracle.__name__)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return _pair(request.param, tmp_path_factory.mktemp(request.param.__name__))


def _generate(model: VisionEncoderDecoderModel, pixels: NDArray[np.float32], **settings: object) -> list[list[int]]:
    """Return what transformers generates after the start token, up to the end token."""
    rows = model.generate(torch.from_numpy(pixels), max_length=_STEPS + 1, do_sample=False, **settings).tolist()
    end = model.generation_config.eos_token_id
    return [row[1 : row.index(end, 1)] if end in row[1:] else row[1:] for row in rows]


class RunWithoutCache:
    """Scores every sequence anew from its beginning: what a cache must not change."""

    def __init__(self, engine: TorchEngine, pixels: NDArray[np.float32]) -> None:
        self.module = engine.module
        self.memory = self.module.encode(torch.from_numpy(pixels))[0]
        self.tokens = np.zeros((len(pixels), 0), dtype=np.int64)

    def step(self, tokens: Ids) -> Scores:
        self.tokens = np.concatenate([self.tokens, tokens], axis=1)
        with torch.inference_mode():
            return self.module.decoder(torch.from_numpy(self.tokens), self.memory)[:, -1].numpy()

    def reorder(self, rows: Ids) -> None:
        self.tokens, self.memory = self.tokens[rows], self.memory[torch.from_numpy(rows)]


def _prompt(engine: TorchEngine, pixels: NDArray[np.float32]) -> Ids:
    return np.tile(np.array(engine.config.generation.start), (len(pixels), 1))


def test_the_encoder_gives_the_same_memory(pair: Pair) -> None:
    model, engine, pixels = pair
    with torch.inference_mode():
        theirs = model.encoder(torch.from_numpy(pixels)).last_hidden_state
        ours, mask = engine.module.encode(torch.from_numpy(pixels))
    assert mask is None
    assert theirs.std() > 0.1
    assert (ours - theirs).abs().max() < _TOLERANCE


def test_the_decoder_gives_the_same_scores_at_every_step(pair: Pair) -> None:
    model, engine, pixels = pair
    tokens = np.random.default_rng(2).integers(3, engine.config.decoder.vocabulary, (len(pixels), _STEPS))
    tokens[:, 0] = engine.config.generation.start[0]
    with torch.inference_mode():
        theirs = model(pixel_values=torch.from_numpy(pixels), decoder_input_ids=torch.from_numpy(tokens)).logits
        at_once = engine.module(torch.from_numpy(pixels), torch.from_numpy(tokens))
    run = engine.start(pixels)
    stepwise = np.stack([run.step(tokens[:, step : step + 1]) for step in range(_STEPS)], axis=1)
    assert theirs.std() > 0.1
    assert (at_once - theirs).abs().max() < _TOLERANCE
    assert np.abs(stepwise - theirs.numpy()).max() < _TOLERANCE


@pytest.mark.parametrize("cached", [True, False])
def test_greedy_search_gives_the_same_tokens(pair: Pair, cached: bool) -> None:
    model, engine, pixels = pair
    settings = engine.config.generation
    run = engine.start(pixels) if cached else RunWithoutCache(engine, pixels)
    found = greedy(run, _prompt(engine, pixels), end=settings.end, max_tokens=_STEPS)
    expected = _generate(model, pixels, num_beams=1, use_cache=cached)
    assert [list(row.tokens) for row in found] == expected
    assert len({tuple(row) for row in expected}) > 1
    assert any(row.complete for row in found)


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize(("penalty", "early"), [(1.0, False), (0.6, True)])
def test_beam_search_gives_the_same_tokens(pair: Pair, cached: bool, penalty: float, early: bool) -> None:
    model, engine, pixels = pair
    run = engine.start(pixels) if cached else RunWithoutCache(engine, pixels)
    found = beam(
        run,
        _prompt(engine, pixels),
        beams=4,
        end=engine.config.generation.end,
        max_tokens=_STEPS,
        length_penalty=penalty,
        early_stopping=early,
    )
    expected = _generate(model, pixels, num_beams=4, length_penalty=penalty, early_stopping=early, use_cache=cached)
    assert [list(row.tokens) for row in found] == expected
    assert len({tuple(row) for row in expected}) > 1


@pytest.mark.slow
def test_trocr_small_agrees_at_its_full_size(tmp_path: Path) -> None:
    model, engine, pixels = _pair(partial(oracles.trocr_small, full_size=True), tmp_path, images=2)
    assert engine.config.decoder == TROCR_SMALL.decoder
    assert engine.config.encoder == TROCR_SMALL.encoder
    test_the_encoder_gives_the_same_memory((model, engine, pixels))
    test_the_decoder_gives_the_same_scores_at_every_step((model, engine, pixels))
    prompt, end = _prompt(engine, pixels), engine.config.generation.end
    taken = greedy(engine.start(pixels), prompt, end=end, max_tokens=_STEPS)
    assert [list(row.tokens) for row in taken] == _generate(model, pixels, num_beams=1)
    found = beam(engine.start(pixels), prompt, beams=4, end=end, max_tokens=_STEPS)
    assert [list(row.tokens) for row in found] == _generate(model, pixels, num_beams=4)
