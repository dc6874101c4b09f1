import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unrender import formats
from unrender.documents import Block, Box, Document, Page
from unrender.formats.blocks import grid, spans
from unrender.formats.doctags import parse_doctags, write_doctags

FIXTURE = Path(__file__).parent / "fixtures" / "page.doctags"
SEED = Path(__file__).parent.parent.parent / "shared" / "seeds" / "001_58fadc53d558ef2f.txt"
HOSTILE = 1_000_000  # characters
SECONDS = 10.0  # of this process; quadratic time would take minutes

KINDS = ["picture", "text", "text", "heading", "text", "text", "page_footer"]
PIECES = ["<text>", "</text>", "<picture>", "</picture>", "<caption>", "<loc_5>", "<otsl>", "</otsl>", "<fcel>", "<nl>",
          "<lcel>", "<doctag>", "<page_break>", "<code>", "<_Python_>", "<list_item>", "<unordered_list>", "<inline>",
          "<map>", "&lt;text>", "&amp;", "<", ">", "x", " ", "\n"]  # fmt: skip
relaxed = settings(deadline=None, max_examples=60)  # a busy machine is no failure
texts = st.text(max_size=12).map(str.strip) | st.lists(st.sampled_from(PIECES), max_size=5).map("".join).map(str.strip)


def test_a_page_has_its_picture_texts_header_and_footer():
    [page] = parse_doctags(FIXTURE.read_text()).pages
    assert [block.kind for block in page.blocks] == [
        "picture",
        "text",
        "text",
        "heading",
        "text",
        "text",
        "page_footer",
    ]
    assert page.blocks[0].box == Box(60, 20, 440, 150)
    assert page.blocks[0].children[0].kind == "caption"
    assert page.blocks[0].children[0].box == Box(70, 158, 430, 172)
    assert (page.blocks[3].text, page.blocks[3].level) == ("4.1 Large swings", 1)
    assert "2 < 3 < pi" in page.blocks[1].text
    assert page.blocks[-1].text == "12"


def test_a_page_is_written_as_it_was():
    text = FIXTURE.read_text()
    assert write_doctags(parse_doctags(text)) == text


@pytest.mark.skipif(not SEED.exists(), reason="the seed documents are not beside the project")
def test_seed_001_itself_is_read_and_written_unchanged():
    text = SEED.read_text()
    document = parse_doctags(text)
    blocks = document.blocks
    assert [block.kind for block in blocks] == KINDS
    assert blocks[0].box == Box(87, 12, 398, 180)
    assert blocks[0].children[0].box == Box(78, 186, 405, 200)
    assert (blocks[3].text, blocks[3].level, blocks[3].box) == ("3.2 Data Augmentation", 1, Box(78, 383, 153, 389))
    assert blocks[-1].text == "3"
    assert write_doctags(document) == text


def test_boxes_are_scaled_from_the_grid_of_500_to_the_page():
    [block] = formats.parse(
        "<text><loc_100><loc_50><loc_250><loc_500>x</text>", "doctags", width=1000, height=2000
    ).blocks
    assert block.box == Box(200, 200, 500, 2000)


def test_places_are_rounded_and_stay_on_the_grid():
    page = Page(
        number=1, width=1000, height=1000, blocks=(Block(kind="text", text="x", box=Box(-3, 1.1, 999.8, 1200)),)
    )
    assert "<loc_0><loc_1><loc_499><loc_499>" in write_doctags(Document(pages=(page,)))


def test_pages_are_parted_by_page_breaks():
    document = parse_doctags("<doctag><text>a</text>\n<page_break>\n<text>b</text>\n</doctag>")
    assert [page.number for page in document.pages] == [1, 2]
    assert parse_doctags(write_doctags(document)) == document


def test_a_table_keeps_its_headers_spans_and_caption():
    text = ("<otsl><loc_1><loc_2><loc_3><loc_4><caption>Prices</caption><ched>Item<ched>Price<lcel><nl>\n"
            "<rhed>Tea<fcel>2<ucel><nl>\n<ecel><srow>all<xcel><nl>\n</otsl>")  # fmt: skip
    [table] = parse_doctags(text).blocks
    assert table.kind == "table"
    assert [cell.kind for cell in grid(table)[0]] == ["column_header", "column_header", "merged_left"]
    assert [cell.text for cell in grid(table)[1]] == ["Tea", "2", ""]
    assert table.children[0] == Block(kind="caption", text="Prices")
    assert write_doctags(Document(pages=parse_doctags(text).pages)) == f"<doctag>{text}\n</doctag>"


def test_spans_count_the_cells_that_are_merged():
    [table] = parse_doctags("<otsl><fcel>a<lcel><fcel>b<nl><ucel><xcel><fcel>c<nl></otsl>").blocks
    assert [[(cell.text, rows, columns) for cell, rows, columns in row] for row in spans(table)] == [
        [("a", 2, 2), ("b", 1, 1)],
        [("c", 1, 1)],
    ]


def test_lists_code_formulas_and_checkboxes_have_their_own_blocks():
    text = ("<doctag><unordered_list><list_item>one</list_item>\n<list_item>two</list_item>\n</unordered_list>\n"
            "<code><_Python_>  if x:\n    y()</code>\n<formula>x ^ { 2 }</formula>\n"
            "<checkbox_selected>yes</checkbox_selected>\n</doctag>")  # fmt: skip
    document = parse_doctags(text)
    assert [block.kind for block in document.blocks] == ["unordered_list", "code", "formula", "checkbox_selected"]
    assert [item.text for item in document.blocks[0].children] == ["one", "two"]
    assert document.blocks[1].text == "  if x:\n    y()"
    assert document.blocks[1].fields == {"language": "Python"}
    assert write_doctags(document) == text


def test_only_known_tags_are_tags():
    [block] = parse_doctags("<text>if a <b> and <texts> then a < b</text>").blocks
    assert block.text == "if a <b> and <texts> then a < b"


def test_a_tag_left_open_ends_where_another_block_begins():
    document = parse_doctags("<text>a<section_header_level_2>b<picture><loc_1><loc_2><loc_3><loc_4><text>c")
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("text", "a"),
        ("heading", "b"),
        ("picture", ""),
        ("text", "c"),
    ]


def test_text_outside_any_tag_is_kept():
    assert [block.text for block in parse_doctags("before <text>in</text> after").blocks] == ["before", "in", "after"]


@relaxed
@given(texts)
def test_any_text_in_a_block_round_trips(text: str):
    document = Document(pages=(Page(number=1, width=500, height=500, blocks=(Block(kind="text", text=text),)),))
    assert parse_doctags(write_doctags(document)) == document


@relaxed
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text())
def test_any_text_parses_and_settles_after_one_writing(text: str):
    settled = write_doctags(parse_doctags(text))
    assert write_doctags(parse_doctags(settled)) == settled


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["<text>", "<inline>", "</text>x", "<", "&amp;", "<otsl><fcel>", "<loc_1>", "<_", "&lt;text>"]
)
def test_a_megabyte_of_hostile_text_takes_no_longer_than_its_length(piece: str):
    text = (piece * (HOSTILE // len(piece) + 1))[:HOSTILE]
    start = time.process_time()
    parse_doctags(text)
    assert time.process_time() - start < SECONDS
