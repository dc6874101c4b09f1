"""Confidences that mean what they say."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unrender.checkpoints import load
from unrender.cli import app
from unrender.decoding.calibration import AS_IT_IS, confidence_of, fit_line, log_odds, without_usual_doubt
from unrender.documents import Box
from unrender.evaluation.calibrate import cross_validated_error, fit_lines
from unrender.evaluation.scoring import Judged
from unrender.metrics import calibration_error
from unrender.reading.receipt.fields import Calibration
from unrender.training.receipt.made_documents import make_document
from unrender.words import Word


def _overconfident(count: int) -> tuple[list[float], list[bool]]:
    """Readings that are right half as often, in log-odds, as their probability says."""
    rng = np.random.default_rng(0)
    odds = rng.normal(1, 3, count)
    right = rng.random(count) < 1 / (1 + np.exp(-(0.5 * odds - 1)))
    return [-math.log1p(math.exp(-one)) for one in odds], right.tolist()


def test_an_uncalibrated_confidence_is_the_probability_of_the_text() -> None:
    assert confidence_of(math.log(0.3), AS_IT_IS) == pytest.approx(0.3)


def test_the_doubt_that_every_token_has_does_not_add_up() -> None:
    assert without_usual_doubt([-0.1] * 100, 0.1) == without_usual_doubt([-0.01] * 3, 0.1)
    assert without_usual_doubt([-0.1] * 99 + [-1.1], 0.1) == pytest.approx(without_usual_doubt([], 0.1) - 1.0)
    assert without_usual_doubt([-0.1] * 100, 0.0) == pytest.approx(-10.0)


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
    judged = [[Judged("", math.exp(log), fine)] for log, fine in zip(logs, right, strict=True)]
    assert cross_validated_error(judged) < 0.04


def test_without_examples_nothing_changes() -> None:
    assert fit_line([], []) == AS_IT_IS


def test_the_command_stores_the_fit_and_the_reader_uses_it(tmp_path: Path) -> None:
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
    result = CliRunner().invoke(app, ["calibrate", str(model), str(data), "--workers", "1"])
    assert result.exit_code == 0, result.output
    assert "expected calibration error" in result.output
    assert json.loads((model / "config.json").read_text())["calibration"] != [1.0, 0.0]
    after = Reader.open(model).read(picture).confidence
    assert before is not None
    assert after is not None
    assert after < before


def judged(count: int = 4000) -> list[Judged]:
    """A reader that is far too sure: its log-odds are three times what they should be."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        truth = rng.normal(1.0, 1.0)
        right = rng.random() < 1 / (1 + np.exp(-truth))
        found.append(Judged("total", float(1 / (1 + np.exp(-3 * truth))), bool(right)))
    return found


def error(examples: list[Judged], lines: dict[str, tuple[float, float]]) -> float:
    sure = [confidence_of(math.log(one.confidence), lines.get(one.name, AS_IT_IS)) for one in examples]
    return float(calibration_error(sure, [one.right for one in examples]))


def test_a_reader_that_is_too_sure_is_brought_down():
    examples = judged()
    before, after = error(examples, {}), error(examples, fit_lines(examples))
    assert before > 0.1
    assert after < 0.04
    assert cross_validated_error([[example] for example in examples]) < 0.04


def test_a_field_never_found_keeps_its_scores():
    assert set(fit_lines(judged(50))) == {"total"}


def test_a_field_that_is_always_right_gets_finite_values():
    lines = fit_lines([Judged("date", 0.9, True) for _ in range(20)])
    assert 0.9 < confidence_of(math.log(0.9), lines["date"]) < 1


def write_set(folder: Path, count: int) -> None:
    """Receipts in the layout of SROIE; every other one says another date than it shows."""
    for number in range(count):
        made = make_document(np.random.default_rng([991, number]), "receipt")
        made.image.convert("RGB").save(folder / f"{number}.jpg")
        lines: dict[int, list[Word]] = {}
        for word in made.page.words:
            lines.setdefault(word.line, []).append(word)
        boxes = [
            [Box.around(word.box for word in words), " ".join(word.text for word in words)] for words in lines.values()
        ]
        written = [{"text": text, "box": [box.x0, box.y0, box.x1, box.y1]} for box, text in boxes]
        fields = made.fields | ({"date": "01/01/1999"} if number % 2 else {})
        (folder / f"{number}.json").write_text(json.dumps({"fields": fields, "lines": written}))


def test_the_command_line_fits_a_reader_on_receipts(tmp_path, run):
    loaded = load("receipt")
    model, receipts = tmp_path / "model", tmp_path / "set"
    shutil.copytree(loaded.folder, model)
    receipts.mkdir()
    write_set(receipts, 8)
    ran = run("calibrate", model, receipts, "--words", "given", "--workers", 1)
    assert ran.code == 0, ran.err
    assert "expected calibration error" in ran.out
    fitted = Calibration(*json.loads((model / "config.json").read_text())["calibration"])
    assert fitted.confidence("date", 0.99) < 0.8  # half of the dates are not what the set says
    assert fitted.confidence("date", 0.99) < fitted.confidence("company", 0.99)
    assert "given or found by ocr" in run("calibrate", model, receipts, "--words", "mine").err
