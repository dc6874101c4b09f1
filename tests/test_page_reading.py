"""Reading a page: straightened, taken apart, read line by line, put together; the layout network is played here."""

import json
from dataclasses import replace

import numpy as np
import pytest
from drawn_pages import CountingEngine, draw_page, open_reader, see_text
from fakes import END, ScriptedRun
from PIL import Image, ImageDraw, ImageFont

from unrender.decoding.paths import Decoded
from unrender.documents import Block, Box, Document, Page, to_dict
from unrender.formats import write
from unrender.formats.marked import balanced, enclosed, inline_markdown, join_lines
from unrender.images.opening import PageText
from unrender.reading.choice import look
from unrender.reading.page import PageSystem
from unrender.reading.page.assembly import _cells, _Piece
from unrender.reading.page.layers import Layer, corrected
from unrender.reading.page.places import Kind, Region, Row
from unrender.reading.page.rows import ReadRow, read_row, settle_hyphens, without_loop, write_code, write_display
from unrender.reading.page.signs import Sign
from unrender.reading.reader import Reader
from unrender.tokens import LatexTokenizer
from unrender.training.receipt.made_documents import make_document


@pytest.fixture
def engine() -> CountingEngine:
    return CountingEngine()


@pytest.fixture
def reader(engine) -> Reader:
    return open_reader(engine)


def test_a_page_that_seems_to_be_upside_down_is_read_both_ways_before_it_is_turned(reader, monkeypatch):
    sure = iter([[0.3, 0.4], [0.9, 0.8]])  # as it was turned, and the other way up
    monkeypatch.setattr("unrender.reading.page.straight.is_upside_down", lambda *_: True)
    monkeypatch.setattr(PageSystem, "_read_at_once", lambda *_: [ReadRow((), one) for one in next(sure)])
    image = draw_page()
    document = reader.read(image)
    assert document.pages[0].blocks[0].box.y0 < 110  # where the text begins on the page as it came
    assert next(sure, None) is None


def test_a_page_that_seems_to_lie_on_its_side_is_read_upright_too(reader, monkeypatch):
    sure = iter([[0.3], [0.4], [0.9], [0.5]])  # on its side, on the other, upright, upside down
    monkeypatch.setattr("unrender.reading.page.straight._SIDEWAYS", 0.0)
    monkeypatch.setattr(PageSystem, "_read_at_once", lambda *_: [ReadRow((), one) for one in next(sure)])
    document = reader.read(draw_page())
    assert document.pages[0].blocks[0].text == " ".join("a" * 14)
    assert next(sure, None) is None


class RefusingEngine(CountingEngine):
    """Says of every picture that it shows no formula."""

    def start(self, pixels, sizes=None):
        self.lines += len(pixels)
        return ScriptedRun(*([END] for _ in pixels))


def test_a_display_that_is_no_formula_is_read_as_a_line(engine, monkeypatch):
    monkeypatch.setattr("unrender.reading.page._may_be_words", lambda *_: False)  # not by its looks
    lines = open_reader(engine).system
    refusing = RefusingEngine()
    system = replace(lines, formulas=replace(lines.lines, engine=refusing))

    def see_formulas(ink):
        cells = see_text(ink)
        cells.kinds[[Kind.TEXT, Kind.FORMULA]] = cells.kinds[[Kind.FORMULA, Kind.TEXT]]
        return cells

    document = Reader(replace(system, segmenter=see_formulas)).read(draw_page(lines=3))
    assert refusing.lines > 0
    assert engine.lines > 0
    assert "a" in document.text


def test_a_page_becomes_paragraphs_with_boxes_and_lines(reader, engine):
    document = reader.read(draw_page())
    [block] = document.blocks
    assert engine.lines == 14
    assert block.text == " ".join("a" * 14)
    assert len(block.lines) == 14
    assert block.box is not None
    page = to_dict(document)["pages"][0]
    assert len(page["blocks"][0]["lines"]) == 14
    assert json.dumps(page)


def test_a_hyphen_at_a_line_end_is_kept_in_compounds_only():
    def row(text: str) -> ReadRow:
        return ReadRow(tuple("␣" if sign == " " else sign for sign in text), 1.0)

    def joined(*texts: str) -> str:
        [rows] = settle_hyphens([tuple(map(row, texts))])
        return inline_markdown(join_lines([one.tokens for one in rows]))

    assert joined("a cold-atom gas we ob-", "tain a cold-", "atom gas") == "a cold-atom gas we obtain a cold-atom gas"
    assert settle_hyphens([()]) == [()]  # a figure has no lines
    assert joined("a scale-", "dependent in-", "dependent bias") == "a scale-dependent independent bias"
    assert joined("a scale\u00ad", "dependent 21\u00ad", "cm ob\u00ad", "ject") == "a scale-dependent 21-cm object"


