"""Model folders of LayoutLMv2 systems: save, load, published names, and a start from BERT-like weights.

A folder of ours holds config.json, tokenizer.json, weights.safetensors, train.json and card.md and, exported,
labels.onnx. Published folders (model_type layoutlmv2) are converted once, into the cache.
"""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from unrender.checkpoints.files import (
    WEIGHTS,
    Array,
    WeightFiles,
    Weights,
    find_pickles,
    find_safetensors,
    read_pickles,
)
from unrender.checkpoints.files import write as write_weights
from unrender.checkpoints.places import cache_folder
from unrender.checkpoints.settings import Values, as_integer, as_object, read_json
from unrender.checkpoints.vocabulary import TOKENIZER
from unrender.errors import ConfigError, ModelError
from unrender.models.layoutlmv2 import (
    LAYOUTLMV2_BASE,
    HeadKind,
    PageModelConfig,
    ResNeXtConfig,
    from_json,
    to_json,
)
from unrender.models.page_parameters import page_state
from unrender.models.parameters import Shape

GRAPH = "labels.onnx"
_SHOWN = 6  # names listed in an error
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


@dataclass(frozen=True)
class LoadedPages:
    """A LayoutLMv2 system found and understood; the weights are read when asked for."""

    config: PageModelConfig
    folder: Path

    @property
    def exported(self) -> bool:
        return (self.folder / GRAPH).is_file()

    def weights(self) -> Weights:
        """Read every tensor of the system; a ModelError says what does not fit."""
        files = WeightFiles(find_safetensors(self.folder))
        if not files.shapes:
            raise ModelError(f"{self.folder} has no {WEIGHTS}; without it the torch engine cannot run")
        return fit({name: files.read(name) for name in files.shapes}, self.config, str(self.folder))


def is_page_folder(folder: Path) -> bool:
    """Say whether a folder holds a LayoutLMv2 system, ours or published."""
    values = read_json(folder / "config.json")
    return "layoutlmv2" in (values.get("system"), values.get("model_type"))


def load_pages(folder: Path) -> LoadedPages:
    """Read the settings of a LayoutLMv2 folder; convert it if it is a published one."""
    if "unrender" not in read_json(folder / "config.json"):
        folder = _converted(folder)
    config = from_json((folder / "config.json").read_text(encoding="utf-8"))
    loaded = LoadedPages(config, folder)
    if not find_safetensors(folder) and not loaded.exported:
        raise ModelError(f"{folder} has neither {WEIGHTS} nor {GRAPH}")
    return loaded


def save_pages(
    folder: str | Path,
    config: PageModelConfig,
    weights: Mapping[str, ArrayLike],
    tokenizer: str,
    *,
    card: str = "",
    training: str = "",
) -> Path:
    """Write a model folder; `tokenizer` is the text of tokenizer.json, `training` that of train.json."""
    folder = Path(folder)
    arrays = {name: np.asarray(tensor) for name, tensor in weights.items()}
    checked = fit(arrays, config, config.name)
    folder.mkdir(parents=True, exist_ok=True)
    write_weights(folder / WEIGHTS, checked)
    for name, text in ((TOKENIZER, tokenizer), ("card.md", card), ("train.json", training)):
        if text:
            (folder / name).write_text(text, encoding="utf-8")
    (folder / "config.json").write_text(to_json(config), encoding="utf-8")  # last: a folder with it is complete
    return folder


def convert_pages(weights: Mapping[str, Array], config: PageModelConfig, source: str) -> Weights:
    """Turn tensors with published names into ours."""
    return fit({rename(name): array for name, array in weights.items() if not _BESIDE.search(name)}, config, source)


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
        match = _BERT_LAYER.match(name)
        if match:
            parts[match[1], match[2], match[3]] = array
        elif not _BESIDE.search(published):
            found[name] = array
    for layer in sorted({layer for layer, _, _ in parts}):
        under = f"encoder.layers.{layer}.attention"
        joined = [parts[layer, part, "weight"] for part in ("query", "key", "value")]
        found[f"{under}.qkv.weight"] = np.concatenate(joined)
        found[f"{under}.query_bias"] = parts[layer, "query", "bias"]
        found[f"{under}.value_bias"] = parts[layer, "value", "bias"]
    return found


