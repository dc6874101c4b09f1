"""Model folders of LayoutLMv2: every published name finds its place; folders are saved, loaded and refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from unrender import checkpoints
from unrender.checkpoints.fitting import state
from unrender.checkpoints.layoutlmv2 import rename
from unrender.checkpoints.vocabulary import wordpiece
from unrender.errors import ModelError
from unrender.models.codec import to_json
from unrender.models.config import ImagePrep
from unrender.models.layoutlmv2 import (
    LAYOUTLMV2_BASE,
    LabelConfig,
    LayoutConfig,
    ResNeXtConfig,
    SmallCnnConfig,
)

_KEYS = Path(__file__).parent.parent.parent / "shared" / "reference" / "keys" / "microsoft__layoutlmv2-base-uncased.tsv"
_WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "total", "##s", "12", "."]

Shapes = dict[str, tuple[int, ...]]


def published_names(config: LabelConfig) -> Shapes:
    """Spell a system's tensors as the Hub does."""
    layout = config.layout
    visual = layout.visual
    assert isinstance(visual, ResNeXtConfig)
    hidden, tables = layout.hidden, (layout.coordinate_rows, layout.coordinate_width)
    names: Shapes = {
        "embeddings.position_ids": (1, layout.max_positions),
        "embeddings.word_embeddings.weight": (layout.vocabulary, hidden),
        "embeddings.position_embeddings.weight": (layout.max_positions, hidden),
        **{f"embeddings.{axis}_position_embeddings.weight": tables for axis in "xyhw"},
        "embeddings.token_type_embeddings.weight": (2, hidden),
        **_vectors("embeddings.LayerNorm", hidden),
        "visual.pixel_mean": (3, 1, 1),
        "visual.pixel_std": (3, 1, 1),
        **_trunk(visual),
        **_matrix("visual_proj", visual.out_width, hidden),
        **_vectors("visual_LayerNorm", hidden),
        "encoder.rel_pos_bias.weight": (layout.heads, layout.position_buckets),
        "encoder.rel_pos_x_bias.weight": (layout.heads, layout.spatial_buckets),
        "encoder.rel_pos_y_bias.weight": (layout.heads, layout.spatial_buckets),
        **_matrix("pooler.dense", hidden, hidden),
    }
    for number in range(layout.layers):
        layer = f"encoder.layer.{number}"
        names |= {
            f"{layer}.attention.self.q_bias": (1, 1, hidden),
            f"{layer}.attention.self.v_bias": (1, 1, hidden),
            f"{layer}.attention.self.qkv_linear.weight": (3 * hidden, hidden),
            **_matrix(f"{layer}.attention.output.dense", hidden, hidden),
            **_vectors(f"{layer}.attention.output.LayerNorm", hidden),
            **_matrix(f"{layer}.intermediate.dense", hidden, layout.feed_forward),
            **_matrix(f"{layer}.output.dense", layout.feed_forward, hidden),
            **_vectors(f"{layer}.output.LayerNorm", hidden),
        }
    return {f"layoutlmv2.{name}": shape for name, shape in names.items()}