def test_formulas_that_a_relation_ties_together_are_one():
    read = ["<m>", "z", "=", "</m>", "␣", "<m>", "3", "</m>", "␣", "<m>", "\\in", "A", "</m>", "␣", "<m>", "b", "</m>"]
    assert inline_markdown(read) == r"$z = 3 \in A$ $b$"
    assert inline_markdown(["<m>", "a", "</m>", "<m>", "|", "</m>", "<m>", "b", "</m>"]) == "$a|b$"  # $$ is a display


def test_a_comma_in_a_font_of_formulas_is_no_formula():
    read = [*"so", "␣", *"x", ",", "␣", *"y", ",", "␣", *"are"]
    assert inline_markdown(corrected(read, as_signs("so x, y, are", "x,y"), typed=True)[0]) == "so $x$, $y$, are"


def test_a_formula_that_differs_in_a_letter_is_spelled_by_the_layer():
    read = [*"and", "␣", "<m>", "z", "_", "{", "i", "}", "</m>", "␣", *"are"]
    signs = as_signs("and zj are", "zj")
    signs[5] = replace(signs[5], top=6.0, bottom=12.0)
    assert inline_markdown(corrected(read, signs, typed=True)[0]) == "and $z_j$ are"
    assert inline_markdown(corrected(read, signs)[0]) == "and $z_i$ are"


def test_signs_on_several_levels_are_not_taken_for_a_line():
    characters = [("a", (0.0, 10.0, 5.0, 20.0)), ("b", (6.0, 0.0, 11.0, 10.0)), ("c", (12.0, 10.0, 17.0, 20.0))]
    row = ReadRow(("x",), 0.1)
    assert Layer(PageText(20, 20, tuple(characters)), 20, 20).replace(row, Box(0, 0, 20, 20)) == row


def test_a_page_of_text_looks_like_one_and_a_formula_does_not():
    formula = Image.new("RGB", (300, 80), "white")
    ImageDraw.Draw(formula).text((10, 20), "a + b = c", fill="black", font=ImageFont.load_default(30))
    assert look(draw_page()) == "page"
    assert look(formula) == "formula"
    receipts = [make_document(np.random.default_rng([990, number]), "receipt").image for number in range(4)]
    assert [look(image) for image in receipts].count("receipt") >= 3


def test_a_loop_is_cut_where_it_begins():
    tokens, looped = without_loop([*"hello", *(["x", "y"] * 12)])
    assert looped
    assert "".join(tokens) == "helloxy"
    assert without_loop(list("no loop here")) == (list("no loop here"), False)


def test_words_and_formulas_are_joined_over_line_ends():
    lines = [[*"con", "\u00ad"], [*"tinued"], ["<m>", "a", "=", "</m>"], ["<m>", "b", "</m>"]]
    assert inline_markdown(join_lines(lines)) == "continued $a = b$"


def test_what_stays_open_in_a_line_is_closed():
    assert balanced(["<i>", "x", "<m>", "y"]) == ["<i>", "x", "<m>", "y", "</m>", "</i>"]
    assert balanced(["x", "</m>"]) == ["x"]
    assert balanced(["<b>", "</b>", "x"]) == ["x"]


def test_a_space_between_words_ends_a_formula():
    read = ["<m>", "x", "=", "1", ".", "␣", *"By", "</m>", "␣", "<m>", "␣", "y", "</m>"]
    assert inline_markdown(balanced(read)) == "$x = 1$. By y"
    inside = ["<m>", "\\mathrm", "{", "a", "␣", "b", "}", "</m>"]
    assert balanced(inside) == inside


def test_scripts_and_commands_outside_formulas_become_formulas():
    assert inline_markdown(enclosed([*"10", "^", "{", "-", "2", "}", "␣", *"cm"])) == "$10^{-2}$ cm"
    assert inline_markdown(enclosed([*"of", "␣", "\\phi", "_", "{", "e", "}"])) == r"of $\phi_e$"
    assert inline_markdown(["<m>", "\\mathrm", "{", "␣", "a", "}", "</m>"]) == r"$\mathrm{a}$"
    assert enclosed(["<m>", "x", "^", "2", "</m>", "-"]) == ["<m>", "x", "^", "2", "</m>", "-"]


