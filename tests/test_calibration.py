"""Confidences that mean what they say."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unrender.cli.main import app
from unrender.decoding.calibration import AS_IT_IS, confidence_of, cross_validated_error, fit_line, log_odds
from unrender.metrics import calibration_error


def _overconfident(count: int) -> tuple[list[float], list[bool]]:
    """Readings that are right half as often, in log-odds, as their probability says."""
    rng = np.random.default_rng(0)
    odds = rng.normal(1, 3, count)
    right = rng.random(count) < 1 / (1 + np.exp(-(0.5 * odds - 1)))
    return [-math.log1p(math.exp(-one)) for one in odds], right.tolist()


def test_an_uncalibrated_confidence_is_the_probability_of_the_text() -> None:
    assert confidence_of(math.log(0.3), AS_IT_IS) == pytest.approx(0.3)


def test_log_odds_are_right_and_stay_finite() -> None:
    assert log_odds(math.log(0.8)) == pytest.approx(math.log(4))
    assert math.isfinite(log_odds(0.0))
    assert math.isfinite(log_odds(-1e6))


def test_the_fit_finds_the_line_behind_the_judgements() -> None:
    logs, right = _overconfident(5000)
    slope, offset = fit_line([log_odds(log) for log in logs], right)
    assert slope == pytest.approx(0.5, abs=0.05)
    assert offset == pytest.approx(-1, abs=0.12)


def test_calibrated_confidences_are_truer_on_unseen_readings() -> None:
    logs, right = _overconfident(2000)
    raw = float(calibration_error([math.exp(log) for log in logs], right))
    assert raw > 0.15
    assert cross_validated_error(logs, right) < 0.04


def test_without_examples_nothing_changes() -> None:
    assert fit_line([], []) == AS_IT_IS


def test_the_command_stores_the_fit_and_the_reader_uses_it(tmp_path: Path) -> None:
    import shutil

    from PIL import Image

    from unrender.checkpoints import load
    from unrender.reading.reader import Reader

    model, data = tmp_path / "model", tmp_path / "data"
    shutil.copytree(load("formula").folder, model)
    data.mkdir()
    examples = Path(__file__).parent.parent / "examples"
    picture = next(iter(sorted(examples.glob("*.png"))))
    shutil.copy(picture, data / "a.png")
    Image.new("L", (60, 30), 255).save(data / "b.png")
    (data / "labels.tsv").write_text("a.png\twrong\nb.png\twrong\n")
    before = Reader.open(model).read(picture).confidence
    result = CliRunner().invoke(app, ["calibrate", str(model), str(data)])
    assert result.exit_code == 0, result.output
    assert "expected calibration error" in result.output
    assert json.loads((model / "config.json").read_text())["calibration"] != [1.0, 0.0]
    after = Reader.open(model).read(picture).confidence
    assert before is not None
    assert after is not None
    assert after < before
