"""The seeds' systems: their sizes, and the configs they are saved as."""

import importlib
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

from unrender import models
from unrender.checkpoints.fitting import state
from unrender.models import PRESETS, preset
from unrender.models.config import SwinConfig

_PUBLISHED_SIZES = {
    "donut-base": 201_852_024,
    "nougat-base": 348_687_992,
    "nougat-small": 247_383_672,
    "trocr-base": 333_331_200,
    "trocr-small": 61_596_672,
    "swimnet": 296_105_610,
}


_TEXT = [name for name, config in PRESETS.items() if config.kind == "text"]


@pytest.mark.parametrize(("name", "parameters"), _PUBLISHED_SIZES.items())
def test_parameters_are_exactly_as_many_as_published(name: str, parameters: int) -> None:
    assert preset(name).parameters == parameters


@pytest.mark.parametrize("name", PRESETS)
def test_a_system_says_how_many_parameters_its_modules_have(name: str) -> None:
    assert state(preset(name)).count == preset(name).parameters


def test_swimnet_is_the_sum_of_its_parts() -> None:
    shapes = state(preset("swimnet")).parameters
    parts = {side: sum(torch.Size(shape).numel() for name, shape in shapes.items() if name.startswith(side))
             for side in ("encoder", "decoder")}  # fmt: skip
    assert parts == {"encoder": 48_837_258, "decoder": 247_268_352}


@pytest.mark.parametrize("name", _TEXT)
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


_CITED = re.compile(r"`((?:checkpoints|decoding|images|layers|metrics|training|words)(?:\.\w+)+)`")


@pytest.mark.parametrize("path", sorted(Path(models.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_what_the_tables_of_the_systems_cite_exists(path: Path) -> None:
    for cited in _CITED.findall(path.read_text(encoding="utf-8")):
        first, *rest = cited.split(".")
        found: object = importlib.import_module(f"unrender.{first}")
        for name in rest:
            if not hasattr(found, name):
                assert isinstance(found, ModuleType), f"{path.name} cites {cited}"
                importlib.import_module(f"{found.__name__}.{name}")
            found = getattr(found, name)
