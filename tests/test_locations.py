"""Where models come from: paths, names, the Hub, and the older tokenizer files found there."""

import json
import shutil
import struct
from pathlib import Path

import huggingface_hub
import numpy as np
import oracles
import pytest
import spellings
import torch
from tokenizers import Tokenizer

from unrender import checkpoints
from unrender.checkpoints.vocabulary import make_tokenizer
from unrender.errors import ModelError
from unrender.models import PRESETS, preset
from unrender.models.config import SwinConfig


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


class FakeHub:
    """Serves folders by Hub name and remembers what was asked for."""

    def __init__(self, **folders: Path) -> None:
        self.folders = {name.replace("__", "/"): folder for name, folder in folders.items()}
        self.asked: list[str] = []

    def __call__(self, name: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        self.asked.append(f"{name}@{revision}" if revision else name)
        if name not in self.folders:
            raise OSError("404: no such repository\nRequest ID: 1")
        return str(self.folders[name])


def test_a_folder_is_its_own_place(tmp_path: Path) -> None:
    assert checkpoints.resolve(str(tmp_path)) == tmp_path


@pytest.mark.parametrize("name", ["formula", "page"])
def test_a_folder_of_scans_with_the_name_of_a_model_does_not_stand_before_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    assert checkpoints.load(name).folder == checkpoints.resolve(name) != Path(name)
    assert checkpoints.load(name).tokenizer is not None
    assert not checkpoints.is_folder(name)
    assert checkpoints.is_folder(f"./{name}")


def test_a_file_with_the_name_of_a_model_does_not_stand_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "formula").write_bytes(b"")
    assert checkpoints.load("formula").tokenizer is not None


def test_a_model_folder_with_the_name_of_an_embedded_model_stands_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(checkpoints.resolve("word"), tmp_path / "formula")
    assert checkpoints.load("formula").config.name == "word"


def test_a_file_is_not_a_model(tmp_path: Path) -> None:
    (tmp_path / "weights.pt").write_bytes(b"")
    with pytest.raises(ModelError, match="is a file; give the model folder"):
        checkpoints.resolve(tmp_path / "weights.pt")


@pytest.mark.parametrize("name", ["./models/mine", "/nowhere/at/all", "../gone"])
def test_a_missing_folder_is_called_that(name: str) -> None:
    with pytest.raises(ModelError, match="there is no folder"):
        checkpoints.resolve(name)


@pytest.mark.parametrize(
    ("wrong", "right"), [("nougat-bse", "nougat-base"), ("donut", "donut-base"), ("trocr", "trocr-")]
)
def test_a_misspelt_name_brings_suggestions(wrong: str, right: str) -> None:
    with pytest.raises(ModelError, match=f"no model named '{wrong}'; did you mean .*{right}"):
        checkpoints.load(wrong)
    with pytest.raises(ModelError, match=f"no system named '{wrong}'; did you mean .*{right}"):
        preset(wrong)


def test_a_name_like_no_other_brings_the_list() -> None:
    with pytest.raises(ModelError, match=r"there are .*donut-base.*trocr-small"):
        preset("zzz")


def test_a_system_without_published_weights_says_how_to_get_it() -> None:
    with pytest.raises(ModelError, match="recognizer has no published weights; train it"):
        checkpoints.load("recognizer")


def test_a_hub_name_is_fetched_and_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oracles.donut(tmp_path / "snapshot")
    hub = FakeHub(someone__small_donut=tmp_path / "snapshot")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub)
    loaded = checkpoints.load("someone/small_donut")
    assert loaded.config.name == "small_donut"
    assert hub.asked == ["someone/small_donut"]
    assert loaded.weights()


def test_the_first_revision_of_a_hub_name_is_kept_until_another_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / ("1" * 40), tmp_path / ("2" * 40)
    oracles.donut(first)
    hub = FakeHub(someone__donut=first)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub)
    assert checkpoints.load("someone/donut").config.published == f"someone/donut@{first.name}"
    checkpoints.load("someone/donut")
    assert hub.asked == ["someone/donut", f"someone/donut@{first.name}"]
    first.rename(second)
    hub.folders["someone/donut"] = second
    loaded = checkpoints.load("someone/donut@main")
    assert (loaded.config.name, loaded.config.published) == ("donut", f"someone/donut@{second.name}")
    checkpoints.load("someone/donut")
    assert hub.asked[2:] == ["someone/donut@main", f"someone/donut@{second.name}"]


