"""Models of transformers with random weights, small but built as the published ones, saved as their users save them."""

from pathlib import Path

import torch
import transformers as hf
from transformers import PreTrainedModel, VisionEncoderDecoderModel

_START, _END, _PAD = 0, 2, 1
_SEED = 5
IMAGES, STEPS = 6, 20


def donut(folder: Path, *, heads: int = 4) -> VisionEncoderDecoderModel:
    """Donut: two merges less, tied scores; a size that fits the windows, wider than high."""
    encoder = hf.DonutSwinConfig(
        image_size=[64, 96], patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4
    )
    return _save(
        folder, hf.DonutSwinModel(encoder, add_pooling_layer=False), _mbart(32, tied=True, heads=heads), start=_START
    )


def nougat(folder: Path) -> VisionEncoderDecoderModel:
    """Nougat: window 3, three stages, untied scores, sizes that need padding inside the blocks."""
    encoder = hf.DonutSwinConfig(
        image_size=[60, 44], patch_size=4, embed_dim=8, depths=[2, 2, 2], num_heads=[2, 2, 4], window_size=3
    )
    return _save(folder, hf.DonutSwinModel(encoder, add_pooling_layer=False), _mbart(32, tied=False), start=_START)


def trocr_base(folder: Path) -> VisionEncoderDecoderModel:
    """TrOCR-base: plain ViT without qkv biases, post-norm decoder wider than its memory."""
    encoder = hf.ViTConfig(
        image_size=32, patch_size=8, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        qkv_bias=False,
    )  # fmt: skip
    return _save(folder, hf.ViTModel(encoder, add_pooling_layer=False), _trocr(24), start=_END)


def trocr_small(folder: Path, *, full_size: bool = False) -> VisionEncoderDecoderModel:
    """TrOCR-small: distilled ViT with its idle pooler, ReLU, scaled embeddings, untied scores."""
    size = 384 if full_size else 24
    encoder = hf.DeiTConfig(
        image_size=384 if full_size else 32,
        patch_size=16 if full_size else 8,
        hidden_size=size,
        num_hidden_layers=12 if full_size else 2,
        num_attention_heads=6 if full_size else 4,
        intermediate_size=4 * size,
    )
    decoder = hf.TrOCRForCausalLM(
        hf.TrOCRConfig(
            vocab_size=64044 if full_size else 60,
            d_model=256 if full_size else 32,
            decoder_layers=6 if full_size else 2,
            decoder_attention_heads=8,
            decoder_ffn_dim=1024 if full_size else 64,
            activation_function="relu",
            scale_embedding=True,
            tie_word_embeddings=False,
            max_position_embeddings=512 if full_size else 40,
            cross_attention_hidden_size=size,
        )
    )
    return _save(folder, hf.DeiTModel(encoder), decoder, start=_END)


def swimnet(folder: Path) -> VisionEncoderDecoderModel:
    """SwimNet: Swin with its final norm before the TrOCR decoder."""
    encoder = hf.SwinConfig(image_size=56, patch_size=4, embed_dim=12, depths=[2, 2], num_heads=[2, 4], window_size=7)
    return _save(folder, hf.SwinModel(encoder, add_pooling_layer=False), _trocr(24), start=_END)


def _mbart(hidden: int, *, tied: bool, heads: int = 4) -> PreTrainedModel:
    return hf.MBartForCausalLM(
        hf.MBartConfig(
            vocab_size=60, d_model=hidden, decoder_layers=2, decoder_attention_heads=heads, decoder_ffn_dim=64,
            max_position_embeddings=40, is_decoder=True, add_cross_attention=True, scale_embedding=True,
            add_final_layer_norm=True, tie_word_embeddings=tied,
        )
    )  # fmt: skip


def _trocr(memory_width: int) -> PreTrainedModel:
    return hf.TrOCRForCausalLM(
        hf.TrOCRConfig(
            vocab_size=60, d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=64,
            max_position_embeddings=40, cross_attention_hidden_size=memory_width,
        )
    )  # fmt: skip


def _save(folder: Path, encoder: PreTrainedModel, decoder: PreTrainedModel, *, start: int) -> VisionEncoderDecoderModel:
    model = VisionEncoderDecoderModel(encoder=encoder, decoder=decoder).eval()
    _draw(model)
    for settings in (model.config, model.generation_config):
        settings.decoder_start_token_id, settings.eos_token_id, settings.pad_token_id = start, None, _PAD
    model.generation_config.forced_eos_token_id = None  # would dress up a cut text as a finished one
    model.config.eos_token_id = model.generation_config.eos_token_id = _choose_end(model)
    model.save_pretrained(folder)
    return model


def pixels(model: VisionEncoderDecoderModel, images: int) -> torch.Tensor:
    """Return the images that all comparisons use."""
    size = model.config.encoder.image_size
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return torch.randn(images, 3, height, width, generator=torch.Generator().manual_seed(1))


def _choose_end(model: VisionEncoderDecoderModel) -> int:
    """Return the token that ends most texts, not all, and none at once: a random model seldom says a given one."""
    rows = model.generate(pixels(model, IMAGES), max_length=STEPS + 1, do_sample=False)[:, 1:].tolist()
    said = {token: [row.index(token) for row in rows if token in row] for row in rows for token in row}
    usable = {token: len(ends) for token, ends in said.items() if token > 2 and len(ends) < IMAGES and min(ends) > 2}
    assert usable, "no token of these texts would end them in different places"
    return max(usable, key=lambda token: (usable[token], token))


def _draw(model: PreTrainedModel) -> None:
    """Give every weight, biases and norms too, a value such that texts vary: the decoder looks sharply at the image."""
    generator = torch.Generator().manual_seed(_SEED)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            decodes, looks = name.startswith("decoder."), "q_proj" in name or "k_proj" in name
            if "position" in name:
                parameter.copy_(noise if decodes else 0.5 * noise)
            elif parameter.dim() < 2:
                parameter.copy_(0.1 * noise + (1.0 if "norm" in name and name.endswith("weight") else 0.0))
            else:
                gain = 1.0 if not decodes else 0.7 if not looks else 4.0 if "encoder_attn" in name else 2.0
                parameter.copy_(gain * noise / parameter[0].numel() ** 0.5)
