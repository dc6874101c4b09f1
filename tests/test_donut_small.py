"""The small Donut: its vocabulary, its encoder's context, its data and its training on one's own documents."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from unrender.engines.export import export
from unrender.errors import DataError
from unrender.evaluation.datasets import open_dataset
from unrender.formats.json import parse_tags
from unrender.layers.cnn import CnnEncoder
from unrender.models.config import CnnConfig, TextConfig
from unrender.models.donut import SMALL_TOKENS, donut_small
from unrender.reading.reader import Reader
from unrender.tokens import BpeTokenizer, CharacterTokenizer
from unrender.training import runs
from unrender.training.document_runs import find_rules
from unrender.training.receipt import reading_sets
from unrender.training.receipt.made_others import make_ticket, write_tickets
from unrender.training.recipes import DONUT
from unrender.training.runs import Request
from unrender.training.text_runs import fresh, start_from, write_model

TOKENIZER = CharacterTokenizer(SMALL_TOKENS)


def tiny_donut() -> TextConfig:
    config = donut_small(TOKENIZER.size)
    assert isinstance(config.encoder, CnnConfig)
    return replace(
        config,
        image=replace(config.image, height=128, width=96),
        encoder=replace(config.encoder, widths=(4, 4, 8, 8, 16), hidden=16, feed_forward=16, context=1),
        decoder=replace(config.decoder, hidden=16, feed_forward=16, layers=2, memory_width=16, max_positions=61),
        generation=replace(config.generation, max_tokens=60),
    )


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Donut that has learnt nothing."""
    folder = tmp_path_factory.mktemp("start")
    weights = {name: tensor.numpy() for name, tensor in fresh(tiny_donut(), 0).state_dict().items()}
    write_model(tiny_donut(), TOKENIZER, folder, weights, "{}\n")
    return folder


def test_a_tag_is_one_token_for_us_and_for_the_tokenizers_library(tmp_path: Path) -> None:
    text = "<s_total>9.80</s_total>"
    assert TOKENIZER.split(text) == ["<s_total>", "9", ".", "8", "0", "</s_total>"]
    TOKENIZER.save(tmp_path / "tokenizer.json")
    assert BpeTokenizer(tmp_path / "tokenizer.json").encode(text) == TOKENIZER.encode(text)
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_what_stands_far_away_reaches_a_cell_and_padding_does_not() -> None:
    config = tiny_donut().encoder
    assert isinstance(config, CnnConfig)
    torch.manual_seed(0)
    encoder = CnnEncoder(config).eval()
    alone, padded = torch.randn(1, 1, 64, 64), torch.randn(1, 1, 128, 96)
    padded[:, :, :64, :64] = alone
    with torch.no_grad():
        memory, _ = encoder(alone)
        batch, inside = encoder(padded, torch.tensor([[64, 64]]))
        assert inside is not None
        torch.testing.assert_close(batch[inside], memory[0], atol=1e-4, rtol=1e-4)
        changed = alone.clone()
        changed[:, :, 48:, 48:] += 1.0
        assert not torch.equal(encoder(changed)[0][0, 0], memory[0, 0])


def test_a_new_model_is_told_nothing_by_its_context() -> None:
    module = fresh(tiny_donut(), 0)
    assert isinstance(module.encoder, CnnEncoder)
    assert not module.encoder.context.hand_down.weight.any()


def test_a_start_may_lack_layers_only_where_that_is_meant(start: Path) -> None:
    config = tiny_donut()
    assert isinstance(config.encoder, CnnConfig)
    deeper = replace(config, encoder=replace(config.encoder, context=2))
    with pytest.raises(Exception, match="another shape"):
        start_from(start, deeper, TOKENIZER.tokens, 0)
    module = start_from(start, deeper, TOKENIZER.tokens, 0, partly=True)
    kept = start_from(start, config, TOKENIZER.tokens, 0)
    assert torch.equal(module.decoder.tokens.weight, kept.decoder.tokens.weight)


def test_the_graphs_of_a_small_donut_read_as_torch_does(start: Path, tmp_path: Path) -> None:
    exported = export(start, tmp_path / "onnx")
    assert exported.difference.largest < 1e-4
    image = Image.fromarray(np.random.default_rng(0).integers(0, 255, (200, 90), dtype=np.uint8))
    texts = [Reader.open(str(folder)).read(image).written for folder in (start, exported.folder)]
    assert texts[0] == texts[1]


def test_a_made_receipt_says_where_the_characters_of_its_fields_stand() -> None:
    [made] = reading_sets.made_documents(1, seed=5, kind="receipt")
    sample = reading_sets.fields_sample(made)
    assert sample.boxes is not None
    fields = parse_tags(TOKENIZER.decode(sample.tokens))
    assert fields == {name: " ".join(text.split()) for name, text in made.fields.items() if text}
    placed = sample.boxes[:, 0] >= 0
    assert placed.mean() > 0.6
    assert (sample.boxes[placed][:, 2] > sample.boxes[placed][:, 0]).all()
    assert (sample.boxes[placed][:, 3] <= made.gray.shape[0] + 1).all()
    assert max(made.gray.shape) <= 960


def test_a_strip_shows_the_rows_that_its_text_says() -> None:
    [made] = reading_sets.made_documents(1, seed=6, kind="receipt")
    rng = np.random.default_rng(0)
    strips = [strip for _ in range(10) if (strip := reading_sets.strip_sample(made, rng)) is not None]
    assert strips
    said = "".join(word.text for word in made.words)
    for strip in strips:
        assert strip.gray.shape[1] == made.gray.shape[1]
        assert TOKENIZER.decode(strip.tokens).replace("\n", "").replace(" ", "") in said


def test_rules_follow_from_the_documents() -> None:
    documents = [make_ticket(np.random.default_rng(number))[1] for number in range(40)]
    rules = {rule.name: rule for rule in find_rules(documents)}
    assert not rules["items"].single
    assert (rules["total"].kind, rules["total"].single) == ("amount", True)
    assert (rules["price"].kind, rules["date"].kind, rules["event"].kind) == ("amount", "date", "text")


def test_a_donut_is_trained_on_a_folder_of_tickets_and_writes_their_fields(start: Path, tmp_path: Path) -> None:
    tickets = write_tickets(tmp_path / "tickets", 24, seed=0)
    recipe = replace(DONUT.recipe, updates=3, epochs=0, threads=1, validate_updates=2)
    course = replace(DONUT, recipe=recipe, batch=2)
    folder = runs.train(course, Request(folder=tmp_path / "run", data=tickets, start=start))
    settings = json.loads((folder / "config.json").read_text())
    assert {"event", "items", "price"} <= {rule["name"] for rule in settings["fields"]}
    assert "field_f1" in (tmp_path / "run" / "metrics.jsonl").read_text()
    example = open_dataset(tickets).examples[0]
    [block] = Reader.open(str(folder)).read(example.path).pages[0].blocks
    assert isinstance(block.fields, dict)
    assert set(block.fields) <= {"event", "number", "date", "items", "total", "count", "kind", "price", "company",
                                 "address"}  # fmt: skip


def test_a_folder_without_fields_is_refused(start: Path, tmp_path: Path) -> None:
    (tmp_path / "metadata.jsonl").write_text('{"file_name": "a.png", "text": "abc"}\n')
    Image.new("L", (40, 40), 255).save(tmp_path / "a.png")
    with pytest.raises(DataError, match="gt_parse"):
        DONUT.prepare(Request(folder=tmp_path / "run", data=tmp_path, start=start))
