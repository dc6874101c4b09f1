"""Faults of the page reader that real pages showed, each on a small page that is drawn here."""

import numpy as np
from drawn_pages import WORDS, draw_margin, draw_page, find_on, take_apart
from PIL import Image, ImageDraw, ImageFont

from unrender.reading.page.columns import find_parts
from unrender.reading.page.displays import is_words, settle
from unrender.reading.page.margins import without_line_numbers
from unrender.reading.page.places import Kind, Region, Row
from unrender.reading.page.rows import ReadRow
from unrender.reading.page.straight import straighten
from unrender.reading.page.tables import find_cells

FONT = ImageFont.load_default(14)


def count_rows(regions) -> int:
    return sum(len(region.rows) for region in regions)


def test_tiny_numbers_of_lines_are_erased_however_near_the_text_is():
    image = draw_page(lines=24)
    pen, tiny = ImageDraw.Draw(image), ImageFont.load_default(7)
    for line in range(24):
        pen.rectangle((400, 100 + 24 * line, 849, 118 + 24 * line), fill="white")
        pen.text((380, 101 + 24 * line), "dog", fill="black", font=FONT)
        for digit in range(3):
            pen.text((409 + 6 * digit, 106 + 24 * line), "8", fill="black", font=tiny)
    gray = without_line_numbers(straighten(image)).gray
    assert (gray[:, 409:] > 240).all()
    assert (gray[:, 380:400] < 100).any()


def test_headings_side_by_side_below_a_title_are_each_in_its_column():
    occupied = np.zeros((90, 60), dtype=bool)
    occupied[2:5, 10:50] = True  # crosses the gutter
    occupied[8:11, 2:14] = occupied[8:11, 32:44] = True
    for top in range(16, 80, 4):
        occupied[top : top + 3, 2:28] = occupied[top : top + 3, 32:58] = True
    parts = find_parts(occupied, occupied)
    assert [part.column for part in parts] == [-1, 0, 1]
    assert [part.top for part in parts[1:]] == [8, 8]


def test_short_lines_that_go_on_at_the_end_of_a_page_are_no_running_feet():
    image = draw_page()
    pen = ImageDraw.Draw(image)
    for line in (14, 15):
        pen.text((100, 100 + 24 * line), "clearpage", fill="black", font=FONT)
    foot = (90, 430, 300, 500)
    assert not [region for region in find_on(image, (Kind.FOOTER, foot)) if region.kind == Kind.FOOTER]


def test_the_last_line_of_a_paragraph_is_no_footnote():
    [region] = find_on(draw_page(), (Kind.FOOTNOTE, (0, 405, 849, 440)))
    assert (region.kind, len(region.rows)) == (Kind.TEXT, 14)


def test_a_rule_is_not_read():
    image = draw_page()
    pen = ImageDraw.Draw(image)
    pen.line((100, 470, 400, 470), fill="black", width=2)
    pen.line((400, 470, 400, 476), fill="black", width=2)
    pen.rectangle((80, 80, 780, 455), outline="black", width=2)
    regions = take_apart(image)[1]
    assert count_rows(regions) == 14
    assert all(row.box[3] - row.box[1] < 24 for region in regions for row in region.rows)


def test_what_has_one_row_or_one_column_is_no_table():
    regions = find_on(draw_page(), (Kind.TABLE, (90, 90, 849, 300)))
    assert {region.kind for region in regions} == {Kind.TEXT}
    assert count_rows(regions) == 14


def draw_table() -> Image.Image:
    image = Image.new("RGB", (850, 600), "white")
    pen = ImageDraw.Draw(image)
    pen.text((150, 100), "table one about numbers of foxes and lazy dogs in towns", fill="black", font=FONT)
    for rule in (130, 160, 300):
        pen.line((120, rule, 700, rule), fill="black", width=1)
    for row in range(6):
        for column in range(4):
            pen.text((150 + 150 * column, 138 + 27 * row), f"{row + 3}{column}9", fill="black", font=FONT)
    return image


