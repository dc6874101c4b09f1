"""Model folders: ours, and published ones in the shapes in which people have them."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import oracles
import pytest
import torch
from safetensors.torch import load, save_file
from transformers import VisionEncoderDecoderModel

from unrender import checkpoints
from unrender.checkpoints import Loaded, Weights
from unrender.errors import ConfigError, ModelError
from unrender.layers.seq2seq import VisionText
from unrender.models import preset
from unrender.models.config import CnnConfig, TextConfig


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Donut as transformers saves it."""
    folder = tmp_path_factory.mktemp("published")
    oracles.donut(folder, heads=16)
    return folder


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    """A copy of the published folder that a test may change."""
    for path in published.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


@pytest.fixture(scope="module")
def expected(published: Path) -> Weights:
    return checkpoints.load(published).weights()


def _tensors(folder: Path) -> dict[str, torch.Tensor]:
    """Read a folder's tensors into memory, so that the file may be changed."""
    return load((folder / "model.safetensors").read_bytes())


def _same(loaded: Loaded, expected: Weights, atol: float = 0) -> bool:
    found = loaded.weights()
    return found.keys() == expected.keys() and all(
        np.allclose(found[name], expected[name], rtol=0, atol=atol) for name in expected
    )


def _tiny() -> TextConfig:
    config = preset("recognizer")
    encoder = CnnConfig(
        widths=(4, 8), blocks=(1, 2), strides=((2, 2), (1, 1)), hidden=8, layers=1, heads=2, feed_forward=16
    )
    decoder = replace(config.decoder, vocabulary=9, hidden=8, layers=1, heads=2, feed_forward=16, memory_width=8)
    return replace(config, name="tiny", encoder=encoder, decoder=decoder)


def _saved(folder: Path) -> tuple[TextConfig, VisionText]:
    config = _tiny()
    module = VisionText(config)
    module.init_weights(torch.Generator().manual_seed(0))
    checkpoints.save(folder, config, module.state_dict(), '{"a": 1}', card="# Tiny", training="{}")
    return config, module


def test_a_model_folder_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    config, module = _saved(tmp_path / "tiny")
    loaded = checkpoints.load(tmp_path / "tiny")
    parameters = sum(parameter.numel() for parameter in module.parameters())
    assert loaded.config == replace(config, parameters=parameters)
    assert loaded.tokenizer == tmp_path / "tiny" / "tokenizer.json"
    weights = loaded.weights()
    assert weights.keys() == module.state_dict().keys()
    assert all(np.array_equal(weights[name], tensor.numpy()) for name, tensor in module.state_dict().items())
    names = {path.name for path in (tmp_path / "tiny").iterdir()}
    assert names == {"config.json", "tokenizer.json", "weights.safetensors", "train.json", "card.md"}


def test_weights_that_do_not_fit_the_config_are_not_saved(tmp_path: Path) -> None:
    config = _tiny()
    state = VisionText(config).state_dict()
    del state["decoder.tokens.weight"]
    with pytest.raises(ModelError, match=r"missing are decoder\.tokens\.weight"):
        checkpoints.save(tmp_path / "tiny", config, state)
    assert not (tmp_path / "tiny").exists()


