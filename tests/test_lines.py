"""Where lines stand in a picture, and how odd pictures are cut."""

from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageDraw

from unrender.documents import Block, Box, Token
from unrender.reading.lines import clipped, cut_long, find_line, find_lines, join_pieces

LONGEST = 32.0


def lines_of(*tops: int, width: int = 300, gap: bool = False) -> Image.Image:
    """Draw a line of small dark blocks, like letters, at each height."""
    picture = Image.new("L", (width, 200), 255)
    canvas = ImageDraw.Draw(picture)
    for top in tops:
        for left in range(10, width - 20, 12):
            if not (gap and 100 < left < 180):
                canvas.rectangle((left, top, left + 7, top + 15), fill=0)
    return picture


def test_lines_are_found_from_top_to_bottom():
    found = find_lines(lines_of(20, 70, 120), LONGEST)
    assert [line[0][1] < top < line[0][3] for line, top in zip(found, (25, 75, 125), strict=True)] == [True] * 3


def test_light_lines_on_dark_ground_are_the_same_lines():
    picture = lines_of(20, 70)
    assert find_lines(Image.eval(picture, lambda level: 255 - level), LONGEST) == find_lines(picture, LONGEST)


def test_a_wide_gap_parts_a_line_into_pieces_of_one_height():
    [pieces] = find_lines(lines_of(40, gap=True), LONGEST)
    assert len(pieces) == 2
    assert pieces[0][1::2] == pieces[1][1::2]


def test_a_line_of_5000_pixels_is_cut_into_pieces_that_fit():
    strip = lines_of(5, width=5000).crop((0, 0, 5000, 26))
    pieces = find_line(strip, LONGEST)
    assert len(pieces) > 4
    assert all(right - left <= LONGEST * (bottom - top) for left, top, right, bottom in pieces)


@pytest.mark.parametrize("size", [(1, 1), (50, 3), (3, 50), (400, 1)])
def test_tiny_pictures_are_taken_as_they_are(size: tuple[int, int]):
    assert all(len(region) == 4 for region in find_line(Image.new("L", size, 255), LONGEST))
    assert find_lines(Image.new("L", size, 255), LONGEST) == []


def test_noise_is_no_reason_to_fail():
    noise = np.random.default_rng(0).integers(0, 256, (60, 300), dtype=np.uint8)
    find_lines(Image.fromarray(noise), LONGEST)


def test_a_long_line_is_cut_between_its_words_and_nothing_is_left_out():
    picture = Image.new("L", (2010, 20), 255)
    canvas = ImageDraw.Draw(picture)
    for left in range(10, 2000, 10):
        if left % 100 < 80:  # words of eight letters
            canvas.rectangle((left, 2, left + 6, 17), fill=0)
    pieces = cut_long(picture, (10, 0, 2010, 20), LONGEST)
    assert len(pieces) > 3
    assert all(picture.getpixel((left, 10)) == 255 for left, _, _, _ in pieces[1:])
    assert (pieces[0][0], pieces[-1][2]) == (10, 2010)
    assert all(before[2] == after[0] for before, after in pairwise(pieces))


def test_pieces_at_one_height_become_one_line():
    rows = [(Block(kind="line", text=text, tokens=(Token(text, 0.9),), confidence=sure),)
            for text, sure in (("TOTAL", 0.9), ("12.50", 0.5), ("next", 0.8))]  # fmt: skip
    first, second = join_pieces([(0, 0, 9, 10), (30, 0, 40, 10), (0, 20, 9, 30)], rows)
    assert (first.text, first.confidence, first.box) == ("TOTAL 12.50", 0.5, Box(0, 0, 40, 10))
    assert second.text == "next"


def test_boxes_are_clipped_to_the_picture_and_empty_ones_are_nothing():
    picture = lines_of(20)
    assert clipped(Box(-5, -5, 9000, 9000), picture) == (0, 0, 300, 200)
    assert clipped(Box(0, 0, 0, 0), picture) is None
    assert clipped(Box(0, 150, 100, 190), picture) is None  # blank
