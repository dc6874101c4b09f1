r"""What of a formula stands on the paper."""

import pytest

from unrender.latex.shown import rows_shown


@pytest.mark.parametrize(
    "spellings",
    [
        (r"a \; = \, b", "a=b", r"{}a = b"),
        (r"\operatorname{rank} A", r"\mathrm{rank}A", r"\operatorname*{rank} A", r"\text{rank} A"),
        (r"\left( x \middle| y \right)", r"\big( x \mid y \big)", "(x|y)"),
        (r"a \ldots b", "a ... b"),
        (r"x = 1 \tag{3}", r"x = 1 \quad (3)"),
    ],
)
def test_what_looks_alike_is_spelled_alike(spellings):
    assert len({rows_shown(spelling) for spelling in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x", r"\mathbf{x}"),
        (r"\mathcal{Z}", "Z"),
        (r"\mathrm{top}", "top"),
        ("(x)", "[x]"),
        (r"\tilde{Z}", r"\widetilde{Z}"),
        ("x_2", "x2"),
        ("x = 1", r"x = 1 \tag{1}"),
        ("p", r"\rho"),
    ],
)
def test_what_looks_different_is_spelled_differently(one, other):
    assert rows_shown(one) != rows_shown(other)


@pytest.mark.parametrize(
    "wrapped",
    [
        "\\begin{align}\na & = b \\tag{3} \\\\\n& + c\n\\end{align}",
        r"\begin{aligned} a = & b \; (3) \\ + & c \end{aligned}",
        r"\begin{array}{l} a = b (3) \\ \begin{array}{rl} + & c \end{array} \end{array}",
        r"\small \begin{gathered} a = b \tag{3} \\ + c \nonumber \end{gathered}",
    ],
)
def test_rows_below_one_another_are_rows_however_they_are_wrapped(wrapped):
    assert rows_shown(wrapped) == ("a = b ( 3 )", "+ c")


def test_the_number_of_a_display_goes_with_its_last_row():
    assert rows_shown(r"\begin{aligned} a \\ b \end{aligned} \tag{7}") == ("a", "b ( 7 )")


def test_a_matrix_and_cases_keep_their_cells():
    [cases] = rows_shown(r"f = \begin{cases} a & b \\ c & d \end{cases}")
    assert cases.count("&") == 2
    assert rows_shown(r"\begin{array}{cccc} a & b & c & d \end{array}") != ("a b c d",)


def test_what_is_no_latex_stays_as_it_is():
    assert rows_shown("\\frac{a  b") == ("\\frac{a b",)
    assert rows_shown("") == ()
