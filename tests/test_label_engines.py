"""Torch and ONNX Runtime label the same words the same way."""

from dataclasses import replace

import layout_models
import numpy as np
import pytest
import torch

from unrender.checkpoints import load, save
from unrender.checkpoints.vocabulary import wordpiece
from unrender.engines import export as exporting
from unrender.engines import open_label_engine
from unrender.engines.export import Window, export, random_window
from unrender.engines.labelling import LabelEngine, OnnxLabelEngine
from unrender.errors import ConfigError, ModelError
from unrender.layers.spatial import LabelModel
from unrender.models.layoutlmv2 import ResNeXtConfig


def folder_of(tmp_path, channels=1, noise=0.3, **layout):
    config = layout_models.tiny(**layout)
    image = replace(config.image, channels=channels, mean=(1.0,) * channels, std=(-0.3,) * channels)
    config = replace(config, image=image)
    model = LabelModel(config)
    generator = torch.Generator().manual_seed(0)
    model.init_weights(generator)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(noise * torch.randn(parameter.shape, generator=generator))
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return load(save(tmp_path / "model", config, weights, wordpiece(layout_models.VOCABULARY), card="Hi."))


def label(engine: LabelEngine, window: Window):
    return engine.label(window.tokens, window.boxes, window.mask, window.pixels)


@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"order": "text first", "anchor": "bottom", "separator_box": "last", "visual_segment": False},
        {"visual": None},
        {"visual": None, "layout": False, "spatial_bias": False},
    ],
    ids=["seed", "published", "no picture", "text alone"],
)
def test_the_graph_scores_as_torch_does(tmp_path, layout):
    loaded = folder_of(tmp_path, **layout)
    out = load(export(loaded.folder, tmp_path / "out").folder)
    assert out.exported
    assert (out.folder / "card.md").read_text() == "Hi."
    expected, found = open_label_engine(loaded), open_label_engine(out)
    rng = np.random.default_rng(1)
    for length in (1, 13, 64):
        batch = random_window(loaded.config, length, rng)
        assert np.abs(label(expected, batch) - label(found, batch)).max() < 1e-4


def test_rows_of_a_batch_do_not_touch_one_another(tmp_path):
    loaded = folder_of(tmp_path)
    engine = OnnxLabelEngine(export(loaded.folder, tmp_path / "out").folder)
    rng = np.random.default_rng(1)
    short, long = (random_window(loaded.config, length, rng) for length in (5, 9))
    tokens, boxes, mask = np.zeros((2, 9), np.int64), np.zeros((2, 9, 4), np.int64), np.zeros((2, 9), bool)
    for row, (page, length) in enumerate(((short, 5), (long, 9))):
        tokens[row, :length], boxes[row, :length], mask[row, :length] = page.tokens[0], page.boxes[0], True
    together = engine.label(tokens, boxes, mask, np.concatenate([short.pixels, long.pixels]))
    assert np.array_equal(together[0, :5], label(engine, short)[0])
    assert np.array_equal(together[1], label(engine, long)[0])


def test_8_bit_weights_halve_even_a_small_graph_and_label_alike(tmp_path):
    loaded = folder_of(tmp_path, noise=0.02, hidden=384, coordinate_width=64, heads=4, feed_forward=512)
    whole, rounded = (export(loaded.folder, tmp_path / name, int8=name == "int8") for name in ("whole", "int8"))
    assert rounded.megabytes < 0.55 * whole.megabytes
    assert rounded.int8.same >= 0.98
    assert 0 < rounded.int8.share < 0.1


def test_a_graph_that_differs_from_torch_is_not_written(tmp_path, monkeypatch):
    loaded = folder_of(tmp_path)
    trace = exporting.trace_labels

    def wrong(config, module):
        module.head.scores.bias.data += 1
        return trace(config, module)

    monkeypatch.setattr(exporting, "trace_labels", wrong)
    with pytest.raises(ModelError, match="differ from torch"):
        export(loaded.folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_published_visual_backbone_is_exported_too(tmp_path):
    loaded = folder_of(tmp_path, visual=ResNeXtConfig(depths=(1,), groups=2, group_width=2, first_width=8), channels=3)
    assert load(export(loaded.folder, tmp_path / "out").folder).exported


def test_only_heads_that_label_words_are_exported(tmp_path):
    config = replace(layout_models.tiny(), head="none", labels=())
    weights = {name: tensor.numpy() for name, tensor in LabelModel(config).state_dict().items()}
    folder = save(tmp_path / "model", config, weights, wordpiece(layout_models.VOCABULARY))
    with pytest.raises(ConfigError, match="this one's head is none"):
        export(folder, tmp_path / "out")


def test_engines_are_chosen_by_name(tmp_path):
    loaded = folder_of(tmp_path)
    with pytest.raises(ModelError, match=r"has no labels\.onnx"):
        open_label_engine(loaded, "onnx")
    with pytest.raises(ConfigError, match="no engine called paper"):
        open_label_engine(loaded, "paper")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "labels.onnx").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="is not an ONNX file"):
        OnnxLabelEngine(tmp_path / "broken")


def test_the_command_line_exports_a_labelling_model(tmp_path, run):
    loaded = folder_of(tmp_path)
    ran = run("export", loaded.folder, tmp_path / "out")
    assert ran.code == 0, ran.err
    assert load(tmp_path / "out").exported
    assert run("read", tmp_path / "none.png", "-m", tmp_path / "out").errors
