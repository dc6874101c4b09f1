"""Where paragraphs, headings and running heads of a page begin and end; the layout network is played here."""

from drawn_pages import draw_page, find_on
from PIL import ImageDraw, ImageFont

from unrender.reading.page.blocks import join_blocks
from unrender.reading.page.places import Kind, Region, Row


def place(*lines: tuple[int, int], kind: Kind = Kind.TEXT, step: int = 24) -> list[Region]:
    """Place lines below one another, each from left to right."""
    boxes = [(left, 100 + step * number, right, 114 + step * number) for number, (left, right) in enumerate(lines)]
    return [Region(kind, box, (Row(box, 10.0),)) for box in boxes]


def test_a_line_that_is_set_in_begins_a_paragraph():
    full, indented, last = (100, 700), (120, 700), (100, 400)
    blocks = join_blocks(place(indented, full, last, indented, full, full, indented, full, full), 0)
    assert [len(block.rows) for block in blocks] == [3, 3, 3]


def test_centred_lines_and_lines_of_items_begin_no_paragraph():
    centred = [(300, 500), (280, 520), (320, 480), (250, 550)]
    assert len(join_blocks(place(*centred), 0)) == 1
    items = [(100, 700), (120, 700), (120, 500), (100, 700), (120, 400), (100, 700), (120, 600)]
    assert len(join_blocks(place(*items), 0)) == 1


def test_a_high_sign_at_the_end_of_a_line_does_not_part_a_paragraph():
    lines = place(*[(100, 700)] * 6)
    left, top, right, bottom = lines[3].box
    box = left, top, right, bottom + 18  # it reaches into the next line
    lines[3] = Region(Kind.TEXT, box, (Row(box, 10.0),))
    assert len(join_blocks(lines, 0)) == 1


def test_what_stands_in_a_line_with_a_running_head_is_one():
    image = draw_page()
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(14)
    pen.text((100, 50), "a running head", fill="black", font=font)
    pen.text((480, 50), "A Date Of May", fill="black", font=font)
    regions = find_on(image, (Kind.HEADER, (90, 40, 300, 75)), (Kind.HEADING, (440, 40, 700, 75)))
    assert [region.kind for region in regions] == [Kind.HEADER, Kind.TEXT]


def test_the_first_line_of_a_paragraph_is_no_running_head():
    regions = find_on(draw_page(), (Kind.HEADER, (90, 90, 800, 120)))
    assert [(region.kind, len(region.rows)) for region in regions] == [(Kind.TEXT, 14)]


def test_the_beginning_of_a_formula_is_no_heading():
    image = draw_page()
    ImageDraw.Draw(image).text(
        (250, 600),
        "f(alpha, beta, gamma, delta) = alpha + beta + gamma + delta + epsilon",
        fill="black",
        font=ImageFont.load_default(14),
    )
    regions = find_on(image, (Kind.FORMULA, (240, 590, 800, 630)), (Kind.HEADING, (240, 590, 350, 630)))
    assert [region.kind for region in regions] == [Kind.TEXT, Kind.FORMULA]
