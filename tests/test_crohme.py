"""Pictures of real pen strokes, with the places of their tokens."""

import numpy as np

from unrender.images.pen_strokes import InkSymbol, parse_ink
from unrender.models.formula import formula
from unrender.training.formula.crohme import DRAWINGS, EXCHANGED_DRAWINGS, LENT_DRAWINGS, label, lend, match, pictures
from unrender.training.formula.writers import PenSymbol, Writers

# The fraction 1 / x: written from the bar, read from the fraction.
INKML = b"""<ink xmlns="http://www.w3.org/2003/InkML">
<annotation type="truth">$\\frac{1}{x}$</annotation>
<annotationXML><math xmlns="http://www.w3.org/1998/Math/MathML">
  <mfrac xml:id="bar"><mn xml:id="one">1</mn><mi xml:id="x">x</mi></mfrac>
</math></annotationXML>
<trace id="0">10 0, 10 10, 10 20, 10 30</trace>
<trace id="1">0 60, 10 70, 20 90</trace>
<trace id="2">20 60, 10 75, 0 90</trace>
<trace id="3">-5 45, 10 45, 25 45</trace>
<traceGroup><annotation type="truth">Segmentation</annotation>
  <traceGroup><annotation type="truth">1</annotation><traceView traceDataRef="0"/>
    <annotationXML href="one"/></traceGroup>
  <traceGroup><annotation type="truth">x</annotation><traceView traceDataRef="1"/><traceView traceDataRef="2"/>
    <annotationXML href="x"/></traceGroup>
  <traceGroup><annotation type="truth">-</annotation><traceView traceDataRef="3"/>
    <annotationXML href="bar"/></traceGroup>
</traceGroup>
</ink>"""
TOKENS = "\\frac { 1 } { x }".split()


def test_symbols_come_in_the_order_of_reading():
    assert [symbol.label for symbol in parse_ink(INKML, "x").symbols] == ["-", "1", "x"]


def test_a_label_says_only_what_a_hand_shows():
    assert label(r"{ - L \left( \mathrm { a } \right) } + \sin x") == r"- L ( a ) + \operatorname { s i n } x"
    assert label(r"\frac{1") is None


def test_tokens_find_their_symbols():
    found = match(TOKENS, parse_ink(INKML, "x").symbols)
    assert {token: symbol for token, (symbol, _, _) in found.items()} == {0: 0, 2: 1, 5: 2}


def test_the_letters_of_a_word_share_its_symbol():
    stroke = (np.array([[0.0, 0.0], [9.0, 9.0]]),)
    found = match("\\operatorname { s i n } x".split(), [InkSymbol("\\sin", stroke), InkSymbol("x", stroke)])
    assert [found[token][0] for token in (2, 3, 4, 6)] == [0, 0, 0, 1]
    assert found[2][1:] == (0.0, 1 / 3)
    assert found[6][1:] == (0.0, 1.0)


def test_nothing_is_claimed_where_the_symbols_are_others():
    assert match("a + b".split(), parse_ink(INKML, "x").symbols) == {}


def test_boxes_hold_the_ink_of_their_tokens_in_every_drawing():
    every = list(pictures(parse_ink(INKML, "x"), TOKENS, formula(10).image, np.random.default_rng(0)))
    assert {tokens for _, _, tokens in every} == {tuple(TOKENS)}  # it has no part of several symbols
    drawn = [(gray, boxes) for gray, boxes, _ in every]
    assert len(drawn) == DRAWINGS
    for gray, boxes in drawn:
        assert (boxes[[1, 3, 4, 6]] == -1).all()
        bar, one, x = boxes[0], boxes[2], boxes[5]
        assert one[3] <= bar[3] <= x[3]
        for left, top, right, bottom in (bar, one, x):
            inside = gray[max(0, top) : bottom + 1, max(0, left) : right + 1]
            assert inside.size > 0
            assert inside.min() < 128
    assert len({gray.shape for gray, _ in drawn}) > 1


def test_symbols_are_lent_by_others_and_stay_in_their_place():
    ink = parse_ink(INKML, "x")
    ring = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0, 6, 20)])
    writers = Writers([PenSymbol(name, "b", (ring,)) for name in ("1", "x", "-")])
    rng = np.random.default_rng(0)
    drawn = [lend(ink, writers.hand(rng), rng) for _ in range(40)]
    changed = {
        symbol.label
        for one in drawn
        for symbol, own in zip(one.symbols, ink.symbols, strict=True)
        if symbol.strokes is not own.strokes
    }
    assert changed == {"1", "x"}  # a bar stays
    for one in drawn:
        assert sum(len(symbol.strokes) for symbol in one.symbols) == len(one.strokes)
        for symbol, own in zip(one.symbols, ink.symbols, strict=True):
            middle, before = (np.concatenate(mark.strokes) for mark in (symbol, own))
            assert np.abs((middle.min(0) + middle.max(0) - before.min(0) - before.max(0)) / 2).max() < 5
    count = len(list(pictures(ink, TOKENS, formula(10).image, rng, writers)))
    assert count == DRAWINGS + LENT_DRAWINGS + EXCHANGED_DRAWINGS


def test_a_symbol_becomes_another_one_written_by_somebody_else():
    ink = parse_ink(INKML, "x")
    ring = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0, 6, 20)])
    hand = Writers([PenSymbol("7", "b", (ring,))]).hand(np.random.default_rng(0))
    one = lend(ink, hand, np.random.default_rng(0), {1: "7"}).symbols[1]
    assert one.label == "7"
    assert np.ptp(one.strokes[0], axis=0).max() > 10  # as large as the 1 was
