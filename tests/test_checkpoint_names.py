"""Published names: every tensor finds its place, under each spelling it has ever been published with."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import spellings
from numpy.typing import NDArray
from spellings import Shapes

from unrender import checkpoints
from unrender.checkpoints import fitting
from unrender.checkpoints.fitting import plan, state
from unrender.errors import ModelError
from unrender.models import PRESETS, preset
from unrender.models.config import SwinConfig, TextConfig, ViTConfig

_KEYS = Path(__file__).parent.parent.parent / "shared" / "reference" / "keys"
_BART, _FAIRSEQ, _RELEASE = "decoder.model.decoder.", "decoder.", "decoder.model.model.decoder."


def _swin(config: TextConfig) -> SwinConfig:
    assert isinstance(config.encoder, SwinConfig)
    return config.encoder


def _vit(config: TextConfig) -> ViTConfig:
    assert isinstance(config.encoder, ViTConfig)
    return config.encoder


def _hub(name: str) -> Shapes:
    """Return the names of a system's published file as the Hub holds it (transformers 4)."""
    config = preset(name)
    if isinstance(config.encoder, ViTConfig):
        head = "decoder.output_projection.weight"
        return spellings.vit(config.encoder) | spellings.decoder(config.decoder, _BART, head)
    if name == "swimnet":
        return spellings.swin(_swin(config), "swin.") | {"classifier.weight": (1000, 768), "classifier.bias": (1000,)}
    head = "decoder.lm_head.weight"
    return spellings.swin(_swin(config), "encoder.") | spellings.decoder(config.decoder, _BART, head)


def _spelled(name: str, spelling: str) -> Shapes:
    config = preset(name)
    if spelling == "transformers 5":
        if isinstance(config.encoder, ViTConfig):
            encoder = spellings.vit(config.encoder, version=5)
        else:
            encoder = spellings.swin(_swin(config), "encoder.", version=5, index=False)
        return encoder | spellings.decoder(config.decoder, _BART)
    if spelling == "fairseq":
        beside: Shapes = {
            "decoder.version": (1,),
            "decoder.output_projection.weight": (config.decoder.vocabulary, 1024),
        }
        return spellings.vit_of_fairseq(_vit(config)) | spellings.decoder(config.decoder, _FAIRSEQ) | beside
    late = spelling == "release, timm since 0.9"
    encoder = spellings.swin_of_timm(_swin(config), "encoder.model.", late=late)
    encoder |= {"encoder.model.norm.weight": (1024,), "encoder.model.norm.bias": (1024,)}
    return encoder | spellings.decoder(config.decoder, _RELEASE, "decoder.model.lm_head.weight")


_PUBLISHED = {
    "donut-base": "naver-clova-ix__donut-base",
    "nougat-base": "facebook__nougat-base",
    "nougat-small": "facebook__nougat-small",
    "trocr-base": "microsoft__trocr-base-handwritten",
    "trocr-small": "microsoft__trocr-small-handwritten",
    "swimnet": "microsoft__swin-small-patch4-window7-224",
}


@pytest.mark.parametrize("name", _PUBLISHED)
def test_the_names_on_the_hub_are_the_listed_ones(name: str) -> None:
    listed = _KEYS / f"{_PUBLISHED[name]}.tsv"
    if not listed.exists():
        pytest.skip("the reference lists are not part of this repository")
    rows = [line.split("\t") for line in listed.read_text().splitlines()]
    assert _hub(name) == {row[0]: tuple(map(int, row[1].split("x"))) for row in rows}


@pytest.mark.parametrize("name", _PUBLISHED)
def test_every_tensor_on_the_hub_is_consumed(name: str) -> None:
    recipes = plan(_hub(name), preset(name), name, published=True, side="encoder" if name == "swimnet" else "")
    used = [part for recipe in recipes.values() for part in recipe.parts]
    assert len(used) == len(set(used))
    idle = {part for part in _hub(name) if part not in used}
    assert all(part.endswith(("relative_position_index", "lm_head.weight", "output_projection.weight")) or
               part.startswith("classifier.") for part in idle)  # fmt: skip
    assert ("decoder.lm_head.weight" in idle) == (name == "donut-base")  # tied there, untied in Nougat


def test_swimnet_is_the_swin_encoder_and_the_trocr_decoder() -> None:
    config = preset("swimnet")
    encoder = plan(_hub("swimnet"), config, "swin", published=True, side="encoder")
    decoder = plan(_hub("trocr-base"), config, "trocr", published=True, side="decoder")
    assert {*encoder, *decoder} == set(state(config).all)


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("trocr-base", "transformers 5"),
        ("swimnet", "transformers 5"),
        ("trocr-base", "fairseq"),
        ("donut-base", "release, timm before 0.9"),
        ("donut-base", "release, timm since 0.9"),
        ("nougat-base", "release, timm before 0.9"),
        ("nougat-small", "release, timm since 0.9"),
    ],
)
def test_other_spellings_find_the_same_places(name: str, spelling: str) -> None:
    recipes = plan(_spelled(name, spelling), preset(name), name, published=True)
    assert {key: recipe.shape for key, recipe in recipes.items()} == state(preset(name)).all


def test_merging_goes_to_the_same_stage_in_old_and_new_timm() -> None:
    config = preset("donut-base")
    merging = "encoder.stages.0.merge.reduction.weight"
    old = plan(_spelled("donut-base", "release, timm before 0.9"), config, "old", published=True)[merging]
    new = plan(_spelled("donut-base", "release, timm since 0.9"), config, "new", published=True)[merging]
    assert old.parts == ("encoder.model.layers.0.downsample.reduction.weight",)
    assert new.parts == ("encoder.model.layers.1.downsample.reduction.weight",)


