"""Bad input of the page reader: blank, noise, turned, in an unknown script, of many columns, of mixed sizes."""

import numpy as np
import pytest
from drawn_pages import CountingEngine, draw_page, find_on, open_reader
from PIL import Image, ImageDraw, ImageFont

from unrender.reading.page.places import Kind

FORTY = 40


def test_a_blank_page_is_empty():
    engine = CountingEngine()
    document = open_reader(engine).read(Image.new("RGB", (850, 1100), "white"))
    assert document.pages[0].status.kind == "empty"
    assert engine.lines == 0


def test_a_page_of_noise_is_empty_and_others_are_still_read():
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (1100, 850, 3), dtype=np.uint8))
    engine = CountingEngine()
    first, second = open_reader(engine).read_many([noise, draw_page()])
    assert first.pages[0].status.kind == "empty"
    assert engine.lines == 14
    assert second.blocks


@pytest.mark.parametrize("way", [Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_180, Image.Transpose.ROTATE_270])
def test_a_turned_page_is_read_line_by_line(way):
    document = open_reader(CountingEngine()).read(draw_page().transpose(way))
    assert sum(len(block.lines) for block in document.blocks) == 14


def test_a_page_of_which_the_reader_is_unsure_is_said_to_be_unlikely():
    [page] = open_reader(CountingEngine(margin=0.1)).read(draw_page()).pages
    assert page.status.kind == "unlikely"
    assert all(block.confidence < 0.6 for block in page.blocks)


def test_a_table_of_forty_columns_has_forty_in_every_row():
    image = Image.new("RGB", (2100, 600), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(14)
    for row in range(12):
        for column in range(FORTY):
            pen.text((50 + 50 * column, 60 + 30 * row), f"{row}x", fill="black", font=font)
    [table] = find_on(image, (Kind.TABLE, (40, 50, 2090, 420)))
    assert [len(row.cells) for row in table.rows] == [FORTY] * 12


def test_pages_of_mixed_sizes_are_each_read_at_their_own(tmp_path):
    small = draw_page().resize((425, 550), Image.Resampling.LANCZOS)
    wide = Image.new("RGB", (1700, 1100), "white")
    wide.paste(draw_page(columns=2))
    sizes = [image.size for image in (draw_page(), wide, small)]
    path = tmp_path / "mixed.tiff"
    draw_page().save(path, save_all=True, append_images=[wide, small])
    pages = open_reader(CountingEngine()).read(path).pages
    assert [(page.width, page.height) for page in pages] == sizes
    assert [sum(len(block.lines) for block in page.blocks) for page in pages[:2]] == [14, 28]
