"""What stands where on a page: columns, blocks, lines and cells; the layout network is played here."""

from dataclasses import replace

import numpy as np
import pytest
from drawn_pages import WORDS, draw_contents, draw_page, see_text, take_apart
from PIL import Image, ImageDraw, ImageFont

from unrender.documents import Box
from unrender.engines import Cells
from unrender.models.page import KINDS
from unrender.reading.page import _low_resolution
from unrender.reading.page.columns import find_parts
from unrender.reading.page.cuts import cut, split
from unrender.reading.page.margins import leader_dots, without_leaders
from unrender.reading.page.places import Kind, Row
from unrender.reading.page.regions import find_regions
from unrender.reading.page.rows import ReadRow, join_cells
from unrender.reading.page.straight import straighten
from unrender.reading.page.tables import join_wrapped


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


def test_letters_of_a_page_on_its_side_are_as_high_as_they_are_upright():
    letters = straighten(draw_page()).letters
    for way in (Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_270):
        assert straighten(draw_page().transpose(way)).letters == pytest.approx(letters, rel=0.02)


def test_many_small_letters_in_a_figure_do_not_tell_the_size_of_letters():
    page = draw_page(lines=6)
    small = draw_page(lines=24).resize((300, 388), Image.Resampling.LANCZOS)
    whole = page.copy()
    whole.paste(small, (500, 600))
    assert straighten(whole).letters == pytest.approx(straighten(page).letters, rel=0.05)


def test_a_page_that_lies_upside_down_is_turned():
    straight, _ = take_apart(draw_page().transpose(Image.Transpose.ROTATE_180))
    assert straight.turns == 2
    assert take_apart(draw_page())[0].turns == 0


def test_every_cell_of_a_table_is_read_by_itself():
    cells = tuple((left, 0, left + 150, 20) for left in range(0, 1200, 200))
    assert split(Row((0, 0, 1150, 20), 10.0, (cells[0], None, *cells[1:]))) == list(cells)


def test_cells_that_were_read_stand_in_their_columns():
    parts = [ReadRow(("a", "<cell>", "b"), 1.0), ReadRow(("c",), 1.0)]
    joined = join_cells(parts, [False, True, False, True])
    assert joined.tokens == ("<cell>", "a", "␣", "b", "<cell>", "<cell>", "c")


def test_cells_of_several_lines_are_joined_and_sparse_rows_are_not():
    head = ["name", "what it does", "cost"]
    wrapped = [head, ["a", "turns the page", "3"], ["", "upside down", ""], ["b", "waits", "4"], ["", "7", ""]]
    assert join_wrapped(wrapped) == [head, ["a", "turns the page upside down", "3"], *wrapped[3:]]


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


def test_dots_of_leaders_do_not_tell_the_size_of_letters():
    plain = draw_contents()
    ImageDraw.Draw(plain).rectangle((400, 0, 890, 1000), fill="white")
    assert straighten(draw_contents()).letters == pytest.approx(straighten(plain).letters, rel=0.1)


def test_the_dots_of_leaders_are_erased_and_full_stops_stay():
    straight = straighten(draw_contents())
    left = without_leaders(straight).gray
    assert (left[:, 410:880] > 240).all()
    assert (left[:, :395] == straight.gray[:, :395]).all()


def test_a_comma_three_dots_and_a_comma_are_no_leader():
    dots = [(100 + 12 * number, 50, 103 + 12 * number, 53) for number in range(5)]
    assert not leader_dots(np.array([*dots, (60, 30, 75, 53)]), letters=10.0).any()
    assert leader_dots(np.array([*dots, (160, 50, 163, 53)]), letters=10.0).all()


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
