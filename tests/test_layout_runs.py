"""The layout network: its batches, its course, and that ONNX Runtime says what torch says."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from unrender.engines import OnnxSegmenter
from unrender.layers.cnn import Segmenter
from unrender.models.page import KINDS, SegmentationConfig
from unrender.training import runs
from unrender.training.batches import IGNORED
from unrender.training.page.layout_runs import LayoutCourse, LayoutNoise, LayoutStream, beginnings, vary
from unrender.training.page.layouts import BlockPlace, Layout, Layouts, LayoutWriter
from unrender.training.recipe import Recipe, Schedule
from unrender.training.runs import Request

STILL = LayoutNoise(skewed=0, scaled=0, shaded=0, speckled=0, blurred=0, turned=0)


def make_page() -> Layout:
    gray, labels = np.full((64, 48), 255, dtype=np.uint8), np.zeros((64, 48), dtype=np.uint8)
    lines = tuple((6.0, float(top), 42.0, float(top + 3)) for top in (10, 15, 20))
    for left, top, right, bottom in lines:
        area = slice(int(top), int(bottom)), slice(int(left), int(right))
        gray[area], labels[area] = 60, KINDS.index("text")
    return Layout(gray, labels, (BlockPlace("text", 0, (6.0, 10.0, 42.0, 23.0), lines, False, False),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("layouts", "layouts-held"):
        writer = LayoutWriter(tmp_path / name)
        for _ in range(3):
            writer.add(make_page())
        writer.close()
    return tmp_path


def test_only_the_first_line_of_a_block_begins_it():
    found = beginnings(make_page())
    assert found[11, 20] == 1
    assert found[16, 20] == 0
    assert found[40, 20] == 2


def test_a_page_that_is_left_alone_keeps_ink_and_kinds_together():
    ink, kinds, begins, turned = vary(make_page(), STILL, np.random.default_rng(0), 64, 48)
    assert (kinds[ink > 0.3] == KINDS.index("text")).all()
    assert (turned[ink > 0.3] == 0).all()
    assert set(np.unique(begins)) == {IGNORED, 0, 1}


def test_a_page_upside_down_teaches_that_and_nothing_else():
    page = vary(make_page(), replace(STILL, turned=1.0), np.random.default_rng(0), 64, 48)
    assert (page[1] == IGNORED).all()
    assert set(np.unique(page[3])) == {IGNORED, 1}


def test_the_same_numbers_give_the_same_batch(folder):
    stream = LayoutStream(layouts=Layouts(folder / "layouts"), batch=2, height=64, width=48, seed=3)
    first, again = (next(stream.batches(1, 5, 0)) for _ in range(2))
    np.testing.assert_array_equal(first.ink, again.ink)
    np.testing.assert_array_equal(first.kinds, again.kinds)


def test_a_course_writes_a_graph_that_says_what_torch_says(folder):
    network = SegmentationConfig(widths=(4, 6, 8, 8), depth=1)
    recipe = Recipe(updates=2, schedule=Schedule(peak=1e-3), threads=1)
    course = LayoutCourse(network=network, batch=2, height=64, width=48, recipe=recipe)
    model = runs.train(course, Request(folder=folder / "run", data=folder))
    module = Segmenter(network)
    weights = torch.load(folder / "run" / "best.pt", weights_only=True)["state"]
    module.load_state_dict(weights)
    ink = np.random.default_rng(0).random((70, 51), dtype=np.float32)
    cells = OnnxSegmenter(model, threads=1)(ink)
    with torch.inference_mode():
        padded = np.pad(ink, ((0, 10), (0, 13)))[None, None]
        wanted = module.eval()(torch.from_numpy(padded))[0, : len(KINDS), :70, :51].softmax(0).numpy()
    np.testing.assert_allclose(cells.kinds, wanted, atol=1e-4)
