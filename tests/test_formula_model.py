"""The formula reader that ships: the sample pictures, at other sizes and on other grounds."""

from pathlib import Path

import pytest
from PIL import Image, ImageOps
from rapidfuzz.distance import Levenshtein

from unrender import latex
from unrender.checkpoints import resolve
from unrender.datasets import open_dataset
from unrender.metrics.sequences import visible
from unrender.reader import Reader

EXAMPLES = Path(__file__).parent.parent / "examples"
LABELS = {example.path.name: example.target for example in open_dataset(EXAMPLES, limits=None).examples}
_MEGABYTES = 1_000_000


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.open("formula")


def seen(text: str) -> list[str]:
    """What a picture shows of a formula: synonyms settled, spacing left out."""
    return visible(latex.normalise(text, unify=True))


MISREAD = {
    "rotation.png": "one cos is written as upright letters, not as an operator",
    "schroedinger.png": "the hat is read as a tilde",
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=MISREAD[name])) if name in MISREAD else name
        for name in LABELS
    ],
)
def test_the_samples_are_read_right(reader, name):
    document = reader.read(EXAMPLES / name)
    assert seen(document.text) == seen(LABELS[name])
    assert document.confidence is not None


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 0.7, 1.5, 2.0, 3.0, 4.0])
def test_size_hardly_matters(reader, scale):
    wrong = count = 0
    for name, label in LABELS.items():
        with Image.open(EXAMPLES / name) as picture:
            size = (round(picture.width * scale), round(picture.height * scale))
            scaled = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        wrong += Levenshtein.distance(seen(reader.read(scaled).text), seen(label))
        count += len(seen(label))
    assert wrong <= 0.1 * count


@pytest.mark.parametrize("border", [0, 40, 200])
def test_neither_border_nor_ground_matters(reader, border):
    with Image.open(EXAMPLES / "zeta.png") as picture:
        image = ImageOps.expand(picture.convert("L"), border, 255)
    for shown in (image, ImageOps.invert(image)):
        assert seen(reader.read(shown).text) == seen(LABELS["zeta.png"])


def test_it_is_small():
    assert sum(path.stat().st_size for path in resolve("formula").iterdir()) < 40 * _MEGABYTES
