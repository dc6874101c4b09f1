"""What is a heading on a page, a caption, a running foot, and what only seems one."""

from dataclasses import replace

import pytest
from drawn_pages import draw_page

from unrender.reading.page.assembly import _block, _joined, _Piece
from unrender.reading.page.displays import settle
from unrender.reading.page.headings import find_headings
from unrender.reading.page.places import Kind, Region, Row
from unrender.reading.page.rows import ReadRow
from unrender.reading.page.straight import straighten

STRAIGHT = straighten(draw_page())
SIZE = STRAIGHT.letters


def read(text: str, *, mono: bool = False) -> ReadRow:
    tokens = ["␣" if sign == " " else sign for sign in text]
    return ReadRow(("<tt>", *tokens, "</tt>") if mono else tuple(tokens), 0.9)


def make_piece(kind: Kind, *texts: str, times: float = 1.0, mono: bool = False) -> _Piece:
    high = round(2 * times * SIZE)
    boxes = [(100, 40 * number, 500, 40 * number + high) for number in range(len(texts))]
    rows = tuple(Row(box, times * SIZE) for box in boxes)
    region = Region(kind, (100, 0, 500, 40 * len(texts)), rows)
    return _Piece(region, tuple(read(text, mono=mono) for text in texts), ())


def test_large_lines_are_a_heading_whatever_they_seem_and_begin_with():
    block = _block(make_piece(Kind.TEXT, "zoo: A Class and Methods", "for Ordered Words", times=1.6), STRAIGHT)
    assert (block.kind, block.level, block.text) == ("heading", 1, "zoo: A Class and Methods for Ordered Words")
    assert _block(make_piece(Kind.TEXT, "a line of text"), STRAIGHT).kind == "text"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Define sums of the elements of", "text"),
        ("1. recursively, split the table", "item"),
        ("2 A title of two", "heading"),
    ],
)
def test_sentences_and_items_are_no_headings(text, kind):
    assert _block(make_piece(Kind.HEADING, text), STRAIGHT).kind == kind


def test_a_line_of_code_is_no_heading_and_a_title_in_typewriter_is_one():
    assert _block(make_piece(Kind.HEADING, "> f(x) = g(y)", mono=True), STRAIGHT).kind == "code"
    block = _block(make_piece(Kind.HEADING, "3 Usage", mono=True), STRAIGHT)
    assert (block.kind, block.text) == ("heading", "3 Usage")


def test_what_begins_as_a_caption_does_is_one():
    assert _block(make_piece(Kind.TEXT, "Figure 1.2: What is seen"), STRAIGHT).kind == "caption"
    assert _block(make_piece(Kind.TEXT, "Figure 1.2 shows it"), STRAIGHT).kind == "text"


def test_a_sentence_goes_on_behind_a_figure():
    figure = _Piece(Region(Kind.FIGURE, (0, 0, 9, 9)), (), ())
    before, after = make_piece(Kind.TEXT, "all of them are co-"), make_piece(Kind.TEXT, "linear")
    assert [len(piece.rows) for piece in _joined([before, figure, after])] == [2, 0]
    assert len(_joined([make_piece(Kind.TEXT, "It ends."), figure, after])) == 3
    assert len(_joined([before, after])) == 2


def test_a_line_below_the_number_of_the_page_is_a_running_foot():
    def region(top: int, kind: Kind) -> Region:
        box = (100, top, 500, top + 14)
        return Region(kind, box, (Row(box, 10.0, (box,) if kind == Kind.FORMULA else ()),))

    regions = [region(100, Kind.TEXT), region(900, Kind.FORMULA), region(930, Kind.TEXT)]
    found = {(number, 0, 0): read(text) for number, text in enumerate(("some text", "4 of 58", "A Society"))}
    settled, _ = settle(regions, found)
    assert [one.kind for one in settled] == [Kind.TEXT, Kind.FOLIO, Kind.FOOTER]


def test_a_formula_with_its_number_before_it_is_a_display():
    piece = make_piece(Kind.TEXT, "(2)")
    row = ReadRow((*"(2)", "␣", "<m>", *"x=y", "</m>", ","), 0.9)
    apart = replace(piece.region, rows=(replace(piece.region.rows[0], gaps=((150, 80),)),))
    block = _block(replace(piece, region=apart, rows=(row,)), STRAIGHT)
    assert (block.kind, block.text) == ("formula", "x = y, \\tag{2}")
    assert _block(replace(piece, rows=(row,)), STRAIGHT).kind == "item"


def test_a_numbered_heading_close_below_another_is_one_of_its_own():
    rows = tuple(read(text) for text in ("2.1 Related Literature", "3 Sparse models", "of the third kind"))
    assert list(find_headings(rows)) == [1]
    assert not list(find_headings((read("2 On the"), read("2 body problem"))))


def test_the_sign_of_a_footnote_ends_where_its_words_begin():
    for written in ("<note> 5 </note> F o r ␣ s a n s", "<note> 5 F o r ␣ s a n s </note>"):
        piece = make_piece(Kind.FOOTNOTE, "note")
        row = ReadRow(tuple(written.split()), 0.9)
        assert _block(replace(piece, rows=(row,)), STRAIGHT).text == "[^5]: For sans"


def test_words_far_apart_in_a_line_of_text_are_words():
    piece = make_piece(Kind.TEXT, "words")
    row = ReadRow(tuple("o n e <cell> t w o <m> x <cell> y </m>".split()), 0.9)
    assert _block(replace(piece, rows=(row,)), STRAIGHT).text == "one two$xy$"
