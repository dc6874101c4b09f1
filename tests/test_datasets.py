"""Datasets: four formats, one kind of example, and a sentence for whatever is wrong."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unrender.errors import DataError
from unrender.evaluation.datasets import SEED_004, UPSTREAM, Limits, open_dataset
from unrender.evaluation.datasets.folders import read_ink
from unrender.formats.json import parse_tags
from unrender.images.opening import open_pages
from unrender.images.pen_strokes import PEN, Pen, draw, vary

INK = """<ink xmlns="http://www.w3.org/2003/InkML">
<annotation {attribute}="truth">{truth}</annotation>
<trace id="0">10 20, 10 60</trace>
<trace id="1">30 40 0.1, 50 40 0.2, 70 41 0.3</trace>
<trace id="2">90 20, 110 60, 90 60, 110 20</trace>
<traceGroup xml:id="3"><annotation type="truth">Segmentation</annotation>
<traceGroup xml:id="4"><annotation type="truth">1</annotation><traceView traceDataRef="0"/></traceGroup>
<traceGroup xml:id="5"><annotation type="truth">-</annotation><traceView traceDataRef="1"/></traceGroup>
<traceGroup xml:id="6"><annotation type="truth">x</annotation><traceView traceDataRef="2"/></traceGroup>
</traceGroup></ink>"""


def save_picture(path: Path, width: int = 40, height: int = 20) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", (width, height), 255).save(path)


def write_labels(folder: Path, *rows: str) -> Path:
    for row in rows:
        save_picture(folder / row.split("\t")[0])
    (folder / "labels.tsv").write_text("".join(f"{row}\n" for row in rows))
    return folder


def write_metadata(folder: Path, *rows: dict[str, object]) -> Path:
    for row in rows:
        save_picture(folder / str(row.get("file_name", "none.png")))
    (folder / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def im2latex(tmp_path: Path) -> Path:
    """The layout as published: raw formulas, splits by line number, pictures of different sizes."""
    formulas = ["x^2", "unused", "{a \\over b}", "y " * 151, "z_1", "\\frac{a}", "w"]
    (tmp_path / "im2latex_formulas.lst").write_text("\n".join(formulas) + "\n", encoding="iso-8859-1")
    lines = ["0 small basic", "2 wide basic", "3 long basic", "4 tall basic", "5 broken basic", "6 high basic"]
    (tmp_path / "im2latex_test.lst").write_text("\n".join(lines) + "\n")
    sizes = {
        "small": (500, 150),
        "wide": (501, 20),
        "long": (9, 9),
        "tall": (20, 155),
        "broken": (9, 9),
        "high": (9, 161),
    }
    for name, (width, height) in sizes.items():
        save_picture(tmp_path / "formula_images" / f"{name}.png", width, height)
    return tmp_path


def test_labels_are_picture_and_truth(tmp_path):
    dataset = open_dataset(write_labels(tmp_path, "a.png\tx  ^ { 2 }", "sub/b.png\ty"))
    assert dataset.kind == "labels"
    assert [(example.name, example.target) for example in dataset.examples] == [
        ("a.png", "x ^ { 2 }"),
        ("sub/b.png", "y"),
    ]
    assert dataset.examples[1].image == tmp_path / "sub/b.png"
    assert tuple(dataset) == dataset.examples


def test_the_listing_itself_opens_the_dataset(tmp_path):
    folder = write_labels(tmp_path, "a.png\tx")
    assert open_dataset(folder / "labels.tsv") == open_dataset(folder)


def test_a_sample_is_the_same_for_the_same_seed_and_has_no_example_twice(tmp_path):
    dataset = open_dataset(write_labels(tmp_path, *(f"{number}.png\t{number}" for number in range(30))))
    drawn = [dataset.sample(10, np.random.default_rng(seed)).examples for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len({example.name for example in drawn[0]}) == 10
    assert dataset.sample(99, np.random.default_rng(1)) == dataset


def test_imagefolder_takes_the_text_column(tmp_path):
    rows = [{"file_name": "a.png", "text": " x "}, {"file_name": "b.png", "text": "y", "other": 1}]
    dataset = open_dataset(write_metadata(tmp_path, *rows))
    assert dataset.kind == "imagefolder"
    assert [example.target for example in dataset.examples] == ["x", "y"]


def test_imagefolder_takes_the_column_that_is_named(tmp_path):
    folder = write_metadata(tmp_path, {"file_name": "a.png", "text": "x", "latex": "y"})
    assert open_dataset(folder, column="latex").examples[0].target == "y"


@pytest.mark.parametrize("key", ["gt_parse", "gt_parses"])
def test_donuts_ground_truth_becomes_tags(tmp_path, key):
    fields = {"menu": [{"name": "cake"}, {"name": "tea"}], "total": "9"}
    truth = json.dumps({key: fields if key == "gt_parse" else [fields, {"total": "8"}]})
    [example] = open_dataset(write_metadata(tmp_path, {"file_name": "a.png", "ground_truth": truth})).examples
    assert parse_tags(example.target) == fields


def test_im2latex_keeps_what_is_within_the_limits_of_the_seed(im2latex):
    dataset = open_dataset(im2latex)
    assert dataset.kind == "im2latex"
    assert [(example.name, example.target) for example in dataset.examples] == [("small.png", "x ^ { 2 }")]
    assert dataset.notes == (
        "1 formulas cannot be parsed and are left out.",
        "4 examples are beyond the limits (at most 150 tokens, 500 px wide, 150 px high) and are left out.",
    )


@pytest.mark.parametrize(
    ("limits", "names"),
    [
        (SEED_004, ["small.png"]),
        (UPSTREAM, ["small.png", "tall.png"]),
        (Limits(max_tokens=200, width=600, height=200), ["small.png", "wide.png", "long.png", "tall.png", "high.png"]),
        (None, ["small.png", "wide.png", "long.png", "tall.png", "high.png"]),
    ],
)
def test_im2latex_limits_can_be_chosen(im2latex, limits, names):
    assert [example.name for example in open_dataset(im2latex, limits=limits).examples] == names


def test_im2latex_takes_normalised_formulas_as_they_are_and_filtered_splits(im2latex):
    (im2latex / "formulas.norm.lst").write_text("one  token\n\n{ \\over }\n")
    (im2latex / "test_filter.lst").write_text("small.png 2\n")
    assert open_dataset(im2latex / "test_filter.lst").examples[0].target == "{ \\over }"


def test_im2latex_with_several_splits_asks_for_one(im2latex):
    (im2latex / "im2latex_train.lst").write_text("0 small basic\n")
    with pytest.raises(DataError, match=r"several splits.*im2latex_test\.lst, im2latex_train\.lst"):
        open_dataset(im2latex)
    assert len(open_dataset(im2latex / "im2latex_train.lst")) == 1


def test_inkml_gives_pictures_of_strokes_and_one_spelling(tmp_path):
    (tmp_path / "a.inkml").write_text(INK.format(attribute="type", truth="$1-x\\le\\frac12$"))
    dataset = open_dataset(tmp_path)
    [example] = dataset.examples
    assert (dataset.kind, dataset.notes, example.name) == ("inkml", (), "a.inkml")
    assert example.target == "1 - x \\leq \\frac { 1 } { 2 }"
    assert open_pages(example.image).redraw is not None


def test_inkml_puts_glued_relations_and_misspelt_attributes_right(tmp_path):
    (tmp_path / "a.inkml").write_text(INK.format(attribute="typx", truth="$M\\ltN$"))
    assert open_dataset(tmp_path).examples[0].target == "M < N"


def test_inkml_notes_what_it_leaves_out(tmp_path):
    (tmp_path / "good.inkml").write_text(INK.format(attribute="type", truth="x"))
    (tmp_path / "silent.inkml").write_text(INK.format(attribute="type", truth=""))
    (tmp_path / "torn.inkml").write_text("<ink")
    dataset = open_dataset(tmp_path)
    assert len(dataset) == 1
    assert [note[:7] for note in dataset.notes] == ["1 of 3 ", "1 of 3 "]
    assert "torn.inkml is not InkML" in dataset.notes[1]


def test_ink_knows_the_strokes_of_each_symbol(tmp_path):
    path = tmp_path / "a.inkml"
    path.write_text(INK.format(attribute="type", truth="x"))
    ink = read_ink(path)
    assert len(ink.strokes) == 3
    assert [(symbol.label, len(symbol.strokes)) for symbol in ink.symbols] == [("1", 1), ("-", 1), ("x", 1)]
    assert ink.symbols[1].strokes[0].tolist() == [[30, 40], [50, 40], [70, 41]]


def test_strokes_without_names_are_all_there(tmp_path):
    path = tmp_path / "a.inkml"
    path.write_text("<ink><trace>1 1, 2 9</trace><trace>5 1, 6 9</trace></ink>")
    assert [points[0].tolist() for points in read_ink(path).strokes] == [[1, 1], [5, 1]]


def test_strokes_can_be_drawn_with_other_pens_and_pictures_cannot(tmp_path):
    path = tmp_path / "a.inkml"
    path.write_text(INK.format(attribute="type", truth="x"))
    pages = open_pages(path)
    assert pages.redraw is not None
    usual, thick, thin = (np.asarray(image).mean() for image in (pages[0], pages.redraw(1), pages.redraw(2)))
    assert thick < usual < thin
    assert pages[0].size == pages.redraw(1).size
    assert open_pages(pages[0]).redraw is None


def test_a_drawing_is_as_large_as_its_symbols_whatever_the_unit(tmp_path):
    path = tmp_path / "a.inkml"
    path.write_text(INK.format(attribute="type", truth="x"))
    strokes = read_ink(path).strokes
    image = draw(strokes)
    assert image.size == draw([points * 1000 - 7 for points in strokes]).size
    ink_rows = np.flatnonzero((np.asarray(image) < 128).any(axis=1))
    assert abs(np.ptp(ink_rows) - PEN.symbol_height) <= 3
    assert np.asarray(image)[: PEN.margin - 2].min() == 255


def test_a_wider_pen_leaves_more_ink_and_a_dot_leaves_some():
    bar = np.array([[0.0, 0.0], [0.0, 50.0], [5.0, 99.0]])
    thin, thick = (255 - np.asarray(draw([bar], Pen(width=width)), dtype=np.int64) for width in (1.0, 3.0))
    assert thick.sum() > 2 * thin.sum()
    assert np.asarray(draw([np.array([[3.0, 3.0]])])).min() < 128


def test_a_varied_pen_comes_from_its_generator():
    pens = [vary(PEN, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert pens[0] == pens[1] != pens[2]


def broken(folder: Path, kind: str) -> Path:
    """Make a dataset with one thing wrong."""
    (folder / "a.png").write_bytes(b"")
    ink = INK.format(attribute="type", truth="x")
    files = {
        "empty": {},
        "text": {"notes.txt": "x"},
        "columns": {"labels.tsv": "a.png\tx\na.png x\n"},
        "picture": {"labels.tsv": "b.png\tx\n"},
        "nothing": {"labels.tsv": "\n"},
        "encoding": {"labels.tsv": b"a.png\t\xff\n"},
        "json": {"metadata.jsonl": "{\n"},
        "object": {"metadata.jsonl": "[1]\n"},
        "file name": {"metadata.jsonl": '{"text": "x"}\n'},
        "no truth": {"metadata.jsonl": '{"file_name": "a.png", "label": "x"}\n'},
        "no parse": {"metadata.jsonl": '{"file_name": "a.png", "ground_truth": "{}"}\n'},
        "no formulas": {"test.lst": "0 a basic\n"},
        "beyond": {"formulas.norm.lst": "x\n", "test.lst": "7 a basic\n"},
        "split line": {"formulas.norm.lst": "x\n", "test.lst": "a basic b c\n"},
        "image": {"formulas.norm.lst": "x\n", "test.lst": "0 a basic\n"},
        "strokes": {"a.inkml": "<ink><annotation type='truth'>x</annotation></ink>"},
        "points": {"a.inkml": ink.replace("10 20,", "10 up,")},
        "truth": {"a.inkml": ink.replace('truth">x', 'truth">{')},
    }[kind]  # fmt: skip
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / "test.lst" if "test.lst" in files else folder


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("empty", "there is no dataset in this folder"),
        ("text", "there is no dataset in this folder"),
        ("columns", "line 2: expected a picture and its truth with one tab between, found 1 columns"),
        ("picture", r"line 1: the picture .*b\.png is missing"),
        ("nothing", "there is no example in it"),
        ("encoding", "is not utf-8 text"),
        ("json", "line 1: this is not JSON"),
        ("object", "line 1: expected a JSON object"),
        ("file name", "line 1: there is no column 'file_name'; there are text"),
        ("no truth", "line 1: there is no column 'text' for the truth; there are label"),
        ("no parse", "the ground truth has neither gt_parse nor gt_parses"),
        ("no formulas", "there is no list of formulas"),
        ("beyond", "line 1: there is no formula 7"),
        ("split line", "line 1: expected `formula picture kind`"),
        ("image", "the picture is damaged"),
        ("strokes", "there are no pen strokes in it"),
        ("points", "a pen stroke has points that are not x and y"),
        ("truth", "is not LaTeX that can be parsed"),
    ],
)
def test_what_is_wrong_with_a_dataset_is_said(tmp_path, kind, sentence):
    with pytest.raises(DataError, match=sentence):
        open_dataset(broken(tmp_path, kind))


@pytest.mark.parametrize("coordinate", ["1e308", "-1e300", "nan", "inf"])
def test_points_that_no_pen_can_reach_are_refused(tmp_path, coordinate):
    path = tmp_path / "far.inkml"
    path.write_text(f"<ink><trace>0 0, {coordinate} 5, -{coordinate.lstrip('-')} 7</trace></ink>")
    with pytest.raises(DataError, match="farther than"):
        read_ink(path)


def test_a_path_that_is_not_there_or_no_list_is_said(tmp_path):
    with pytest.raises(DataError, match="there is no such file or folder"):
        open_dataset(tmp_path / "nowhere")
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(DataError, match="this is not a list of examples"):
        open_dataset(tmp_path / "a.txt")


def test_pages_are_pictures_or_pdfs_with_their_markdown_beside_them(tmp_path):
    Image.new("L", (60, 30), 255).save(tmp_path / "one.png")
    (tmp_path / "two.pdf").write_bytes(b"%PDF-")
    (tmp_path / "one.md").write_text("# One\n\ntext \n")
    (tmp_path / "two.md").write_text("two")
    (tmp_path / "README.md").write_text("no page")
    dataset = open_dataset(tmp_path)
    assert dataset.kind == "pages"
    assert [(example.name, example.text) for example in dataset] == [("one.png", "# One\n\ntext"), ("two.pdf", "two")]
    (tmp_path / "one.md").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="cannot be read as text"):
        open_dataset(tmp_path)