def _trunk(visual: ResNeXtConfig) -> Shapes:
    names: Shapes = {}

    def convolution(name: str, inputs: int, outputs: int, side: int) -> None:
        names[f"visual.backbone.bottom_up.{name}.weight"] = (outputs, inputs, side, side)
        for part in ("weight", "bias", "running_mean", "running_var"):
            names[f"visual.backbone.bottom_up.{name}.norm.{part}"] = (outputs,)

    convolution("stem.conv1", 3, visual.stem_width, 7)
    inputs = visual.stem_width
    for stage, depth in enumerate(visual.depths):
        middle, outputs = visual.groups * visual.group_width << stage, visual.first_width << stage
        for block in range(depth):
            name = f"res{stage + 2}.{block}"
            if block == 0:
                convolution(f"{name}.shortcut", inputs, outputs, 1)
            convolution(f"{name}.conv1", inputs, middle, 1)
            convolution(f"{name}.conv2", middle // visual.groups, middle, 3)
            convolution(f"{name}.conv3", middle, outputs, 1)
            inputs = outputs
        width = visual.out_width
        for kind, shape in (("lateral", (width, outputs, 1, 1)), ("output", (width, width, 3, 3))):
            names[f"visual.backbone.fpn_{kind}{stage + 2}.weight"] = shape
            names[f"visual.backbone.fpn_{kind}{stage + 2}.bias"] = (width,)
    return names


def _matrix(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _vectors(name: str, width: int) -> Shapes:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def small(**settings: object) -> LabelConfig:
    layout = LayoutConfig(
        vocabulary=9, hidden=12, layers=1, heads=2, feed_forward=16, max_positions=64, coordinate_width=2,
        visual=SmallCnnConfig(widths=(4,)),
    )  # fmt: skip
    image = ImagePrep(height=56, width=56, fit="squash", channels=1, mean=(0.5,), std=(0.5,))
    return LabelConfig(name="small", task="labels", image=image, layout=layout, stride=4, **settings)


def random_weights(shapes: Shapes) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def test_every_published_name_has_its_place_and_none_is_left_over():
    found = {rename(name): shape for name, shape in published_names(LAYOUTLMV2_BASE).items()}
    ours = state(LAYOUTLMV2_BASE).all
    assert set(found) - set(ours) == {"embeddings.position_ids"}
    assert set(ours) <= set(found)
    assert all(np.prod(found[name]) == np.prod(shape) for name, shape in ours.items())


def test_the_names_here_are_those_of_the_published_file():
    if not _KEYS.is_file():
        pytest.skip("the reference lists are not part of this repository")
    rows = [line.split("\t") for line in _KEYS.read_text().splitlines()]
    listed = {name: tuple(map(int, shape.split("x"))) for name, shape, *_ in rows}
    assert len(listed) == 713
    assert listed == published_names(LAYOUTLMV2_BASE)


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like the Hub's, of a small fine-tuned model."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "hub"
    folder.mkdir()
    visual = ResNeXtConfig(depths=(1, 1, 2, 1))
    layout = replace(
        LAYOUTLMV2_BASE.layout, vocabulary=9, hidden=12, layers=2, heads=2, feed_forward=16, coordinate_width=2,
        visual=visual,
    )  # fmt: skip
    shapes = published_names(replace(LAYOUTLMV2_BASE, layout=layout))
    shapes = {name: shape for name, shape in shapes.items() if not name.endswith("position_ids")}
    save_file(
        random_weights(shapes | {"classifier.weight": (3, 12), "classifier.bias": (3,)}), folder / "model.safetensors"
    )
    settings = {
        "model_type": "layoutlmv2",
        "architectures": ["LayoutLMv2ForTokenClassification"],
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "id2label": {"0": "O", "1": "B-TOTAL", "2": "I-TOTAL"},
    }
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "vocab.txt").write_text("\n".join(_WORDS) + "\n")
    return folder


def test_a_published_folder_loads_as_published_code_would_read_it(published):
    from unrender.layers.spatial import LabelModel

    loaded = checkpoints.load(published)
    layout = loaded.config.layout
    assert (layout.order, layout.anchor, layout.separator_box) == ("text first", "bottom", "last")
    assert not layout.visual_segment
    assert loaded.config.labels == ("O", "B-TOTAL", "I-TOTAL")
    weights = {name: torch.from_numpy(np.array(array)) for name, array in loaded.weights().items()}
    LabelModel(loaded.config).load_state_dict(weights)


def test_a_list_of_word_pieces_becomes_a_tokenizer(published):
    from tokenizers import Tokenizer

    library = Tokenizer.from_str((checkpoints.load(published).folder / "tokenizer.json").read_text())
    assert library.encode("TOTALS 12.12", add_special_tokens=False).tokens == ["total", "##s", "12", ".", "12"]


def test_a_folder_of_ours_keeps_config_and_weights(tmp_path):
    config = small(head="labels", labels=("O", "B-X"))
    weights = random_weights(state(config).all)
    checkpoints.save(tmp_path / "model", config, weights, wordpiece(_WORDS), card="A card.")
    loaded = checkpoints.load(tmp_path / "model")
    assert loaded.config == replace(config, parameters=state(config).count)
    assert all(np.array_equal(array, weights[name]) for name, array in loaded.weights().items())
    assert not loaded.exported


def test_broken_folders_are_refused_with_a_sentence(tmp_path):
    config = small()
    weights = random_weights(state(config).all)
    with pytest.raises(ModelError, match=r"missing are pooler\.bias"):
        checkpoints.save(tmp_path / "a", config, {k: v for k, v in weights.items() if k != "pooler.bias"}, "")
    with pytest.raises(ModelError, match=r"pooler\.bias has shape 7"):
        checkpoints.save(tmp_path / "a", config, weights | {"pooler.bias": np.zeros(7)}, "")
    (tmp_path / "config.json").write_text(to_json(config))
    with pytest.raises(ModelError, match=r"neither weights\.safetensors nor labels\.onnx"):
        checkpoints.load(tmp_path)
