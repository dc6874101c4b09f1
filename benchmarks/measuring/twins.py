"""The transformers models of the published systems, with random weights, and those weights under our names."""

from typing import TYPE_CHECKING

from unrender.checkpoints import Weights, convert
from unrender.errors import ConfigError, MissingExtraError
from unrender.models.config import CnnConfig, SwinConfig, TextConfig, ViTConfig

if TYPE_CHECKING:
    from transformers import PreTrainedModel, VisionEncoderDecoderModel


def build_twin(config: TextConfig) -> "VisionEncoderDecoderModel":
    """Build the transformers model of a published system, with random weights."""
    try:
        from transformers import VisionEncoderDecoderModel
    except ModuleNotFoundError as error:
        raise MissingExtraError("comparing with transformers needs it: pip install transformers") from error
    model = VisionEncoderDecoderModel(encoder=_encoder(config), decoder=_decoder(config)).eval()
    for settings in (model.config, model.generation_config):
        settings.decoder_start_token_id = config.generation.start[0]
        settings.pad_token_id, settings.eos_token_id = config.generation.pad, config.generation.end
    return model


def take_weights(config: TextConfig, model: "VisionEncoderDecoderModel") -> Weights:
    """Return the weights of a twin under our names."""
    return convert(config, {name: tensor.numpy() for name, tensor in model.state_dict().items()})


def _encoder(config: TextConfig) -> "PreTrainedModel":
    import transformers as hf

    match config.encoder:
        case SwinConfig() as swin:
            settings: dict[str, object] = {
                "image_size": [config.image.height, config.image.width], "patch_size": swin.patch,
                "embed_dim": swin.width, "depths": list(swin.depths), "num_heads": list(swin.heads),
                "window_size": swin.window, "qkv_bias": swin.qkv_bias,
            }  # fmt: skip
            if swin.final_norm:
                return hf.SwinModel(hf.SwinConfig.from_dict(settings), add_pooling_layer=False)
            return hf.DonutSwinModel(hf.DonutSwinConfig.from_dict(settings), add_pooling_layer=False)
        case ViTConfig() as vit:
            settings = {
                "image_size": vit.height, "patch_size": vit.patch, "hidden_size": vit.hidden,
                "num_hidden_layers": vit.layers, "num_attention_heads": vit.heads, "qkv_bias": vit.qkv_bias,
                "intermediate_size": vit.feed_forward, "layer_norm_eps": vit.norm_epsilon,
            }  # fmt: skip
            if vit.distilled:
                return hf.DeiTModel(hf.DeiTConfig.from_dict(settings))
            return hf.ViTModel(hf.ViTConfig.from_dict(settings), add_pooling_layer=False)
        case CnnConfig():
            raise ConfigError(f"{config.name} has no counterpart in transformers")


def _decoder(config: TextConfig) -> "PreTrainedModel":
    import transformers as hf

    decoder = config.decoder
    settings: dict[str, object] = {
        "vocab_size": decoder.vocabulary, "d_model": decoder.hidden, "decoder_layers": decoder.layers,
        "decoder_attention_heads": decoder.heads, "decoder_ffn_dim": decoder.feed_forward,
        "max_position_embeddings": decoder.max_positions, "activation_function": decoder.activation,
        "scale_embedding": decoder.scale_embedding, "tie_word_embeddings": decoder.tied,
    }  # fmt: skip
    if not decoder.pre_norm:
        return hf.TrOCRForCausalLM(
            hf.TrOCRConfig.from_dict({**settings, "cross_attention_hidden_size": decoder.memory_width})
        )
    settings |= {"is_decoder": True, "add_cross_attention": True, "add_final_layer_norm": True}
    return hf.MBartForCausalLM(hf.MBartConfig.from_dict(settings))
