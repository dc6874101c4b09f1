"""Formulas written with pen strokes: who writes, which glyph is what, where strokes come to stand, where tokens are."""

import lzma

import numpy as np
import pytest

from unrender.models.formula import formula as formula_model
from unrender.training.formula.glyphs import ROOT, Shape, cut, read_shapes
from unrender.training.formula.pen_set import can_be_written
from unrender.training.formula.pens import bounds, picture, take_manner, write
from unrender.training.formula.pointing import lay_out_marked
from unrender.training.formula.texts import Formula
from unrender.training.formula.writers import (
    PenSymbol,
    Writers,
    read_crohme,
    read_detexify,
    thin,
    trace,
    without_odd,
)
from unrender.typesetting import Style
from unrender.typesetting.dvi import Layout, PlacedGlyph, Rule

SYMBOLS = (".", "a", "b", "x", "+", "-", "1", "2", ROOT)
SIZE = 16.0
SHAPES = {("cmmi", ord(letter)): Shape(letter, (0.05, -0.45, 0.5, 0.0)) for letter in "abx"}


def circle(size: float = 50.0) -> tuple[np.ndarray, ...]:
    angles = np.linspace(0, 2 * np.pi, 20)
    return (size * np.stack([np.cos(angles), np.sin(angles)], axis=1),)


def hook() -> tuple[np.ndarray, ...]:
    return (np.array([[0, 60], [10, 50], [20, 100], [40, 0], [100, 0]], dtype=float),)


def written_by(writer: str, names=SYMBOLS) -> list[PenSymbol]:
    return [PenSymbol(name, writer, hook() if name == ROOT else circle()) for name in names]


def glyph(letter: str, x: float, y: float = 20.0) -> PlacedGlyph:
    return PlacedGlyph(("cmmi", ord(letter)), SIZE, x, y, 8.0, 7.0, 0.0)


def test_a_hand_writes_a_symbol_the_same_way_throughout_a_formula_and_keeps_to_its_writer():
    mine = [PenSymbol("a", "me", circle(size)) for size in (1, 2, 3)]
    other = [PenSymbol(name, "you", circle(9)) for name in "ab"]
    for seed in range(8):
        hand = Writers([*mine, PenSymbol("x", "me", circle()), *other]).hand(np.random.default_rng(seed))
        assert hand.take("a") is hand.take("a")
        assert np.ptp(hand.take("b")[0][:, 0]) == pytest.approx(2 * 9, rel=0.02)
        assert hand.take("z") is None


def test_writers_come_back_from_their_file(tmp_path):
    writers = Writers([*written_by("me"), *written_by("you", "ab")])
    writers.save(tmp_path / "writers.npz")
    again = Writers.load(tmp_path / "writers.npz")
    assert (len(again), again.names, again.people) == (len(writers), writers.names, writers.people)
    strokes = again.hand(np.random.default_rng(0)).take(ROOT)
    assert np.allclose(strokes[0], hook()[0])


def test_symbols_of_quite_other_proportions_are_dropped():
    flat = PenSymbol("a", "me", (np.array([[0.0, 0.0], [100.0, 1.0]]),))
    assert without_odd([*(PenSymbol("a", "me", circle()) for _ in range(30)), flat])[-1] is not flat


def test_crohme_symbols_keep_their_writer_and_are_named_as_tex_names_them(tmp_path):
    (tmp_path / "one.inkml").write_text(
        '<ink xmlns="http://www.w3.org/2003/InkML"><annotation type="writer">w7</annotation>'
        '<trace id="0">0 0, 9 9</trace><traceGroup><traceGroup><annotation type="truth">\\lt</annotation>'
        '<traceView traceDataRef="0"/></traceGroup></traceGroup></ink>'
    )
    [symbol] = read_crohme(tmp_path)
    assert symbol.name == "<"
    assert symbol.writer.endswith(" w7")
    assert symbol.strokes[0].tolist() == [[0, 0], [9, 9]]


def test_detexify_lines_are_strokes(tmp_path):
    path = tmp_path / "strokes.tsv.xz"
    path.write_bytes(lzma.compress(b"\\mathds{R}\tdsfont\t0,1 2,3;4,5\n"))
    [symbol] = read_detexify(path)
    assert symbol.name == r"\mathbb{R}"
    assert [points.tolist() for points in symbol.strokes] == [[[0, 1], [2, 3]], [[4, 5]]]