def test_a_caption_above_the_rules_of_a_table_is_not_its_first_row():
    caption, table = find_on(draw_table(), (Kind.TABLE, (100, 90, 720, 310)))
    assert (caption.kind, len(caption.rows)) == (Kind.CAPTION, 1)
    assert [len(row.cells) for row in table.rows] == [4] * 6


def test_the_end_of_a_word_is_no_figure():
    regions = find_on(draw_page(), (Kind.FIGURE, (400, 170, 560, 195)))
    assert {region.kind for region in regions} == {Kind.TEXT}
    assert count_rows(regions) == 14


def test_a_pale_figure_is_kept_and_the_words_below_it_are_read():
    image = draw_page(lines=12)
    pen = ImageDraw.Draw(image)
    pen.rectangle((100, 420, 700, 640), fill=(217, 217, 217))
    pen.text((300, 660), "figure one and its words", fill="black", font=FONT)
    regions = find_on(image, (Kind.FIGURE, (100, 420, 700, 680)))
    assert [region.kind for region in regions] == [Kind.TEXT, Kind.FIGURE, Kind.TEXT]
    assert regions[1].box[3] < regions[2].box[1]


def test_words_that_the_network_sees_as_nothing_are_read():
    regions = find_on(draw_page(), (Kind.NOTHING, (0, 230, 849, 275)))
    assert count_rows(regions) == 14


def test_light_letters_on_a_dark_bar_are_read():
    image = draw_page()
    pen = ImageDraw.Draw(image)
    pen.rectangle((90, 500, 800, 560), fill=(40, 40, 90))
    pen.text((120, 520), WORDS, fill="white", font=FONT)
    assert count_rows(take_apart(image)[1]) == 15


def test_a_formula_and_its_number_far_to_the_right_are_one_row():
    image = Image.new("RGB", (850, 600), "white")
    pen = ImageDraw.Draw(image)
    for top in (60, 84, 108, 200, 224):
        pen.text((100, top), WORDS, fill="black", font=FONT)
    pen.text((250, 150), "a = b + c + d", fill="black", font=FONT)
    pen.text((520, 150), "(7)", fill="black", font=FONT)
    regions = find_on(image, (Kind.FORMULA, (240, 140, 380, 175)), (Kind.FORMULA, (510, 140, 560, 175)))
    [formula] = [region for region in regions if region.kind == Kind.FORMULA]
    assert [len(row.cells) for row in formula.rows] == [2]


def as_read(text: str, confidence: float = 0.9) -> ReadRow:
    return ReadRow(tuple("␣" if sign == " " else sign for sign in text), confidence)


def test_words_are_no_display_and_formulas_are():
    assert is_words(as_read("Ann Author"))
    assert is_words(as_read("2006/02/08"))
    assert not is_words(as_read("max a = b"))
    assert not is_words(as_read("Ann Author", confidence=0.3))
    assert not is_words(ReadRow(("<d>", *"sin", "</d>"), 0.9))


def test_a_display_in_which_words_were_read_is_parted_and_the_last_number_is_the_page_s():
    rows = tuple(Row((0, top, 90, top + 9), 8.0, ((0, top, 90, top + 9),)) for top in (0, 20, 80))
    regions = [Region(Kind.FORMULA, (0, 0, 90, 29), rows[:2]), Region(Kind.FORMULA, (0, 80, 90, 89), rows[2:])]
    found = {
        (0, 0, 0): as_read("Ann Author"),
        (0, 1, 0): ReadRow(("<d>", "a", "=", "b", "</d>"), 0.9),
        (1, 0, 0): as_read("12"),
    }
    settled, moved = settle(regions, found)
    assert [region.kind for region in settled] == [Kind.TEXT, Kind.FORMULA, Kind.FOLIO]
    assert [moved[number, 0, 0] for number in range(3)] == list(found.values())


