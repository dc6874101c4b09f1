"""Measuring: interleaved, honest about spread, and the same work for everyone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import measuring
import numpy as np
import pytest
import tiny_systems
from measuring import Plan
from measuring.machine import bytes_per_token, measure_bandwidth
from measuring.measure import Spread, clock, interleave
from measuring.report import Report, Row
from measuring.subjects import EngineSubject, TransformersSubject
from measuring.twins import build_twin, take_weights

from unrender.engines.torch_engine import TorchEngine
from unrender.errors import ConfigError, ModelError
from unrender.layers.seq2seq import VisionText
from unrender.models.config import TextConfig
from unrender.models.donut import DONUT_BASE
from unrender.models.nougat import NOUGAT_SMALL
from unrender.models.swimnet import SWIMNET
from unrender.models.trocr import TROCR_BASE, TROCR_SMALL

_QUICK = Plan(repeat=1, tokens=2, batches=(1, 2), threads=1, cold=False)


def _shrunk(config: TextConfig) -> TextConfig:
    """Return a system of the same make, small enough to test."""
    if config.encoder.kind == "swin":
        encoder = replace(config.encoder, width=8, depths=(2, 2), heads=(2, 2), window=4)
        image = replace(config.image, height=64, width=64)
    else:
        assert config.encoder.kind == "vit"
        encoder = replace(config.encoder, height=32, width=32, patch=8, hidden=16, layers=1, heads=2, feed_forward=32)
        image = replace(config.image, height=32, width=32)
    decoder = replace(
        config.decoder, vocabulary=40, hidden=16, layers=2, heads=2, feed_forward=32, max_positions=32,
        memory_width=encoder.out_width,
    )  # fmt: skip
    return replace(config, image=image, encoder=encoder, decoder=decoder)


def test_a_spread_is_the_median_and_the_middle_half() -> None:
    assert Spread.of([5.0, 1.0, 3.0, 2.0, 4.0]) == Spread(3.0, 2.0, 4.0)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)


def test_cases_take_turns_and_the_first_round_does_not_count() -> None:
    called = []

    def case(name: str, value: float) -> Callable[[], float]:
        return lambda: called.append(name) or value + 100 * (len(called) <= 2)

    found = interleave({"one": case("one", 1.0), "two": case("two", 2.0)}, repeat=3)
    assert called == ["one", "two"] * 4
    assert {name: spread.median for name, spread in found.items()} == {"one": 1.0, "two": 2.0}


def test_a_report_says_how_many_times_faster_everyone_is_than_the_first() -> None:
    values = {"torch": Spread(0.5, 0.4, 0.6), "onnx": Spread(0.005, 0.004, 0.006)}
    report = Report("tiny", 2, (Row("greedy step", "s", values), Row("peak memory", "MB", values)))
    assert "torch          500.0 ms (400.0 to 600.0)" in str(report)
    assert "onnx           5.00 ms (4.00 to 6.00) 100.00x" in str(report)
    assert report.markdown().splitlines()[0] == "| tiny | torch | onnx |"


@pytest.mark.parametrize(
    "config", [TROCR_BASE, TROCR_SMALL, SWIMNET, NOUGAT_SMALL, DONUT_BASE], ids=lambda config: config.name
)
def test_a_twin_reads_the_same_tokens_as_our_engine(config: TextConfig) -> None:
    small = _shrunk(config)
    twin = build_twin(small)
    module = VisionText(small)
    import torch

    module.load_state_dict({name: torch.from_numpy(array) for name, array in take_weights(small, twin).items()})
    ours = EngineSubject(small, TorchEngine(small, module), clock(False))
    theirs = TransformersSubject(small, twin, clock(False))
    pixels = np.random.default_rng(0).standard_normal((2, 3, small.image.height, small.image.width), dtype=np.float32)
    assert [list(row.tokens) for row in ours.read(pixels, 6)] == theirs.read(pixels, 6)
    assert theirs.time_start(pixels) > 0
    assert ours.time_decoding(pixels, 3, beams=4) > 0


def test_a_model_with_weights_is_measured_in_torch_onnx_and_8_bits(tmp_path: Path) -> None:
    folder = tiny_systems.save(tiny_systems.build("cnn"), tmp_path / "model")
    stages: list[str] = []
    report = measuring.bench(str(folder), plan=_QUICK, progress=stages.append)
    assert [row.name for row in report.rows] == [
        "image to first token", "greedy step, batch 1", "greedy step, batch 2", "beam 4 step",
    ]  # fmt: skip
    assert all(list(row.values) == ["torch", "onnx", "onnx int8"] for row in report.rows)
    assert all(spread.median > 0 for row in report.rows for spread in row.values.values())
    assert stages[0] == "exporting"


@pytest.mark.slow
def test_fresh_processes_tell_how_long_they_took_and_how_much_memory(tmp_path: Path) -> None:
    folder = tiny_systems.save(tiny_systems.build("cnn"), tmp_path / "model")
    cold, memory = measuring.bench(str(folder), plan=replace(_QUICK, cold=True)).rows[-2:]
    assert (cold.name, memory.name) == ("cold start to result", "peak memory")
    assert cold.ratio("onnx") > 1
    assert memory.ratio("onnx") > 1


def test_only_known_rivals_and_systems_are_compared() -> None:
    with pytest.raises(ConfigError, match="nothing called 'tensorflow' to compare with"):
        measuring.bench("trocr-small", against="tensorflow")
    with pytest.raises(ModelError, match="no system named 'trocr'"):
        measuring.bench("trocr", against="transformers")
    with pytest.raises(ConfigError, match="recognizer has no counterpart in transformers"):
        measuring.bench("recognizer", against="transformers")


@pytest.mark.parametrize("wrong", [{"repeat": 0}, {"tokens": 0}, {"batches": ()}, {"batches": (0,)}, {"threads": -1}])
def test_a_plan_must_be_positive(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="must be at least"):
        Plan(**wrong)


def test_a_step_reads_all_weights_but_tables_and_what_is_projected_once() -> None:
    config = _shrunk(TROCR_BASE).decoder
    hidden, inner = config.hidden, config.feed_forward
    layer = 4 * hidden**2 + 2 * hidden**2 + 2 * hidden * inner  # self-attention; query and output; feed-forward
    biases = 4 * hidden + 2 * hidden + inner + hidden + 6 * hidden
    norm = 2 * hidden
    expected = 4 * (config.layers * (layer + biases) + config.vocabulary * hidden + norm)
    assert bytes_per_token(_shrunk(TROCR_BASE)) == expected
    assert TROCR_BASE.parameters * 4 > bytes_per_token(TROCR_BASE)


def test_memory_is_read_at_some_speed() -> None:
    assert 1e7 < measure_bandwidth(2, size=1 << 22) < 1e13
