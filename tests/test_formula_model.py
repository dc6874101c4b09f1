"""The formula reader that ships: the sample pictures, at other sizes and on other grounds."""

from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont, ImageOps
from rapidfuzz.distance import Levenshtein

from unrender import latex
from unrender.checkpoints import resolve
from unrender.evaluation.datasets import open_dataset
from unrender.latex.tree import fit_columns
from unrender.metrics.sequences import visible
from unrender.reading.reader import Reader
from unrender.reading.systems import Options
from unrender.typesetting import Style
from unrender.typesetting.pictures import typeset

EXAMPLES = Path(__file__).parent.parent / "examples"
LABELS = {example.path.name: example.target for example in open_dataset(EXAMPLES, limits=None).examples}
EVERYDAY = r"""
    a + b ; x = 1 ; x ^ { 2 } ; a ^ { 2 } + b ^ { 2 } = c ^ { 2 } ; E = m c ^ { 2 } ; z _ { 1 } z _ { 2 } ; F = m a
    ; \frac { a } { b } ; \sqrt { x ^ { 2 } + 1 } ; y = m x + b ; f ( x ) = x ^ { 2 } ; \int _ { 0 } ^ { 1 } x d x
    ; 1 0 0 ; \sum _ { i = 1 } ^ { n } i = \frac { n ( n + 1 ) } { 2 } ; e ^ { i \pi } + 1 = 0 ; \frac { d y } { d x }
    ; \operatorname* { l i m } _ { x \rightarrow 0 } \frac { \operatorname { s i n } x } { x } = 1 ; 3 . 1 4 ; a \leq b
    ; P V = n R T ; \left( \begin{array} { c c } { a } & { b } \\ { c } & { d } \\ \end{array} \right) ; \vec { v }
""".replace("\n", " ").split(" ; ")
_MEGABYTES = 1_000_000


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.open("formula")


def seen(text: str) -> list[str]:
    """What a picture shows of a formula: synonyms settled, spacing left out."""
    return visible(latex.normalise(text, unify=True))


@pytest.mark.parametrize("name", LABELS)
def test_the_samples_are_read_right(reader, name):
    document = reader.read(EXAMPLES / name)
    assert seen(document.text) == seen(LABELS[name])
    assert document.confidence is not None


def test_other_readings_differ_and_declare_their_columns(reader):
    [block] = reader.read(EXAMPLES / "rotation.png", Options(n_best=6)).blocks
    texts = [one.text for one in block.readings]
    assert len(set(texts)) == len(texts) > 1
    for text in texts:
        tokens = text.split()
        assert fit_columns(tokens) == list(range(len(tokens)))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.4, 0.5, 0.7, 1.5, 2.0, 3.0, 4.0])
def test_size_hardly_matters(reader, scale):
    wrong = count = 0
    for name, label in LABELS.items():
        with Image.open(EXAMPLES / name) as picture:
            size = (round(picture.width * scale), round(picture.height * scale))
            scaled = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        wrong += Levenshtein.distance(seen(reader.read(scaled).text), seen(label))
        count += len(seen(label))
    assert wrong <= 0.1 * count


@pytest.mark.slow
@pytest.mark.parametrize("dpi", [100, 200, 300])
def test_what_everyone_tries_first_is_read(reader, dpi):
    drawn = [Image.fromarray(gray) for gray in typeset(EVERYDAY, Style(points=10, dpi=dpi)) if gray is not None]
    assert len(drawn) == len(EVERYDAY)
    read = [reader.read(ImageOps.expand(picture, 20, 255)).text for picture in drawn]
    wrong = [text for text, formula in zip(read, EVERYDAY, strict=True) if seen(text) != seen(formula)]
    assert len(wrong) <= 1, wrong


@pytest.mark.parametrize("border", [0, 40, 200])
def test_neither_border_nor_ground_matters(reader, border):
    with Image.open(EXAMPLES / "zeta.png") as picture:
        image = ImageOps.expand(picture.convert("L"), border, 255)
    for shown in (image, ImageOps.invert(image)):
        assert seen(reader.read(shown).text) == seen(LABELS["zeta.png"])


def test_a_letter_is_no_formula(run, tmp_path):
    page = Image.new("L", (520, 120), 255)
    text = "Dear colleague, thank you very much for\nthe parcel. It arrived on Monday morning."
    ImageDraw.Draw(page).multiline_text((12, 12), text, fill=0, font=ImageFont.load_default(20))
    page.save(tmp_path / "letter.png")
    result = run("read", tmp_path / "letter.png", "-t", "formula")
    assert result.code == 1
    [error] = result.errors
    assert "does not look like a formula" in error


def test_it_is_small():
    assert sum(path.stat().st_size for path in resolve("formula").iterdir()) < 40 * _MEGABYTES
