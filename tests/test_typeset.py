"""Typesetting with a real TeX, also of formulas that mean harm; without TeX these tests fail, naming the packages."""

from pathlib import Path

import numpy as np
import pytest

from unrender import typesetting as module
from unrender.errors import MissingExtraError
from unrender.typesetting import FONTS, Style, compile_formulas
from unrender.typesetting.pictures import crop_to_ink, find_tools, typeset

HOSTILE = {
    "loops for ever": r"\def\x{\x}\x",
    "fills the memory": r"\def\x{x\x}\x",
    "reads a file": r"\input{/etc/passwd}",
    "reads line by line": r"\openin5=/etc/passwd \read5 to\x \x",
    "asks the terminal": r"\read16 to\x \x",
    "runs a command": r"\immediate\write18{touch %s}",
    "writes a file": r"\immediate\openout3=%s \immediate\write3{x}",
    "changes what others mean": r"\gdef\alpha{x}\let\beta\alpha",
    "ends the document": r"x\end{document}",
    "ends its page": r"x$\end{preview}\begin{preview}$y",
}


@pytest.fixture(autouse=True)
def tools() -> None:
    find_tools()


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_PER_RUN", 4)


def run_latex(folder: Path, *formulas: str) -> set[int] | None:
    return module._run_latex(formulas, Style(), folder)


def test_each_formula_gets_its_own_picture_cropped_to_its_ink():
    fraction, letter = typeset([r"\frac { a } { b }", "x"], Style())
    for gray in (fraction, letter):
        assert gray.dtype == np.uint8
        for edge in (gray[0], gray[-1], gray[:, 0], gray[:, -1]):
            assert edge.min() < 250
    assert fraction.shape[0] > 2 * letter.shape[0]
    assert 6 <= letter.shape[0] <= 12  # as in the Im2Latex pictures: 12 pt at 100 dpi


def test_what_does_not_compile_or_leaves_no_ink_is_none_and_the_others_keep_their_place():
    results = typeset(["a", r"\undefinedcommand", "a", r"\frac{a}", "{", r"\,", "a + a"], Style())
    assert [result is None for result in results] == [False, True, False, True, True, True, False]
    assert np.array_equal(results[0], results[2])
    assert results[6].shape[1] > results[0].shape[1]


def test_dpi_scales_style_and_font_change_the_picture():
    formula = r"\sum _ { n = 0 } ^ { N } x"
    [usual], [double], [inline] = (
        typeset([formula], style) for style in (Style(), Style(dpi=200), Style(display=False))
    )
    assert double.shape[0] == pytest.approx(2 * usual.shape[0], abs=2)
    assert inline.shape[0] < usual.shape[0]
    [times] = typeset([formula], Style(font="times"))
    assert times.shape != usual.shape
    assert "times" in FONTS


def test_the_same_formula_gives_the_same_picture():
    first, second = (typeset([r"e ^ { i \pi } + 1 = 0"], Style())[0] for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("kind", list(HOSTILE))
def test_a_formula_that_means_harm_is_dropped_and_its_neighbours_are_set(kind, tmp_path, hurry):
    trace = tmp_path / "trace"
    formula = HOSTILE[kind].replace("%s", str(trace))
    before, hostile, after = typeset([r"\alpha", formula, r"\alpha"], Style())
    assert hostile is None
    assert np.array_equal(before, after)
    assert not trace.exists()


def test_tex_itself_may_neither_shell_out_nor_write_elsewhere(tmp_path, hurry):
    folder, trace = tmp_path / "tex", tmp_path / "trace"
    folder.mkdir()
    run_latex(folder, rf"\immediate\write18{{touch {trace}}}x")
    assert not trace.exists()
    run_latex(folder, rf"\immediate\openout3={trace} \immediate\write3{{x}}\immediate\closeout3 x")
    assert not trace.exists()


def test_tex_itself_reads_only_in_its_folder(tmp_path, hurry):
    folder = tmp_path / "tex"
    folder.mkdir()
    for place in (folder, tmp_path):
        (place / "letter.tex").write_text("x")
    assert run_latex(folder, r"\input{letter}") == set()
    assert run_latex(folder, r"\input{../letter}") != set()
    assert run_latex(folder, rf"\input{{{tmp_path}/letter}}") != set()


def test_tex_is_stopped_after_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_PER_RUN", 1)
    assert run_latex(tmp_path, r"\def\x{\x}\x") is None


def test_the_dvi_has_a_page_for_each_formula_that_compiles(tmp_path):
    from matplotlib.dviread import Dvi

    assert compile_formulas(["a", r"\nothing", "b"], Style(), tmp_path) == [True, False, True]
    with Dvi(str(tmp_path / "formulas.dvi"), 100) as pages:
        assert len(list(pages)) == 2


def test_without_tex_the_packages_are_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingExtraError, match=r"texlive-latex-base .* dvipng preview-latex-style"):
        typeset(["x"], Style())


def test_a_font_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(FONTS, "absent", r"\usepackage{no-such-font}")
    with pytest.raises(
        MissingExtraError, match=r"no-such-font\.sty, needed for the font absent; install texlive-fonts-extra"
    ):
        typeset(["x"], Style(font="absent"))


def test_nothing_is_typeset_as_nothing():
    assert typeset([], Style()) == []


def test_cropping_keeps_the_ink_and_knows_blank_paper():
    gray = np.full((9, 9), 255, dtype=np.uint8)
    assert crop_to_ink(gray) is None
    gray[2:4, 5] = 100
    assert crop_to_ink(gray).tolist() == [[100], [100]]
