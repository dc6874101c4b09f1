"""Export a labelling model: write labels.onnx, compare it with torch, refuse what differs."""

import shutil
import tempfile
from pathlib import Path

import numpy as np

from unrender.checkpoints.pages import GRAPH, LoadedPages
from unrender.engines.label_engine import OnnxLabelEngine
from unrender.engines.opening import open_label_engine
from unrender.errors import ModelError
from unrender.models.layoutlmv2 import PageModelConfig

_KEPT = ("config.json", "tokenizer.json", "lexicon.txt", "train.json", "card.md")
_TOLERANCE = 1e-3  # of scores, in 32-bit
_AGREEMENT = 0.98  # share of tokens whose best label int8 must leave alone
_LENGTHS = (1, 7, 60)


def export_pages(loaded: LoadedPages, out: Path, *, int8: bool = False) -> Path:
    """Write a folder that ONNX Runtime can read without torch; with `int8`, the weights are a quarter of the size."""
    from unrender.engines.export.graph import Graph
    from unrender.engines.export.pages import add_pages

    weights = loaded.weights()
    graph = Graph(loaded.config.name, int8=int8)
    scores = add_pages(graph, loaded.config, weights)
    graph.output(scores, "scores", ["L", len(loaded.config.labels)])
    with tempfile.TemporaryDirectory() as temporary:
        graph.save(Path(temporary) / GRAPH)
        _compare(loaded, Path(temporary), int8=int8)
        out.mkdir(parents=True, exist_ok=True)
        for path in Path(temporary).iterdir():
            shutil.copy(path, out / path.name)
    for name in _KEPT:
        if (loaded.folder / name).is_file() and out.resolve() != loaded.folder.resolve():
            shutil.copy(loaded.folder / name, out / name)
    return out


def _compare(loaded: LoadedPages, folder: Path, *, int8: bool) -> None:
    torch_engine, onnx_engine = open_label_engine(loaded, "torch"), OnnxLabelEngine(folder)
    rng = np.random.default_rng(0)
    same = total = 0
    for length in _LENGTHS:
        batch = _random_page(loaded.config, length, rng)
        expected, found = torch_engine.label(*batch), onnx_engine.label(*batch)
        same += int((expected.argmax(-1) == found.argmax(-1)).sum())
        total += length
        worst = float(np.abs(expected - found).max())
        if not int8 and worst > _TOLERANCE:
            raise ModelError(f"{loaded.config.name}: the graph differs from torch by {worst:.2g}; it was not written")
    if same < _AGREEMENT * total and int8:
        raise ModelError(f"{loaded.config.name}: int8 changes {total - same} of {total} labels; it was not written")


def _random_page(
    config: PageModelConfig, length: int, rng: np.random.Generator
) -> tuple[
    np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    np.ndarray[tuple[int, ...], np.dtype[np.float32]],
]:
    tokens = rng.integers(0, config.layout.vocabulary, (1, length))
    corners = np.sort(rng.integers(0, 1001, (1, length, 2, 2)), axis=2).reshape(1, length, 4)
    image = config.image
    pixels = rng.normal(size=(1, image.channels, image.height, image.width)).astype(np.float32)
    return tokens, corners, np.ones((1, length), dtype=bool), pixels