def test_numbers_of_lines_are_erased_and_words_in_the_margin_are_not():
    numbered, worded = straighten(draw_margin("")), straighten(draw_margin("authoring"))
    assert (without_line_numbers(numbered).gray[:, 40:90] > 240).all()
    assert (without_line_numbers(worded).gray == worded.gray).all()


def test_a_grid_of_rules_is_a_table_whatever_it_seems():
    image = draw_page(lines=10)
    pen = ImageDraw.Draw(image)
    for row in range(6):
        pen.line((150, 400 + 30 * row, 550, 400 + 30 * row), fill="black", width=1)
        pen.line((150 + 80 * row, 400, 150 + 80 * row, 550), fill="black", width=1)
        for column in range(5):
            if row < 5:
                pen.text((160 + 80 * column, 408 + 30 * row), f"{row}a{column}b", fill="black", font=FONT)
    text, table = find_on(image, (Kind.FIGURE, (160, 410, 300, 500)))
    assert (text.kind, table.kind) == (Kind.TEXT, Kind.TABLE)
    assert [len(row.cells) for row in table.rows] == [5] * 5


def test_two_tables_whose_rules_differ_in_length_are_two():
    image = Image.new("RGB", (850, 700), "white")
    pen = ImageDraw.Draw(image)
    for top, right in ((100, 500), (330, 700)):
        for rule in (0, 30, 140):
            pen.line((120, top + rule, right, top + rule), fill="black", width=1)
        for row in range(5):
            for column in range(3):
                pen.text((150 + 110 * column, top + 8 + 27 * row), f"{row + 3}{column}9", fill="black", font=FONT)
    pen.text((150, 290), "words about the second table and its numbers", fill="black", font=FONT)
    regions = find_on(image, (Kind.TABLE, (100, 90, 720, 480)))
    assert [region.kind for region in regions] == [Kind.TABLE, Kind.TEXT, Kind.TABLE]
    assert [len(region.rows) for region in regions] == [5, 1, 5]


def test_columns_are_found_beside_a_figure_that_is_narrower_than_its_column():
    occupied, prose, figures = (np.zeros((90, 100), dtype=bool) for _ in range(3))
    for top in range(2, 60, 4):
        prose[top : top + 3, 2:48] = True
    figures[4:58, 68:84] = True  # sixteen cells from the gutter
    prose[62:65, 54:98] = True
    occupied |= prose | figures
    assert [part.column for part in find_parts(occupied, prose, figures)] == [0, 1]


def test_a_word_that_reaches_across_the_edge_of_a_column_stays_whole():
    head = [(0, 60), (100, 205), (240, 270)]  # the second ends behind where the third column begins
    rows = [head, *[[(0, 50), (100, 140), (180, 220)]] * 7]
    letters = [
        (left, 40 * row, left + 9, 40 * row + 10)
        for row, words in enumerate(rows)
        for start, end in words
        for left in range(start, end, 10)
    ]
    cells = find_cells(np.array(letters), 8.0)
    assert cells[0] == ((0, 0, 59, 10), (100, 0, 209, 10), (240, 0, 269, 10))
    assert all(len(row) == 3 for row in cells)


def test_lines_of_names_that_seem_one_formula_are_rows_of_their_own():
    image = Image.new("RGB", (850, 600), "white")
    pen = ImageDraw.Draw(image)
    for line, text in enumerate(("Julius P. Kumquat", "The Kumquat Consortium", "New York, USA")):
        pen.text((400, 100 + 16 * line), text, fill="black", font=FONT, anchor="ma")
    for line in range(6):
        pen.text((100, 240 + 24 * line), WORDS, fill="black", font=FONT)
    regions = find_on(image, (Kind.FORMULA, (250, 90, 550, 160)))
    assert [len(region.rows) for region in regions if region.kind == Kind.FORMULA] == [3]
