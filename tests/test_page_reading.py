"""Reading a page: straightened, taken apart, read line by line, put together; the layout network is played here."""

import json
from dataclasses import replace

import numpy as np
import pytest
from fakes import END, ScriptedRun
from PIL import Image, ImageDraw, ImageFont

from unrender import tasks
from unrender.decoding.paths import Decoded
from unrender.documents import Block, Box, Document, Page, to_dict
from unrender.engines import Cells
from unrender.formats import write
from unrender.formats.marked import balanced, enclosed, inline_markdown, join_lines
from unrender.images.opening import PageText
from unrender.models.config import CnnConfig, DecoderConfig, Generation, ImagePrep, TextConfig
from unrender.models.page import KINDS
from unrender.reading.choice import look
from unrender.reading.page import PageSystem, _low_resolution
from unrender.reading.page.blocks import join_wrapped
from unrender.reading.page.columns import find_parts
from unrender.reading.page.cuts import cut, split
from unrender.reading.page.layers import Layer, corrected
from unrender.reading.page.places import Kind, Row
from unrender.reading.page.regions import find_regions
from unrender.reading.page.rows import ReadRow, read_row, settle_hyphens, without_loop, write_code, write_display
from unrender.reading.page.signs import Sign
from unrender.reading.page.straight import straighten
from unrender.reading.page.strokes import without_leaders
from unrender.reading.reader import Reader
from unrender.reading.text import TextSystem
from unrender.tokens import LatexTokenizer
from unrender.training.receipt.made_documents import make_document

WORDS = "the quick brown fox jumps over a lazy dog and runs away from here"
TOKENIZER = LatexTokenizer([*"abcdefghijklmnopqrstuvwxyz.", "␣", "<m>", "</m>", "<h2>"])
CONFIG = TextConfig(
    name="page",
    seed="001",
    task="page",
    image=ImagePrep(
        height=64, width=1024, fit="free", channels=1, mean=(0.5,), std=(0.5,), crop_margin=True, margin=2,
        pad_value=1.0, multiple=4,
    ),
    encoder=CnnConfig(),
    decoder=DecoderConfig(vocabulary=TOKENIZER.size, max_positions=64),
    generation=Generation(start=(1,), end=END, pad=0, max_tokens=60),
    vocabulary="latex",
)  # fmt: skip


class CountingEngine:
    """Reads `a` in every line, then the end."""

    def __init__(self) -> None:
        self.lines = 0

    def start(self, pixels, sizes=None):
        self.lines += len(pixels)
        return ScriptedRun(*([TOKENIZER.encode("a")[0], END] for _ in pixels), margin=10.0)


