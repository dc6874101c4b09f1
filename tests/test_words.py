"""Words and boxes: from files, PDFs and pictures, in reading order, normalised as the seed says."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from unrender.documents import Box
from unrender.errors import DataError, MissingExtraError, ModelError
from unrender.images.opening import open_pages
from unrender.words import (
    Lexicon,
    Line,
    RapidReader,
    Word,
    WordPage,
    find_rows,
    order_lines,
    parse_given,
    part_words,
    read_given,
    receipt_lexicon,
    split_lines,
)
from unrender.words.given import find_pdf_words
from unrender.words.ocr import FoundLines, slope_of, tidy, tilt_of
from unrender.words.word_page import level, turn_points


def line(text: str, x0: float, y0: float, x1: float, y1: float) -> Line:
    return Line(text, Box(x0, y0, x1, y1))


def texts(lines: list[Line]) -> list[str]:
    return [one.text for one in lines]


def test_boxes_are_normalised_to_integers_from_0_to_1000():
    page = WordPage(200, 400, (Word("a", Box(0, 0, 200, 400)), Word("b", Box(99.9, 1, 150, 399))))
    assert page.normalised().tolist() == [[0, 0, 1000, 1000], [499, 2, 750, 997]]


@given(st.lists(st.tuples(*[st.floats(-50, 5000)] * 4), max_size=5), st.integers(1, 3000), st.integers(1, 3000))
def test_normalised_boxes_stay_on_the_page_whatever_comes(corners, width, height):
    words = tuple(Word("a", Box(*values)) for values in corners)
    boxes = WordPage(width, height, words).normalised()
    assert boxes.shape == (len(corners), 4)
    assert ((boxes >= 0) & (boxes <= 1000)).all()


def test_a_line_is_cut_into_words_that_share_its_box_by_their_letters():
    words = split_lines([line("TOTAL  9.90", 0, 10, 110, 20)])
    assert [word.text for word in words] == ["TOTAL", "9.90"]
    assert words[0].box == Box(0, 10, 50, 20)
    assert words[1].box == Box(70, 10, 110, 20)


def test_lines_are_read_from_top_to_bottom_and_left_to_right():
    lines = [line("9.90", 300, 41, 340, 60), line("TOTAL", 10, 40, 90, 60), line("SHOP", 100, 5, 200, 25)]
    assert texts(order_lines(lines)) == ["SHOP", "TOTAL", "9.90"]


def test_prices_stay_beside_their_goods_though_a_gap_runs_between_them():
    rows = [(f"ITEM {number}", f"{number}.00") for number in range(8)]
    lines = [line(left, 10, 30 * n, 90, 30 * n + 20) for n, (left, _) in enumerate(rows)]
    lines += [line(right, 300, 30 * n, 340, 30 * n + 20) for n, (_, right) in enumerate(rows)]
    assert texts(order_lines(lines)) == [text for row in rows for text in row]


def test_columns_of_running_text_are_read_one_after_the_other():
    left = [line(f"left {n}", 10, 30 * n + 100, 480, 30 * n + 120) for n in range(8)]
    right = [line(f"right {n}", 520, 30 * n + 100, 990, 30 * n + 120) for n in range(8)]
    title = line("title", 10, 10, 990, 60)
    foot = line("foot", 10, 400, 990, 430)
    mixed = [foot, *[one for pair in zip(right, left, strict=True) for one in pair], title]
    assert texts(order_lines(mixed)) == ["title", *texts(left), *texts(right), "foot"]


def test_a_tilted_page_keeps_its_lines():
    slope = 0.1
    rows = [
        [line(f"{n} at {x}", x, 40 * n + slope * x, x + 80, 40 * n + slope * x + 20) for x in (0, 600)]
        for n in range(5)
    ]
    mixed = [one for row in rows for one in row][::-1]
    assert texts(order_lines(mixed, slope)) == [one.text for row in rows for one in row]


@given(st.lists(st.tuples(*[st.floats(0, 1000)] * 4), max_size=30))
def test_no_box_is_lost_or_doubled_in_reading_order(corners):
    boxes = [Box(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in corners]
    rows = find_rows(boxes)
    assert sorted(place for row in rows for place in row) == list(range(len(boxes)))


def test_the_slope_of_a_page_is_that_of_its_long_lines():
    quads = np.array([[[0, 0], [100, 5], [100, 25], [0, 20]], [[0, 50], [10, 50], [10, 60], [0, 60]]], dtype=float)
    assert slope_of(quads) == pytest.approx(0.05)
    assert slope_of(np.zeros((0, 4, 2))) == 0.0


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_a_box_of_a_turned_page_is_found_in_the_picture_again(turns):
    picture = Image.new("L", (60, 40), 255)
    picture.paste(0, (10, 5, 30, 15))
    turned = picture.rotate(-90 * turns, expand=True)
    dark = np.argwhere(np.array(turned) == 0)
    (y0, x0), (y1, x1) = dark.min(axis=0), dark.max(axis=0) + 1
    page = WordPage(turned.width, turned.height, (), turns)
    assert page.in_picture(Box(x0, y0, x1, y1)) == Box(10, 5, 30, 15)


@pytest.mark.parametrize("tilt", [-40.0, -5.0, 3.0, 17.0, 60.0])
def test_a_box_of_a_levelled_page_is_found_in_the_tilted_picture(tilt):
    paper = Image.new("L", (300, 200), 255)
    paper.paste(0, (120, 80, 200, 100))
    picture = paper.rotate(-tilt, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    straight = level(picture, tilt)
    dark = np.argwhere(np.array(straight) < 128)
    (y0, x0), (y1, x1) = dark.min(axis=0), dark.max(axis=0) + 1
    assert (x1 - x0, y1 - y0) == pytest.approx((80, 20), abs=3)
    seen = np.argwhere(np.array(picture) < 128)
    found = WordPage(*straight.size, (), 0, tilt, picture.size).in_picture(Box(x0, y0, x1, y1))
    wanted = (*seen.min(axis=0)[::-1], *(seen.max(axis=0)[::-1] + 1))
    assert (found.x0, found.y0, found.x1, found.y1) == pytest.approx(wanted, abs=3)


def quads_of(tilt: float, lines: int = 4) -> np.ndarray:
    """Lines of text, one below the other, that fall by some degrees."""
    flat = [[[20, 40 * n], [180, 40 * n], [180, 40 * n + 20], [20, 40 * n + 20]] for n in range(lines)]
    return turn_points(np.array(flat, dtype=float), -tilt, (200, 200), (200, 200))


@pytest.mark.parametrize("tilt", [-80, -30, 0, 4, 45, 89])
def test_the_tilt_of_a_page_is_that_of_its_long_lines(tilt):
    assert tilt_of(quads_of(tilt)) == pytest.approx(tilt)
    assert tilt_of(np.zeros((0, 4, 2))) == 0.0


def test_the_lines_of_a_tilted_page_are_read_as_if_it_were_level():
    quads = quads_of(10.0)
    lines = [Line(str(n), Box(*quad.min(axis=0), *quad.max(axis=0))) for n, quad in enumerate(quads)]
    page = FoundLines((200, 200), 0, lines, quads).page()
    assert page.tilt == pytest.approx(10.0)
    assert page.tilted == (200, 200)
    assert [word.text for word in page.words] == ["0", "1", "2", "3"]
    assert all(word.box.height == pytest.approx(20) for word in page.words)


JSON = {"words": [{"text": "9.90", "box": [50, 10, 90, 20]}, {"text": "TOTAL", "box": [0, 10, 40, 20]}]}
HOCR = """<!DOCTYPE html><html><body><div class='ocr_page' title='image "x.png"; bbox 0 0 200 100; ppageno 0'>
<span class='ocrx_word' title='bbox 100 20 180 40; x_wconf 91'><strong>9.90</strong></span>
<span class='ocrx_word' title='bbox 0 20 80 40; x_wconf 50'>TO<em>TAL</em></span></div>
<div class='ocr_page' title='bbox 0 0 10 10'><span class='ocrx_word' title='bbox 1 1 2 2'>second</span></div>
</body></html>"""
ALTO = """<?xml version="1.0"?><alto xmlns="http://www.loc.gov/standards/alto/ns-v3#"><Layout>
<Page WIDTH="400" HEIGHT="200"><PrintSpace><TextBlock><TextLine>
<String CONTENT="TOTAL" HPOS="0" VPOS="40" WIDTH="160" HEIGHT="40" WC="0.5"/><SP/>
<String CONTENT="9.90" HPOS="200" VPOS="40" WIDTH="160" HEIGHT="40"/>
</TextLine></TextBlock></PrintSpace></Page></Layout></alto>"""


@pytest.mark.parametrize("text", [json.dumps(JSON), HOCR, ALTO], ids=["json", "hocr", "alto"])
def test_given_words_are_read_from_every_format(text):
    page = parse_given(text, 100, 50)
    assert page.texts == ["TOTAL", "9.90"]
    assert [(word.box.x0, word.box.y0, word.box.y1) for word in page.words] == [(0, 10, 20), (50, 10, 20)]


def test_boxes_of_another_size_are_scaled_to_the_picture():
    page = parse_given(json.dumps({**JSON, "width": 200, "height": 100}), 400, 400)
    assert page.words[1].box == Box(100, 40, 180, 80)


def test_lines_are_given_too():
    page = parse_given(json.dumps({"lines": [{"text": "TOTAL 9.90", "box": [0, 0, 100, 10]}]}), 100, 50)
    assert page.texts == ["TOTAL", "9.90"]
    assert page.text == "TOTAL 9.90"


def test_a_page_of_a_file_with_several_is_chosen_by_number():
    assert parse_given(HOCR, 10, 10, page=2).texts == ["second"]
    with pytest.raises(DataError, match="no page 3; the file has 2"):
        parse_given(HOCR, 10, 10, page=3)


def test_how_sure_the_ocr_was_is_kept():
    assert sorted(word.confidence for word in parse_given(HOCR, 100, 50).words) == [0.5, 0.91]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"words": [{"text": "A"}]}', r"word 1 \('A'\) has no box"),
        ('{"words": [{"text": "A", "box": [1, 2, 3]}]}', "four numbers"),
        ('{"words": [{"text": "A", "box": [1, 2, "x", 4]}]}', "has no box"),
        ('{"words": [{"text": "A", "box": [9, 2, 3, 4]}]}', "is inverted"),
        ('{"words": [{"text": "A", "box": [900, 2, 903, 4]}]}', "outside the page of 100 x 50"),
        ('{"words": [{"box": [0, 2, 3, 4]}]}', "needs a text and a box"),
        ('{"words": [3]}', "needs a text and a box"),
        ('{"texts": []}', "a list called words or lines"),
        ('{"words": ', "JSON cannot be read"),
        ('{"words": [], "width": 0}', "must be positive"),
        ("<alto><Page><String CONTENT='A'/></Page></alto>", "has no box"),
        *(
            (f"<p class='ocr_page'><b class='ocrx_word' title='bbox 1 2 {number} 4'>A</b></p>", "has no box; hOCR")
            for number in ("nan", "1e999", ". 2", "9" * 600, "0x10")
        ),
        ("<p class='ocr_page'><b class='ocrx_word' title='bbox 1 2 3 1e308'>A</b></p>", "has no box; hOCR"),
        ("<alto><Page>", "XML cannot be read"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><alto></alto>", "document type of its own"),
        ("nothing", "JSON, hOCR or ALTO"),
        ("", "JSON, hOCR or ALTO"),
    ],
)
def test_words_that_cannot_be_used_are_refused_with_a_sentence(text, sentence):
    with pytest.raises(DataError, match=sentence):
        parse_given(text, 100, 50)


def test_boxes_are_cut_to_the_page_and_empty_words_left_out():
    values = {"words": [{"text": "A", "box": [-5, -5, 120, 20]}, {"text": "  ", "box": [0, 0, 1, 1]}]}
    [word] = parse_given(json.dumps(values), 100, 50).words
    assert word.box == Box(0, 0, 100, 20)


def test_a_file_that_is_not_there_or_not_text_is_said(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_given(tmp_path / "a.json", 10, 10)
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(DataError, match="cannot be read as text"):
        read_given(tmp_path / "b.json", 10, 10)


def test_a_page_has_a_size_and_not_endless_words():
    with pytest.raises(DataError, match="positive width"):
        WordPage(0, 10)
    with pytest.raises(DataError, match="more than the limit"):
        WordPage(10, 10, (Word("a", Box(0, 0, 1, 1)),) * 50_001)


def text_pdf(content: bytes) -> bytes:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents 4 0 R "
        b"/Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, offsets = b"%PDF-1.4\n", []
    for number, value in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, value)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(body)
    return body + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer


def test_a_pdf_gives_its_own_words_where_they_stand():
    data = text_pdf(b"BT /F 10 Tf 20 80 Td (Shop name) Tj 0 -40 Td (Total 9.90) Tj ET")
    page = find_pdf_words(open_pages(data).text(0), dpi=144)
    assert page is not None
    assert page.texts == ["Shop", "name", "Total", "9.90"]
    assert (page.width, page.height) == (400, 200)
    shop, total = page.words[0].box, page.words[2].box
    assert shop.x0 == pytest.approx(40, abs=3)
    assert shop.y0 < 40 < shop.y1 + 2
    assert total.y0 < 120 < total.y1 + 2
    assert [word.line for word in page.words] == [0, 0, 1, 1]


def test_a_pdf_without_text_gives_none(make_pdf):
    assert find_pdf_words(open_pages(make_pdf()).text(0), dpi=96) is None


def test_a_missing_ocr_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'unrender\[ocr\]'"):
        RapidReader()


@pytest.mark.parametrize(
    ("read", "tidied"),
    [
        ("MR. X.Y.Z.(CENTRAL) SDN BHD", "MR. X.Y.Z. (CENTRAL) SDN BHD"),
        ("CO.(M)BHD", "CO. (M) BHD"),
        ("12300SOMETOWN,KELANTAN", "12300 SOMETOWN,KELANTAN"),
        ("04/03/201815:41:52", "04/03/2018 15:41:52"),
        ("Ｔｏｔａｌ：９．９０", "Total:9.90"),
        ("f(x) 12345", "f (x) 12345"),
        ("A12345BC", "A12345BC"),
    ],
)
def test_recognised_lines_get_plain_signs_and_lost_spaces(read, tidied):
    assert tidy(read) == tidied


def test_words_that_ran_together_are_parted_by_a_word_list(tmp_path):
    lexicon = receipt_lexicon()
    assert lexicon.part("TRADINGSDNBHD") == "TRADING SDN BHD"
    assert lexicon.part("(SdnBhd).") == "(Sdn Bhd)."
    assert lexicon.part("STATIONERY") == "STATIONERY"
    assert lexicon.part("STATIONERYX") == "STATIONERYX"
    lexicon.save(tmp_path / "lexicon.txt")
    assert Lexicon.load(tmp_path / "lexicon.txt").counts == lexicon.counts
    (tmp_path / "lexicon.txt").write_text("one two three\n")
    with pytest.raises(ModelError, match="not a list of words"):
        Lexicon.load(tmp_path / "lexicon.txt")


def test_an_unknown_name_is_parted_from_two_known_words_but_not_from_one():
    lexicon = receipt_lexicon()
    assert lexicon.part("ZYXWVSTATIONERYSHOP") == "ZYXWV STATIONERY SHOP"
    assert lexicon.part("ZYXWVSHOP") == "ZYXWVSHOP"


def test_parted_words_share_the_box():
    page = WordPage(100, 100, (Word("SHOPNAME", Box(0, 0, 80, 9), 3, 0.7), Word("X", Box(90, 0, 99, 9), 3)))
    parted = part_words(page, Lexicon({"SHOP": 9, "NAME": 9}))
    assert [(word.text, word.box.x0, word.box.x1, word.line) for word in parted.words] == [
        ("SHOP", 0, 40, 3), ("NAME", 40, 80, 3), ("X", 90, 99, 3),
    ]  # fmt: skip
