"""The settings of published model folders, turned into a config of ours.

Known are the folders of transformers (model_type vision-encoder-decoder or layoutlmv2) and the original releases of
Donut and Nougat (model_type donut or nougat), with preprocessor_config.json and generation_config.json where present.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from unrender.checkpoints import layoutlmv2
from unrender.checkpoints.files import (
    Shape,
    Values,
    as_integer,
    as_integers,
    as_number,
    as_numbers,
    as_object,
    as_pair,
    read_json,
)
from unrender.errors import ConfigError, ModelError
from unrender.models import ModelConfig
from unrender.models.config import (
    DecoderConfig,
    EncoderConfig,
    Generation,
    ImagePrep,
    Resample,
    SwinConfig,
    TextConfig,
    ViTConfig,
)
from unrender.models.donut import DONUT_BASE
from unrender.models.nougat import NOUGAT_BASE
from unrender.models.swimnet import SWIMNET
from unrender.models.trocr import TROCR_BASE

_RESAMPLE: dict[object, Resample] = {1: "lanczos", 2: "bilinear", 3: "bicubic"}  # Pillow's numbers


def describe(folder: Path, values: Values, shapes: Mapping[str, Shape]) -> ModelConfig:
    """Describe a published folder by its config.json and, where that leaves things open, the shapes of its tensors."""
    kind = values.get("model_type")
    try:
        if kind == "vision-encoder-decoder":
            return _from_transformers(folder, values, shapes)
        if kind in ("donut", "nougat"):
            return read_release(folder, values, shapes)
        if kind == "layoutlmv2":
            return layoutlmv2.describe(values, folder.name, shapes)
    except ConfigError as error:
        raise ModelError(f"{folder / 'config.json'}: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelError(f"{folder / 'config.json'} lacks or misstates a setting: {error}") from error
    raise ModelError(
        f"{folder / 'config.json'}: model_type {kind!r} is not known; "
        "known are vision-encoder-decoder, donut, nougat and layoutlmv2, and folders that unrender has saved"
    )


def _from_transformers(folder: Path, values: Values, shapes: Mapping[str, Shape]) -> TextConfig:
    encoder_values, decoder_values = as_object(values["encoder"]), as_object(values["decoder"])
    pooler = any(name.startswith("encoder.pooler.") for name in shapes)
    encoder = _encoder(encoder_values, pooler)
    decoder = _decoder(decoder_values, encoder.out_width)
    preparation = _preparation(folder)
    like = _nearest(encoder_values, decoder, preparation)
    defaults = _default_image(encoder_values, like)
    generation = _generation(folder, values, decoder_values, decoder, like)
    return replace(
        like,
        name=folder.name,
        image=_image(preparation, defaults),
        encoder=encoder,
        decoder=decoder,
        generation=generation,
        published="",
        notes=(),
        parameters=0,
    )


def _encoder(values: Values, pooler: bool) -> EncoderConfig:
    kind = values["model_type"]
    if values.get("hidden_act", "gelu") != "gelu" or values.get("use_absolute_embeddings"):
        raise ModelError(f"a {kind} encoder with another activation than gelu or absolute positions is not supported")
    height, width = as_pair(values["image_size"])
    match kind:
        case "donut-swin" | "swin":
            return SwinConfig(
                channels=as_integer(values.get("num_channels", 3)),
                patch=as_integer(values["patch_size"]),
                width=as_integer(values["embed_dim"]),
                depths=as_integers(values["depths"]),
                heads=as_integers(values["num_heads"]),
                window=as_integer(values["window_size"]),
                mlp_ratio=as_number(values.get("mlp_ratio", 4.0)),
                qkv_bias=bool(values.get("qkv_bias", True)),
                final_norm=kind == "swin",
                norm_epsilon=as_number(values.get("layer_norm_eps", 1e-5)),
                drop_path=as_number(values.get("drop_path_rate", 0.1)),
            )
        case "vit" | "deit":
            return ViTConfig(
                channels=as_integer(values.get("num_channels", 3)),
                height=height,
                width=width,
                patch=as_integer(values["patch_size"]),
                hidden=as_integer(values["hidden_size"]),
                layers=as_integer(values["num_hidden_layers"]),
                heads=as_integer(values["num_attention_heads"]),
                feed_forward=as_integer(values["intermediate_size"]),
                qkv_bias=bool(values.get("qkv_bias", True)),
                distilled=kind == "deit",
                pooler=pooler,
                norm_epsilon=as_number(values.get("layer_norm_eps", 1e-12)),
            )
    raise ModelError(f"encoder {kind!r} is not known; known are donut-swin, swin, vit and deit")


def _decoder(values: Values, memory_width: int) -> DecoderConfig:
    kind = values["model_type"]
    if kind not in ("mbart", "trocr"):
        raise ModelError(f"decoder {kind!r} is not known; known are mbart and trocr")
    if not values.get("use_learned_position_embeddings", True):
        raise ModelError("a TrOCR decoder without learned positions is not supported; use the base or small models")
    activation = values.get("activation_function", "gelu")
    if activation not in ("gelu", "relu"):
        raise ModelError(f"decoder activation {activation!r} is not known; known are gelu and relu")
    before = kind == "mbart"
    return DecoderConfig(
        vocabulary=as_integer(values["vocab_size"]),
        hidden=as_integer(values["d_model"]),
        layers=as_integer(values["decoder_layers"]),
        heads=as_integer(values["decoder_attention_heads"]),
        feed_forward=as_integer(values["decoder_ffn_dim"]),
        max_positions=as_integer(values["max_position_embeddings"]),
        activation=activation,
        pre_norm=before,
        final_norm=before,
        embedding_norm=before or bool(values.get("layernorm_embedding", True)),
        scale_embedding=bool(values.get("scale_embedding", False)),
        tied=bool(values.get("tie_word_embeddings", True)),
        memory_width=memory_width,
        dropout=as_number(values.get("dropout", 0.1)),
    )


def _nearest(encoder: Values, decoder: DecoderConfig, preparation: Values) -> TextConfig:
    """Choose the system of the seeds that a folder belongs to, for task, seed and licence."""
    if encoder["model_type"] == "swin":
        return SWIMNET
    if encoder["model_type"] != "donut-swin":
        return TROCR_BASE
    nougat = "Nougat" in _processor_name(preparation) or not decoder.tied
    return NOUGAT_BASE if nougat else DONUT_BASE


def _default_image(encoder: Values, like: TextConfig) -> ImagePrep:
    height, width = as_pair(encoder["image_size"])
    return replace(like.image, height=height, width=width)


def _preparation(folder: Path) -> Values:
    for name in ("preprocessor_config.json", "processor_config.json"):
        if (folder / name).is_file():
            values = read_json(folder / name)
            inner = values.get("image_processor", values)
            return as_object(inner)
    return {}


def _processor_name(values: Values) -> str:
    return str(values.get("image_processor_type") or values.get("feature_extractor_type") or "")


def _image(values: Values, defaults: ImagePrep) -> ImagePrep:
    if not values:
        return defaults
    height, width = _size(values, defaults)
    crop = values.get("crop_size")
    if values.get("do_center_crop") and crop is not None and as_pair(crop) != (height, width):
        raise ModelError("an image processor that cuts out the centre is not supported; resize to the whole size")
    normalise = values.get("do_normalize", True)
    mean, std = values.get("image_mean"), values.get("image_std")
    return replace(
        defaults,
        height=height,
        width=width,
        mean=(as_numbers(mean) if mean else defaults.mean) if normalise else (0.0,) * defaults.channels,
        std=(as_numbers(std) if std else defaults.std) if normalise else (1.0,) * defaults.channels,
        resample=_RESAMPLE.get(values.get("resample"), defaults.resample),
        crop_margin=bool(values.get("do_crop_margin", defaults.crop_margin)),
        align_long_axis=bool(values.get("do_align_long_axis", defaults.align_long_axis)),
        thumbnail="resample" if _processor_name(values).startswith("Donut") else defaults.thumbnail,
    )


def _size(values: Values, defaults: ImagePrep) -> tuple[int, int]:
    size = values.get("size")
    if size is None:
        return defaults.height, defaults.width
    if isinstance(size, list) and _processor_name(values).startswith(("Donut", "Nougat")):
        return as_integer(size[1]), as_integer(size[0])  # the old feature extractors wrote width first
    return as_pair(size)


def _generation(
    folder: Path, values: Values, decoder_values: Values, decoder: DecoderConfig, like: TextConfig
) -> Generation:
    path = folder / "generation_config.json"
    said = read_json(path) if path.is_file() else {}

    def setting(name: str) -> object:
        found = said.get(name)
        return values.get(name) if found is None else found

    def token(*names: str) -> int:
        for name in names:
            found = setting(name)
            found = decoder_values.get(name) if found is None else found
            if found is not None:
                return as_integer(found[0] if isinstance(found, list) else found)
        raise KeyError(names[0])

    longest, new = setting("max_length"), setting("max_new_tokens")
    room = decoder.max_positions - 1
    limit = as_integer(new) if new is not None else as_integer(longest) - 1 if longest is not None else room
    words = setting("bad_words_ids")
    forbidden = [word[0] for word in words if len(word) == 1] if isinstance(words, list) else like.generation.forbidden
    penalty, beams = setting("length_penalty"), setting("num_beams")
    return Generation(
        start=(token("decoder_start_token_id", "bos_token_id"),),
        end=token("eos_token_id"),
        pad=token("pad_token_id"),
        max_tokens=max(1, min(limit, room)),
        beams=1 if beams is None else as_integer(beams),
        length_penalty=1.0 if penalty is None else as_number(penalty),
        early_stopping=setting("early_stopping") is True,
        forbidden=as_integers(forbidden),
        repetition_guard=like.generation.repetition_guard,
    )


def read_release(folder: Path, values: Values, shapes: Mapping[str, Shape]) -> TextConfig:
    """Describe an original Donut or Nougat release; its config names only what differed between trainings."""
    like = DONUT_BASE if values["model_type"] == "donut" else NOUGAT_BASE
    assert isinstance(like.encoder, SwinConfig)
    height, width = as_integers(values["input_size"])
    vocabulary, hidden = _shape(shapes, "embed_tokens.weight")
    rows = _shape(shapes, "embed_positions.weight")[0]
    longest = as_integer(values.get("max_length", rows - like.decoder.position_offset))
    return replace(
        like,
        name=folder.name,
        image=replace(
            like.image, height=height, width=width, align_long_axis=bool(values.get("align_long_axis", False))
        ),
        encoder=replace(
            like.encoder,
            patch=as_integer(values.get("patch_size", like.encoder.patch)),
            width=as_integer(values.get("embed_dim", like.encoder.width)),
            depths=as_integers(values["encoder_layer"]),
            heads=as_integers(values.get("num_heads", like.encoder.heads)),
            window=as_integer(values["window_size"]),
        ),
        decoder=replace(
            like.decoder,
            vocabulary=vocabulary,
            hidden=hidden,
            layers=as_integer(values["decoder_layer"]),
            feed_forward=_shape(shapes, "layers.0.fc1.weight")[0],
            max_positions=rows - like.decoder.position_offset,
            memory_width=hidden,
        ),
        generation=replace(like.generation, max_tokens=longest - 1),
        published="",
        notes=(),
        parameters=0,
    )


def _shape(shapes: Mapping[str, Shape], ending: str) -> Shape:
    for name, shape in shapes.items():
        if name.endswith(ending):
            return shape
    raise KeyError(ending)