def draw_page(columns: int = 1, lines: int = 14) -> Image.Image:
    image = Image.new("RGB", (850, 1100), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(14)
    for column in range(columns):
        for line in range(lines):
            words = WORDS.split()
            text = " ".join(words[line % 7 :] + words[: line % 7])[: 64 if columns == 1 else 40]
            pen.text((100 + column * 350, 100 + 24 * line), text, fill="black", font=font)
    return image


def see_text(ink) -> Cells:
    """Find text wherever there is ink."""
    kinds = np.full((len(KINDS), *ink.shape), 0.01, dtype=np.float32)
    kinds[Kind.TEXT] = np.where(ink > 0.02, 0.9, 0.01)
    kinds[0] = 1 - kinds[Kind.TEXT]
    return Cells(kinds, np.zeros(ink.shape, np.float32))


def take_apart(image):
    straight = straighten(image)
    ink, scale = _low_resolution(straight.gray, straight.letters)
    return straight, find_regions(straight, see_text(ink), scale)


@pytest.fixture
def engine() -> CountingEngine:
    return CountingEngine()


@pytest.fixture
def reader(engine) -> Reader:
    return Reader(PageSystem(TextSystem(CONFIG, engine, TOKENIZER, tasks.find("page")), see_text))


def test_every_line_of_a_column_is_found_once():
    _, regions = take_apart(draw_page())
    assert sum(len(region.rows) for region in regions) == 14


def test_the_left_column_is_read_before_the_right_one():
    _, regions = take_apart(draw_page(columns=2))
    lefts = [row.box[0] for region in regions for row in region.rows]
    assert len(lefts) == 28
    assert max(lefts[:14]) < 200
    assert min(lefts[14:]) > 400


def test_a_gutter_that_a_title_crosses_parts_only_what_stands_below():
    occupied = np.zeros((80, 60), dtype=bool)
    occupied[2:5, 10:50] = True
    for top in range(10, 70, 4):
        occupied[top : top + 3, 2:28] = occupied[top : top + 3, 32:58] = True
    columns = [part.column for part in find_parts(occupied, occupied)]
    assert columns == [-1, 0, 1]


@pytest.mark.parametrize("angle", [-2.5, 1.5])
def test_a_tilted_page_is_levelled_and_boxes_lie_on_the_page_as_it_came(angle):
    tilted = draw_page().rotate(angle, Image.Resampling.BICUBIC, fillcolor="white")
    straight, regions = take_apart(tilted)
    assert straight.angle == pytest.approx(-angle, abs=0.15)
    assert sum(len(region.rows) for region in regions) == 14
    first = straight.to_page(Box(*regions[0].rows[0].box))
    inside = np.asarray(tilted.convert("L"))[int(first.y0) : int(first.y1) + 1, int(first.x0) : int(first.x1) + 1]
    assert inside.min() < 60


def test_a_page_on_its_side_is_turned():
    straight, regions = take_apart(draw_page().transpose(Image.Transpose.ROTATE_90))
    assert straight.turns % 2 == 1
    assert sum(len(region.rows) for region in regions) == 14


def test_a_page_that_lies_upside_down_is_turned():
    straight, _ = take_apart(draw_page().transpose(Image.Transpose.ROTATE_180))
    assert straight.turns == 2
    assert take_apart(draw_page())[0].turns == 0


def test_a_page_that_seems_to_be_upside_down_is_read_both_ways_before_it_is_turned(reader, monkeypatch):
    sure = iter([[0.3, 0.4], [0.9, 0.8]])  # as it was turned, and the other way up
    monkeypatch.setattr("unrender.reading.page.straight.is_upside_down", lambda *_: True)
    monkeypatch.setattr(PageSystem, "_read_at_once", lambda *_: next(sure))
    image = draw_page()
    document = reader.read(image)
    assert document.pages[0].blocks[0].box.y0 < 110  # where the text begins on the page as it came
    assert next(sure, None) is None


def test_a_page_that_seems_to_lie_on_its_side_is_read_upright_too(reader, monkeypatch):
    sure = iter([[0.3], [0.4], [0.9], [0.5]])  # on its side, on the other, upright, upside down
    monkeypatch.setattr("unrender.reading.page.straight._SIDEWAYS", 0.0)
    monkeypatch.setattr(PageSystem, "_read_at_once", lambda *_: next(sure))
    document = reader.read(draw_page())
    assert document.pages[0].blocks[0].text == " ".join("a" * 14)
    assert next(sure, None) is None


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


def test_a_page_of_noise_is_empty_and_others_are_still_read(reader):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (400, 300, 3), dtype=np.uint8))
    first, second = reader.read_many([noise, draw_page()])
    assert first.status.kind in ("empty", "complete", "partial")
    assert second.blocks


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


def test_a_wide_row_of_a_table_is_read_in_parts_of_whole_cells():
    cells = tuple((left, 0, left + 150, 20) for left in range(0, 1200, 200))
    parts = split(Row((0, 0, 1150, 20), 10.0, (*cells, None)))
    assert parts == [(0, 0, 550, 20), (600, 0, 1150, 20)]


def test_cells_of_several_lines_are_joined_and_sparse_rows_are_not():
    head = ["name", "what it does", "cost"]
    wrapped = [head, ["a", "turns the page", "3"], ["", "upside down", ""], ["b", "waits", "4"], ["", "7", ""]]
    assert join_wrapped(wrapped) == [head, ["a", "turns the page upside down", "3"], *wrapped[3:]]


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


