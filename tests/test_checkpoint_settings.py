"""The settings of published folders: read where they are stated, refused where they are not supported."""

import json
import shutil
from pathlib import Path

import oracles
import pytest

from unrender import checkpoints
from unrender.errors import ModelError


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Donut as transformers saves it."""
    folder = tmp_path_factory.mktemp("published")
    oracles.donut(folder)
    return folder


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    """A copy of the published folder that a test may change."""
    return shutil.copytree(published, tmp_path / "copy")


def test_preprocessing_is_what_the_folder_says(folder: Path) -> None:
    settings = {
        "image_processor_type": "NougatImageProcessor",
        "size": {"height": 32, "width": 64},
        "image_mean": [0.1, 0.2, 0.3],
        "image_std": [0.4, 0.5, 0.6],
        "resample": 3,
        "do_crop_margin": True,
        "do_align_long_axis": True,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    image = checkpoints.load(folder).config.image
    assert (image.height, image.width, image.fit) == (32, 64, "canvas")
    assert (image.mean, image.std) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert (image.resample, image.crop_margin, image.align_long_axis) == ("bicubic", True, True)


def test_the_old_donut_extractor_wrote_width_before_height(folder: Path) -> None:
    settings = {"feature_extractor_type": "DonutFeatureExtractor", "size": [96, 64], "do_normalize": False}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    image = checkpoints.load(folder).config.image
    assert (image.height, image.width, image.mean, image.std) == (64, 96, (0, 0, 0), (1, 1, 1))


@pytest.mark.parametrize(("processor", "thumbnail"), [("Donut", "resample"), ("Nougat", "bicubic")])
def test_pages_that_overflow_are_shrunk_as_the_published_processor_does(
    folder: Path, processor: str, thumbnail: str
) -> None:
    settings = {"image_processor_type": f"{processor}ImageProcessor", "size": {"height": 64, "width": 96}}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    assert checkpoints.load(folder).config.image.thumbnail == thumbnail


def test_generation_is_what_the_folder_says(folder: Path) -> None:
    settings = {
        "decoder_start_token_id": 5,
        "eos_token_id": [6],
        "pad_token_id": 7,
        "max_length": 21,
        "num_beams": 3,
        "length_penalty": 0.5,
        "early_stopping": True,
        "bad_words_ids": [[3], [4, 5]],
    }
    (folder / "generation_config.json").write_text(json.dumps(settings))
    generation = checkpoints.load(folder).config.generation
    assert (generation.start, generation.end, generation.pad) == ((5,), 6, 7)
    assert (generation.max_tokens, generation.beams, generation.length_penalty) == (20, 3, 0.5)
    assert (generation.early_stopping, generation.forbidden) == (True, (3,))


def test_without_a_stated_length_the_positions_are_the_limit(folder: Path) -> None:
    assert checkpoints.load(folder).config.generation.max_tokens == 39


def _edit(folder: Path, side: str, key: str, value: object) -> None:
    settings = json.loads((folder / "config.json").read_text())
    settings[side][key] = value
    (folder / "config.json").write_text(json.dumps(settings))


@pytest.mark.parametrize(
    ("side", "key", "value", "message"),
    [
        ("encoder", "model_type", "beit", "encoder 'beit' is not known; known are donut-swin, swin, vit and deit"),
        ("decoder", "model_type", "gpt2", "decoder 'gpt2' is not known; known are mbart and trocr"),
        ("decoder", "activation_function", "silu", "activation 'silu' is not known"),
        ("encoder", "use_absolute_embeddings", True, "absolute positions is not supported"),
        ("decoder", "vocab_size", "many", '"many" is not a whole number'),
        ("decoder", "vocab_size", None, "null is not a whole number"),
        ("encoder", "depths", 3, "3 is not a list"),
    ],
)
def test_a_setting_that_is_not_supported_is_named(
    folder: Path, side: str, key: str, value: object, message: str
) -> None:
    _edit(folder, side, key, value)
    with pytest.raises(ModelError, match=message):
        checkpoints.load(folder)


def test_a_config_that_disagrees_with_the_weights_is_refused(folder: Path) -> None:
    _edit(folder, "decoder", "vocab_size", 61)
    with pytest.raises(ModelError, match=r"decoder\.tokens\.weight has shape 60 x 32, but the config asks for 61 x 32"):
        checkpoints.load(folder).weights()


def test_an_unknown_kind_of_model_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ModelError, match="model_type 'bert' is not known"):
        checkpoints.load(folder)
