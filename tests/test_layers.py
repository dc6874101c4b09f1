"""The layers: batches equal single images, caches equal whole sequences, wrong input is refused."""

from dataclasses import replace

import pytest
import torch
from systems import CNN, DECODER, SWIN, VIT, build, config
from torch import Tensor

from unrender.errors import ConfigError
from unrender.layers.attention import AttentionConfig, CrossAttention, sinusoids, sinusoids_2d
from unrender.layers.seq2seq import VisionText
from unrender.layers.swin import SwinEncoder, ViTEncoder

_SIZES = [(32, 48), (17, 48), (32, 21), (9, 30)]
_TOKENS = [[1, 5, 3, 7, 2, 9, 10, 4], [1, 8, 8, 2, 3, 3, 6, 0], [1, 0, 4, 4, 9, 2, 5, 10], [1, 10, 6, 5, 4, 3, 2, 1]]


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
@pytest.mark.parametrize("position_2d", [True, False])
def test_a_padded_batch_gives_each_image_the_memory_it_has_alone(position_2d: bool) -> None:
    module = build(config(replace(CNN, position_2d=position_2d)))
    pixels, sizes = _random(4, 1, 32, 48), torch.tensor(_SIZES)
    memory, mask = module.encode(pixels, sizes)
    assert mask is not None
    for row, (height, width) in enumerate(_SIZES):
        alone, none = module.encode(pixels[row : row + 1, :, :height, :width])
        assert none is None
        assert torch.allclose(memory[row][mask[row]], alone[0], atol=1e-5)


@pytest.mark.parametrize("masked", ["no", "causal", "padding"])
def test_attention_in_half_precision_learns_what_it_learns_in_full(masked: str) -> None:
    attention = CrossAttention(AttentionConfig(hidden=64, heads=4, source_width=64))
    shown = torch.arange(40) < torch.tensor([40, 25, 7])[:, None]
    mask = {"no": None, "causal": torch.ones(40, 40, dtype=torch.bool).tril(), "padding": shown[:, None, None]}[masked]
    found = []
    for half in (False, True):
        inputs = _random(3, 40, 64, seed=1).requires_grad_()
        source = _random(3, 40, 64, seed=2).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            keys, values = attention.project_source(source)
            mixed = attention(inputs, keys, values, mask)
            watched, weights = attention.look(inputs, keys, values, mask)
        (mixed.float().square().sum() + watched.float().sum() + (weights.float() ** 2).sum()).backward()
        assert inputs.grad is not None
        assert source.grad is not None
        found.append((mixed, watched, weights, inputs.grad, source.grad))
    for full, halved in zip(*found, strict=True):
        assert torch.allclose(halved.detach().float(), full, rtol=0.05, atol=0.02 * float(full.detach().abs().max()))


@torch.no_grad()
def test_a_padded_batch_gives_each_image_the_scores_it_has_alone() -> None:
    module = build(config())
    pixels, tokens = _random(4, 1, 32, 48), torch.tensor(_TOKENS)
    scores = module(pixels, tokens, torch.tensor(_SIZES))
    for row, (height, width) in enumerate(_SIZES):
        alone = module(pixels[row : row + 1, :, :height, :width], tokens[row : row + 1])
        assert torch.allclose(scores[row], alone[0], atol=1e-5)


@torch.no_grad()
def test_what_lies_in_the_padding_does_not_matter() -> None:
    module = build(config())
    pixels, sizes = _random(2, 1, 32, 48), torch.tensor([[32, 48], [20, 31]])
    other = pixels.clone()
    other[1, :, 20:] = 7
    other[1, :, :, 31:] = -7
    tokens = torch.tensor(_TOKENS[:2])
    assert torch.equal(module(pixels, tokens, sizes), module(other, tokens, sizes))


def test_positions_over_rows_and_columns_are_half_of_each() -> None:
    table = sinusoids_2d(3, 5, 8)
    assert table.shape == (3, 5, 8)
    assert torch.equal(table[2, :, :4], sinusoids(torch.arange(3), 4)[2].expand(5, 4))
    assert torch.equal(table[:, 4, 4:], sinusoids(torch.arange(5), 4)[4].expand(3, 4))


_DECODERS = {
    "mBART": DECODER,
    "TrOCR": replace(DECODER, pre_norm=False, final_norm=False, scale_embedding=False),
    "seed 002": replace(
        DECODER, pre_norm=False, final_norm=False, embedding_norm=False, positions="sinusoidal", position_offset=0,
        activation="relu", tied=False, output_projection=False,
    ),
}  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("decoder", _DECODERS.values(), ids=_DECODERS)
def test_steps_give_the_scores_of_the_whole_sequence(decoder: object) -> None:
    module = build(config(decoder=decoder))  # type: ignore[arg-type]
    tokens = torch.tensor(_TOKENS)
    memory, mask = module.encode(_random(4, 1, 32, 48), torch.tensor(_SIZES))
    whole = module.decoder(tokens, memory, mask)
    state = module.decoder.start(memory, mask)
    for end in (3, 4, 5, 6, 8):  # a prompt of three, single tokens, two at once
        scores = module.decoder.step(tokens[:, state.length : end], state)
        assert torch.allclose(scores, whole[:, end - 1], atol=1e-5)


@torch.no_grad()
def test_a_cache_grows_beyond_its_first_room() -> None:
    module = build(config(decoder=replace(DECODER, max_positions=150)))
    tokens = torch.randint(11, (2, 140), generator=torch.Generator().manual_seed(1))
    memory, _ = module.encode(_random(2, 1, 32, 48))
    state = module.decoder.start(memory)
    scores = [module.decoder.step(tokens[:, step : step + 1], state) for step in range(140)]
    assert torch.allclose(torch.stack(scores, dim=1), module.decoder(tokens, memory), atol=1e-4)


