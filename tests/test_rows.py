"""Lines that were read one by one become one formula."""

from unrender.documents import Block, Token
from unrender.reading.looks import join_rows


def formula(text: str, confidence: float) -> Block:
    tokens = tuple(Token(piece, 0.9) for piece in text.split())
    return Block(kind="formula", text=text, tokens=tokens, confidence=confidence)


def test_formulas_below_one_another_become_lines():
    [block] = join_rows([(formula("a = 1", 0.8),), (formula("b = 2", 0.6),)])
    assert block.text == "\\begin{array} { l } { a = 1 } \\\\ { b = 2 } \\\\ \\end{array}"
    assert block.confidence == 0.6
    assert [token.text for token in block.tokens] == block.text.split()


def test_one_row_stays_as_it_is():
    row = (formula("a", 0.9),)
    assert join_rows([row]) == row


def test_what_is_no_formula_is_not_joined():
    rows = [(Block(kind="text", text="a"),), (Block(kind="text", text="b"),)]
    assert join_rows(rows) == (*rows[0], *rows[1])
