"""What the seeds claim about their networks, as tests."""

import math
from dataclasses import replace

import pytest
import torch
from systems import CNN, DECODER, SWIN, build, config
from torch import Tensor
from torch.nn import functional

from unrender.errors import ConfigError
from unrender.layers.attention import sinusoids
from unrender.layers.seq2seq import VisionText
from unrender.layers.swin import PatchMerging, SwinEncoder, from_windows, relative_index, shift_masks, to_windows
from unrender.models import PRESETS, preset
from unrender.models.config import SwinConfig


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_positions_are_sines_on_even_and_cosines_on_odd_dimensions() -> None:
    """Seed 002, eq. 1, value by value."""
    table = sinusoids(torch.arange(50), 12)
    for index in range(50):
        for x in range(6):
            angle = index / 10000 ** (2 * x / 12)
            assert table[index, 2 * x] == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[index, 2 * x + 1] == pytest.approx(math.cos(angle), abs=1e-5)


@torch.no_grad()
def test_without_positions_the_order_of_features_does_not_matter() -> None:
    """Seed 002: the decoder is permutation-invariant."""
    decoder = build(config()).decoder
    tokens, features = torch.tensor([[1, 5, 3, 7]]), _random(1, 20, 16)
    shuffled = features[:, torch.randperm(20, generator=torch.Generator().manual_seed(1))]
    assert torch.allclose(decoder(tokens, features), decoder(tokens, shuffled), atol=1e-5)


@torch.no_grad()
def test_with_positions_the_order_of_features_matters() -> None:
    """Seed 002: the fused feature F = E + I is location-sensitive."""
    decoder = build(config()).decoder
    tokens, features, positions = torch.tensor([[1, 5, 3, 7]]), _random(1, 20, 16), sinusoids(torch.arange(20), 16)
    shuffled = features[:, torch.randperm(20, generator=torch.Generator().manual_seed(1))]
    change = decoder(tokens, features + positions) - decoder(tokens, shuffled + positions)
    assert change.abs().max() > 0.01


@torch.no_grad()
@pytest.mark.parametrize("changed", range(1, 6))
def test_a_later_token_never_changes_earlier_scores(changed: int) -> None:
    """Seed 002: a character knows nothing of those after it."""
    decoder = build(config()).decoder
    tokens, memory = torch.tensor([[1, 5, 3, 7, 2, 9]]), _random(1, 20, 16)
    other = tokens.clone()
    other[0, changed] = 8
    before, after = decoder(tokens, memory), decoder(other, memory)
    assert torch.equal(before[:, :changed], after[:, :changed])
    assert (before[:, changed:] - after[:, changed:]).abs().amax(dim=(0, 2)).min() > 1e-4


def test_the_recognizer_is_four_post_norm_layers_of_four_heads_without_output_projection() -> None:
    """Seed 002, eq. 4 and the text around it."""
    recognizer = preset("recognizer")
    assert (recognizer.decoder.layers, recognizer.decoder.heads) == (4, 4)
    with torch.device("meta"):
        plain = VisionText(recognizer)
        projected = VisionText(replace(recognizer, decoder=replace(recognizer.decoder, output_projection=True)))
    assert not any("attention.output" in name for name, _ in plain.named_parameters())
    more = sum(p.numel() for p in projected.parameters()) - sum(p.numel() for p in plain.parameters())
    assert more == 4 * 2 * (512 * 512 + 512)


