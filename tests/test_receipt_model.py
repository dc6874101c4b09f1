"""The receipt reader that ships, on receipts made up by us: what it finds, what it leaves open, and at what size."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unrender.checkpoints import load, resolve
from unrender.reading.labels import LabelSystem
from unrender.reading.receipt.details import Details
from unrender.reading.receipt.fields import FIELDS
from unrender.reading.receipt.rows import parse_amount
from unrender.training.receipt.made_documents import MadeDocument, make_document
from unrender.words import WordPage

_MEGABYTES = 1_000_000
_SOME = range(4)


@pytest.fixture(scope="module")
def work() -> LabelSystem:
    loaded = load("receipt")
    assert loaded is not None
    return LabelSystem.open(loaded)


def make(kind: str, number: int) -> MadeDocument:
    """Made with a seed that no training run uses."""
    return make_document(np.random.default_rng([990, number]), kind)


def write_words(page: WordPage, path: Path) -> Path:
    words = [{"text": word.text, "box": [word.box.x0, word.box.y0, word.box.x1, word.box.y1]} for word in page.words]
    path.write_text(json.dumps({"words": words}))
    return path


@pytest.mark.parametrize("number", _SOME)
def test_the_fields_of_a_receipt_are_read(work, number):
    made = make("receipt", number)
    block = work.read_words(made.page, made.image)
    found = {name: block.fields[name]["text"] for name in FIELDS if block.fields[name] is not None}
    amount = made.fields["total"].split()[-1].lstrip("RM$")
    assert found["company"] == made.fields["company"]
    assert found["date"] == made.fields["date"].upper()
    assert found["address"] == made.fields["address"]
    assert found["total"].endswith(amount)
    assert block.confidence > 0.5


def test_a_field_is_framed_where_it_stands(work):
    made = make("receipt", 0)
    box = work.read_words(made.page, made.image).fields["date"]["box"]
    inside = [word.text for word in made.page.words
              if box[0] <= word.box.x0 + 1 and word.box.x1 <= box[2] + 1
              and box[1] <= word.box.y0 + 1 and word.box.y1 <= box[3] + 1]  # fmt: skip
    assert made.fields["date"] in " ".join(inside)


@pytest.mark.parametrize("number", _SOME)
def test_a_receipt_torn_off_above_its_total_gives_null_for_it(work, number):
    made = make("receipt", number)
    amount = made.fields["total"].split()[-1]
    first = min(word.line for word in made.page.words if word.text.endswith(amount))
    kept = tuple(word for word in made.page.words if word.line < first - 1)
    fields = work.read_words(replace(made.page, words=kept), made.image).fields
    assert fields["total"] is None
    assert fields["company"] is not None


@pytest.mark.parametrize("kind", ["letter", "form"])
@pytest.mark.parametrize("number", _SOME)
def test_what_is_no_receipt_is_read_with_low_confidence(work, kind, number):
    made = make(kind, number)
    assert work.read_words(made.page, made.image).confidence < 0.3


def test_the_model_is_small_and_needs_no_weights_beside_its_graph():
    folder = resolve("receipt")
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 40 * _MEGABYTES
    assert not list(folder.glob("*.safetensors"))
    assert (folder / "card.md").is_file()


def test_the_command_line_reads_a_receipt_without_torch(tmp_path):
    made = make("receipt", 1)
    made.image.save(tmp_path / "receipt.png")
    words = write_words(made.page, tmp_path / "words.json")
    command = ["read", tmp_path / "receipt.png", "-t", "receipt", "--words", words, "--overlay", tmp_path / "seen.png"]
    script = "import sys; sys.modules['torch'] = None\nfrom unrender.cli import main; main(sys.argv[1:])"
    ran = subprocess.run([sys.executable, "-c", script, *map(str, command)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    fields = json.loads(ran.stdout)
    assert set(fields) == {*FIELDS, *Details().as_json()}
    assert fields["amount"] == parse_amount(made.fields["total"])
    assert fields["company"]["text"] == made.fields["company"]
    assert set(fields["company"]) == {"text", "confidence", "box"}
    with Image.open(tmp_path / "seen.png") as drawn:
        assert drawn.size == made.image.size


@pytest.mark.slow
def test_a_receipt_is_read_from_its_pixels_upright_and_on_its_side(work):
    from unrender.reading.systems import Sheet

    made = make("receipt", 1)
    for turns in (0, 1, 2):
        image = made.image.convert("RGB").rotate(90 * turns, expand=True)
        [(_, page)] = work.read(iter([Sheet(image)]))
        [block] = page.blocks
        assert block.fields["total"]["text"].endswith(made.fields["total"].split()[-1].lstrip("RM$")), turns
        assert block.fields["date"]["text"] == made.fields["date"].upper(), turns


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noise", "a line on its side", "a ribbon", "five rows"])
def test_a_picture_of_no_receipt_is_empty_or_hardly_believed(work, kind):
    from unrender.reading.systems import Sheet

    line = make("receipt", 1).image.convert("RGB").crop((0, 0, 400, 60))
    noise = np.random.default_rng(0).integers(0, 255, (60, 300, 3), dtype=np.uint8)
    pictures = {
        "noise": Image.fromarray(noise),
        "a line on its side": line.rotate(90, expand=True),
        "a ribbon": line.resize((5000, 40)),
        "five rows": line.resize((90, 5)),
    }
    [(_, page)] = work.read(iter([Sheet(pictures[kind])]))
    assert page.status.kind in ("empty", "unlikely", "complete")
    assert all((block.confidence or 0.0) < 0.5 for block in page.blocks)
