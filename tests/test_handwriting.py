"""Handwriting: where TeX puts glyphs, cutting them out of pictures, and writing formulas with them."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from unrender.training.formula.handwriting import (
    GlyphBank,
    HandGlyph,
    compose,
    fit,
    harvest,
)
from unrender.typesetting import DVI, Style, compile_formulas, read_layouts
from unrender.typesetting.dvi import Layout, Rule
from unrender.typesetting.pictures import find_tools

DPI = 100
FORMULAS = (r"\frac { a } { b } + x", "x _ { i } ^ { 2 } = 1 + \\alpha \\beta \\gamma k m", r"\,")


@pytest.fixture(scope="module")
def layouts(tmp_path_factory: pytest.TempPathFactory) -> list[Layout | None]:
    find_tools()
    folder = tmp_path_factory.mktemp("tex")
    assert compile_formulas(FORMULAS, Style(), folder) == [True] * len(FORMULAS)
    return read_layouts(folder / DVI, DPI)


def pen_loop(glyph) -> HandGlyph:
    """A closed loop that fills the glyph's box: something that no two boxes share."""
    height, width = max(3, round(glyph.height + glyph.depth)), max(3, round(glyph.width))
    ink = np.zeros((height, width), dtype=np.uint8)
    cv2.ellipse(ink, (width // 2, height // 2), (width // 2 - 1, height // 2 - 1), 0, 0, 360, 255, 1)
    ink[height // 2, width // 2] = 255
    ink[height // 2, : width // 2] = 255
    return HandGlyph(ink, 0.0, -glyph.height / glyph.size, glyph.size)


def bank_for(*layouts: Layout) -> GlyphBank:
    return GlyphBank((glyph.key, pen_loop(glyph)) for layout in layouts for glyph in layout.glyphs)


def test_a_fraction_has_its_numerator_above_its_bar_above_its_denominator(layouts):
    layout = layouts[0]
    numerator, denominator, plus, letter = layout.glyphs
    [bar] = layout.rules
    assert [glyph.key[0] for glyph in layout.glyphs] == ["cmmi", "cmmi", "cmr", "cmmi"]
    assert [chr(glyph.key[1]) for glyph in layout.glyphs] == ["a", "b", "+", "x"]
    assert numerator.y < bar.y < bar.y + bar.height < denominator.y - denominator.height
    assert bar.x <= numerator.x
    assert numerator.x + numerator.width <= bar.x + bar.width + 1
    assert denominator.x < plus.x < letter.x
    assert numerator.size == pytest.approx(12 * DPI / 72.27, rel=0.01)  # display style is set in full size


def test_scripts_are_smaller_and_stand_off_the_base_line(layouts):
    base, one, other = layouts[1].glyphs[:3]
    upper, lower = sorted((one, other), key=lambda glyph: glyph.y)
    assert base.size > upper.size == pytest.approx(lower.size)
    assert upper.y < base.y < lower.y


def test_a_page_without_glyphs_has_no_layout(layouts):
    assert layouts[2] is None


def test_a_composed_formula_has_ink_where_its_glyphs_stand(layouts):
    layout = layouts[0]
    gray = compose(layout, bank_for(layout), np.random.default_rng(0))
    left, top, right, bottom = layout.bounds()
    assert gray.dtype == np.uint8
    assert gray.shape == (np.ceil(bottom - top) + 12, np.ceil(right - left) + 12)
    for glyph in layout.glyphs:
        x, y = glyph.x - left + 6, glyph.y - top + 6
        box = gray[round(y - glyph.height) : round(y + glyph.depth), round(x) : round(x + glyph.width)]
        assert (box < 128).mean() > 0.1
    bar = layout.rules[0]
    strip = gray[
        round(bar.y - top + 6) - 2 : round(bar.y - top + 6) + 3,
        round(bar.x - left + 6) + 1 : round(bar.x - left + bar.width + 6) - 1,
    ]
    assert (strip.min(axis=0) < 200).all()
    assert gray[:2].min() == 255


def test_composing_comes_from_its_generator_alone(layouts):
    bank = bank_for(layouts[1], layouts[0])
    for glyph in layouts[1].glyphs:
        bank.add(glyph.key, HandGlyph(np.full((5, 5), 255, np.uint8), 0.1, -0.3, glyph.size))
    one, same, other = (compose(layouts[1], bank, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_formula_with_a_glyph_the_bank_lacks_is_not_composed(layouts):
    assert compose(layouts[1], bank_for(layouts[0]), np.random.default_rng(0)) is None


def test_scale_makes_the_picture_larger(layouts):
    small, large = (
        compose(layouts[0], bank_for(layouts[0]), np.random.default_rng(0), scale=scale) for scale in (1, 2)
    )
    assert large.shape[1] - 12 == pytest.approx(2 * (small.shape[1] - 12), abs=2)


def test_a_layout_is_fitted_onto_its_picture_and_its_glyphs_are_harvested(layouts):
    layout = layouts[1]
    gray = compose(layout, bank_for(layout), np.random.default_rng(3), scale=1.15)
    fitted = fit(layout, gray)
    assert fitted is not None
    assert fitted.glyphs[0].size == pytest.approx(1.15 * layout.glyphs[0].size, rel=0.04)
    left, top = layout.bounds()[:2]
    assert fitted.glyphs[0].x == pytest.approx((layout.glyphs[0].x - left) * 1.15 + 6, abs=2)
    assert fitted.glyphs[0].y == pytest.approx((layout.glyphs[0].y - top) * 1.15 + 6, abs=2)
    found = harvest(fitted, gray)
    keys = [key for key, _ in found]
    assert set(keys) <= {glyph.key for glyph in layout.glyphs}
    assert len(keys) >= 0.6 * len(layout.glyphs)
    for key, hand in found:
        wanted = pen_loop(next(glyph for glyph in layout.glyphs if glyph.key == key))
        assert hand.ink.max() > 128
        assert hand.left == pytest.approx(wanted.left, abs=0.25)
        assert hand.top == pytest.approx(wanted.top, abs=0.25)


def test_harvested_glyphs_write_the_formula_again(layouts):
    layout = layouts[1]
    gray = compose(layout, bank_for(layout), np.random.default_rng(3), scale=1.15)
    bank = bank_for(layout)
    harvested = harvest(fit(layout, gray), gray)
    for key, hand in harvested:
        bank._glyphs[key] = [hand]
    again = compose(layout, bank, np.random.default_rng(3), scale=1.15)
    ink, other = (cv2.dilate((picture < 200).astype(np.uint8), np.ones((5, 5))) for picture in (gray, again))
    assert (ink & other).sum() > 0.8 * ink.sum()


def test_a_layout_does_not_fit_the_picture_of_another_formula(layouts):
    gray = np.full((60, 200), 255, dtype=np.uint8)
    gray[::2] = 0
    assert fit(layouts[0], gray) is None


def test_a_bank_keeps_its_glyphs_when_saved(tmp_path: Path, layouts):
    bank = bank_for(layouts[0], layouts[1])
    bank.save(tmp_path / "glyphs.npz")
    loaded = GlyphBank.load(tmp_path / "glyphs.npz")
    assert loaded.counts() == bank.counts()
    glyph = layouts[0].glyphs[0]
    one, other = (some.sample(glyph, np.random.default_rng(0)) for some in (bank, loaded))
    assert np.array_equal(one.ink, other.ink)
    assert (other.left, other.top, other.scale) == pytest.approx((one.left, one.top, one.scale), abs=1e-4)


def test_a_bank_prefers_glyphs_of_like_size_and_is_not_without_end(layouts):
    glyph = layouts[0].glyphs[0]
    bank = GlyphBank()
    for number in range(500):
        scale = glyph.size if number < 5 else glyph.size / 2
        bank.add(glyph.key, HandGlyph(np.zeros((2, 2), np.uint8), 0, 0, scale))
    assert bank.counts() == {glyph.key: 400}
    assert {bank.sample(glyph, np.random.default_rng(seed)).scale for seed in range(20)} == {glyph.size}
    assert ("cmr", 1) not in bank


def test_bounds_take_in_glyphs_and_rules(layouts):
    layout = Layout(layouts[0].glyphs, (*layouts[0].rules, Rule(-5, -7, 1000, 2)))
    assert layout.bounds()[:3] == (-5, -7, 995)
