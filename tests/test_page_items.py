"""Items of lists on a page; the layout network is played here."""

from drawn_pages import draw_page, find_on
from PIL import ImageDraw

from unrender.documents import Box
from unrender.images.opening import PageText
from unrender.reading.page.assembly import _block, _itemised, _Piece
from unrender.reading.page.items import find_items, plain_bullet
from unrender.reading.page.layers import Layer
from unrender.reading.page.places import Kind, Region, Row
from unrender.reading.page.rows import ReadRow
from unrender.reading.page.straight import straighten


def read(*texts: str) -> tuple[ReadRow, ...]:
    spelled = {" ": "␣", "•": r"\bullet"}
    return tuple(ReadRow(tuple(spelled.get(sign, sign) for sign in text), 0.9) for text in texts)


def place(*lefts: int) -> tuple[Row, ...]:
    boxes = [(left, 24 * number, 500, 24 * number + 14) for number, left in enumerate(lefts)]
    return tuple(Row(box, 10.0) for box in boxes)


def test_a_bullet_before_a_line_is_a_part_of_it():
    image = draw_page()
    pen = ImageDraw.Draw(image)
    for line in range(2, 6):
        pen.ellipse((80, 105 + 24 * line, 85, 110 + 24 * line), fill="black")
    regions = find_on(image, (Kind.NOTHING, (70, 150, 92, 260)))
    lefts = [row.box[0] for region in regions for row in region.rows]
    assert sum(left < 90 for left in lefts) == 4


def test_a_paragraph_is_parted_where_items_begin():
    rows = read("The options are:", "• one thing", "and more of it", "• another")
    assert list(find_items(rows, place(100, 110, 120, 110))) == [1, 3]
    counted = read("1. a word", "or two", "2. a word", "in 3. of them")
    assert list(find_items(counted, place(100, 120, 100, 120))) == [2]
    assert list(find_items(read("in", "3. of them", "5. no"), place(100, 100, 100))) == []


def test_items_are_written_with_dashes_whatever_the_network_says():
    rows, places = read("• one thing", "• another"), place(100, 100)
    piece = _Piece(Region(Kind.HEADING, (100, 0, 500, 38), places), rows, ())
    blocks = [_block(part, straighten(draw_page())) for part in _itemised(piece)]
    assert [(block.kind, block.text) for block in blocks] == [("item", "- one thing"), ("item", "- another")]


def test_a_bullet_is_no_formula_and_has_no_style():
    assert plain_bullet(ReadRow(("<tt>", r"\bullet", "␣", "x", "</tt>"), 1.0)).tokens == (
        r"\bullet", "␣", "<tt>", "x", "</tt>",
    )  # fmt: skip
    assert plain_bullet(ReadRow(("<m>", r"\circ", "</m>", "␣", "x"), 1.0)).tokens == (r"\bullet", "␣", "x")
    characters = tuple((sign, (6.0 * at, 4.0, 6.0 * at + 6, 14.0)) for at, sign in enumerate("• ten"))
    layer = Layer(PageText(400, 20, characters, formulas=frozenset([0])), 400, 20)
    assert not any(sign.formula for sign in layer.signs(Box(0, 0, 400, 20)))
