"""The data of the word reader: texts, real crops and what a camera does to them."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unrender.images.pixels import normalise
from unrender.models.word import ALPHABET, HEIGHT, MAX_WIDTH, word
from unrender.training.word.camera import Camera
from unrender.training.word.corpora import receipt_lines, scene_words
from unrender.training.word.wording import Texts, by_rule, clean

TEXTS = Texts(("a first paragraph of prose",), ("TOTAL 12.00",), ("été",), ("word", "other"))


def test_texts_keep_to_the_alphabet_and_to_their_length():
    rng = np.random.default_rng(0)
    for _ in range(300):
        line = TEXTS.line(rng, 30)
        assert set(line + TEXTS.word(rng) + by_rule(rng)) <= set(ALPHABET)
        assert len(line) <= 30


def test_what_the_alphabet_lacks_is_dropped():
    assert clean("naïve  中文 text") == "naïve text"


@pytest.mark.parametrize("seed", range(12))
def test_a_camera_keeps_the_height_and_is_the_same_again(seed: int):
    gray = np.full((HEIGHT, 90), 255, dtype=np.uint8)
    gray[8:24, 10:80:9] = 0
    boxes = np.array([[10, 0, 19, HEIGHT]], dtype=np.float32)
    first, moved = Camera()(gray, boxes, np.random.default_rng(seed), seed / 12)
    again, _ = Camera()(gray, boxes, np.random.default_rng(seed), seed / 12)
    assert first.shape[0] == HEIGHT
    assert first.shape[1] <= MAX_WIDTH
    assert np.array_equal(first, again)
    assert moved.shape == boxes.shape


def test_contrast_makes_gray_print_black_on_white_whatever_its_ground():
    gray = np.full((HEIGHT, 60), 90, dtype=np.uint8)
    gray[10:20, 20:30] = 140  # lighter than its ground
    pixels = normalise(gray, word(200).image)
    assert pixels[0, 0, 0] == pytest.approx(1.0)
    assert pixels[0, 15, 25] == pytest.approx(-1.0)


def test_lines_of_a_receipt_are_cut_by_their_boxes(tmp_path: Path):
    Image.new("L", (200, 100), 255).save(tmp_path / "001.jpg")
    lines = [{"box": [10, 10, 110, 30], "text": "TOTAL"}, {"box": [5, 5, 6, 6], "text": "x"}]
    (tmp_path / "001.json").write_text(json.dumps({"fields": {}, "lines": lines}))
    [crop] = receipt_lines(tmp_path)
    assert crop.text == "TOTAL"
    assert crop.gray.shape[0] == HEIGHT


def test_words_of_one_photo_are_held_out_together(tmp_path: Path):
    names = [f"iiit5k-{picture}_{number}.jpg" for picture in range(40) for number in (1, 2, 3)]
    for name in names:
        Image.new("L", (40, 20), 255).save(tmp_path / name)
    (tmp_path / "labels.tsv").write_text("".join(f"{name}\tword\n" for name in names))
    held: dict[str, set[bool]] = {}
    for crop in scene_words(tmp_path):
        held.setdefault(crop.name.split("_")[0], set()).add(crop.held)
    assert all(len(values) == 1 for values in held.values())
    assert {value for values in held.values() for value in values} == {True, False}


def test_a_faint_photo_is_still_seen_after_the_camera() -> None:
    faint = np.full((32, 120), 120, np.uint8)
    faint[8:24, 20:100:8] = 100
    camera, none = Camera(noise=1.0, coarse=0.0, blur=0.0), np.zeros((0, 4), np.float32)
    seen, _ = camera(faint, none, np.random.default_rng(3), 0.5)
    assert np.percentile(seen, 98) - np.percentile(seen, 2) > 60
