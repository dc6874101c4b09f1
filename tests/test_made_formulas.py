"""Formulas made up, stacked and taken out of articles, and what a camera makes of them."""

import numpy as np
import pytest

from unrender import latex
from unrender.tokens import LatexTokenizer
from unrender.training.augment import Augmentation
from unrender.training.formula.everyday import make_up, stack
from unrender.training.formula.rarities import make_rare
from unrender.training.formula.renderers import draw_with_matplotlib
from unrender.training.formula.texts import is_validation_paper, read_articles, read_formulas, vocabulary
from unrender.training.photographs import photograph


@pytest.fixture(scope="module")
def tokenizer() -> LatexTokenizer:
    return LatexTokenizer(vocabulary())


def test_made_up_formulas_are_well_formed_and_in_the_vocabulary(tokenizer):
    made = list(make_up(300, tokenizer))
    assert len(made) > 270
    assert all(latex.check(formula.drawn) is None for formula in made)
    assert not any(tokenizer.unknown(formula.text) for formula in made)
    assert made == list(make_up(300, tokenizer))


def test_they_have_what_papers_lack(tokenizer):
    tokens = {token for formula in make_up(2000, tokenizer) for token in formula.text.split()}
    assert {"\\iint", "\\oint", "\\emptyset", "\\exists", "\\left\\lfloor", "\\rightleftharpoons", "\\div"} <= tokens


def test_rare_signs_are_made_up_often(tokenizer):
    made = [formula.text.split() for formula in make_up(2400, tokenizer, make_rare)]  # of some two dozen kinds
    assert len(made) > 2300
    for sign in (
        "\\underbrace",
        "\\lfloor",
        "\\iint",
        "\\overline",
        "\\hbar",
        "\\exists",
        "\\vec",
        "\\rightleftharpoons",
    ):
        assert sum(sign in tokens for tokens in made) >= 10
    assert sum(tokens[:4] == ["{", "}", "^", "{"] for tokens in made) >= 20  # prescripts
    assert sum("m o d }" in " ".join(tokens) for tokens in made) >= 50
    assert sum("\\left(" in tokens and "\\frac" in tokens for tokens in made) >= 50
    assert sum(len(tokens) == 1 for tokens in made) >= 50


def test_matplotlib_is_asked_in_a_spelling_whose_scripts_it_sees():
    texts = ("x _ { a } ^ { 2 } + y", "x_{a}^{2} + y", "x a 2 + y")
    spaced, close, flat = map(np.array, draw_with_matplotlib(texts, np.random.default_rng(0)))
    assert np.array_equal(spaced, close)
    assert spaced.shape[0] > flat.shape[0]


def test_lines_are_stacked_in_order(tokenizer):
    made = list(make_up(300, tokenizer))
    for formula in stack(20, made, tokenizer):
        assert formula.text.count("\\\\") >= 2
        assert "\\begin{array}" in formula.text
        assert latex.check(formula.drawn) is None


def test_formulas_are_taken_out_of_articles(tmp_path, tokenizer):
    (tmp_path / "one.tex").write_text(
        "\\begin{document}Let $x$ be % $hidden$\n a number: \\[ x = 1. \\] and \\begin{align*} a &= b \\\\ c &= d "
        "\\end{align*} cost \\$5 and $\\unknownmacro$ \\end{document}"
    )
    found = [formula for _, formula, _ in read_formulas(tmp_path)]
    assert found == ["x", "x = 1", "\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}", "\\unknownmacro"]
    kept = {formula.text for formula in read_articles(tmp_path, tokenizer)}
    assert "x" in kept
    assert not any("unknown" in text for text in kept)


def test_some_articles_are_held_out(tmp_path, tokenizer):
    for number in range(200):
        (tmp_path / f"article{number}.tex").write_text(f"\\begin{{document}}$x_{{{number}}}$\\end{{document}}")
    papers = {formula.paper for formula in read_articles(tmp_path, tokenizer)}
    assert 150 < len(papers) < 200
    assert not any(is_validation_paper(paper) for paper in papers)


def test_a_photographed_formula_keeps_its_ink_where_its_box_is():
    gray = np.full((40, 120), 255, dtype=np.uint8)
    gray[10:30, 24:27] = 0
    gray[10:30, 90:93] = 0
    boxes = np.array([[24, 10, 27, 30], [np.nan] * 4], dtype=np.float32)
    for seed in range(12):
        picture, moved = photograph(gray, boxes, np.random.default_rng(seed))
        left, top, right, bottom = (round(float(side)) for side in moved[0])
        inside = picture[max(0, top) : bottom, max(0, left) : right]
        assert inside.mean() < picture.mean() - 40, seed
        assert np.isnan(moved[1]).all()


def test_the_same_generator_takes_the_same_photograph():
    gray = np.full((30, 60), 255, dtype=np.uint8)
    gray[10:20, 10:50] = 0
    settings = Augmentation(photographed=1.0)
    none = np.zeros((0, 4), dtype=np.float32)
    first, second = (settings(gray, none, np.random.default_rng(5), 0.3)[0] for _ in range(2))
    assert (first == second).all()