def wordpiece(vocabulary: list[str]) -> str:
    """Return the text of a tokenizer.json for a list of lower-case WordPiece tokens."""
    from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
    from tokenizers.models import WordPiece

    tokenizer = Tokenizer(WordPiece({token: place for place, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(
        [token for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if token in vocabulary]
    )
    return str(tokenizer.to_str())


def fit(weights: Mapping[str, Array], config: PageModelConfig, source: str) -> Weights:
    """Check names and shapes against the config: nothing missing, nothing left over."""
    wanted = page_state(config).all
    said = [
        f"{word} are {', '.join(names[:_SHOWN])}" + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        for word, names in (
            ("missing", [name for name in wanted if name not in weights]),
            ("left over", [name for name in weights if name not in wanted]),
        )
        if names
    ]
    if said:
        raise ModelError(f"{source}: the weights do not fit the config: {'; '.join(said)}")
    return {name: _shaped(name, weights[name], shape, source) for name, shape in wanted.items()}


def _shaped(name: str, array: Array, shape: Shape, source: str) -> Array:
    if array.size != math.prod(shape) or (array.ndim == len(shape) and array.shape != shape):
        raise ModelError(f"{source}: {name} has shape {array.shape}, but the config asks for {shape}")
    values = array.reshape(shape)  # published biases have two axes of length 1 in front
    return values.astype(np.float32, copy=False) if values.dtype.kind == "f" else values


def _converted(folder: Path) -> Path:
    paths, pickles = find_safetensors(folder), find_pickles(folder)
    if not paths and not pickles:
        raise ModelError(f"{folder} has no weights: neither model.safetensors nor pytorch_model.bin")
    facts = [str(folder.resolve()), *(f"{path} {path.stat().st_mtime_ns}" for path in paths or pickles)]
    kept = cache_folder() / "converted" / hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    if not (kept / "config.json").is_file():
        files = WeightFiles(paths)
        weights = {name: files.read(name) for name in files.shapes} if paths else read_pickles(pickles)
        config = _read_published(folder, weights)
        save_pages(kept, config, convert_pages(weights, config, str(folder)), _published_tokenizer(folder))
    return kept


def _published_tokenizer(folder: Path) -> str:
    if (folder / TOKENIZER).is_file():
        return (folder / TOKENIZER).read_text(encoding="utf-8")
    if (folder / "vocab.txt").is_file():
        return wordpiece((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
    raise ModelError(f"{folder} has neither {TOKENIZER} nor vocab.txt")


def _read_published(folder: Path, weights: Mapping[str, Array]) -> PageModelConfig:
    """Describe a published folder; the code that made it leaves the seed where `LAYOUTLMV2_BASE` says."""
    values = read_json(folder / "config.json")
    try:
        return _describe(values, folder.name, weights)
    except (KeyError, TypeError, ValueError, ConfigError) as error:
        raise ModelError(f"{folder / 'config.json'} lacks or misstates a setting: {error}") from error


def _describe(values: Values, name: str, weights: Mapping[str, Array]) -> PageModelConfig:
    like = LAYOUTLMV2_BASE
    shapes = {rename(published): array.shape for published, array in weights.items()}
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
    return replace(like, name=name, layout=layout, head=head, labels=labels, published="", notes=())


def _labels(names: Mapping[str, object], shapes: Mapping[str, Shape]) -> tuple[str, ...]:
    return tuple(str(names.get(str(place), place)) for place in range(shapes["head.scores.weight"][0]))


def _depths(shapes: Mapping[str, Shape]) -> tuple[int, ...]:
    """Count the blocks of each stage of the visual trunk."""
    blocks = {tuple(name.split(".")[3:5]) for name in shapes if name.startswith("embedding.visual.stages.")}
    stages = sorted({stage for stage, _ in blocks})
    return tuple(sum(stage == other for other, _ in blocks) for stage in stages)
