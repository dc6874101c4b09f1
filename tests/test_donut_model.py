"""The small Donut that ships: JSON from pixels, with ONNX Runtime alone; what is no receipt is said to be a guess."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import unrender
from unrender import tasks
from unrender.checkpoints import embedded_names, resolve
from unrender.documents import Document
from unrender.models.donut import RECEIPT_FIELDS
from unrender.reading.reader import Reader
from unrender.reading.systems import Options
from unrender.training.receipt.made_documents import make_document

MODEL = "donut-receipt"
pytestmark = pytest.mark.skipif(MODEL not in embedded_names(), reason="the package has no small Donut")


@pytest.fixture(scope="module")
def reader() -> Reader:
    return unrender.open_reader(MODEL)


@pytest.fixture(scope="module")
def receipt() -> Image.Image:
    return make_document(np.random.default_rng(11), "receipt").image


def fields_of(document: Document) -> dict[str, object]:
    [block] = document.blocks
    assert isinstance(block.fields, dict)
    return block.fields


def test_a_receipt_becomes_fields_that_come_once(reader: Reader, receipt: Image.Image) -> None:
    document = reader.read(receipt)
    fields = fields_of(document)
    assert set(fields) <= set(RECEIPT_FIELDS)
    assert all(isinstance(value, str) for value in fields.values())
    assert len(fields) > 0


def test_it_is_small_and_not_the_default_for_receipts() -> None:
    assert sum(path.stat().st_size for path in resolve(MODEL).iterdir()) < 15.5e6
    assert json.loads((resolve(MODEL) / "config.json").read_text())["task"] == "receipt"
    assert tasks.find("receipt").default_model == "receipt"


def test_an_empty_picture_is_empty(reader: Reader) -> None:
    assert reader.read(Image.new("L", (300, 700), 255)).status.kind == "empty"


@pytest.mark.parametrize("kind", ["noise", "upside down", "a ribbon", "tiny"])
def test_what_cannot_be_read_is_a_guess_with_little_confidence(reader: Reader, receipt: Image.Image, kind: str) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (400, 240), dtype=np.uint8)
    pictures = {
        "noise": Image.fromarray(noise),
        "upside down": receipt.transpose(Image.Transpose.ROTATE_180),
        "a ribbon": receipt.resize((5000, 12)),
        "tiny": receipt.resize((12, 20)),
    }
    document = reader.read(pictures[kind])
    assert document.status.kind in ("complete", "unlikely", "limit", "repetition", "empty")
    assert all((block.confidence or 0.0) < 0.5 for block in document.blocks)


def test_a_limit_of_tokens_still_closes_every_tag(reader: Reader, receipt: Image.Image) -> None:
    document = reader.read(receipt, Options(max_tokens=12))
    assert document.written.count("<s_") == document.written.count("</s_")


def test_it_starts_a_training(tmp_path: Path) -> None:
    assert (resolve(MODEL) / "weights.safetensors").is_file()
