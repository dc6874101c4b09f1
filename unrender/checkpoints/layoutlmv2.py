"""Published LayoutLMv2 folders: the names of their tensors and their settings turned into ours; a start from BERT."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from unrender.checkpoints.files import Array, Shape, Values, Weights, as_integer, as_object
from unrender.models.layoutlmv2 import LAYOUTLMV2_BASE, HeadKind, LabelConfig, ResNeXtConfig

_HEADS: dict[str, HeadKind] = {
    "LayoutLMv2ForTokenClassification": "labels",
    "LayoutLMv2ForSequenceClassification": "class",
    "LayoutLMv2ForQuestionAnswering": "answer",
}

_PUBLISHED = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"^layoutlmv2\.", ""),
        (r"^embeddings\.(word|position)_embeddings\.", r"embedding.\1s."),
        (r"^embeddings\.token_type_embeddings\.", "embedding.segments."),
        (r"^embeddings\.([xy])_position_embeddings\.", r"embedding.\1."),
        (r"^embeddings\.h_position_embeddings\.", "embedding.heights."),
        (r"^embeddings\.w_position_embeddings\.", "embedding.widths."),
        (r"^embeddings\.LayerNorm\.", "embedding.norm."),
        (r"^visual\.pixel_(mean|std)$", r"embedding.visual.\1"),
        (r"^visual\.backbone\.fpn_lateral(\d)\.", lambda found: f"embedding.visual.laterals.{int(found[1]) - 2}."),
        (r"^visual\.backbone\.fpn_output(\d)\.", lambda found: f"embedding.visual.outputs.{int(found[1]) - 2}."),
        (r"^visual\.backbone\.bottom_up\.stem\.conv1\.", "embedding.visual.stem."),
        (r"^visual\.backbone\.bottom_up\.res(\d)\.", lambda found: f"embedding.visual.stages.{int(found[1]) - 2}."),
        (r"(visual\.stages\.\d+\.\d+)\.conv1\.", r"\1.narrow."),
        (r"(visual\.stages\.\d+\.\d+)\.conv2\.", r"\1.grouped."),
        (r"(visual\.stages\.\d+\.\d+)\.conv3\.", r"\1.widen."),
        (r"(visual\.(?:stem|stages\.\S+?)\.)weight$", r"\1convolution.weight"),
        (r"\.norm\.convolution\.weight$", ".norm.weight"),
        (r"^visual_proj\.", "embedding.visual_projection."),
        (r"^visual_LayerNorm\.", "embedding.visual_norm."),
        (r"^visual_segment_embedding$", "embedding.visual_segment"),
        (r"^encoder\.rel_pos_bias\.weight$", "encoder.bias.positions"),
        (r"^encoder\.rel_pos_([xy])_bias\.weight$", r"encoder.bias.\1"),
        (r"^encoder\.layer\.", "encoder.layers."),
        (r"\.attention\.self\.qkv_linear\.", ".attention.qkv."),
        (r"\.attention\.self\.q_bias$", ".attention.query_bias"),
        (r"\.attention\.self\.v_bias$", ".attention.value_bias"),
        (r"\.attention\.output\.dense\.", ".attention.output."),
        (r"\.attention\.output\.LayerNorm\.", ".attention_norm."),
        (r"\.intermediate\.dense\.", ".feed_forward.expand."),
        (r"\.output\.dense\.", ".feed_forward.contract."),
        (r"\.output\.LayerNorm\.", ".feed_forward_norm."),
        (r"^pooler\.dense\.", "pooler."),
        (r"^(classifier|qa_outputs)\.", "head.scores."),
    )
)
_BESIDE = re.compile(r"\.position_ids$")
_BERT_LAYER = re.compile(r"^encoder\.layers\.(\d+)\.attention\.self\.(query|key|value)\.(weight|bias)$")


def match_names(published: Iterable[str]) -> dict[str, str]:
    """Return for each published name ours; names that carry nothing are left out."""
    return {name: rename(name) for name in published if not _BESIDE.search(name)}


def rename(name: str) -> str:
    """Return our name of a published tensor."""
    for pattern, replacement in _PUBLISHED:
        name = pattern.sub(replacement, name)
    return name


def from_bert(weights: Mapping[str, Array]) -> Weights:
    """Turn a BERT-like encoder into the text part of ours; what it has no counterpart for is left out.

    The keys' biases are dropped: they change no attention weight (see `SpatialAttention`).
    """
    found: Weights = {}
    parts: dict[tuple[str, str, str], Array] = {}
    for published, array in weights.items():
        name = rename(published.removeprefix("bert."))
        found_part = _BERT_LAYER.match(name)
        if found_part:
            parts[found_part[1], found_part[2], found_part[3]] = array
        elif not _BESIDE.search(published):
            found[name] = array
    for layer in sorted({layer for layer, _, _ in parts}):
        under = f"encoder.layers.{layer}.attention"
        joined = [parts[layer, part, "weight"] for part in ("query", "key", "value")]
        found[f"{under}.qkv.weight"] = np.concatenate(joined)
        found[f"{under}.query_bias"] = parts[layer, "query", "bias"]
        found[f"{under}.value_bias"] = parts[layer, "value", "bias"]
    return found


def describe(values: Values, name: str, published: Mapping[str, Shape]) -> LabelConfig:
    """Turn a published config.json into ours; the code that made it leaves the seed where `LAYOUTLMV2_BASE` says."""
    like = LAYOUTLMV2_BASE
    shapes = {rename(key): shape for key, shape in published.items()}
    architectures = values.get("architectures")
    kind = architectures[0] if isinstance(architectures, list) and architectures else ""
    head = _HEADS.get(str(kind), "none")
    labels = _labels(as_object(values.get("id2label", {})), shapes) if head in ("labels", "class") else ()
    vocabulary, hidden = shapes["embedding.words.weight"]
    layout = replace(
        like.layout,
        vocabulary=vocabulary,
        hidden=hidden,
        layers=as_integer(values["num_hidden_layers"]),
        heads=as_integer(values["num_attention_heads"]),
        feed_forward=shapes["encoder.layers.0.feed_forward.expand.weight"][0],
        max_positions=shapes["embedding.positions.weight"][0],
        coordinate_width=shapes["embedding.x.weight"][1],
        visual=replace(ResNeXtConfig(), depths=_depths(shapes)),
        spatial_bias="encoder.bias.positions" in shapes,
        visual_segment="embedding.visual_segment" in shapes,
        pooler="pooler.weight" in shapes,
    )
    return replace(like, name=name, layout=layout, head=head, labels=labels, published="", notes=(), parameters=0)


def _labels(names: Mapping[str, object], shapes: Mapping[str, Shape]) -> tuple[str, ...]:
    return tuple(str(names.get(str(index), index)) for index in range(shapes["head.scores.weight"][0]))


def _depths(shapes: Mapping[str, Shape]) -> tuple[int, ...]:
    """Count the blocks of each stage of the visual trunk."""
    blocks = {tuple(name.split(".")[3:5]) for name in shapes if name.startswith("embedding.visual.stages.")}
    stages = sorted({stage for stage, _ in blocks})
    return tuple(sum(stage == other for other, _ in blocks) for stage in stages)