def test_a_thick_cross_is_traced_as_two_lines_through_its_middle():
    mask = np.zeros((60, 60), dtype=bool)
    mask[27:33, 5:55] = mask[5:55, 27:33] = True
    strokes = trace(thin(mask))
    assert 2 <= len(strokes) <= 3
    left, top, right, bottom = bounds(strokes)
    assert right - left > 40
    assert bottom - top > 40
    assert all(np.abs(points - 29.5).min(axis=1).max() < 3 for points in strokes)  # each point lies on an arm's middle


def test_parts_of_a_tall_bracket_are_one_piece_and_a_root_takes_its_bar():
    parts = [PlacedGlyph(("cmex", code), SIZE, 0.0, y, 8.0, 0.0, 18.0) for code, y in ((48, 0), (66, 18), (64, 36))]
    root = PlacedGlyph(("cmsy", 112), SIZE, 20.0, 1.0, 10.0, 1.0, 16.0)
    layout = Layout((*parts, root, glyph("a", 31.0)), (Rule(30.0, 0.0, 20.0, 0.6), Rule(60.0, 9.0, 30.0, 0.6)))
    bracket, sign, letter, bar = cut(layout, SHAPES)
    assert (bracket.name, bracket.glyphs, bracket.box) == ("(", (0, 1, 2), (0.0, 0.0, 8.0, 54.0))
    assert (sign.name, sign.rules, sign.box[2], sign.corner) == (ROOT, (0,), 50.0, 30.0)
    assert letter.name == "a"
    assert (bar.name, bar.rules) == ("-", (1,))


def test_what_tex_sets_is_written_in_its_order_and_the_same_for_the_same_seed():
    layout = Layout((glyph("a", 0.0), glyph("b", 60.0), glyph("x", 120.0)), (Rule(0.0, 40.0, 130.0, 0.6),))
    writers = Writers(written_by("me"))

    def once(seed):
        rng = np.random.default_rng(seed)
        return write(layout, SHAPES, writers.hand(rng), take_manner(rng), rng)

    one, same, other = once(1), once(1), once(2)
    assert all(np.array_equal(mine, its) for mine, its in zip(one.strokes, same.strokes, strict=True))
    assert not np.array_equal(one.strokes[0], other.strokes[0])
    assert one.glyphs[0][2] < one.glyphs[1][0] < one.glyphs[1][2] < one.glyphs[2][0]
    [bar] = one.rules
    assert bar[1] > max(box[3] for box in one.glyphs) - 2
    assert bar[2] - bar[0] > 100
    assert bar[3] - bar[1] < SIZE


def test_a_formula_with_a_symbol_nobody_wrote_is_not_written():
    writers, rng = Writers(written_by("me", "ab")), np.random.default_rng(0)
    for layout in (Layout((glyph("x", 0.0),), ()), Layout((PlacedGlyph(("cmbx", 97), SIZE, 0, 0, 8, 7, 0),), ())):
        assert write(layout, SHAPES, writers.hand(rng), take_manner(rng), rng) is None


def test_every_visible_token_has_a_box_with_its_ink():
    tokens = r"\frac { a } { b } + \sqrt { x } - 1".split()
    [(layout, marks)] = lay_out_marked([tokens], Style())
    shapes, writers = read_shapes(SYMBOLS), Writers(written_by("me"))
    assert shapes["cmr", ord(".")].name == shapes["cmmi", 58].name == "."  # as in \\vdots, and in a number
    prep = formula_model(100).image
    rng = np.random.default_rng(4)
    written = write(layout, shapes, writers.hand(rng), take_manner(rng), rng)
    gray, boxes = picture(written, tokens, marks, [False] * len(layout.glyphs), prep, rng)
    for token, (left, top, right, bottom) in zip(tokens, boxes.tolist(), strict=True):
        if token in "{}":
            assert left == -1
        else:
            assert 0 <= left <= right <= gray.shape[1] + 1
            assert gray[max(0, top) : bottom + 1, left : right + 1].min() < 128
    bar, above, below, root, inside = (boxes[tokens.index(token)] for token in (r"\frac", "a", "b", r"\sqrt", "x"))
    assert above[3] < bar[3] + 2 < below[3]
    assert root[0] < inside[0] < inside[2] <= root[2] + 2


def test_what_a_hand_cannot_show_is_left_out():
    texts = [r"\mathbf { x }", r"\mathrm { d } x", r"\mathrm { m a x } x", "x " * 61, "x ^ { 2 }"]
    kept = [formula.text for formula in can_be_written(Formula(text, 0, display=False) for text in texts)]
    assert kept == [texts[2], texts[4]]
