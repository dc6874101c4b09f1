"""Reading pages by their words: fields with text, confidence and place; bad words; the command line."""

import json
from dataclasses import replace
from pathlib import Path

import layout_models
import numpy as np
import pytest
import torch
from PIL import Image

from unrender.checkpoints import load, save
from unrender.checkpoints.vocabulary import wordpiece
from unrender.cli.delivery import draw_overlay
from unrender.documents import Box, Page
from unrender.errors import ConfigError, ImageError, ModelError
from unrender.evaluation import evaluate
from unrender.evaluation.datasets import open_dataset
from unrender.images.opening import open_pages
from unrender.layers.spatial import LabelModel
from unrender.reading.labels import LabelSystem
from unrender.reading.reader import Reader
from unrender.reading.receipt.details import Details
from unrender.reading.receipt.fields import FIELDS, LABELS
from unrender.reading.systems import UNWATCHED, Options, Sheet, Watch, open_sheet
from unrender.words import Lexicon, Word, WordPage

LINES = ["ACME TRADING", "NO 1 HIGH STREET", "12/03/2018", "TOTAL 9.90"]
WORDS = [("ACME", "company"), ("TRADING", "company"), ("NO", "address"), ("1", "address"), ("HIGH", "address"),
         ("STREET", "address"), ("12/03/2018", "date"), ("TOTAL", ""), ("9.90", "total")]  # fmt: skip


class KnowingEngine:
    """Labels the words of LINES rightly, by their place on the page; anything else is outside."""

    def __init__(self, knows: tuple[str, ...] = FIELDS) -> None:
        self.knows = knows

    def label(self, tokens, boxes, mask, pixels):
        scores = np.zeros((*tokens.shape, len(LABELS)), dtype=np.float32)
        scores[..., 0] = 4
        for place, (_, field) in enumerate(WORDS):
            if field in self.knows:
                scores[boxes[..., 1] == 100 * place, LABELS.index(f"I-{field.upper()}")] = 12
        return scores


def page(width: int = 100, height: int = 100) -> WordPage:
    words = tuple(Word(text, Box(10, 10 * n, 60, 10 * n + 8), n) for n, (text, _) in enumerate(WORDS))
    return WordPage(width, height, words)


