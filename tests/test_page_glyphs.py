"""Characters of a text layer as they are meant: ligatures, accents, and signs that nothing is known of."""

import pytest

from unrender.documents import Block, Box
from unrender.images.opening import PageText
from unrender.images.page_text import _meant
from unrender.reading.page.assembly import _status
from unrender.reading.page.glyphs import fill_unknown
from unrender.reading.page.layers import Layer
from unrender.reading.page.rows import ReadRow

LINE = Box(0, 0, 400, 20)


def make_layer(text: str, accents: str = "") -> Layer:
    """Set a line in which every character is six points wide, and accents stand over the one before them."""
    characters = []
    left = 0.0
    for character in text:
        if character in accents:
            characters.append((character, (left - 5, 4.0, left - 1, 14.0)))
            continue
        characters.append((character, (left, 4.0, left + 6, 14.0)))
        left += 6
    return Layer(PageText(400, 20, tuple(characters)), 400, 20)


def read(text: str) -> ReadRow:
    return ReadRow(tuple("␣" if sign == " " else sign for sign in text), 0.9)


def written(row: ReadRow) -> str:
    return "".join(row.tokens).replace("␣", " ")


def test_ligatures_without_a_table_of_characters_are_kept():
    assert make_layer("the \x1crst e\x1bect").line(LINE) == "the first effect"
    assert make_layer("\x10a\x11 \x88 b").line(LINE) == "“a” \ufffd b"


def test_an_accent_over_a_letter_is_joined_to_it():
    assert make_layer("fu¨r Tolus\u02c7is", accents="¨\u02c7").line(LINE) == "für Tolušis"
    assert make_layer("a ¨ b").line(LINE) == "a ¨ b"


def test_a_sign_that_the_layer_does_not_know_is_as_it_was_read():
    row = make_layer("the \x88rst effect of a lire").correct(read("the first effeet of a lire"), LINE)
    assert written(row) == "the first effect of a lire"
    assert fill_unknown("\ufffd nopage", "* nopage") == [*"* nopage"]
    assert fill_unknown("x\ufffdy", "quite another") is None


def test_a_line_that_is_not_sure_is_not_replaced_by_unknown_signs():
    row = ReadRow(("a", "b"), 0.3)
    assert make_layer("\x88 words").replace(row, LINE) == row


@pytest.mark.parametrize(
    ("character", "font", "meant"),
    [
        ("h", "CMSY10", "\ufffd"),
        ("A", "CMSY10", "A"),
        ("−", "CMSY10", "−"),
        ("h", "CMMI10", "h"),
        ("0", "X-7y", "\ufffd"),
    ],
)
def test_a_letter_in_a_font_of_signs_is_unknown(character, font, meant):
    assert _meant(character, font) == meant


def test_a_line_in_a_script_that_the_model_has_not_seen_is_the_layer_s():
    row = make_layer("Добрый день, AMC").correct(ReadRow(tuple("[loo"), 0.2), LINE)
    assert (written(row), row.layered) == ("Добрый день, AMC", True)
    assert make_layer("the angle α").correct(read("the angle a"), LINE).tokens[:3] == tuple("the")


def test_a_page_whose_lines_mostly_agree_with_its_layer_is_no_unlikely_one():
    agreed, unsure = ReadRow(("a",), 1.0, layered=True), ReadRow(("?",), 0.1)
    blocks = [Block(kind="text", text="a")]
    assert _status([agreed, agreed, agreed, unsure], blocks).kind == "complete"
    assert _status([agreed, unsure, unsure], blocks).kind == "unlikely"
