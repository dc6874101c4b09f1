"""The word model that ships: what everybody tries first is read right, with ONNX Runtime alone."""

import pytest
from PIL import Image, ImageDraw, ImageFont

import unrender
from unrender.checkpoints import embedded_names
from unrender.reading.reader import Reader

pytestmark = pytest.mark.skipif("word" not in embedded_names(), reason="the package has no word model")

WORDS = ("Invoice", "hello", "TOTAL", "2024-31", "Brown")


@pytest.fixture(scope="module")
def reader() -> Reader:
    return unrender.open_reader(task="word")


def drawn(*lines: str) -> Image.Image:
    image = Image.new("RGB", (360, 20 + 48 * len(lines)), "white")
    canvas = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        canvas.text((20, 10 + 48 * number), line, fill="black", font=ImageFont.load_default(28))
    return image


def test_plain_printed_words_are_read(reader: Reader):
    read = [reader.read(drawn(word)).text for word in WORDS]
    assert sum(text == word for text, word in zip(read, WORDS, strict=True)) >= len(WORDS) - 1


def test_characters_have_probabilities_and_places_from_left_to_right(reader: Reader):
    [block] = reader.read(drawn("hello")).blocks
    places = [token.box.x0 for token in block.tokens if token.box is not None]
    assert len(places) == len(block.tokens) > 0
    assert places == sorted(places)
    assert all(0 < token.probability <= 1 for token in block.tokens)


def test_lines_of_a_text_come_from_top_to_bottom():
    text = unrender.read(drawn("first", "second"), task="text").text.split("\n")
    assert [line[0].lower() for line in text] == ["f", "s"]


def test_boxes_are_read_in_the_order_they_are_given():
    first, second = unrender.read_lines(drawn("first", "second"), [(0, 58, 360, 100), (0, 8, 360, 50)])
    assert (first.text[0].lower(), second.text[0].lower()) == ("s", "f")
