"""Checking by rendering: columns of a picture paired with those of what was read, typeset."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

import unrender
from unrender.documents import Box, Check, Difference, Document, Token, to_dict
from unrender.errors import ConfigError, MissingExtraError
from unrender.formats import parse, write
from unrender.reading.reader import Reader
from unrender.reading.systems import Options
from unrender.reading.verify import Pairing, Place, verify
from unrender.typesetting import pictures

SURE, UNSURE = -0.1, -1.5


def drawn(text: str, *, gap: int = 8, size: int = 24) -> np.ndarray:
    """Draw a text of a few shapes: o round, l upright, = two bars, - one."""
    image = Image.new("L", (40 * len(text) + 20, 60), 255)
    brush = ImageDraw.Draw(image)
    left = 10
    for letter in text:
        if letter == "o":
            brush.ellipse((left, 20, left + size, 20 + size), outline=0, width=3)
        elif letter == "l":
            brush.rectangle((left + size // 2, 8, left + size // 2 + 3, 20 + size), fill=0)
        for row in {"=": (26, 36), "-": (32,)}.get(letter, ()):
            brush.rectangle((left, row, left + size, row + 3), fill=0)
        left += size + gap
    return np.asarray(image)


def draw_all(texts):
    return [None if text == "?" else drawn(text, gap=11) for text in texts]


def test_the_reading_that_looks_like_the_picture_is_taken():
    verdict = verify(drawn("lo=ol"), [("lo-ol", SURE), ("lo=ol", UNSURE), ("ll=ll", UNSURE)], [draw_all])
    assert verdict.chosen == 1
    assert verdict.likeness > 0.95
    assert verdict.places == ()


def test_the_first_is_kept_when_it_fits_or_nothing_fits_much_better():
    assert verify(drawn("lo=ol"), [("lo=ol", SURE), ("lo-ol", SURE)], [draw_all]).chosen == 0
    assert verify(drawn("lo=ol"), [("lo-ol", SURE), ("lo=ol", -30.0)], [draw_all]).chosen == 0
    assert verify(drawn("lo=ol"), [("lo-ol", SURE), ("?", SURE)], [draw_all]).chosen == 0


def test_a_reading_that_cannot_be_drawn_is_not_judged():
    assert verify(drawn("lo"), [("?", SURE), ("lo", SURE)], [draw_all]) is None


def test_the_way_of_drawing_that_suits_the_picture_is_used():
    def otherwise(texts):
        return [drawn("l" * len(text)) for text in texts]

    verdict = verify(drawn("o=o"), [("o-o", SURE), ("o=o", UNSURE)], [otherwise, draw_all])
    assert verdict.chosen == 1


def test_where_a_drawing_differs_is_said_in_pixels_of_the_picture():
    picture = np.pad(drawn("looloo="), ((30, 0), (50, 0)), constant_values=255)
    [place] = verify(picture, [("loo=oo=", SURE)], [draw_all]).places
    assert 50 + 10 + 3 * 32 - 12 < (place.left + place.right) / 2 < 50 + 10 + 4 * 32 + 8
    assert 30 <= place.top < place.bottom <= 90


def test_columns_that_are_alike_cost_nothing_however_they_are_spread():
    seen = np.zeros((8, 6), dtype=np.float32)
    seen[2:5, 1] = seen[6, 4] = 1
    spread = np.repeat(seen, [1, 1, 4, 1, 1, 1], axis=1)
    assert Pairing.of(seen, spread).cost == pytest.approx(0.0, abs=1e-5)
    assert Pairing.of(seen, seen[::-1].copy()).cost > 1


def test_a_place_is_named_by_the_token_that_has_most_of_it():
    tokens = [Token("x", 1.0, (), Box(0, 0, 10, 10)), Token(" y", 1.0, (), Box(10, 0, 30, 20)), Token("{", 1.0)]
    assert Place(4, 0, 10, 5).on(tokens, 2) == Difference("y", Box(8, 0, 20, 10))
    assert Place(90, 90, 99, 99).on(tokens, 1).text == ""


def test_without_tex_and_ziamath_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(pictures.shutil, "which", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "ziamath", None)
    with pytest.raises(MissingExtraError, match=r"install TeX with dvipng, or: pip install 'unrender\[verify\]'"):
        pictures.find_typesetters()


def test_ziamath_draws_what_it_can(monkeypatch):
    monkeypatch.setattr(pictures.shutil, "which", lambda name: None)
    [draw, inline] = pictures.find_typesetters()
    [picture, nothing] = draw([r"\sum _ { i } x", r"\frac"])
    assert nothing is None
    assert picture.min() < 50
    assert picture.shape[0] > inline([r"\sum _ { i } x"])[0].shape[0]  # limits below take room


def test_a_reading_is_checked_on_request(monkeypatch):
    monkeypatch.setattr(pictures.shutil, "which", lambda name: None)
    reader = Reader.open("formula")
    [picture] = pictures.draw_with_ziamath([r"a + b = c"])
    image = Image.fromarray(np.pad(picture, 12, constant_values=255))
    block = reader.read(image, Options(verify=True)).blocks[0]
    assert block.text == "a + b = c"
    assert block.check.likeness > 0.9
    assert block.check.instead_of == ""
    assert reader.read(image).blocks[0].check is None


def test_a_check_survives_json():
    check = Check(0.5, (Difference("x", Box(0, 1, 2, 3)),), "y")
    document = unrender.Document(pages=())
    page = unrender.documents.Page(number=1, width=9, height=9, blocks=(unrender.Block(kind="formula", check=check),))
    document = replace(document, pages=(page,))
    assert to_dict(document)["pages"][0]["blocks"][0]["check"]["differences"][0]["text"] == "x"
    assert isinstance(document, Document)
    assert parse(write(document, "json"), "json").blocks[0].check == check


def test_only_formulas_can_be_checked():
    with pytest.raises(ConfigError, match="leave out --verify"):
        Reader.open("word").read(Image.fromarray(drawn("lo")), Options(verify=True))