def test_a_line_of_text_between_two_formulas_is_text():
    def see_formulas(ink) -> Cells:
        """Take the rectangle from the first to the last formula for one display, text in the middle included."""
        kinds = see_text(ink).kinds
        rows = np.flatnonzero(ink.max(axis=1) > 0.02)
        formulas = kinds[Kind.TEXT].copy()
        middle = (rows[0] + rows[-1]) // 2
        formulas[middle - 4 : middle + 5] *= 0.3
        kinds[Kind.TEXT] -= formulas * 0.9
        kinds[Kind.FORMULA] = np.where(ink.max() > 0, formulas, 0.01)
        kinds[Kind.FORMULA, rows[0] : rows[-1] + 1, ink.shape[1] // 2] = 0.95  # what joins them
        return Cells(kinds, np.zeros(ink.shape, np.float32))

    image = Image.new("RGB", (850, 600), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(14)
    for top, left, text in ((100, 300, "a = b + c + d + e"), (140, 100, WORDS), (180, 300, "f = g + h + i + j")):
        pen.text((left, top), text, fill="black", font=font)
    straight = straighten(image)
    ink, scale = _low_resolution(straight.gray, straight.letters)
    regions = find_regions(straight, see_formulas(ink), scale)
    assert [region.kind for region in regions] == [Kind.FORMULA, Kind.TEXT, Kind.FORMULA]


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


def draw_contents() -> Image.Image:
    """Draw a table of contents: more dots than letters."""
    image = Image.new("RGB", (1000, 1000), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(28)
    for line in range(18):
        pen.text((80, 60 + 50 * line), f"{line + 1}. some words of a title", fill="black", font=font)
        for dot in range(410, 880, 10):
            pen.rectangle((dot, 86 + 50 * line, dot + 3, 89 + 50 * line), fill="black")
        pen.text((900, 60 + 50 * line), str(100 + line), fill="black", font=font)
    return image


def test_dots_of_leaders_do_not_tell_the_size_of_letters():
    plain = draw_contents()
    ImageDraw.Draw(plain).rectangle((400, 0, 890, 1000), fill="white")
    assert straighten(draw_contents()).letters == pytest.approx(straighten(plain).letters, rel=0.1)


def test_the_dots_of_leaders_are_erased_and_full_stops_stay():
    straight = straighten(draw_contents())
    left = without_leaders(straight).gray
    assert (left[:, 410:880] > 240).all()
    assert (left[:, :395] == straight.gray[:, :395]).all()


def test_each_line_of_a_table_of_contents_is_a_block_with_its_number():
    straight = straighten(draw_contents())
    ink, scale = _low_resolution(straight.gray, straight.letters)
    cells = see_text(ink)
    swapped = replace(cells, kinds=cells.kinds[[0, Kind.FORMULA, 2, Kind.TEXT, *range(4, len(KINDS))]])
    regions = find_regions(straight, swapped, scale)
    assert [len(region.rows) for region in regions] == [1] * 18
    assert {region.kind for region in regions} == {Kind.TEXT}
    assert all(region.box[0] < 100 and region.box[2] > 920 for region in regions)
    assert all(len(split(region.rows[0])) == 2 for region in regions)


def test_numbers_before_what_they_number_are_no_column():
    occupied = np.zeros((90, 100), dtype=bool)
    occupied[:4] = True  # a bar as wide as the page
    for top in range(8, 88, 4):
        occupied[top : top + 3, 15:20] = occupied[top : top + 3, 24:90] = True
    assert [part.column for part in find_parts(occupied, occupied)] == [-1]


def test_a_huge_display_is_read_smaller():
    gray = np.full((1600, 900), 255, dtype=np.uint8)
    picture = cut(gray, (0, 0, 900, 1600), 4.0)
    assert picture.width * picture.height < 350_000


def test_the_layer_says_nothing_of_leaders():
    characters = [(sign, (4 * place, 0, 4 * place + 4, 5)) for place, sign in enumerate("Index.......9")]
    assert Layer(PageText(60, 10, tuple(characters)), 60, 10).line(Box(0, 0, 60, 10)) == "Index 9"


def test_the_end_of_a_line_is_no_running_foot():
    image = draw_page()
    straight = straighten(image)
    ink, scale = _low_resolution(straight.gray, straight.letters)
    cells = see_text(ink)
    low = slice(int(405 * scale), None), slice(int(480 * scale), None)
    cells.kinds[Kind.FOOTER, *low], cells.kinds[Kind.TEXT, *low] = cells.kinds[Kind.TEXT, *low].copy(), 0.01
    regions = find_regions(straight, cells, scale)
    assert sum(len(region.rows) for region in regions) == 14
    assert {region.kind for region in regions} == {Kind.TEXT}


def test_a_part_of_program_code_is_no_table():
    straight = straighten(draw_page())
    ink, scale = _low_resolution(straight.gray, straight.letters)
    cells = see_text(ink)
    cells.kinds[Kind.CODE], cells.kinds[Kind.TEXT] = cells.kinds[Kind.TEXT].copy(), 0.01
    part = slice(int(90 * scale), int(300 * scale)), slice(0, int(250 * scale))
    cells.kinds[Kind.TABLE, *part], cells.kinds[Kind.CODE, *part] = cells.kinds[Kind.CODE, *part].copy(), 0.01
    assert {region.kind for region in find_regions(straight, cells, scale)} == {Kind.CODE}


def test_letters_in_a_font_of_formulas_are_a_formula_though_read_as_words():
    read = [token for word in ("where", "x2", "and", "f(y)", "are") for token in (*word, "␣")][:-1]
    signs = as_signs("where x2 and f(y) are")
    signs[6], signs[13], signs[15] = (replace(signs[place], formula=True) for place in (6, 13, 15))
    signs[7] = replace(signs[7], top=-1.0, bottom=5.0)
    tokens, right, wrong = corrected(read, signs, typed=True)
    assert inline_markdown(tokens) == "where $x^2$ and $f(y)$ are"
    assert (right, wrong) == (1, 0)


def test_words_in_fonts_of_text_are_no_formula():
    read = ["<m>", *"tne", "␣", *"map", "</m>", "␣", "<m>", "n", "</m>", "␣", "<m>", "-", "</m>", "␣", *"yes"]
    tokens, _, _ = corrected(read, as_signs("the map n — yes", "n"), typed=True)
    assert inline_markdown(tokens) == "the map $n$ — yes"


def test_a_formula_with_an_unknown_sign_stays_as_it_was_read():
    read = [*"so", "␣", *"xy", "␣", *"is"]
    assert corrected(read, as_signs("so x\ue000 is", "x\ue000"))[0] == read


def test_what_a_scanner_saw_beside_the_page_does_not_turn_it():
    page = draw_page()
    scanned = Image.new("RGB", (page.width + 260, page.height + 120), "black")
    scanned.paste(page, (200, 60))
    straight = straighten(scanned)
    assert (straight.turns, straight.letters) == (0, pytest.approx(straighten(page).letters, rel=0.1))
    assert (straight.gray[:, :190] > 240).all()


def test_the_beginnings_of_lines_are_no_table():
    straight = straighten(draw_page())
    ink, scale = _low_resolution(straight.gray, straight.letters)
    cells = see_text(ink)
    part = slice(int(90 * scale), int(300 * scale)), slice(0, int(250 * scale))
    cells.kinds[Kind.TABLE, *part], cells.kinds[Kind.TEXT, *part] = cells.kinds[Kind.TEXT, *part].copy(), 0.01
    regions = find_regions(straight, cells, scale)
    assert {region.kind for region in regions} == {Kind.TEXT}
    assert sum(len(region.rows) for region in regions) == 14
