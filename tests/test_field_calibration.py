"""Confidences that mean what they say."""

import json
import shutil
from pathlib import Path

import numpy as np

from unrender.checkpoints import find_pages
from unrender.evaluation.field_calibration import Judged, cross_validated_error, fit_calibration
from unrender.metrics import calibration_error
from unrender.reading.receipts import Calibration, box_of
from unrender.training.receipt.documents import make_document
from unrender.words import Word


def judged(count: int = 4000) -> list[Judged]:
    """A reader that is far too sure: its log-odds are three times what they should be."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(count):
        truth = rng.normal(1.0, 1.0)
        right = rng.random() < 1 / (1 + np.exp(-truth))
        found.append(Judged("total", float(1 / (1 + np.exp(-3 * truth))), bool(right)))
    return found


def error(examples: list[Judged], calibration: Calibration) -> float:
    return float(
        calibration_error(
            [calibration.confidence(one.name, one.score) for one in examples], [one.right for one in examples]
        )
    )


def test_a_reader_that_is_too_sure_is_brought_down():
    examples = judged()
    before, after = error(examples, Calibration()), error(examples, fit_calibration(examples))
    assert before > 0.1
    assert after < 0.04
    assert cross_validated_error([[example] for example in examples]) < 0.04


def test_a_field_never_found_keeps_its_scores():
    calibration = fit_calibration(judged(50))
    assert (calibration.slopes[0], calibration.offsets[0]) == (1.0, 0.0)


def test_a_field_that_is_always_right_gets_finite_values():
    examples = [Judged("date", 0.9, True) for _ in range(20)]
    calibration = fit_calibration(examples)
    assert 0.9 < calibration.confidence("date", 0.9) < 1


def write_set(folder: Path, count: int) -> None:
    """Receipts in the layout of SROIE; every other one says another date than it shows."""
    for number in range(count):
        made = make_document(np.random.default_rng([991, number]), "receipt")
        made.image.convert("RGB").save(folder / f"{number}.jpg")
        lines: dict[int, list[Word]] = {}
        for word in made.page.words:
            lines.setdefault(word.line, []).append(word)
        boxes = [[box_of(words, range(len(words))), " ".join(word.text for word in words)] for words in lines.values()]
        written = [{"text": text, "box": [box.x0, box.y0, box.x1, box.y1]} for box, text in boxes]
        fields = made.fields | ({"date": "01/01/1999"} if number % 2 else {})
        (folder / f"{number}.json").write_text(json.dumps({"fields": fields, "lines": written}))


def test_the_command_line_fits_a_reader_on_receipts(tmp_path, run):
    loaded = find_pages("receipt")
    assert loaded is not None
    model, receipts = tmp_path / "model", tmp_path / "set"
    shutil.copytree(loaded.folder, model)
    receipts.mkdir()
    write_set(receipts, 8)
    ran = run("calibrate", model, receipts, "--words", "given")
    assert ran.code == 0, ran.err
    assert "expected calibration error" in ran.out
    fitted = Calibration(*json.loads((model / "config.json").read_text())["calibration"])
    assert fitted.confidence("date", 0.99) < 0.8  # half of the dates are not what the set says
    assert fitted.confidence("date", 0.99) < fitted.confidence("company", 0.99)
    assert "given or found by ocr" in run("calibrate", model, receipts, "--words", "mine").err
