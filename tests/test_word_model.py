"""The word model that ships: what everybody tries first is read right, with ONNX Runtime alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

import unrender
from unrender.checkpoints import embedded_names
from unrender.errors import ImageError
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


def test_held_out_words_are_measured_by_one_command(tmp_path: Path, run):
    words = ("Invoice", "TOTAL", "Brown")
    for number, text in enumerate(words):
        drawn(text).save(tmp_path / f"{number}.png")
    (tmp_path / "labels.tsv").write_text("".join(f"{number}.png\t{text}\n" for number, text in enumerate(words)))
    figures = json.loads(run("evaluate", "word", tmp_path, "--json", "--workers", 1).out)
    assert {"accuracy", "accuracy_folded", "cer", "n", "seconds_per_image"} <= set(figures)
    assert figures["n"] == len(words)
    assert figures["accuracy_folded"] >= figures["accuracy"] >= 2 / 3
    assert figures["cer"] < 0.2


def odd(kind: str) -> Image.Image:
    """What is no line of text, or stands on its head."""
    rng = np.random.default_rng(0)
    match kind:
        case "noise":
            return Image.fromarray(rng.integers(0, 255, (32, 160), dtype=np.uint8))
        case "faint noise":
            return Image.fromarray(rng.normal(200, 6, (40, 200)).clip(0, 255).astype(np.uint8))
        case _:
            return drawn("Total amount").crop((15, 8, 200, 50)).transpose(Image.Transpose.ROTATE_180)


@pytest.mark.parametrize("kind", ["noise", "faint noise", "upside down"])
def test_what_is_no_upright_line_is_read_with_little_confidence(reader: Reader, kind: str):
    document = reader.read(odd(kind))
    assert document.status.kind in ("complete", "empty", "limit", "repetition", "unlikely")
    assert all((block.confidence or 0.0) < 0.6 for block in document.blocks)


@pytest.mark.parametrize("task", ["word", "text"])
@pytest.mark.parametrize("turn", [Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_270])
def test_a_line_on_its_side_is_read_turned(task: str, turn: Image.Transpose):
    picture = drawn("Total amount").crop((15, 8, 200, 50)).transpose(turn)
    [block] = unrender.read(picture, task=task).blocks
    assert block.text.lower() == "total amount"
    places = [token.box.y0 for token in block.tokens if token.box is not None]
    assert places == sorted(places, reverse=turn is Image.Transpose.ROTATE_90)  # it begins below, or above
    assert all(0 <= place <= picture.height for place in places)


def test_a_text_seen_at_an_angle_is_read_line_by_line():
    pytest.importorskip("rapidocr")
    picture = Image.new("RGB", (520, 330), (120, 110, 100))
    sheet = drawn("first", "second", "third").rotate(
        -9, Image.Resampling.BICUBIC, expand=True, fillcolor=(120, 110, 100)
    )
    picture.paste(sheet, (60, 50))
    read = unrender.read(picture, task="text").text.lower().split("\n")
    assert len(read) == 3
    assert read[:2] == ["first", "second"]


def test_letters_below_one_another_are_a_word(reader: Reader):
    picture = Image.new("L", (50, 330), 255)
    for number, letter in enumerate("INVOICE"):
        ImageDraw.Draw(picture).text((12, 8 + 45 * number), letter, fill=0, font=ImageFont.load_default(36))
    assert reader.read(picture).text.upper() == "INVOICE"


def test_a_single_tall_letter_is_not_turned(reader: Reader):
    picture = Image.new("L", (18, 48), 255)
    ImageDraw.Draw(picture).rectangle((7, 6, 10, 41), fill=0)
    assert len(reader.read(picture).text) == 1
    assert reader.read(picture).text not in "-_~"


@pytest.mark.parametrize("level", [0, 130, 255])
@pytest.mark.parametrize("task", ["word", "text"])
def test_an_empty_crop_is_empty(level: int, task: str):
    document = unrender.read(Image.new("L", (120, 32), level), task=task)
    assert (document.status.kind, document.text) == ("empty", "")


@pytest.mark.parametrize("task", ["line", "text"])
def test_a_line_of_five_thousand_pixels_is_read_to_its_end(task: str):
    words = "the quick brown fox jumps over the lazy dog".split() * 9
    image = Image.new("L", (5000, 46), 255)
    font = ImageFont.load_default(24)
    text = " ".join(words)
    while font.getlength(text) > 4960:
        text = text.rpartition(" ")[0]
    ImageDraw.Draw(image).text((10, 6), text, fill=10, font=font)
    document = unrender.read(image, task=task)
    assert document.status.kind == "complete"
    assert abs(len(document.text) - len(text)) < 0.1 * len(text)
    assert len({word for word in text.split() if word in document.text}) >= 6
    assert (document.confidence or 0.0) > 0.1  # the bare paper at its end says nothing


def test_a_picture_of_three_rows_is_refused_and_a_box_of_three_rows_read(reader: Reader):
    image = drawn("hello")
    with pytest.raises(ImageError, match="too few to read"):
        reader.read(image.resize((60, 3)))
    [block] = unrender.read_lines(image, [(20, 20, 100, 23)])
    assert block.confidence is None or block.confidence < 0.6
