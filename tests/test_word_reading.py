"""Words, lines and texts through the reader, with a small model of random weights: odd pictures must not break it."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from unrender import tasks
from unrender.documents import Box
from unrender.engines.torch_engine import TorchEngine
from unrender.errors import ConfigError, ImageError
from unrender.models.word import ALPHABET, word
from unrender.reading.reader import Reader
from unrender.reading.systems import Options
from unrender.reading.text import TextSystem
from unrender.tokens import CharacterTokenizer
from unrender.training.text_runs import fresh

FAST = Options(fast=True)


@pytest.fixture(scope="module")
def reader() -> Reader:
    tokenizer = CharacterTokenizer(ALPHABET)
    config = word(tokenizer.size)
    return Reader(TextSystem(config, TorchEngine(config, fresh(config, 0), watch=1), tokenizer, tasks.find("line")))


def picture(*tops: int, size: tuple[int, int] = (300, 120)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    canvas = ImageDraw.Draw(image)
    for top in tops:
        for left in range(10, size[0] - 20, 14):
            canvas.rectangle((left, top, left + 8, top + 14), fill="black")
    return image


@pytest.mark.parametrize("options", [Options(max_tokens=4), FAST])
@pytest.mark.parametrize("size", [(300, 5), (12, 200), (5000, 30), (40, 40)])
def test_a_picture_of_any_shape_is_read(reader: Reader, size: tuple[int, int], options: Options):
    image = picture(0, size=size)
    document = reader.read(image, options)
    assert document.pages[0].status.kind != "failed"
    assert all(block.confidence is None or 0 <= block.confidence <= 1 for block in document.blocks)


def test_a_picture_of_three_rows_is_refused_in_one_sentence(reader: Reader):
    with pytest.raises(ImageError, match="too few to read"):
        reader.read(picture(0, size=(300, 3)), FAST)


def test_a_box_of_three_rows_is_read(reader: Reader):
    [block] = reader.read_lines(picture(0), [Box(0, 3, 40, 6)])
    assert block.box == Box(0, 3, 40, 6)


def test_noise_is_read_with_low_confidence(reader: Reader):
    noise = np.random.default_rng(0).integers(0, 256, (32, 120), dtype=np.uint8)
    assert (reader.read(Image.fromarray(noise), FAST).confidence or 0.0) < 0.5


def test_a_blank_picture_is_empty(reader: Reader):
    assert reader.read(Image.new("RGB", (80, 30), "white"), FAST).status.kind == "empty"


def test_a_text_has_one_block_for_each_line(reader: Reader):
    document = reader.for_task(tasks.find("text")).read(picture(10, 50, 90), FAST)
    boxes = [block.box for block in document.blocks]
    assert [box is not None and box.y0 < top + 7 < box.y1 for box, top in zip(boxes, (10, 50, 90), strict=True)]
    assert document.text.count("\n") == 2


def test_many_boxes_are_read_at_once_in_their_order(reader: Reader):
    boxes = [Box(0, 80, 300, 110), Box(0, 0, 0, 0), Box(0, 0, 300, 30)]
    blocks = reader.read_lines(picture(10, 90), boxes)
    assert [block.box for block in blocks] == boxes
    assert (blocks[1].text, blocks[1].confidence) == ("", 0.0)
    assert blocks[0].tokens == () or blocks[0].tokens[0].box is not None


def test_a_box_outside_the_picture_is_nothing(reader: Reader):
    [block] = reader.read_lines(picture(10), [Box(400, 400, 500, 430)])
    assert block.text == ""


def test_a_model_without_spelling_says_so(reader: Reader):
    system = reader.system
    assert isinstance(system, TextSystem)
    plain = Reader(replace(system, config=replace(system.config, spelling=False)))
    with pytest.raises(ConfigError, match="leave out --fast"):
        plain.read(picture(10), FAST)
