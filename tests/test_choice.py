"""Which task is chosen by looking, with the word reader of the package."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from unrender.checkpoints import embedded_names
from unrender.reading.choice import Spelled, choose_task, look, wordiness
from unrender.reading.systems import Input

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.png"))
PROSE = ("The energy of a body is the", "work that it can do, and it", "never gets lost, only changed.")

pytestmark = pytest.mark.skipif(not {"word", "page"} <= set(embedded_names()), reason="the word reader is not here")


def written(*lines: str, ink: int = 0, paper: int = 255) -> Image.Image:
    font = ImageFont.load_default(28)
    width = max(int(font.getlength(line)) for line in lines) + 40
    image = Image.new("L", (width, 42 * len(lines) + 30), paper)
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((20, 12 + 42 * number), line, fill=ink, font=font)
    return image.convert("RGB")


@pytest.mark.parametrize(
    ("lines", "task"), [(("breakfast",), "word"), (("breakfast is ready",), "line"), (PROSE, "text")]
)
@pytest.mark.parametrize(("ink", "paper"), [(0, 255), (225, 25)])
def test_words_are_told_from_formulas_on_light_and_dark_ground(lines, task, ink, paper):
    assert look(written(*lines, ink=ink, paper=paper)) == task


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_formulas_are_formulas(path):
    assert choose_task(Input(path, path.name)) == "formula"


def test_the_grain_of_a_blackboard_is_no_page():
    with Image.open(EXAMPLES[0]) as example:
        chalk = 255 - np.asarray(example.convert("L").resize((600, 240)), dtype=np.float32)
    board = 40 + 0.75 * chalk + np.random.default_rng(3).normal(0, 8, chalk.shape)
    assert look(Image.fromarray(np.clip(board, 0, 255).astype(np.uint8)).convert("RGB")) == "formula"


def test_a_pdf_of_several_pages_is_a_page_but_not_a_part_of_it(make_pdf):
    source = Input(make_pdf(2), "two.pdf", (2,))
    assert choose_task(source) == "page"
    assert choose_task(source, (0.0, 0.0, 1.0, 1.0)) == "formula"


BRIEF = ("CITY PARKING", "Entry 09:12", "Exit 12:40", "Total 12.00", "VAT 20% 2.00", "Card", "Thank you")
ABOUT_MONEY = ("The total of 12.00 was too much", "for him, so he went home", "and slept until it was noon.")


@pytest.mark.skipif("receipt" not in embedded_names(), reason="the receipt reader is not here")
@pytest.mark.parametrize(("lines", "task"), [(BRIEF, "receipt"), (ABOUT_MONEY, "text")])
def test_a_brief_receipt_is_told_from_a_text_about_money(lines, task):
    pytest.importorskip("rapidocr")
    assert look(written(*lines)) == task


def test_what_cannot_be_opened_is_left_to_who_reads_it():
    assert choose_task(Input(b"nothing", "nothing.png")) == "formula"


def test_sure_letters_in_a_row_speak_for_words_and_signs_against():
    word, formula = Spelled("breakfast", (-0.01,) * 9, None), Spelled("E=mc2+(a)", (-0.3,) * 9, None)
    assert wordiness([formula]) < 0 < wordiness([word])
    assert wordiness([Spelled("sin", (-0.01,) * 3, None)]) < 0
    assert wordiness([]) < wordiness([formula])
