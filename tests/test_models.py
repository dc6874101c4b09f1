"""The seeds' systems: their sizes, and the configs they are saved as."""

import json
from dataclasses import replace

import pytest
import torch

from unrender.errors import ConfigError
from unrender.layers.seq2seq import VisionText
from unrender.models import PRESETS, count_parameters, preset
from unrender.models.config import SwinConfig, from_json, to_json
from unrender.models.parameters import state

_PUBLISHED_SIZES = {
    "donut-base": 201_852_024,
    "nougat-base": 348_687_992,
    "nougat-small": 247_383_672,
    "trocr-base": 333_331_200,
    "trocr-small": 61_596_672,
    "swimnet": 296_105_610,
}


@pytest.mark.parametrize(("name", "parameters"), _PUBLISHED_SIZES.items())
def test_parameters_are_exactly_as_many_as_published(name: str, parameters: int) -> None:
    assert count_parameters(preset(name)) == parameters


def test_swimnet_is_the_sum_of_its_parts() -> None:
    shapes = state(preset("swimnet")).parameters
    parts = {side: sum(torch.Size(shape).numel() for name, shape in shapes.items() if name.startswith(side))
             for side in ("encoder", "decoder")}  # fmt: skip
    assert parts == {"encoder": 48_837_258, "decoder": 247_268_352}


@pytest.mark.parametrize("name", PRESETS)
def test_the_listed_tensors_are_those_of_the_modules(name: str) -> None:
    with torch.device("meta"):
        module = VisionText(preset(name))
    listed = state(preset(name))
    assert {key: tuple(tensor.shape) for key, tensor in module.named_parameters()} == listed.parameters
    assert {key: tuple(tensor.shape) for key, tensor in module.state_dict().items()} == listed.all


@pytest.mark.parametrize("name", PRESETS)
def test_a_config_comes_back_from_json_as_it_was(name: str) -> None:
    assert from_json(to_json(preset(name))) == preset(name)


@pytest.mark.parametrize("change", [{"surprise": 1}, {"encoder": {"kind": "rnn"}}, {"encoder": 3}, {"image": None}])
def test_a_config_that_is_not_ours_is_refused(change: dict[str, object]) -> None:
    values = json.loads(to_json(preset("trocr-small")))
    with pytest.raises(ConfigError, match=r"config\.json is not one of ours"):
        from_json(json.dumps(values | change))


def test_a_saved_config_of_an_impossible_size_is_refused() -> None:
    values = json.loads(to_json(preset("donut-base")))
    values["image"]["width"] = 1900
    with pytest.raises(ConfigError, match="Use 1600 or 1920"):
        from_json(json.dumps(values))


@pytest.mark.parametrize("name", PRESETS)
def test_no_system_may_write_more_tokens_than_it_has_positions(name: str) -> None:
    config = preset(name)
    assert len(config.generation.start) + config.generation.max_tokens <= config.decoder.max_positions


def test_seed_001_gives_the_small_nougat_four_layers_and_3584_tokens() -> None:
    base, small = preset("nougat-base"), preset("nougat-small")
    assert (base.decoder.layers, base.decoder.max_positions) == (10, 4096)
    assert (small.decoder.layers, small.decoder.max_positions) == (4, 3584)
    assert small.encoder == base.encoder
    assert (base.image.height, base.image.width) == (896, 672)


def test_seed_004_searches_with_four_beams() -> None:
    assert {preset(name).generation.beams for name in ("swimnet", "trocr-base", "trocr-small")} == {4}


def test_swin_doubles_its_width_with_every_merge() -> None:
    assert SwinConfig().out_width == 1024
    assert replace(SwinConfig(), depths=(2, 2), heads=(4, 8)).out_width == 256
