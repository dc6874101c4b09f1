"""Formulas that were read one by one become one."""

from unrender.documents import Block, Token
from unrender.reading.joining import join_rows


def formula(text: str, confidence: float) -> Block:
    tokens = tuple(Token(piece, 0.9) for piece in text.split())
    return Block(kind="formula", text=text, tokens=tokens, confidence=confidence)


def test_formulas_below_one_another_are_aligned_at_their_first_relations():
    [block] = join_rows([(formula("a < 1", 0.8),), (formula("{ b = c } = 2", 0.6),)], [False, False])
    assert block.text == "\\begin{aligned} a &< 1 \\\\ b = c &= 2 \\end{aligned}"
    assert block.confidence == 0.8 * 0.6
    assert [token.text for token in block.tokens] == block.written.split()


def test_formulas_of_which_one_has_no_relation_are_listed():
    [block] = join_rows([(formula("a = 1", 0.8),), (formula("+ 2", 0.6),)], [False, False])
    assert block.text == "\\begin{array}{l} a = 1 \\\\ +2 \\end{array}"


def test_what_stands_beside_a_row_goes_on_with_it():
    [block] = join_rows([(formula("a = 1", 0.8),), (formula("( 3 )", 0.6),)], [False, True])
    assert block.text == "a = 1 \\qquad (3)"


def test_a_row_in_which_nothing_was_read_is_left_out():
    [block] = join_rows([(formula("a = 1", 0.8),), (formula("", 0.6),)], [False, False])
    assert block.text == "a = 1"


def test_one_row_stays_as_it_is():
    row = (formula("a", 0.9),)
    assert join_rows([row], [False]) == row


def test_what_is_no_formula_is_not_joined():
    rows = [(Block(kind="text", text="a"),), (Block(kind="text", text="b"),)]
    assert join_rows(rows, [False, False]) == (*rows[0], *rows[1])