def test_a_system_is_fetched_under_its_published_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oracles.nougat(tmp_path / "snapshot")
    hub = FakeHub(**{"facebook__nougat-small": tmp_path / "snapshot"})
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub)
    config = checkpoints.load("nougat-small").config
    assert (config.name, config.seed, config.task) == ("nougat-small", "001", PRESETS["nougat-small"].task)
    assert config.generation.repetition_guard


def test_pickles_are_fetched_only_where_there_are_no_safetensors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}")
    hub = FakeHub(someone__old=tmp_path)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub)
    assert checkpoints.resolve("someone/old") == tmp_path
    assert hub.asked == ["someone/old", "someone/old"]


def test_a_name_the_hub_does_not_give_is_explained_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub, "snapshot_download", FakeHub())
    with pytest.raises(ModelError) as caught:
        checkpoints.load("no-one/nothing")
    assert "neither a folder here nor could it be fetched from the Hub (404: no such repository)" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_swimnet_is_put_together_from_its_two_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oracles.swimnet(tmp_path / "both")
    both = checkpoints.load(tmp_path / "both")
    assert isinstance(both.config.encoder, SwinConfig)
    rng = np.random.default_rng(0)
    parts = {
        "swin": spellings.swin(both.config.encoder, "swin.") | {"classifier.bias": (10,)},
        "trocr": spellings.decoder(both.config.decoder, "decoder.model.decoder.") | {"encoder.layernorm.bias": (9,)},
    }
    tensors = {part: {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
               for part, shapes in parts.items()}  # fmt: skip
    for part, named in tensors.items():
        (tmp_path / part).mkdir()
        torch.save(
            {name: torch.from_numpy(array) for name, array in named.items()}, tmp_path / part / "pytorch_model.bin"
        )
    hub = FakeHub(**{"microsoft__swin-small-patch4-window7-224": tmp_path / "swin",
                     "microsoft__trocr-base-handwritten": tmp_path / "trocr"})  # fmt: skip
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub)
    monkeypatch.setitem(PRESETS, "swimnet", _named_swimnet(both.config))
    weights = checkpoints.load("swimnet").weights()
    assert np.array_equal(weights["encoder.norm.weight"], tensors["swin"]["swin.layernorm.weight"])
    assert np.array_equal(
        weights["decoder.tokens.weight"], tensors["trocr"]["decoder.model.decoder.embed_tokens.weight"]
    )


def _named_swimnet(config: object) -> object:
    from dataclasses import replace

    return replace(config, name="swimnet", published=PRESETS["swimnet"].published)  # type: ignore[type-var]


def test_vocab_and_merges_become_a_tokenizer(tmp_path: Path) -> None:
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", "h", "i", "Ġ", "hi", "Ġhi"]
    (tmp_path / "vocab.json").write_text(json.dumps({token: index for index, token in enumerate(vocabulary)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nh i\nĠ hi\n")
    (tmp_path / "added_tokens.json").write_text('{"<s_menu>": 9, "<sep/>": 10}')
    text = make_tokenizer(tmp_path)
    assert text is not None
    tokenizer = Tokenizer.from_str(text)
    assert tokenizer.encode("hi hi<sep/>").ids == [7, 8, 10]
    assert tokenizer.decode([7, 8]) == "hi hi"


def test_sentence_pieces_become_a_tokenizer_numbered_as_fairseq_does(tmp_path: Path) -> None:
    pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), ("▁hi", -1.0, 1), ("▁", -2.0, 1), ("h", -3.0, 1),
              ("i", -3.0, 1)]  # fmt: skip
    (tmp_path / "sentencepiece.bpe.model").write_bytes(b"".join(_piece(*piece) for piece in pieces))
    text = make_tokenizer(tmp_path)
    assert text is not None
    tokenizer = Tokenizer.from_str(text)
    assert tokenizer.encode("hi hi ih").ids == [4, 4, 5, 7, 6]
    assert tokenizer.decode([4, 4, 5, 7, 6]) == "hi hi ih"


def test_a_damaged_sentence_piece_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sentencepiece.bpe.model").write_bytes(_piece("▁hi", -1.0, 1)[:-3])
    with pytest.raises(ModelError, match="is damaged"):
        make_tokenizer(tmp_path)


def test_a_folder_without_any_vocabulary_makes_none(tmp_path: Path) -> None:
    assert make_tokenizer(tmp_path) is None


def _piece(text: str, score: float, kind: int) -> bytes:
    """Write one piece as protobuf: 1 text, 2 score, 3 kind, inside field 1."""
    content = b"\x0a" + bytes([len(text.encode())]) + text.encode() + b"\x15" + struct.pack("<f", score)
    content += b"\x18" + bytes([kind])
    return b"\x0a" + bytes([len(content)]) + content
