"""From named tensors to the exact set of tensors a model needs: nothing missing, nothing left over, shapes right.

Of published names four spellings are known, and one pass of rules serves them all: transformers 4 (which the Hub
holds), transformers 5, the original Donut and Nougat releases (timm's Swin inside), and fairseq's TrOCR. Whatever the
rules leave unknown is caught afterwards, when names and shapes are compared with those of the modules (`state`). A
published tensor may be one part of ours: queries, keys and values lie in one tensor here. Its new name then says which
part, as in `attention.qkv.0.weight`, and `match` takes that apart again.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.checkpoints import layoutlmv2
from unrender.checkpoints.files import Array, Shape, Weights
from unrender.errors import MissingExtraError, ModelError
from unrender.models import ModelConfig
from unrender.models.config import SwinConfig, TextConfig, ViTConfig
from unrender.models.layoutlmv2 import LabelConfig

_SHOWN = 6  # names listed in an error
_PARTS = {"qkv": 3, "key_value": 2}
_POSITIONS = "decoder.positions.weight"
Shapes = dict[str, Shape]
_Rules = tuple[tuple[re.Pattern[str], str], ...]


@dataclass(frozen=True)
class TensorPlan:
    """How one tensor of ours is made: published tensors joined in order, then fitted to the shape."""

    parts: tuple[str, ...]
    axis: int
    shape: Shape


def plan(
    shapes: Mapping[str, Shape],
    config: ModelConfig,
    source: str,
    *,
    published: bool,
    wanted: Shapes | None = None,
    resize: bool = False,
    side: str = "",
) -> dict[str, TensorPlan]:
    """Say for each tensor of a model which of the tensors with these shapes it is made from.

    `wanted` are the tensors of the model, if they are known already. With `published`, names and parts are turned into
    ours. `resize` accepts position tables made for another size.
    `side` ("encoder" or "decoder") takes one half of the model only. A ModelError names all that does not fit.
    """
    matched = match(shapes, config) if published else {name: Part(name) for name in shapes}
    matched = {name: part for name, part in matched.items() if part.name.startswith(side)}
    wanted = {name: shape for name, shape in (wanted or state(config).all).items() if name.startswith(side)}
    groups: dict[str, dict[int | None, str]] = {}
    for name, part in matched.items():
        groups.setdefault(part.name, {})[part.part] = name
    missing = [name for name in wanted if name not in groups] + list(_missing_parts(groups, wanted))
    _refuse(missing, [name for name, part in matched.items() if part.name not in wanted], source)
    plans = {}
    for name, shape in wanted.items():
        parts = tuple(groups[name][index] for index in sorted(groups[name], key=lambda index: index or 0))
        planned = TensorPlan(parts, 1 if name.endswith("specials") else 0, shape)
        _check_shape(name, planned, shapes, source, resize)
        plans[name] = planned
    return plans


def assemble(plans: Mapping[str, TensorPlan], read: Callable[[str], Array]) -> Weights:
    """Read and join the tensors that `plan` has found."""
    weights: Weights = {}
    for name, planned in plans.items():
        tensors = [read(part) for part in planned.parts]
        joined = tensors[0] if len(tensors) == 1 else np.concatenate(tensors, axis=planned.axis)
        floats = joined.astype(np.float32, copy=False) if joined.dtype.kind == "f" else joined
        same = floats.size == math.prod(planned.shape)
        weights[name] = floats.reshape(planned.shape) if same else _resized(name, floats, planned.shape)
    return weights


def resize_bias_table(table: NDArray[np.float32], window: int) -> NDArray[np.float32]:
    """Interpolate a Swin bias table (n x n, heads) bicubically to another window, as Donut and Nougat were begun."""
    import torch

    side = round(len(table) ** 0.5)
    grid = torch.from_numpy(table).T.reshape(1, -1, side, side)
    wanted = 2 * window - 1
    resized = torch.nn.functional.interpolate(grid, size=(wanted, wanted), mode="bicubic", align_corners=False)
    return np.ascontiguousarray(resized[0].flatten(1).T.numpy())


def resize_positions(table: NDArray[np.float32], rows: int) -> NDArray[np.float32]:
    """Cut a decoder's position table to fewer rows, or interpolate it linearly to more."""
    import torch

    if rows <= len(table):
        return np.ascontiguousarray(table[:rows])
    line = torch.from_numpy(table).T[None]
    resized = torch.nn.functional.interpolate(line, size=rows, mode="linear", align_corners=False)
    return np.ascontiguousarray(resized[0].T.numpy())


def _resized(name: str, array: Array, shape: Shape) -> Array:
    table = np.asarray(array, dtype=np.float32)
    if name == _POSITIONS:
        return resize_positions(table, shape[0])
    return resize_bias_table(table, (round(shape[0] ** 0.5) + 1) // 2)


def _missing_parts(groups: Mapping[str, Mapping[int | None, str]], wanted: Mapping[str, Shape]) -> Iterator[str]:
    for name, parts in groups.items():
        if None in parts or name not in wanted:
            continue
        count = _PARTS.get(name.split(".")[-2]) or wanted[name][1]  # special tokens: one part each
        yield from (f"{name} (part {part + 1} of {count})" for part in range(count) if part not in parts)


def _refuse(missing: list[str], over: list[str], source: str) -> None:
    said = []
    if missing:
        said.append(f"missing are {_some(missing)}")
    if over:
        said.append(f"left over are {_some(over)}")
    if said:
        raise ModelError(f"{source}: the weights do not fit the config: {'; '.join(said)}")


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _check_shape(name: str, planned: TensorPlan, shapes: Mapping[str, Shape], source: str, resize: bool) -> None:
    found = list(shapes[planned.parts[0]])
    if len(planned.parts) > 1:
        found[planned.axis] = sum(shapes[part][planned.axis] for part in planned.parts)
    resizable = resize and (name == _POSITIONS or name.endswith(".bias_table")) and found[1:] == list(planned.shape[1:])
    while len(found) > len(planned.shape) and found[0] == 1:  # published biases of LayoutLMv2 have axes in front
        del found[0]
    if tuple(found) != planned.shape and not resizable:
        raise ModelError(f"{source}: {name} has shape {_shape(found)}, but the config asks for {_shape(planned.shape)}")


def _shape(shape: list[int] | Shape) -> str:
    return " x ".join(map(str, shape)) or "one number"


@dataclass(frozen=True)
class State:
    """The tensors of a model: what training changes, and the fixed numbers beside it."""

    parameters: Shapes
    buffers: Shapes

    @property
    def all(self) -> Shapes:
        return {**self.parameters, **self.buffers}

    @property
    def count(self) -> int:
        """How many numbers training can change."""
        return sum(math.prod(shape) for shape in self.parameters.values())


def state(config: ModelConfig) -> State:
    """List the tensors of a model."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the weights of {config.name} need torch: pip install 'unrender[train]'") from error
    from unrender.layers.seq2seq import VisionText
    from unrender.layers.spatial import LabelModel

    with torch.device("meta"):
        module = VisionText(config) if isinstance(config, TextConfig) else LabelModel(config)
    parameters = {name: tuple(tensor.shape) for name, tensor in module.named_parameters()}
    everything = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    return State(parameters, {name: shape for name, shape in everything.items() if name not in parameters})


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
