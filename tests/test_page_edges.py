"""Where formulas in lines of text begin and end."""

import pytest

from unrender.formats.marked import inline_markdown, write_formula
from unrender.reading.page.edges import settle_edges, with_lone_letters


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("( <m> U _ { i } ) </m>", "($U_i$)"),
        ("<m> I = 1 2 ) </m> .", "$I = 12$)."),
        ("<m> ( T = 1 </m> ,", "($T = 1$,"),
        ("<m> ( \\delta _ { k } ) </m>", "($\\delta_k$)"),
        ("<m> ( s , a ) </m>", "$(s, a)$"),  # a pair
        ("<m> ( n - 1 ) </m> -", "$(n - 1)$-"),
        ("<m> f ( x ) </m>", "$f(x)$"),
    ],
)
def test_brackets_of_the_text_stand_outside_formulas(line, written):
    assert inline_markdown(settle_edges(line.split())) == written


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("2 0 4 8 ␣ <m> \\times 1 4 8 9 </m>", "$2048 \\times 1489$"),
        ("l e t ␣ x ␣ <m> \\in A </m>", "let $x \\in A$"),
        ("f i e l d ␣ <m> \\in A </m>", "field $\\in A$"),  # a word is no part of a formula
        ("x <m> _ { 1 } </m>", "$x_1$"),
        ("o f ␣ <m> ^ { 2 } </m>", "of $^2$"),
        ("<m> = 3 </m>", "$= 3$"),
    ],
)
def test_a_formula_takes_in_what_its_first_sign_stands_at(line, written):
    assert inline_markdown(settle_edges(line.split())) == written


def test_a_word_that_a_formula_ran_into_is_text():
    assert inline_markdown(settle_edges("<m> 3 - p i x e l </m> ␣ w i d e".split())) == "$3$-pixel wide"
    assert inline_markdown(settle_edges("<m> a b c - a b </m>".split())) == "$abc - ab$"


def test_a_line_without_formulas_stays_as_it_is():
    line = "( a ) ␣ = ␣ b <m> x".split()
    assert settle_edges(line) == line


@pytest.mark.parametrize(
    ("tokens", "written"),
    [
        ("\\phi \\right) = \\left( x", "\\phi) = (x"),
        ("\\frac { 1 } { 2 \\left( x } \\right)", "\\frac{1}{2(x})"),
        ("x _ { 1 } \\right.", "x_1"),
    ],
)
def test_growing_brackets_without_a_partner_become_plain(tokens, written):
    assert write_formula(tokens.split()) == written


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("<i> J </i> ␣ s t e p s", "$J$ steps"),
        ("<i> l e t ␣ G ␣ b e </i>", "*let $G$ be*"),
        ("<i> a ␣ k - c o l o u r i n g </i>", "*a $k$-colouring*"),
        ("( <i> b </i> )", "(*b*)"),  # the label of a part
        ("<i> a ␣ m a p </i>", "*a map*"),
        ("<i> J . ␣ S m i t h </i>", "*J. Smith*"),
        ("l e t ␣ G ␣ b e", "let G be"),  # upright: nothing says that it is a formula
    ],
)
def test_a_letter_alone_in_italics_is_a_formula(line, written):
    assert inline_markdown(with_lone_letters(line.split())) == written


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("<m> T h e o r e m </m> ␣ 3", "*Theorem* 3"),
        ("<m> e . g </m> .", "*e.g*."),
        ("<m> L e f t T a i l </m>", "$LeftTail$"),
        ("<m> S F R </m>", "$SFR$"),
    ],
)
def test_a_formula_that_is_a_word_is_one(line, written):
    assert inline_markdown(settle_edges(line.split())) == written