def test_formulas_that_are_not_well_formed_are_mended():
    assert inline_markdown(enclosed(["2", "^", "<i>", "a", "</i>"])) == "2*a*"
    assert inline_markdown(enclosed([*"by", "␣", "{", "\\cal", "M", "}", "(", "k", ")"])) == r"by $\mathcal{M}$(k)"
    assert inline_markdown(["<m>", "K", "_", "{", "n", "_", "{", "1", "}", "</m>"]) == "$K_{n_1}$"
    assert inline_markdown(["a", "<m>", "</m>", "b"]) == "ab"


def test_a_display_has_its_number_as_a_tag_and_its_rows_aligned():
    first, second = ["<d>", "a", "=", "b", "</d>", "(", "3", ")"], ["<d>", "=", "c", "</d>"]
    assert write_display([first]) == r"a = b \tag{3}"
    assert write_display([first, second]) == "\\begin{align}\na & = b \\tag{3} \\\\\n& = c\n\\end{align}"


def test_what_the_formula_reader_wrote_stays_in_its_order():
    written = "n _ { 1 } = ( a + \\frac { b } { c } ) ^ { 2 } - 1".split()
    tokenizer = LatexTokenizer(sorted(set(written)))
    tokens = tuple(tokenizer.encode(" ".join(written)))
    decoded = Decoded(tokens, complete=True, log_probabilities=(0.0,) * len(tokens))
    row = read_row(decoded, tokenizer, display=True)
    assert write_display([row.tokens]) == "n_1 = (a + \\frac{b}{c})^2 - 1"


def test_the_cells_of_an_array_in_a_display_are_no_rows_to_align():
    cases = r"F = \left\{ \begin{array} { l l } { 1 } & { x > 0 } \\ { 0 } & { x = 0 } \end{array} \right."
    display = ["<d>", *cases.split(), "</d>"]
    readable = r"F = \begin{cases} 1 & x > 0 \\ 0 & x = 0 \end{cases}"
    assert write_display([display]) == readable
    second = "<d> = G </d>".split()
    assert write_display([display, second]) == (
        "\\begin{aligned}\n" + readable.replace("F =", "F & =", 1) + " \\\\\n& = G\n\\end{aligned}"
    )


def test_code_is_indented_as_it_stands_and_not_as_it_was_read():
    rows = [Row((10, 0, 50, 9), 5.0), Row((42, 12, 90, 21), 5.0)]  # eight pixels to a character
    assert write_code(["  if x:", "return"], rows) == "if x:\n    return"
    assert inline_markdown(["a", "␣", "<tt>", "␣", "␣", "b", "␣", "c", "</tt>"]) == "a `b c`"


def as_signs(text, formulas="") -> list[Sign]:
    return [Sign(character, character in formulas, 0.0, 10.0) for character in text]


def test_the_text_layer_corrects_words_and_leaves_formulas_alone():
    read = [*"the", "␣", *"lirnit", "␣", "<m>", "x", "^", "2", "</m>", "␣", *"exists"]
    tokens, right, wrong = corrected(read, as_signs("the limit x2 exists"))
    assert "".join(tokens).startswith("the␣limit␣<m>x^2</m>")
    assert (right, wrong) == (2, 0)


def test_letters_that_a_layer_sets_as_formulas_become_formulas():
    read = [token for word in ("a", "source", "s,", "seen") for token in (*word, "␣")][:-1]
    tokens, right, _ = corrected(read, as_signs("a source \U0001d460, seen", "\U0001d460"))
    assert (inline_markdown(tokens), right) == ("a source $s$, seen", 1)


def test_spaces_of_the_layer_count_where_letters_stand_close():
    letters = [("of", 0.0), (" ", 10.0), ("map", 10.2)]
    characters = [
        (sign, (left + 5 * place, 0.0, left + 5 * place + 5, 10.0))
        for text, left in letters
        for place, sign in enumerate(text)
    ]
    assert Layer(PageText(50, 20, tuple(characters)), 50, 20).line(Box(0, 0, 50, 20)) == "of map"


