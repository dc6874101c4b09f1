"""Lines side by side: names above a paper are read column by column, forms and lists line by line."""

from itertools import pairwise

from unrender.reading.page.abreast import part_abreast
from unrender.reading.page.places import Kind, Region, Row

LETTERS = 10.0
HIGH = 20


def make_line(top: int, *spans: tuple[int, int]) -> Region:
    """Make a line of words at several places: from where to where."""
    box = spans[0][0], top, spans[-1][1], top + HIGH
    gaps = tuple(((one[1] + other[0]) // 2, other[0] - one[1]) for one, other in pairwise(spans))
    return Region(Kind.TEXT, box, (Row(box, LETTERS, gaps=gaps),))


def read_order(*lines: Region) -> list[tuple[int, int]]:
    """Return where the lines begin, as they are read: left, top."""
    return [piece.box[:2] for group in part_abreast(lines, LETTERS) for piece in group]


def test_lines_centred_in_columns_are_read_column_by_column():
    names = make_line(0, (100, 200), (400, 500))
    places = make_line(30, (70, 230), (380, 520))
    text = make_line(90, (0, 600))
    assert read_order(names, places, text) == [(100, 0), (70, 30), (400, 0), (380, 30), (0, 90)]


def test_a_column_may_be_shorter_than_the_others():
    lines = make_line(0, (100, 200), (400, 500)), make_line(30, (70, 230), (380, 520)), make_line(60, (120, 180))
    assert read_order(*lines)[:3] == [(100, 0), (70, 30), (120, 60)]


def test_lines_flush_left_in_columns_are_read_line_by_line():
    lines = make_line(0, (100, 160), (400, 500)), make_line(30, (100, 230), (400, 520))
    assert read_order(*lines) == [(100, 0), (100, 30)]


def test_lines_of_text_below_one_another_stay_one_group():
    lines = [make_line(30 * number, (0, 600)) for number in range(4)]
    assert [len(group) for group in part_abreast(lines, LETTERS) if group] == [4]
