"""What is seen of formulas: glyphs by kind and place. Without TeX these tests fail, naming the packages."""

import json
from pathlib import Path

import pytest
from PIL import Image

from unrender.evaluation.scoring import see
from unrender.metrics import Glyph, glyph_f1


def seen(truth: str, reading: str) -> float | None:
    return see([truth], [reading])[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"x ^ { 2 } + 1", "x^2+1"),
        (r"\frac { a } { b }", r"{ a \over b }"),
        (r"a \le b \to c", r"a \leq b \rightarrow c"),
        (r"x _ { i } ^ { 2 }", "x^2_i"),
        (r"\left( x \right) \, y", r"( x ) \quad y"),
        (r"\operatorname { s i n } x", r"\sin x"),
        (r"{ { a } } { b }", "ab"),
    ],
)
def test_formulas_that_look_alike_are_the_same_however_they_are_spelled(one, other):
    assert seen(one, other) == 1.0


def test_what_is_missing_wrong_or_too_much_lowers_the_score():
    assert seen("a + b + c + d", "a + b + d") == pytest.approx(2 * 5 / (7 + 5))
    assert seen("a + b", "a + d") == pytest.approx(2 * 2 / 6)
    assert seen("a + b", "a + b c") == pytest.approx(2 * 3 / 7)
    assert seen(r"\frac { a } { b }", "a b") < 0.5


def test_a_glyph_in_the_wrong_place_does_not_count():
    assert seen("x ^ { 2 } + y", "x _ { 2 } + y") == pytest.approx(3 / 4)
    assert seen("x ^ { 2 } + y", "x 2 + y") == pytest.approx(3 / 4)
    assert seen("a ^ { b ^ { c } }", "a ^ { b c }") < 1


def test_a_part_that_is_moved_as_a_whole_counts():
    assert seen(r"\sqrt { x + y + z } = 1", r"\sqrt { x + y + z }") == pytest.approx(2 * 7 / (9 + 7))


def test_what_does_not_compile_is_not_seen():
    assert see(["x", "x", r"\nosuchcommand"], [r"\frac { x", "", "x"]) == [0.0, 0.0, None]


def test_handwriting_has_no_fonts():
    assert see([r"\mathrm { H } x"], ["H x"], fonts=False) == [1.0]
    assert see([r"\mathrm { H } x"], ["H x"]) == [0.5]


def test_the_share_of_glyphs_needs_no_tex():
    a, b, raised = Glyph("a", 0.0, 1.0), Glyph("b", 0.0, 1.0), Glyph("b", -0.4, 0.7)
    assert glyph_f1([a, b], [a, b]) == 1.0
    assert glyph_f1([a, b], [a, raised]) == 0.5
    assert glyph_f1([], []) == 1.0
    assert glyph_f1([a], []) == 0.0


def test_the_command_adds_what_is_seen(run, tiny_folder, tmp_path: Path):
    picture = Image.new("L", (60, 30), 255)
    picture.paste(0, (10, 10, 30, 20))
    picture.save(tmp_path / "a.png")
    (tmp_path / "labels.tsv").write_text("a.png\tx + 1\na.png\t\\nosuchcommand\n")
    ran = run("evaluate", tiny_folder, tmp_path, "--workers", 1, "--json", "--seen")
    assert ran.code == 0, ran.err
    assert 0 <= json.loads(ran.out)["cdm"] <= 1
    assert json.loads(ran.out)["exp_rate_cdm"] == 0
    assert "TeX refuses 1 of the truths" in ran.err


def test_only_formulas_are_seen(run, tmp_path: Path):
    Image.new("L", (60, 30), 255).save(tmp_path / "a.png")
    (tmp_path / "labels.tsv").write_text("a.png\t<s_total>9</s_total>\n")
    ran = run("evaluate", "receipt", tmp_path, "--workers", 1, "--seen")
    assert "receipt reads the task receipt; only what is read as LaTeX" in ran.errors[0]
