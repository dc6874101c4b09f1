"""The names of published weights, turned into ours.

Four spellings are known, and one pass of rules serves them all: transformers 4 (which the Hub holds), transformers 5,
the original Donut and Nougat releases (timm's Swin inside), and fairseq's TrOCR. Whatever the rules leave unknown is
caught afterwards, when names and shapes are compared with those of the modules (`fitting.state`).

A published tensor may be one part of ours: queries, keys and values lie in one tensor here. Its new name then says
which part, as in `attention.qkv.0.weight`, and `match` takes that apart again.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from unrender.checkpoints import layoutlmv2
from unrender.models import ModelConfig
from unrender.models.config import SwinConfig, TextConfig, ViTConfig
from unrender.models.layoutlmv2 import LabelConfig

_Rules = tuple[tuple[re.Pattern[str], str], ...]


def _compile(*rules: tuple[str, str]) -> _Rules:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in rules)


_ENCODER = _compile(
    (r"^(swin|vit|deit|encoder\.model|encoder\.deit|encoder)\.", ""),
    (r"^(embeddings\.patch_embeddings\.projection|patch_embed\.proj)\.", "patches."),
    (r"^(embeddings|patch_embed)\.norm\.", "patch_norm."),
    (r"^(embeddings\.)?cls_token$", "specials.0"),
    (r"^(embeddings\.distillation_token|dist_token)$", "specials.1"),
    (r"^(embeddings\.position_embeddings|pos_embed)$", "positions"),
    (r"^(encoder\.)?layers\.(\d+)\.(blocks|downsample)\.", r"stages.\2.\3."),
    (r"^(encoder\.layer|layers)\.(\d+)\.", r"blocks.\2."),
    (r"\.downsample\.", ".merge."),
    (r"\.(layernorm_before|norm1)\.", ".attention_norm."),
    (r"\.(layernorm_after|norm2)\.", ".feed_forward_norm."),
    (r"\.attention\.((self|attention)\.query|q_proj)\.", ".attention.qkv.0."),
    (r"\.attention\.((self|attention)\.key|k_proj)\.", ".attention.qkv.1."),
    (r"\.attention\.((self|attention)\.value|v_proj)\.", ".attention.qkv.2."),
    (r"\.attn\.qkv\.", ".attention.qkv."),
    (r"\.(attention\.output\.dense|attention\.o_proj|attn\.proj)\.", ".attention.output."),
    (r"\.(attention\.self|attention\.relative_position_bias|attn)\.relative_position_bias_table$", ".bias_table"),
    (r"\.(intermediate\.dense|mlp\.fc1)\.", ".feed_forward.expand."),
    (r"\.(output\.dense|mlp\.fc2)\.", ".feed_forward.contract."),
    (r"^layernorm\.", "norm."),
    (r"^pooler\.dense\.", "pooler."),
)

_DECODER = _compile(
    (r"^decoder\.(model\.model\.decoder|model\.decoder|model)\.", "decoder."),
    (r"^decoder\.", ""),
    (r"^embed_tokens\.", "tokens."),
    (r"^embed_positions\.", "positions."),
    (r"^layernorm_embedding\.", "embedding_norm."),
    (r"^layer_norm\.", "final_norm."),
    (r"^(lm_head|output_projection)\.", "scores."),
    (r"\.self_attn\.q_proj\.", ".self_attention.qkv.0."),
    (r"\.self_attn\.k_proj\.", ".self_attention.qkv.1."),
    (r"\.self_attn\.v_proj\.", ".self_attention.qkv.2."),
    (r"\.self_attn\.out_proj\.", ".self_attention.output."),
    (r"\.encoder_attn\.q_proj\.", ".cross_attention.query."),
    (r"\.encoder_attn\.k_proj\.", ".cross_attention.key_value.0."),
    (r"\.encoder_attn\.v_proj\.", ".cross_attention.key_value.1."),
    (r"\.encoder_attn\.out_proj\.", ".cross_attention.output."),
    (r"\.self_attn_layer_norm\.", ".self_norm."),
    (r"\.encoder_attn_layer_norm\.", ".cross_norm."),
    (r"\.final_layer_norm\.", ".feed_forward_norm."),
    (r"\.fc1\.", ".feed_forward.expand."),
    (r"\.fc2\.", ".feed_forward.contract."),
)

# What a published file holds beside the model: tables that follow from the sizes, heads of other tasks.
_BESIDE = re.compile(
    r"(\.relative_position_index|\.attn_mask|\.position_ids|embed_positions\._float_tensor)$"
    r"|^decoder\.version$|^(encoder\.(deit|model)\.)(head|head_dist)\.|^classifier\."
)
_PART = re.compile(r"^(.*\.(?:qkv|key_value|specials))\.(\d)(.*)$")


@dataclass(frozen=True)
class Part:
    """Where a published tensor goes: `part` of ours called `name`; None when it is the whole."""

    name: str
    part: int | None = None


def match(published: Iterable[str], config: ModelConfig) -> dict[str, Part]:
    """Return for each published name the tensor of ours that it belongs to; names that carry nothing are left out."""
    if isinstance(config, LabelConfig):
        return {name: Part(new) for name, new in layoutlmv2.match_names(published).items()}
    renamed = {name: _rename(name) for name in published if not _BESIDE.search(name)}
    renamed = {name: new for name, new in renamed.items() if not _unused(new, config)}
    if _merges_first(renamed.values()):
        renamed = {name: _one_stage_earlier(new) for name, new in renamed.items()}
    return {name: _part(new) for name, new in renamed.items()}


def _rename(name: str) -> str:
    side, rules = ("decoder", _DECODER) if name.startswith("decoder.") else ("encoder", _ENCODER)
    for pattern, replacement in rules:
        name = pattern.sub(replacement, name)
    return f"{side}.{name}"


def _unused(name: str, config: TextConfig) -> bool:
    """Say whether this model does without a tensor that its published file has."""
    if name.startswith("decoder.scores."):
        return config.decoder.tied
    if name.startswith("encoder.norm."):
        return isinstance(config.encoder, SwinConfig) and not config.encoder.final_norm
    return name.startswith("encoder.pooler.") and isinstance(config.encoder, ViTConfig) and not config.encoder.pooler


def _merges_first(names: Iterable[str]) -> bool:
    """Say whether merging is filed under the stage that follows it, as timm does since 0.9."""
    merging = {name.split(".")[2] for name in names if ".merge." in name}
    return bool(merging) and "0" not in merging


def _one_stage_earlier(name: str) -> str:
    return re.sub(r"^encoder\.stages\.(\d+)\.merge\.", lambda found: f"encoder.stages.{int(found[1]) - 1}.merge.", name)


def _part(name: str) -> Part:
    found = _PART.match(name)
    return Part(found[1] + found[3], int(found[2])) if found else Part(name)