def test_a_missing_tensor_is_named() -> None:
    shapes = _hub("trocr-small")
    del shapes["decoder.model.decoder.layers.3.fc1.bias"]
    with pytest.raises(ModelError, match=r"missing are decoder\.layers\.3\.feed_forward\.expand\.bias$"):
        plan(shapes, preset("trocr-small"), "small", published=True)


def test_a_missing_part_is_named() -> None:
    shapes = _hub("trocr-small")
    del shapes["decoder.model.decoder.layers.0.self_attn.k_proj.weight"]
    with pytest.raises(ModelError, match=r"self_attention\.qkv\.weight \(part 2 of 3\)"):
        plan(shapes, preset("trocr-small"), "small", published=True)


def test_a_left_over_tensor_is_named() -> None:
    shapes = _hub("nougat-small") | {"enc_to_dec_proj.weight": (8, 8)}
    with pytest.raises(ModelError, match=r"left over are enc_to_dec_proj\.weight"):
        plan(shapes, preset("nougat-small"), "small", published=True)


def test_a_wrong_shape_is_named_with_both_shapes() -> None:
    shapes = _hub("nougat-small") | {"decoder.lm_head.weight": (49999, 1024)}
    with pytest.raises(
        ModelError, match=r"scores\.weight has shape 49999 x 1024, but the config asks for 50000 x 1024"
    ):
        plan(shapes, preset("nougat-small"), "small", published=True)


def test_queries_keys_and_values_are_joined_in_this_order() -> None:
    config = _tiny()
    shapes = _tiny_spelling(config)
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    ours = checkpoints.convert(config, weights)
    name = "encoder.encoder.layers.0.blocks.0.attention.self"
    joined = np.concatenate([weights[f"{name}.{part}.weight"] for part in ("query", "key", "value")])
    assert np.array_equal(ours["encoder.stages.0.blocks.0.attention.qkv.weight"], joined)
    cross = "decoder.model.decoder.layers.0.encoder_attn"
    joined = np.concatenate([weights[f"{cross}.{part}_proj.bias"] for part in "kv"])
    assert np.array_equal(ours["decoder.layers.0.cross_attention.key_value.bias"], joined)


def test_tables_of_another_size_are_interpolated_only_when_asked_for() -> None:
    config = _tiny()
    weights = {name: np.ones(shape, np.float32) for name, shape in _tiny_spelling(config).items()}
    wider = replace(
        config,
        encoder=replace(_swin(config), window=5),
        decoder=replace(config.decoder, max_positions=20),
    )
    with pytest.raises(ModelError, match="has shape"):
        checkpoints.convert(wider, weights)
    ours = checkpoints.convert(wider, weights, resize=True)
    assert ours["encoder.stages.0.blocks.0.bias_table"].shape == (81, 2)
    assert ours["decoder.positions.weight"].shape == (22, 8)
    assert np.allclose(ours["decoder.positions.weight"], 1)


def test_bias_tables_are_resized_bicubically_over_both_axes() -> None:
    table = np.random.default_rng(3).normal(size=(25, 2)).astype(np.float32)
    along = _cubic(5, 9)
    expected = np.einsum("ia,jb,abh->ijh", along, along, table.reshape(5, 5, 2)).reshape(81, 2)
    assert np.allclose(fitting.resize_bias_table(table, window=5), expected, atol=1e-5)
    assert np.allclose(fitting.resize_bias_table(table, window=3), table, atol=1e-6)


def _cubic(old: int, new: int) -> NDArray[np.float64]:
    """Return the (new, old) weights of cubic convolution with a = -0.75, pixel centres aligned, borders repeated."""
    weights = np.zeros((new, old))
    for row in range(new):
        centre = (row + 0.5) * old / new - 0.5
        first = int(np.floor(centre)) - 1
        for tap in range(first, first + 4):
            x = abs(centre - tap)
            near, far = 1.25 * x**3 - 2.25 * x**2 + 1, -0.75 * (x**3 - 5 * x**2 + 8 * x - 4)
            weights[row, min(max(tap, 0), old - 1)] += near if x <= 1 else far
    return weights


def test_positions_are_cut_to_fewer_and_interpolated_to_more() -> None:
    table = np.arange(8, dtype=np.float32)[:, None]
    assert fitting.resize_positions(table, 3).ravel().tolist() == [0, 1, 2]
    assert np.allclose(fitting.resize_positions(table, 16)[1:5].ravel(), [0.25, 0.75, 1.25, 1.75])


def test_all_systems_but_the_recognizer_name_their_published_weights() -> None:
    assert {name for name, config in PRESETS.items() if not config.published} == {"recognizer", "layoutlmv2-mini"}


def _tiny() -> TextConfig:
    config = preset("donut-base")
    encoder = SwinConfig(width=4, depths=(1, 1), heads=(2, 2), window=3)
    decoder = replace(
        config.decoder, vocabulary=7, hidden=8, layers=1, heads=2, feed_forward=16, max_positions=10, memory_width=8
    )
    return replace(config, encoder=encoder, decoder=decoder)


def _tiny_spelling(config: TextConfig) -> Shapes:
    return spellings.swin(_swin(config), "encoder.") | spellings.decoder(config.decoder, _BART)
