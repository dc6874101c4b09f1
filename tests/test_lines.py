"""Where lines stand in a picture, and how odd pictures are cut."""

from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageDraw

from unrender.documents import Block, Box, Token
from unrender.images.lines import Strip, cut_long, find_line, find_lines
from unrender.reading.strips import arrange, clipped, find_ways, join_pieces

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
    frames = [line[0].frame for line in found]
    assert [top < middle < bottom for (_, top, _, bottom), middle in zip(frames, (25, 75, 125), strict=True)] == [
        True
    ] * 3
    assert [line[0].line for line in found] == [0, 1, 2]


def test_light_lines_on_dark_ground_are_the_same_lines():
    picture = lines_of(20, 70)
    assert find_lines(Image.eval(picture, lambda level: 255 - level), LONGEST) == find_lines(picture, LONGEST)


def test_a_wide_gap_parts_a_line_into_pieces_of_one_height():
    [pieces] = find_lines(lines_of(40, gap=True), LONGEST)
    assert len(pieces) == 2
    assert pieces[0].frame[1::2] == pieces[1].frame[1::2]
    assert pieces[0].line == pieces[1].line


def test_a_line_of_5000_pixels_is_cut_into_pieces_that_fit():
    strip = lines_of(5, width=5000).crop((0, 0, 5000, 26))
    pieces = find_line(strip, LONGEST)
    assert len(pieces) > 4
    assert all(width <= LONGEST * height for width, height in (piece.size for piece in pieces))


@pytest.mark.parametrize("size", [(1, 1), (50, 3), (3, 50), (400, 1)])
def test_tiny_pictures_are_taken_as_they_are(size: tuple[int, int]):
    assert all(strip.size[0] >= 1 for strip in find_line(Image.new("L", size, 255), LONGEST))
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
    assert all(picture.getpixel((int(piece.frame[0]), 10)) == 255 for piece in pieces[1:])
    assert pieces[0].frame[0] <= 10
    assert pieces[-1].frame[2] >= 1977
    assert all(before.frame[2] == after.frame[0] for before, after in pairwise(pieces))
    assert not any(piece.glued for piece in pieces)


def test_a_word_too_long_for_the_model_is_cut_and_joined_without_a_space():
    picture = Image.new("L", (1000, 20), 255)
    for left in range(10, 990, 10):
        ImageDraw.Draw(picture).rectangle((left, 2, left + 6, 17), fill=0)
    first, *others = cut_long(picture, (0, 0, 1000, 20), LONGEST)
    assert not first.glued
    assert [piece.glued for piece in others] == [True] * len(others)


def test_pieces_of_one_line_become_one_block():
    rows = [(Block(kind="line", text=text, tokens=(Token(text, 0.9),), confidence=sure),)
            for text, sure in (("TOT", 0.9), ("AL", 0.7), ("12.50", 0.5), ("next", 0.8))]  # fmt: skip
    strips = [
        Strip.of((0, 0, 9, 10)),
        Strip.of((9, 0, 15, 10), glued=True),
        Strip.of((30, 1, 40, 11)),
        Strip.of((0, 20, 9, 30), 1),
    ]
    first, second = join_pieces(strips, rows)
    assert (first.text, first.confidence, first.box) == ("TOTAL 12.50", 0.5, Box(0, 0, 40, 11))
    assert second.text == "next"


def test_a_strip_is_turned_the_way_it_is_read():
    picture = Image.fromarray(np.arange(20, dtype=np.uint8).reshape(4, 5))
    strip = Strip.of((1, 0, 4, 2))
    turned = picture.crop((1, 0, 4, 2)).transpose(Image.Transpose.ROTATE_270)  # clockwise
    assert np.array_equal(np.asarray(strip.turned(1).cut(picture)), np.asarray(turned))
    assert np.array_equal(np.asarray(strip.turned(4).cut(picture)), np.asarray(picture.crop((1, 0, 4, 2))))
    assert strip.turned(1).point(0, 0) == (1.0, 2.0)


def test_a_slanted_strip_is_straightened():
    picture = Image.new("L", (200, 120), 255)
    ImageDraw.Draw(picture).line((20, 30, 180, 90), fill=0, width=8)
    strip = Strip(((22, 20), (182, 80), (178, 100), (18, 40)))
    ink = np.asarray(strip.cut(picture)) < 128
    width, height = strip.size
    assert (width, height) == (171, 20)
    assert ink[height // 2 - 2 : height // 2 + 2, 10:-10].all()
    assert not ink[:3].any()


@pytest.mark.parametrize("turns", [1, 3])
def test_a_picture_on_its_side_has_a_way_for_each_turn(turns: int):
    upright = lines_of(20, 70, 120)
    lying = upright.rotate(90 * turns, expand=True)
    ways = find_ways(lying, LONGEST)
    assert len(ways) == 3
    read = [np.asarray(strip.cut(lying)) for strip in ways[1 if turns == 1 else 2]]
    assert len(read) == 3
    for found, [line] in zip(read, find_lines(upright, LONGEST), strict=True):
        assert np.array_equal(found, np.asarray(line.cut(upright)))


def test_an_upright_picture_is_read_one_way():
    assert len(find_ways(lines_of(20, 70), LONGEST)) == 1


def test_boxes_of_a_detector_are_put_in_reading_order_and_long_ones_cut():
    picture = lines_of(20, 70, width=1500)
    boxes = np.array([[(900, 18), (1480, 18), (1480, 38), (900, 38)], [(8, 68), (1480, 68), (1480, 88), (8, 88)],
                      [(8, 18), (600, 18), (600, 38), (8, 38)]], dtype=float)  # fmt: skip
    [way] = arrange(boxes, picture, LONGEST)
    assert [strip.line for strip in way[:2]] == [0, 0]
    assert [strip.frame[0] for strip in way[:2]] == [8, 900]
    assert {strip.line for strip in way[2:]} == {1}
    assert len(way) > 3


def test_tall_boxes_are_read_turned_too():
    boxes = np.array(
        [[(10, 10), (30, 10), (30, 190), (10, 190)], [(50, 10), (70, 10), (70, 190), (50, 190)]], dtype=float
    )
    upright, clockwise, anticlockwise = arrange(boxes, Image.new("L", (100, 200), 255), LONGEST)
    assert [strip.frame[0] for strip in clockwise] == [10, 50]  # what is left is above once it is turned clockwise
    assert [strip.frame[0] for strip in anticlockwise] == [50, 10]
    assert [strip.size for strip in upright] == [(20, 180)] * 2
    assert [strip.size for strip in clockwise] == [(180, 20)] * 2


def test_boxes_are_clipped_to_the_picture_and_empty_ones_are_nothing():
    picture = lines_of(20)
    assert clipped(Box(-5, -5, 9000, 9000), picture) == (0, 0, 300, 200)
    assert clipped(Box(0, 0, 0, 0), picture) is None
    assert clipped(Box(0, 150, 100, 190), picture) is None  # blank