def test_a_garbled_text_layer_is_not_believed():
    read = [*"clear", "␣", *"words"]
    tokens, right, wrong = corrected(read, as_signs("\x01\x02##@@!!~~"))
    assert tokens == read
    assert (right, wrong) == (0, 1)


def test_a_line_of_the_layer_is_what_stands_in_its_box():
    characters = tuple((sign, (10.0 * place, 80.0, 10.0 * place + 9, 90.0)) for place, sign in enumerate("ab cd"))
    layer = Layer(PageText(100, 100, characters), 200, 200)
    assert layer.line(Box(0, 15, 200, 45)) == "ab cd"
    assert layer.line(Box(0, 100, 200, 140)) == ""
    row = layer.correct(ReadRow(("a", "b", "␣", "c", "o"), 0.5), Box(0, 15, 200, 45))
    assert row.tokens == ("a", "b", "␣", "c", "d")
    assert row.layered


def test_a_paragraph_goes_on_over_a_page_break():
    first = Page(
        number=1, width=9, height=9, blocks=(Block(kind="text", text="It is nec-"), Block(kind="page_footer", text="1"))
    )
    second = Page(number=2, width=9, height=9, blocks=(Block(kind="text", text="essary.", continued=True),))
    assert write(Document(pages=(first, second)), "markdown") == "It is necessary.\n\n<!-- page_footer: 1 -->"
    apart = replace(second, blocks=(Block(kind="text", text="essary."),))
    assert "nec-\n" in write(Document(pages=(first, apart)), "markdown")


def test_the_layer_says_nothing_of_leaders():
    characters = [(sign, (4 * place, 0, 4 * place + 4, 5)) for place, sign in enumerate("Index.......9")]
    assert Layer(PageText(60, 10, tuple(characters)), 60, 10).line(Box(0, 0, 60, 10)) == "Index 9"


def test_letters_in_a_font_of_formulas_are_a_formula_though_read_as_words():
    read = [token for word in ("where", "x2", "and", "f(y)", "are") for token in (*word, "␣")][:-1]
    signs = as_signs("where x2 and f(y) are")
    signs[6], signs[13], signs[15] = (replace(signs[place], formula=True) for place in (6, 13, 15))
    signs[7] = replace(signs[7], top=-1.0, bottom=5.0)
    tokens, right, wrong = corrected(read, signs, typed=True)
    assert inline_markdown(tokens) == "where $x^2$ and $f(y)$ are"
    assert (right, wrong) == (1, 0)


def test_a_sign_of_text_in_a_font_of_text_is_no_formula():
    read = [*"tag", r"\{", "<m>", *"k1", "</m>", r"\}", "␣", *"of", "␣", "<m>", "n", "</m>"]
    assert inline_markdown(corrected(read, as_signs("tag{#1} of n", "n"), typed=True)[0]) == "tag{#1} of $n$"


def test_words_in_fonts_of_text_are_no_formula():
    read = ["<m>", *"tne", "␣", *"map", "</m>", "␣", "<m>", "n", "</m>", "␣", "<m>", "-", "</m>", "␣", *"yes"]
    tokens, _, _ = corrected(read, as_signs("the map n — yes", "n"), typed=True)
    assert inline_markdown(tokens) == "the map $n$ — yes"


def test_words_in_quotes_that_seem_a_formula_are_words_and_halves_of_words_are_not():
    read = [*"the", "␣", "<m>", *"n_{ts}^n", "</m>", "␣", *"class"]
    tokens, _, _ = corrected(read, as_signs('the "ts" class'), typed=True)
    assert inline_markdown(tokens) == 'the "ts" class'
    read = [*"the", "␣", "<m>", "x", "</m>", *"ass"]
    assert "<m>" in corrected(read, as_signs("the class"), typed=True)[0]


def test_a_formula_with_an_unknown_sign_stays_as_it_was_read():
    read = [*"so", "␣", *"xy", "␣", *"is"]
    assert corrected(read, as_signs("so x\ue000 is", "x\ue000"))[0] == read


def test_a_short_cell_that_seems_typewriter_in_a_table_of_words_is_not():
    rows = (ReadRow(("a", "<cell>", "<tt>", "8", ".", "9", "</tt>"), 1.0), ReadRow(("b", "<cell>", "c"), 1.0))
    box = (0, 0, 9, 9)
    piece = _Piece(Region(Kind.TABLE, box, (Row(box, 8.0, (box, box)),) * 2), rows, ())
    assert _cells(piece) == [["a", "8.9"], ["b", "c"]]