@torch.no_grad()
def test_reordered_rows_go_on_as_copies() -> None:
    module = build(config())
    tokens = torch.tensor(_TOKENS)
    memory, mask = module.encode(_random(4, 1, 32, 48), torch.tensor(_SIZES))
    rows = torch.tensor([2, 0, 0, 3, 2])  # one row leaves, two are doubled
    again = torch.tensor([1, 3])
    state = module.decoder.start(memory, mask)
    module.decoder.step(tokens[:, :3], state)
    state.reorder(rows)
    after = module.decoder.step(tokens[rows, 3:4], state)
    state.reorder(again)
    last = module.decoder.step(tokens[rows][again, 4:5], state)
    whole = module.decoder(tokens, memory, mask)
    assert torch.allclose(after, whole[rows, 3], atol=1e-5)
    assert torch.allclose(last, whole[rows][again, 4], atol=1e-5)


@torch.no_grad()
def test_the_memory_is_copied_only_when_a_row_changes_its_image() -> None:
    module = build(config())
    state = module.decoder.start(module.encode(_random(2, 1, 32, 48))[0])
    module.decoder.step(torch.tensor(_TOKENS[:2])[:, :1], state)
    state.reorder(torch.tensor([0, 0, 1, 1]))
    doubled = state.memory[0][0]
    state.reorder(torch.tensor([1, 0, 3, 3]))
    assert state.memory[0][0] is doubled


@torch.no_grad()
def test_watching_shows_where_a_row_looks_and_changes_no_score() -> None:
    module = build(config())
    memory, mask = module.encode(_random(4, 1, 32, 48), torch.tensor(_SIZES))
    assert mask is not None
    tokens = torch.tensor(_TOKENS)[:, :3]
    quiet, watched = module.decoder.start(memory, mask), module.decoder.start(memory, mask)
    scores = module.decoder.step(tokens, quiet)
    assert torch.allclose(scores, module.decoder.step(tokens, watched, watch=2), atol=1e-6)
    assert quiet.watched is None
    assert watched.watched is not None
    assert watched.watched.shape == (4, 2, 2, 3, memory.shape[1])
    assert torch.allclose(watched.watched.sum(-1), torch.ones(4, 2, 2, 3))
    assert not watched.watched.mean(dim=(1, 2, 3))[~mask].any()


def test_drawing_weights_twice_gives_the_same_model() -> None:
    first, second = VisionText(config()), VisionText(config())
    for module in (first, second):
        module.init_weights(torch.Generator().manual_seed(3))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


@pytest.mark.parametrize("encoder", [CNN, SWIN, replace(VIT, pooler=True)], ids=["cnn", "swin", "vit"])
def test_every_weight_is_drawn(encoder: object) -> None:
    first, second = (VisionText(config(encoder)) for _ in range(2))  # type: ignore[arg-type]
    with torch.no_grad():
        for module, filling in ((first, 1.0), (second, -5.0)):
            for parameter in module.parameters():
                parameter.fill_(filling)
            module.init_weights(torch.Generator().manual_seed(3))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_token_embeddings_start_at_unit_scale() -> None:
    module = VisionText(config(decoder=replace(DECODER, vocabulary=4000)))
    module.init_weights(torch.Generator().manual_seed(0))
    scaled = module.decoder.tokens.weight.std() * DECODER.hidden**0.5  # as scale_embedding does
    assert scaled.item() == pytest.approx(1.0, abs=0.02)


def test_a_training_step_lowers_the_loss() -> None:
    module = VisionText(config())
    module.init_weights(torch.Generator().manual_seed(0))
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
    pixels, tokens, sizes = _random(4, 1, 32, 48), torch.tensor(_TOKENS), torch.tensor(_SIZES)
    losses = []
    for _ in range(30):
        scores = module(pixels, tokens[:, :-1], sizes)
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert all(parameter.grad is not None for parameter in module.parameters())


def test_paths_are_dropped_while_training_only() -> None:
    encoder = build(config(SWIN)).encoder
    pixels = _random(8, 3, 16, 16)
    with torch.no_grad():
        still = encoder(pixels)[0]
        assert torch.equal(still, encoder(pixels)[0])
        encoder.train()
        assert not torch.equal(still, encoder(pixels)[0])


def test_encoder_and_decoder_must_have_one_width() -> None:
    settings = config()
    with pytest.raises(ConfigError, match="the encoder gives vectors of width 16, the decoder expects 8"):
        VisionText(replace(settings, decoder=replace(settings.decoder, memory_width=8)))


def test_a_vision_transformer_reads_one_size_only() -> None:
    with pytest.raises(ConfigError, match="reads height 16, width 24 only"):
        ViTEncoder(VIT)(_random(1, 3, 16, 32))


@pytest.mark.parametrize("encoder", [SwinEncoder(SWIN), ViTEncoder(VIT)], ids=["swin", "vit"])
def test_an_encoder_of_one_canvas_takes_no_images_of_different_size(encoder: torch.nn.Module) -> None:
    pixels = _random(2, 3, 16, 24)
    assert encoder(pixels, torch.tensor([[16, 24], [16, 24]]))[1] is None
    with pytest.raises(ConfigError, match="reads images of one size"):
        encoder(pixels, torch.tensor([[16, 24], [16, 20]]))
