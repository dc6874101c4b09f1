"""A user's own fields: labels from a few receipts, a model folder that finds them, and weights out of a graph."""

import json
from dataclasses import replace
from pathlib import Path

import layout_models
import numpy as np
import pytest
import torch

from unrender.checkpoints import load, save
from unrender.checkpoints.vocabulary import wordpiece
from unrender.engines.labelling import OnnxLabelEngine, TorchLabelEngine
from unrender.errors import DataError
from unrender.evaluation.datasets.folders import open_sroie
from unrender.layers.spatial import LabelModel
from unrender.reading.labels import LabelSystem
from unrender.reading.reader import Reader
from unrender.reading.receipt.fields import FIELDS, LABELS, names_of
from unrender.reading.systems import Input
from unrender.training.receipt.made_documents import make_document
from unrender.training.receipt.own_fields import OwnFieldsCourse, own_labels, own_page, read_weights
from unrender.training.recipe import Recipe, Schedule
from unrender.training.runs import Request, train


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A receipt reader that knows nothing."""
    config = layout_models.tiny()
    model = LabelModel(config)
    model.init_weights(torch.Generator().manual_seed(0))
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return save(tmp_path_factory.mktemp("start") / "model", config, weights, wordpiece(layout_models.VOCABULARY))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six labelled receipts in the documented form."""
    folder = tmp_path_factory.mktemp("mine")
    for number in range(6):
        made = make_document(np.random.default_rng([5, number]), "receipt")
        made.image.save(folder / f"r{number}.png")
        lines = [
            {"text": word.text, "box": [word.box.x0, word.box.y0, word.box.x1, word.box.y1]} for word in made.page.words
        ]
        fields = {"total": made.fields["total"], "greeting": made.page.words[-1].text}
        (folder / f"r{number}.json").write_text(json.dumps({"fields": fields, "lines": lines}))
    return folder


def test_new_names_become_labels_behind_the_known_ones(data):
    labels = own_labels(LABELS, open_sroie(data))
    assert labels == (*LABELS, "B-GREETING", "I-GREETING")
    assert names_of(labels) == (*FIELDS, "greeting")


def test_a_name_that_makes_no_label_is_refused(data):
    dataset = open_sroie(data)
    bad = replace(dataset.examples[0], target="<s_My Tip>2</s_My Tip>")
    with pytest.raises(DataError, match="small letters"):
        own_labels(LABELS, replace(dataset, examples=(bad,)))


def test_the_words_of_an_own_field_are_labelled(data, start):
    dataset = open_sroie(data)
    labels = own_labels(LABELS, dataset)
    page = own_page(dataset.examples[0], labels, LabelSystem.open(load(start)))
    marked = [
        word
        for word, label in zip(page.words, page.labels, strict=True)
        if label > 0 and labels[label].endswith("GREETING")
    ]
    assert marked == [dataset.examples[0].record["greeting"]]


def test_a_few_updates_make_a_reader_of_the_own_fields(data, start, tmp_path):
    recipe = Recipe(updates=2, schedule=Schedule(peak=1e-4), threads=1, validate_updates=1)
    folder = train(OwnFieldsCourse(recipe=recipe), Request(folder=tmp_path / "run", data=data, start=start))
    reader = Reader.open(folder)
    examples = open_sroie(data).examples
    [document] = reader.read_many([Input(examples[0].path, words=examples[0].words)])
    assert {*FIELDS, "greeting"} <= set(document.blocks[0].fields)


def test_too_few_receipts_are_refused_with_a_sentence(start, tmp_path):
    (tmp_path / "a.json").write_text('{"fields": {"total": "1.00"}, "lines": []}')
    make_document(np.random.default_rng(0), "receipt").image.save(tmp_path / "a.png")
    with pytest.raises(DataError, match="at least 5"):
        OwnFieldsCourse().prepare(Request(folder=tmp_path / "run", data=tmp_path, start=start))


def test_without_data_it_says_where_its_form_is_told(start, tmp_path):
    with pytest.raises(DataError, match="how-to-train"):
        OwnFieldsCourse().prepare(Request(folder=tmp_path, start=start))


@pytest.mark.slow
def test_the_weights_of_the_reader_that_ships_are_read_out_of_its_graph():
    loaded = load("receipt")
    module = LabelModel(loaded.label_config)
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in read_weights(loaded).items()})
    rng = np.random.default_rng(0)
    tokens, boxes = rng.integers(1000, 3000, (1, 12)), np.sort(rng.integers(0, 1000, (1, 12, 4)), axis=-1)
    pixels = np.zeros((1, 1, 224, 224), dtype=np.float32)
    engines = TorchLabelEngine(module), OnnxLabelEngine(loaded.folder, 1)
    one, two = (engine.label(tokens, boxes, np.ones((1, 12), dtype=bool), pixels) for engine in engines)
    assert np.abs(one - two).max() < 0.05 * np.abs(one).max()
