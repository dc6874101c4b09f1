"""Pictures of what is no formula, for training."""

from pathlib import Path

import numpy as np

from unrender.models.formula import formula
from unrender.training.data import Cache
from unrender.training.formula import others


def test_drawings_that_are_no_formulas_have_empty_labels(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(others, "_DRAWN", 6)
    monkeypatch.setattr(others, "_PHOTOGRAPHS", 6)
    others.make_others(tmp_path / "others", tmp_path, ["<pad>", "a"], formula(10).image, seed=0)
    made = Cache(tmp_path / "others")
    assert len(made) > 10
    for number in range(len(made)):
        assert made.text(number) == ""
        assert made.boxes(number).shape == (0, 4)
        assert made.gray(number).shape[1] >= 28
        assert np.ptp(made.gray(number)) > 20


def test_pieces_of_receipts_hold_several_lines(tmp_path: Path):
    from PIL import Image

    lines = [{"box": [10, 20 * row, 90, 20 * row + 15], "text": "NASI LEMAK"} for row in range(8)]
    Image.new("L", (100, 200), 255).save(tmp_path / "three.jpg")
    (tmp_path / "three.json").write_text(others.json.dumps({"lines": lines, "fields": {}}))
    pieces = list(others._pieces(tmp_path, np.random.default_rng(0)))
    assert pieces
    assert {piece.width for piece in pieces} == {88}
    assert {piece.height for piece in pieces} == {23 + 20 * more for more in range(1, 5)}
