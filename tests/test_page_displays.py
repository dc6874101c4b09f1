"""Displays: their numbers wherever they stand, and what only seems text, or only seems a display."""

import pytest
from drawn_pages import WORDS, find_on
from PIL import Image, ImageDraw, ImageFont
from test_page_headings import STRAIGHT, make_piece

from unrender.formats.marked import balanced, inline_markdown
from unrender.reading.page.assembly import _block
from unrender.reading.page.displays import is_words
from unrender.reading.page.places import Kind
from unrender.reading.page.rows import ReadRow

FONT = ImageFont.load_default(14)


def draw_lines(*texts: tuple[int, int, str]) -> Image.Image:
    """Draw a page with lines of text below, and more at places that are given: left, top, text."""
    image = Image.new("RGB", (850, 1100), "white")
    pen = ImageDraw.Draw(image)
    for top in range(400, 900, 24):
        pen.text((100, top), WORDS, fill="black", font=FONT)
    for left, top, text in texts:
        pen.text((left, top), text, fill="black", font=FONT)
    return image


def find_displays(image, *areas):
    return [region for region in find_on(image, *areas) if region.kind == Kind.FORMULA]


def test_a_number_below_its_formula_is_that_formula_s():
    image = draw_lines((150, 300, "a = b + c + d + e + f + g + h + i + k + l"), (390, 324, "(7)"))
    [display] = find_displays(image, (Kind.FORMULA, (140, 290, 440, 350)))
    assert [len(row.cells) for row in display.rows] == [2]


def test_a_second_row_of_a_formula_is_no_number():
    image = draw_lines((150, 300, "a = b + c + d + e + f"), (150, 324, "(g)"))
    [display] = find_displays(image, (Kind.FORMULA, (140, 290, 440, 350)))
    assert all(len(row.cells) == 1 for row in display.rows)


@pytest.mark.parametrize("above", [0, 5])
def test_a_number_beside_a_display_is_no_running_head(above):
    lines = [(100, 60 + 24 * number, WORDS) for number in range(above)]
    image = draw_lines(*lines, (250, 300, "a = b + c + d"), (560, 300, "(7)"))
    areas = (Kind.FORMULA, (240, 290, 380, 320)), (Kind.HEADER, (550, 290, 600, 320))
    assert not [region for region in find_on(image, *areas) if region.kind == Kind.HEADER]
    [display] = find_displays(image, *areas)
    assert [len(row.cells) for row in display.rows] == [2]


def as_rows(piece, *tokens: str):
    return piece.__class__(piece.region, tuple(ReadRow(tuple(row.split()), 0.9) for row in tokens), ())


@pytest.mark.parametrize("kind", [Kind.TEXT, Kind.HEADING])
def test_what_is_formulas_alone_is_a_display_whatever_it_seems(kind):
    one = "<d> f ( x ) = a + b + c </d> ␣ ( 2 )"
    block = _block(as_rows(make_piece(kind, "one"), one), STRAIGHT)
    assert (block.kind, block.text) == ("formula", r"f(x) = a + b + c \tag{2}")
    two = "<m> g ( x ) = a - b - c </m> ."
    block = _block(as_rows(make_piece(kind, "one", "two"), one, two), STRAIGHT)
    assert block.kind == "formula"
    assert block.text.count(r"\\") == 1


def test_a_short_formula_or_one_with_words_is_no_display():
    assert _block(as_rows(make_piece(Kind.TEXT, "one"), "<m> x = 1 </m> ."), STRAIGHT).kind == "text"
    worded = "s o ␣ <m> f ( x ) = a + b + c </m>"
    assert _block(as_rows(make_piece(Kind.TEXT, "one"), worded), STRAIGHT).kind == "text"


def test_program_code_is_no_display():
    assert is_words(ReadRow(tuple("<tt> i f ␣ x = = 1 : </tt>".split()), 0.9))
    assert not is_words(ReadRow(tuple("<tt> i f </tt> ␣ x = 1".split()), 0.9))


def test_a_display_with_words_behind_it_is_a_formula_of_the_text():
    line = "<d> \\rho = ( \\rho _ { 1 } ) . ␣ T h e ␣ m a p </d>"
    assert inline_markdown(balanced(line.split())) == r"$\rho = (\rho_1)$. The map"
    assert balanced("<d> x = 1 </d> ␣ ( 2 )".split()) == "<d> x = 1 </d> ␣ ( 2 )".split()
