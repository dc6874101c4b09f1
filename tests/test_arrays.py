"""Arrays in the tokens of a formula."""

import pytest

from unrender.latex.tree import unwrap_cells


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (r"\begin{array} { c } 9 \end{array}", "{ 9 }"),
        (r"\begin{array} { c } { 9 } \\ \end{array}", "{ 9 }"),
        (r"\begin{array} { c } { 9 } { 8 } \end{array}", "{ { 9 } { 8 } }"),
        (r"\left( \begin{array} { l } 3 \\ \end{array} \right) ^ 2", r"\left( { 3 } \right) ^ 2"),
        (
            r"\begin{array} { c } \begin{array} { c } x \end{array} \\ y \end{array}",
            r"\begin{array} { c } { x } \\ y \end{array}",
        ),
        (r"\begin{array} { c c } 1 & 2 \end{array}", r"\begin{array} { c c } 1 & 2 \end{array}"),
        (r"\begin{array} { c } \hline 1 \\ \end{array}", r"\begin{array} { c } \hline 1 \\ \end{array}"),
        (r"\begin{array} { c } 1", r"\begin{array} { c } 1"),
    ],
)
def test_an_array_of_one_cell_is_a_group(text: str, left: str) -> None:
    tokens = text.split()
    assert [tokens[place] for place in unwrap_cells(tokens)] == left.split()
