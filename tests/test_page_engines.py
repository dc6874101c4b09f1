"""Torch and ONNX Runtime label the same words the same way."""

import layout_models
import numpy as np
import pytest
import torch

from unrender.checkpoints.pages import GRAPH, load_pages, save_pages, wordpiece
from unrender.engines.export.pages import _buckets
from unrender.engines.label_engine import OnnxLabelEngine
from unrender.engines.opening import open_label_engine
from unrender.engines.page_export import _random_page, export_pages
from unrender.errors import ConfigError, ModelError
from unrender.layers.spatial import PageModel, buckets
from unrender.models.layoutlmv2 import ResNeXtConfig


def folder_of(tmp_path, **layout):
    config = layout_models.tiny(**layout)
    model = PageModel(config)
    generator = torch.Generator().manual_seed(0)
    model.init_weights(generator)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    weights = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return load_pages(save_pages(tmp_path / "model", config, weights, wordpiece(layout_models.VOCABULARY), card="Hi."))


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
    out = load_pages(export_pages(loaded, tmp_path / "out"))
    assert out.exported
    assert (out.folder / "card.md").read_text() == "Hi."
    expected, found = open_label_engine(loaded), open_label_engine(out)
    rng = np.random.default_rng(1)
    for length in (1, 13, 64):
        batch = _random_page(loaded.config, length, rng)
        assert np.abs(expected.label(*batch) - found.label(*batch)).max() < 1e-4


def test_rows_of_a_batch_do_not_touch_one_another(tmp_path):
    loaded = folder_of(tmp_path)
    engine = OnnxLabelEngine(export_pages(loaded, tmp_path / "out"))
    rng = np.random.default_rng(1)
    short, long = (_random_page(loaded.config, length, rng) for length in (5, 9))
    tokens, boxes, mask = np.zeros((2, 9), np.int64), np.zeros((2, 9, 4), np.int64), np.zeros((2, 9), bool)
    for row, (page, length) in enumerate(((short, 5), (long, 9))):
        tokens[row, :length], boxes[row, :length], mask[row, :length] = page[0][0], page[1][0], True
    together = engine.label(tokens, boxes, mask, np.concatenate([short[3], long[3]]))
    assert np.array_equal(together[0, :5], engine.label(*short)[0])
    assert np.array_equal(together[1], engine.label(*long)[0])


def test_every_distance_has_the_same_bucket_in_the_graph():
    for count, reach, farthest in ((32, 128, 511), (64, 256, 1000)):
        distances = np.arange(-farthest, farthest + 1)
        assert _buckets(distances, count, reach).tolist() == buckets(torch.from_numpy(distances), count, reach).tolist()


def test_a_graph_that_differs_from_torch_is_not_written(tmp_path, monkeypatch):
    loaded = folder_of(tmp_path)
    monkeypatch.setattr("unrender.engines.export.pages._buckets", lambda distances, count, reach: distances * 0)
    with pytest.raises(ModelError, match="differs from torch"):
        export_pages(loaded, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_exported_is_said(tmp_path):
    loaded = folder_of(tmp_path, visual=ResNeXtConfig(depths=(1,), groups=2, group_width=2, first_width=8))
    with pytest.raises(ConfigError, match="only the small visual backbone"):
        export_pages(loaded, tmp_path / "out")


def test_engines_are_chosen_by_name(tmp_path):
    loaded = folder_of(tmp_path)
    with pytest.raises(ModelError, match=r"has no labels\.onnx"):
        open_label_engine(loaded, "onnx")
    with pytest.raises(ConfigError, match="no engine called paper"):
        open_label_engine(loaded, "paper")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / GRAPH).write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="is not an ONNX file"):
        OnnxLabelEngine(tmp_path / "broken")


def test_the_command_line_exports_a_page_model(tmp_path, run):
    loaded = folder_of(tmp_path)
    ran = run("export", loaded.folder, tmp_path / "out")
    assert ran.code == 0, ran.err
    assert load_pages(tmp_path / "out").exported
    assert run("read", tmp_path / "none.png", "-m", tmp_path / "out").errors