@torch.no_grad()
def test_one_attention_head_is_softmax_of_scaled_products() -> None:
    """Seed 002, eq. 2, 3 and 4, written out for each head."""
    attention = build(config(decoder=replace(DECODER, output_projection=False))).decoder.layers[0].self_attention
    inputs = _random(1, 5, 16)
    query, keys, values = (inputs @ weight.T + bias for weight, bias in
                           zip(attention.qkv.weight.chunk(3), attention.qkv.bias.chunk(3), strict=True))  # fmt: skip
    heads = []
    for head in (slice(0, 8), slice(8, 16)):
        similarity = query[..., head] @ keys[..., head].transpose(1, 2) / math.sqrt(8)
        heads.append(similarity.softmax(-1) @ values[..., head])
    assert torch.allclose(attention(inputs), torch.cat(heads, dim=-1), atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize(("rows", "columns"), [(8, 12), (9, 14), (6, 5)])
def test_shifted_windows_equal_attention_by_brute_force(rows: int, columns: int) -> None:
    """The shift mask lets a patch see exactly the patches of its shifted window that lie beside it on the map."""
    window, shift = 4, 2
    encoder = build(config(SWIN)).encoder
    assert isinstance(encoder, SwinEncoder)
    block = encoder.stages[0].blocks[1]
    assert block.config.shift == shift
    features = _random(1, rows, columns, 4)
    found = block._attend(features)

    high, wide = rows + -rows % window, columns + -columns % window  # zeros fill the last windows
    padded = functional.pad(features, (0, 0, 0, wide - columns, 0, high - rows))
    query, keys, values = block.attention.project(padded.flatten(1, 2))
    place = torch.cartesian_prod(torch.arange(high), torch.arange(wide))
    cell = (place + window - shift) // window  # windows whose borders are moved by the shift, no wrapping
    together = (cell[:, None] == cell[None]).all(-1)
    offset = (place[:, None] - place[None]).clamp(1 - window, window - 1) + window - 1
    bias = block.bias_table[offset[..., 0] * (2 * window - 1) + offset[..., 1]].permute(2, 0, 1)
    similarity = query @ keys.transpose(-1, -2) / math.sqrt(query.shape[-1]) + bias
    mixed = similarity.masked_fill(~together, -math.inf).softmax(-1) @ values
    expected = block.attention.output(mixed.transpose(1, 2).flatten(2)).view(1, high, wide, 4)[:, :rows, :columns]
    assert torch.allclose(found, expected, atol=1e-5)


def test_shift_masks_hide_only_in_the_last_row_and_column_of_windows() -> None:
    masks = shift_masks(window=4, shift=2)
    assert masks.shape == (2, 2, 16, 16)
    assert not masks[0, 0].any()
    hidden = (masks != 0).float().mean(dim=(2, 3))
    assert hidden.tolist() == [[0.0, 0.5], [0.5, 0.75]]


def test_windows_come_apart_and_together_again() -> None:
    features = _random(2, 8, 12, 3)
    windows = to_windows(features, 4)
    assert windows.shape == (2, 2, 3, 16, 3)
    assert torch.equal(windows[0, 1, 2].view(4, 4, 3), features[0, 4:8, 8:12])
    assert torch.equal(from_windows(windows, 4), features)


def test_relative_positions_index_every_row_of_the_table() -> None:
    index = relative_index(3, 3)
    assert index[0, 0] == index[8, 8] == 12  # no offset: the middle of the table
    assert index.unique().tolist() == list(range(25))
    assert relative_index(2, 3).unique().tolist() == [6, 7, 8, 11, 12, 13, 16, 17, 18]  # its middle


@pytest.mark.parametrize("name", ["donut-base", "nougat-base", "swimnet"])
def test_merging_happens_once_a_stage_and_not_after_the_last(name: str) -> None:
    """Seed 000 draws it inside the layer loop, where the map would vanish after a few layers."""
    settings = preset(name).encoder
    assert isinstance(settings, SwinConfig)
    with torch.device("meta"):
        encoder = SwinEncoder(settings)
    merging = [isinstance(stage.merge, PatchMerging) for stage in encoder.stages]
    assert merging == [True, True, True, False]
    assert sum(isinstance(module, PatchMerging) for module in encoder.modules()) == 3
    assert [len(stage.blocks) for stage in encoder.stages] == list(settings.depths)


@torch.no_grad()
def test_merging_joins_neighbours_column_by_column() -> None:
    merge = PatchMerging(2)
    merge.norm = torch.nn.Identity()
    merge.reduction = torch.nn.Identity()
    features = torch.arange(9.0).view(1, 3, 3, 1).expand(1, 3, 3, 2)
    merged = merge(features)
    assert merged.shape == (1, 2, 2, 8)
    assert merged[0, 0, 0, ::2].tolist() == [0, 3, 1, 4]
    assert merged[0, 1, 1, ::2].tolist() == [8, 0, 0, 0]  # an odd border is filled with zeros


@pytest.mark.parametrize(("name", "multiple"), [("donut-base", 320), ("nougat-base", 224), ("nougat-small", 224)])
def test_image_sides_are_multiples_of_patch_window_and_merges(name: str, multiple: int) -> None:
    settings = preset(name)
    assert isinstance(settings.encoder, SwinConfig)
    assert settings.encoder.size_multiple == multiple
    assert settings.image.height % multiple == settings.image.width % multiple == 0


def test_a_size_that_breaks_the_law_is_explained() -> None:
    nougat = preset("nougat-base")
    with pytest.raises(ConfigError) as caught:
        replace(nougat, image=replace(nougat.image, height=900))
    assert str(caught.value) == (
        "nougat-base: image height 900 does not fit the Swin encoder; it must be a multiple of 224 "
        "(patch x window x 2^merges). Use 896 or 1120."
    )
    with pytest.raises(ConfigError, match=r"image width 100 .* multiple of 320 .* Use 320 or 640"):
        preset("donut-base").encoder.check_size(640, 100)  # type: ignore[union-attr]


@torch.no_grad()
def test_pixels_that_break_the_law_are_refused_too() -> None:
    encoder = SwinEncoder(replace(SWIN, strict_size=True))
    assert encoder(_random(1, 3, 64, 32))[0].shape == (1, 32, 8)
    with pytest.raises(ConfigError, match=r"image height 60 .* Use 32 or 64"):
        encoder(_random(1, 3, 60, 32))


def test_nougat_pages_lie_between_letter_and_a4() -> None:
    image = preset("nougat-base").image
    assert 22 / 17 < image.height / image.width == 4 / 3 < math.sqrt(2)
    assert image.dpi == 96


def test_memories_have_the_lengths_the_papers_imply() -> None:
    lengths = {}
    for name in ("donut-base", "nougat-base", "swimnet", "trocr-base", "trocr-small"):
        settings = preset(name)
        with torch.device("meta"):
            pixels = torch.empty(1, 3, settings.image.height, settings.image.width)
            lengths[name] = VisionText(settings).encoder.eval()(pixels)[0].shape[1]
    assert lengths == {"donut-base": 4800, "nougat-base": 588, "swimnet": 49, "trocr-base": 577, "trocr-small": 578}


@pytest.mark.parametrize(
    "name", [name for name, system in PRESETS.items() if system.published and system.kind == "text"]
)
def test_learned_positions_begin_two_rows_into_the_table(name: str) -> None:
    decoder = preset(name).decoder
    assert (decoder.positions, decoder.position_offset) == ("learned", 2)


def test_the_first_two_rows_of_a_position_table_are_never_read() -> None:
    decoder = build(config()).decoder
    decoder(torch.tensor([[1, 5, 3]]), _random(1, 4, 16)).sum().backward()
    used = decoder.positions.weight.grad.abs().sum(1) > 0
    assert used.tolist() == [False, False, True, True, True] + [False] * 9
    assert len(decoder.positions.weight) == DECODER.max_positions + 2


def test_the_cnn_adds_flat_positions_to_its_features() -> None:
    """Seed 002: F = E + I over the flattened sequence."""
    flat = replace(CNN, layers=0, position_2d=False)
    encoder = build(config(flat)).encoder
    pixels = _random(1, 1, 16, 24)
    with torch.no_grad():
        features, _ = encoder.features(pixels)
        projected = encoder.projection(features.flatten(2).transpose(1, 2))
        assert torch.allclose(
            encoder(pixels)[0], projected + sinusoids(torch.arange(projected.shape[1]), 16), atol=1e-5
        )