def test_shards_are_one_model(folder: Path, expected: Weights) -> None:
    tensors = _tensors(folder)
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    shards = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
    for file, part in shards.items():
        save_file({name: tensors[name] for name in part}, folder / file)
    index = {"weight_map": {name: file for file, part in shards.items() for name in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert _same(checkpoints.load(folder), expected)
    (folder / "model-2.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has no model-2\.safetensors"):
        checkpoints.load(folder)


@pytest.mark.parametrize("oracle", [oracles.trocr_base, oracles.trocr_small, oracles.swimnet])
def test_the_names_inside_transformers_5_are_the_same_model(
    oracle: Callable[[Path], VisionEncoderDecoderModel], tmp_path: Path
) -> None:
    model = oracle(tmp_path)
    expected = checkpoints.load(tmp_path).weights()
    names = set(_tensors(tmp_path))
    tied = ["decoder.output_projection.weight"] if model.config.decoder.tie_word_embeddings else []
    inside = {name: tensor for name, tensor in model.state_dict().items() if name not in tied}
    save_file(inside, tmp_path / "model.safetensors")
    assert len(set(inside) - names) > 10  # v5 saves under the old names, but calls them otherwise
    assert _same(checkpoints.load(tmp_path), expected)


@pytest.mark.parametrize(("kind", "atol"), [(torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
def test_half_precision_is_read_as_single(folder: Path, expected: Weights, kind: torch.dtype, atol: float) -> None:
    tensors = _tensors(folder)
    half = {name: tensor.to(kind) if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    save_file(half, folder / "model.safetensors")
    loaded = checkpoints.load(folder)
    assert _same(loaded, expected, atol)
    assert {array.dtype for array in loaded.weights().values()} == {np.dtype(np.float32)}


def _pickle(folder: Path, change: Callable[[dict[str, torch.Tensor]], object] = lambda tensors: tensors) -> None:
    torch.save(change(_tensors(folder)), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def test_a_pickle_is_converted_once(folder: Path, cache: Path, expected: Weights) -> None:
    _pickle(folder)
    first = checkpoints.load(folder)
    assert _same(first, expected)
    assert cache in first.folder.parents
    written = (first.folder / "weights.safetensors").stat().st_mtime_ns
    again = checkpoints.load(folder)
    assert again.folder == first.folder
    assert (again.folder / "weights.safetensors").stat().st_mtime_ns == written
    assert again.config == replace(checkpoints.load(folder).config, name=folder.name)


class _Bomb:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, ...]]:
        return (print, ("a pickle ran code",))


def test_a_pickle_that_would_run_code_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _pickle(folder, lambda tensors: {**tensors, "bomb": _Bomb()})
    with pytest.raises(ModelError, match="holds more than tensors"):
        checkpoints.load(folder)
    assert "ran code" not in capsys.readouterr().out


def test_a_pickle_in_the_place_of_safetensors_is_refused(folder: Path) -> None:
    tensors = _tensors(folder)
    torch.save(tensors, folder / "model.safetensors")
    with pytest.raises(ModelError, match="is a pickle, not safetensors"):
        checkpoints.load(folder)


def test_damaged_safetensors_are_refused(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match="is not a safetensors file or is damaged"):
        checkpoints.load(folder)


def _as_release(tensors: dict[str, torch.Tensor], *, late: bool) -> dict[str, torch.Tensor]:
    """Respell a Donut of transformers as the original release with timm's Swin inside."""
    renames = {
        "encoder.embeddings.patch_embeddings.projection": "encoder.model.patch_embed.proj",
        "encoder.embeddings.norm": "encoder.model.patch_embed.norm",
        "encoder.encoder.layers": "encoder.model.layers",
        "layernorm_before": "norm1",
        "layernorm_after": "norm2",
        "attention.self.relative_position": "attn.relative_position",
        "attention.output.dense": "attn.proj",
        "intermediate.dense": "mlp.fc1",
        "output.dense": "mlp.fc2",
        "decoder.model.decoder": "decoder.model.model.decoder",
    }
    release: dict[str, torch.Tensor] = {}
    for name, tensor in tensors.items():
        if ".self.query." in name:
            parts = [tensors[name.replace("query", part)] for part in ("query", "key", "value")]
            name, tensor = name.replace("attention.self.query", "attn.qkv"), torch.cat(parts)
        elif ".self.key." in name or ".self.value." in name:
            continue
        for old, new in renames.items():
            name = name.replace(old, new)
        release[name.replace("layers.0.downsample", f"layers.{int(late)}.downsample")] = tensor.contiguous()
    return release


@pytest.mark.parametrize("late", [False, True], ids=["timm before 0.9", "timm since 0.9"])
def test_the_original_release_is_the_same_model(folder: Path, expected: Weights, late: bool) -> None:
    _pickle(folder, lambda tensors: _as_release(tensors, late=late))
    settings = {
        "model_type": "donut",
        "input_size": [64, 96],
        "window_size": 4,
        "encoder_layer": [2, 2],
        "decoder_layer": 2,
        "embed_dim": 16,
        "num_heads": [2, 4],
        "max_position_embeddings": 40,
        "max_length": 30,
    }
    (folder / "config.json").write_text(json.dumps(settings))
    loaded = checkpoints.load(folder)
    assert _same(loaded, expected)
    assert (loaded.config.image.height, loaded.config.image.width) == (64, 96)
    assert loaded.config.generation.max_tokens == 29


def test_a_release_of_a_size_that_its_windows_cannot_cut_is_refused(folder: Path) -> None:
    _pickle(folder, lambda tensors: _as_release(tensors, late=False))
    settings = {"model_type": "donut", "input_size": [64, 80], "window_size": 4, "encoder_layer": [2, 2]}
    (folder / "config.json").write_text(json.dumps(settings | {"decoder_layer": 2, "num_heads": [2, 4]}))
    with pytest.raises(ModelError, match=r"image width 80 does not fit .* multiple of 32 .* Use 64 or 96"):
        checkpoints.load(folder)


@pytest.mark.parametrize("text", ["not json", "[1, 2]", ""])
def test_a_config_that_is_no_object_is_refused(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(ModelError, match=r"config\.json"):
        checkpoints.load(folder)


def test_a_config_of_ours_with_an_unknown_setting_is_refused(tmp_path: Path) -> None:
    _saved(tmp_path)
    values = json.loads((tmp_path / "config.json").read_text())
    values["decoder"]["colour"] = 3
    (tmp_path / "config.json").write_text(json.dumps(values))
    with pytest.raises(ConfigError, match="colour"):
        checkpoints.load(tmp_path)


@pytest.mark.parametrize("missing", ["config.json", "weights.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    _saved(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(ModelError, match=missing):
        checkpoints.load(tmp_path)


def test_a_folder_of_ours_with_a_pickle_instead_of_safetensors_says_so(tmp_path: Path) -> None:
    _saved(tmp_path)
    (tmp_path / "weights.safetensors").rename(tmp_path / "weights.pt")
    with pytest.raises(ModelError, match=r"weights\.pt is a pickle, which is never opened here"):
        checkpoints.load(tmp_path)


def test_a_published_folder_without_weights_says_so(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="has no weights"):
        checkpoints.load(folder)


def test_a_folder_with_graphs_only_needs_no_weights(tmp_path: Path) -> None:
    _saved(tmp_path)
    (tmp_path / "weights.safetensors").unlink()
    for name in ("encoder.onnx", "decoder.onnx"):
        (tmp_path / name).write_bytes(b"graph")
    loaded = checkpoints.load(tmp_path)
    assert loaded.exported
    with pytest.raises(ModelError, match=r"has no weights\.safetensors"):
        loaded.weights()