@pytest.fixture
def work(tmp_path: Path) -> LabelSystem:
    config = layout_models.tiny()
    return LabelSystem(config, KnowingEngine(), layout_models.tokenizer(tmp_path, config), lambda image: page())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A receipt reader that knows nothing, in a folder of its own."""
    config = layout_models.tiny()
    model = LabelModel(config)
    model.init_weights(torch.Generator().manual_seed(0))
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return save(tmp_path_factory.mktemp("page") / "model", config, weights, wordpiece(layout_models.VOCABULARY))


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    image = Image.new("L", (100, 100), 255)
    image.paste(0, (10, 10, 60, 18))
    image.save(tmp_path / "receipt.png")
    words = [{"text": text, "box": [10, 10 * n, 60, 10 * n + 8]} for n, (text, _) in enumerate(WORDS)]
    (tmp_path / "words.json").write_text(json.dumps({"words": words}))
    return tmp_path / "receipt.png"


def read_one(work: LabelSystem, image: Image.Image, watch: Watch = UNWATCHED) -> Page:
    [(_, page)] = work.read(iter([Sheet(image)]), watch=watch)
    return page


def test_each_field_has_text_confidence_and_place(work):
    page = read_one(work, Image.new("RGB", (100, 100)))
    [block] = page.blocks
    assert page.status.kind == "complete"
    assert {name: block.fields[name]["text"] for name in FIELDS} == {
        "company": "ACME TRADING",
        "date": "12/03/2018",
        "address": "NO 1 HIGH STREET",
        "total": "9.90",
    }
    assert block.fields["company"]["box"] == [10, 0, 60, 18]
    assert all(0.5 < block.fields[name]["confidence"] <= 1 for name in FIELDS)
    assert {name: block.fields[name] for name in ("amount", "iso_date", "currency")} == {
        "amount": 9.9,
        "iso_date": "2018-03-12",
        "currency": None,
    }
    assert block.confidence > 0.5


def test_a_receipt_without_a_total_gives_null_for_it(tmp_path):
    config = layout_models.tiny()
    engine = KnowingEngine(("company", "date", "address"))
    work = LabelSystem(config, engine, layout_models.tokenizer(tmp_path, config))
    torn = replace(page(), words=page().words[:-2])
    block = work.read_words(torn, Image.new("RGB", (100, 100)))
    assert block.fields["total"] is None
    assert block.fields["date"] is not None


def test_a_picture_that_is_no_receipt_says_so_by_low_confidence(tmp_path):
    config = layout_models.tiny()
    work = LabelSystem(config, KnowingEngine(()), layout_models.tokenizer(tmp_path, config))
    words = tuple(
        Word(text, Box(10, 10 * n, 60, 10 * n + 8), n) for n, text in enumerate(["AREA", "AUSTRIA", "83,879"])
    )
    found = read_one(replace(work, find_words=lambda _: WordPage(100, 100, words)), Image.new("RGB", (100, 100)))
    assert found.blocks[0].fields == dict.fromkeys((*FIELDS, *Details().as_json()))
    assert found.blocks[0].confidence < 0.1
    assert str(found.status) == "unlikely: this does not look like a receipt"


def test_a_page_without_words_is_empty(tmp_path):
    config = layout_models.tiny()
    work = LabelSystem(config, KnowingEngine(), layout_models.tokenizer(tmp_path, config), lambda image: WordPage(9, 9))
    found = read_one(work, Image.new("RGB", (9, 9)))
    assert (found.status.kind, found.blocks) == ("empty", ())


def test_labelling_stops_when_nobody_wants_the_page_any_more(tmp_path):
    class Leaving(Watch):
        def __init__(self, questions: int) -> None:
            self.left = questions

        def wants(self, sheet: Sheet) -> bool:
            self.left -= 1
            return self.left >= 0

    class CountingEngine(KnowingEngine):
        windows = 0

        def label(self, tokens, boxes, mask, pixels):
            self.windows += len(tokens)
            return super().label(tokens, boxes, mask, pixels)

    config, image = layout_models.tiny(), Image.new("RGB", (100, 100))
    words = tuple(Word("ab", Box(1, n / 10, 2, n / 10 + 0.1), n) for n in range(1000))
    for questions, windows in ((0, 0), (1, 0), (2, 4), (3, 8)):
        engine = CountingEngine()
        work = LabelSystem(
            config, engine, layout_models.tokenizer(tmp_path, config), lambda image: WordPage(100, 100, words)
        )
        found = read_one(work, image, Leaving(questions))
        assert (found.status.kind, found.status.reason) == ("failed", "The reading was stopped.")
        assert engine.windows == windows


def test_places_on_a_turned_page_are_those_of_the_picture(tmp_path):
    config = layout_models.tiny()
    turned = WordPage(100, 200, tuple(Word(w.text, Box(w.box.x0, 2 * w.box.y0, w.box.x1, 2 * w.box.y1), w.line)
                                      for w in page().words), turns=1)  # fmt: skip
    work = LabelSystem(config, KnowingEngine(), layout_models.tokenizer(tmp_path, config))
    block = work.read_words(turned, Image.new("RGB", (200, 100)))
    total = next(part for part in block.children if part.kind == "total")
    assert total.box == Box(160, 40, 176, 90)


def test_recognised_words_are_parted_and_given_ones_are_not(tmp_path, picture):
    config, image = layout_models.tiny(), Image.new("RGB", (100, 100))
    glued = WordPage(100, 100, (Word("SHOPNAME", Box(0, 0, 80, 9)),))
    tokenizer = layout_models.tokenizer(tmp_path, config)
    work = LabelSystem(config, KnowingEngine(), tokenizer, lambda image: glued, Lexicon({"SHOP": 9, "NAME": 9}))
    assert work.words_of(Sheet(image)).texts == ["SHOP", "NAME"]
    given = tmp_path / "given.json"
    given.write_text(json.dumps({"words": [{"text": "SHOPNAME", "box": [0, 0, 80, 9]}]}))
    assert work.words_of(Sheet(image), given).texts == ["SHOPNAME"]


def test_ten_thousand_words_are_read(work):
    words = tuple(Word("ab", Box(1, n / 100, 2, n / 100 + 0.1), n) for n in range(10_000))
    block = work.read_words(WordPage(100, 100, words), Image.new("RGB", (100, 100)))
    assert block.kind == "fields"


def test_foreign_scripts_are_read_as_nothing_known(work):
    words = tuple(Word(text, Box(1, 50 + n, 2, 51 + n), n) for n, text in enumerate(["收據", "合計", "١٢٣", "Σύνολο"]))
    assert work.read_words(WordPage(100, 100, words), Image.new("RGB", (100, 100))).fields["date"] is None


def test_the_reader_opens_a_page_model_and_takes_given_words(folder, picture):
    reader = Reader.open(folder)
    document = reader.read(picture, Options(words=picture.with_name("words.json")))
    assert document.task == "receipt"
    assert set(document.blocks[0].fields) == {*FIELDS, *Details().as_json()}


def test_words_that_cannot_be_used_fail_the_page_with_a_sentence(folder, picture):
    bad = picture.with_name("bad.json")
    bad.write_text('{"words": [{"text": "A"}]}')
    with pytest.raises(ImageError, match="has no box"):
        Reader.open(folder).read(picture, Options(words=bad))


def test_a_model_that_writes_text_takes_no_words(tiny_folder, picture):
    with pytest.raises(ConfigError, match="words is for models that label words"):
        Reader.open(tiny_folder).read(picture, Options(words="words.json"))


def test_a_page_model_serves_its_own_task_only(folder):
    with pytest.raises(ModelError, match="reads receipt, not formula"):
        Reader.open(folder, task="formula")


def test_a_model_without_a_head_says_what_to_do(tmp_path):
    config = layout_models.tiny()
    with pytest.raises(ModelError, match="fine-tune it first"):
        LabelSystem(replace(config, head="none", labels=()), KnowingEngine(), layout_models.tokenizer(tmp_path, config))


def test_the_command_line_prints_fields_as_json_and_draws_them(folder, picture, run):
    overlay = picture.with_name("seen.png")
    ran = run(
        "read", picture, "-t", "receipt", "-m", folder, "--words", picture.with_name("words.json"), "--overlay", overlay
    )
    assert ran.code == 0, ran.err
    assert set(json.loads(ran.out)) == {*FIELDS, *Details().as_json()}
    with Image.open(overlay) as drawn:
        assert drawn.size == (100, 100)


def test_an_overlay_shows_where_fields_stand(work):
    image = Image.new("RGB", (100, 100), "white")
    drawn = np.array(draw_overlay(image, read_one(work, image)))
    assert (drawn[80:88, 10:60] != 255).any()
    assert (drawn[95:, 70:] == 255).all()


def test_a_pdf_with_text_needs_no_ocr(tmp_path, work):
    from test_words import text_pdf

    data = text_pdf(b"BT /F 10 Tf 20 80 Td (Shop name) Tj ET")
    work = replace(work, find_words=None)
    path = tmp_path / "shop.pdf"
    path.write_bytes(data)
    for source in (data, path):
        sheet = open_sheet(open_pages(source, 150), 1)
        found = work.words_of(sheet)
        assert found.texts == ["Shop", "name"]
        assert (found.width, found.height) == sheet.image.size


def sroie(folder: Path, fields: dict[str, str]) -> None:
    picture = Image.new("L", (100, 100), 255)
    picture.paste(0, (10, 10, 60, 18))
    picture.save(folder / "one.jpg")
    lines = [{"text": text, "box": [10, 10 * n, 60, 10 * n + 8]} for n, (text, _) in enumerate(WORDS)]
    (folder / "one.json").write_text(json.dumps({"fields": fields, "lines": lines}))


def test_fields_are_measured_by_the_rule_of_the_set(work, tmp_path):
    (tmp_path / "set").mkdir()
    truth = {"company": "ACME  TRADING", "date": "12/03/2018", "address": "NO 1 HIGHSTREET", "total": ""}
    sroie(tmp_path / "set", truth)
    reader = Reader(work)
    summary = evaluate(reader, open_dataset(tmp_path / "set")).summary()
    assert summary["company_f1"] == 1.0
    assert summary["address_f1"] == 0.0
    assert summary["total_precision"] == 0.0
    assert summary["field_f1"] == pytest.approx(2 * 2 / (4 + 3), abs=1e-4)
    assert summary["field_f1_without_spaces"] == pytest.approx(2 * 3 / (4 + 3), abs=1e-4)
    assert summary["n"] == 1


def test_the_command_line_measures_receipts(folder, tmp_path, run):
    (tmp_path / "set").mkdir()
    sroie(tmp_path / "set", {"company": "ACME TRADING", "date": "", "address": "", "total": "9.90"})
    ran = run("evaluate", folder, tmp_path / "set", "--json")
    assert ran.code == 0, ran.err
    summary = json.loads(ran.out)
    assert {"field_f1", "company_precision", "total_recall", "date_f1", "calibration_error"} <= set(summary)
    assert summary["words"] == "given"
    assert run("evaluate", folder, tmp_path / "set", "--words", "mine").errors


def test_plain_labels_become_entities(tmp_path):
    config = replace(layout_models.tiny(), task="labels", labels=("O", "B-KEY", "I-KEY"))

    class Engine:
        def label(self, tokens, boxes, mask, pixels):
            scores = np.zeros((*tokens.shape, 3), dtype=np.float32)
            scores[..., 0] = 1
            scores[boxes[..., 1] == 0, 1] = 5
            scores[boxes[..., 1] == 100, 2] = 5
            return scores

    work = LabelSystem(config, Engine(), layout_models.tokenizer(tmp_path, config))
    block = work.read_words(page(), Image.new("RGB", (100, 100)))
    assert [(part["label"], part["text"]) for part in block.fields] == [("key", "ACME TRADING")]


def test_page_models_are_listed_and_their_folders_named(folder, run):
    assert load(folder).config.name == "tiny"
    ran = run("models", "--json")
    names = {entry["name"]: entry for entry in json.loads(ran.out)}
    assert names["layoutlmv2-base"]["parameters"] == 200_081_984
    assert names["layoutlmv2-mini"]["task"] == "labels"
    assert run("get", folder).out.strip() == str(folder)
