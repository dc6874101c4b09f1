"""labels.onnx: the tokens, boxes and picture of one window in; scores of every label for every token out.

One window at a time, so nothing is padded and nothing masked. Tables that depend on no input are added up beforehand:
positions with the segment [A], the grid's positions with its layout, buckets with their biases.
"""

import numpy as np
from numpy.typing import NDArray

from unrender.checkpoints import Weights
from unrender.engines.export.blocks import Part
from unrender.engines.export.cnn import _add_residual
from unrender.engines.export.graph import Floats, Graph, Linear
from unrender.errors import ConfigError
from unrender.models.layoutlmv2 import COORDINATES, LayoutConfig, PageModelConfig, SmallCnnConfig, grid_boxes

_STRIDE = (2, 2)


def add_pages(graph: Graph, config: PageModelConfig, weights: Weights) -> str:
    """Map tokens (L,), boxes (L, 4) and pixels (1, channels, height, width) to scores (L, K)."""
    layout = config.layout
    if config.head != "labels":
        raise ConfigError(f"{config.name}: only models that label words are exported, this one's head is {config.head}")
    tokens, boxes = graph.input("tokens", "int64", ["L"]), graph.input("boxes", "int64", ["L", 4])
    length = graph.add("Shape", tokens, start=0, end=1)
    embedding = Part(weights, "embedding")
    rows = _add_text(graph, layout, embedding, tokens, boxes, length)
    places = _range(graph, length)
    if layout.visual is not None:
        first = layout.order == "visual first"
        pixels = graph.input("pixels", "float32", [1, config.image.channels, config.image.height, config.image.width])
        picture = _add_picture(graph, config, embedding, pixels)
        grid = graph.weight("grid", np.array(grid_boxes(layout.grid), dtype=np.int64))
        counted = graph.weight("grid places", np.arange(layout.visual_tokens, dtype=np.int64))
        rows, boxes, places = (
            graph.add("Concat", *(pair if first else pair[::-1]), axis=0)
            for pair in ((picture, rows), (grid, boxes), (counted, places))
        )
    bias = _add_bias(graph, layout, Part(weights, "encoder.bias"), boxes, places) if layout.spatial_bias else ""
    for number in range(layout.layers):
        rows = _add_layer(graph, layout, Part(weights, f"encoder.layers.{number}"), rows, bias)
    if layout.visual is not None:
        first = layout.order == "visual first"
        start = graph.integers(layout.visual_tokens if first else 0)
        stop = graph.integers(np.iinfo(np.int64).max) if first else length
        rows = graph.add("Slice", rows, start, stop, graph.integers(0))
    scores = Part(weights, "head").linear("scores")
    weight = graph.weight("head.weight", scores.weight)
    assert scores.bias is not None
    return graph.add("Gemm", rows, weight, graph.weight("head.bias", scores.bias), transB=1)


def _add_text(graph: Graph, layout: LayoutConfig, embedding: Part, tokens: str, boxes: str, length: str) -> str:
    """Add word, position, segment and layout embeddings, and normalise."""
    words = graph.embed(tokens, "words", embedding.floats("words.weight"))
    table = graph.weight("positions", embedding.floats("positions.weight") + embedding.floats("segments.weight")[0])
    total = graph.add("Add", words, graph.add("Slice", table, graph.integers(0), length, graph.integers(0)))
    if layout.layout:
        x0, y0, x1, y1 = graph.add_many("Split", boxes, outputs=4, axis=1, num_outputs=4)
        x0, y0, x1, y1 = (graph.reshape(corner, -1) for corner in (x0, y0, x1, y1))
        sides = graph.add("Sub", y1, y0), graph.add("Sub", x1, x0)
        tables = ("x", "y", "x", "y", "heights", "widths")
        parts = [
            graph.add("Gather", graph.weight(f"{name} places", embedding.floats(f"{name}.weight")), values)
            for name, values in zip(tables, (x0, y0, x1, y1, *sides), strict=True)
        ]
        total = graph.add("Add", total, graph.add("Concat", *parts, axis=1))
    return embedding.norm(graph, "norm", total, layout.norm_epsilon)


def _add_picture(graph: Graph, config: PageModelConfig, embedding: Part, pixels: str) -> str:
    """Run the small CNN, pool its map to the grid, project and normalise."""
    layout = config.layout
    if not isinstance(layout.visual, SmallCnnConfig):
        raise ConfigError(f"{config.name}: only the small visual backbone is exported")
    features, side = pixels, config.image.height
    for stage in range(len(layout.visual.widths)):
        features = _add_residual(graph, embedding.under(f"visual.stages.{stage}"), features, _STRIDE)
        side = -(-side // 2)
    if side % layout.grid or config.image.height != config.image.width:
        raise ConfigError(f"{config.name}: a picture of {config.image.height} cannot be pooled to {layout.grid} evenly")
    step = side // layout.grid
    if step > 1:
        features = graph.add("AveragePool", features, kernel_shape=[step, step], strides=[step, step])
    flat = graph.add("Transpose", graph.reshape(features, layout.visual.out_width, -1), perm=[1, 0])
    total = graph.linear(flat, embedding.linear("visual_projection"))
    constant = graph.weight("grid places and layout", _grid_constant(layout, embedding))
    return embedding.norm(graph, "visual_norm", graph.add("Add", total, constant), layout.norm_epsilon)


def _grid_constant(layout: LayoutConfig, embedding: Part) -> Floats:
    total = embedding.floats("positions.weight")[: layout.visual_tokens].copy()
    if layout.layout:
        x0, y0, x1, y1 = np.array(grid_boxes(layout.grid)).T
        tables = ("x", "y", "x", "y", "heights", "widths")
        places = (x0, y0, x1, y1, y1 - y0, x1 - x0)
        parts = [embedding.floats(f"{name}.weight")[at] for name, at in zip(tables, places, strict=True)]
        total += np.concatenate(parts, axis=1)
    if layout.visual_segment:
        total += embedding.floats("visual_segment")
    return total


def _add_bias(graph: Graph, layout: LayoutConfig, part: Part, boxes: str, places: str) -> str:
    """Add the biases of all pairs, (1, H, T, T)."""
    farthest = max(layout.max_positions, layout.visual_tokens) - 1
    total = _add_axis(graph, part.floats("positions"), "positions", places, farthest, layout.position_reach)
    for axis, column in (("x", 0), ("y", 1 if layout.anchor == "top" else 3)):
        corner = graph.reshape(graph.add("Gather", boxes, graph.integers(column), axis=1), -1)
        values = _add_axis(graph, part.floats(axis), axis, corner, COORDINATES, layout.spatial_reach)
        total = graph.add("Add", total, values)
    return graph.add("Unsqueeze", total, graph.integers(0))


def _add_axis(graph: Graph, table: Floats, name: str, values: str, farthest: int, reach: int) -> str:
    """Look up (H, T, T): for each pair the bias of its distance."""
    by_distance = table[:, _buckets(np.arange(-farthest, farthest + 1), table.shape[1], reach)]
    across, down = graph.reshape(values, 1, -1), graph.reshape(values, -1, 1)
    distances = graph.add("Add", graph.add("Sub", across, down), graph.integers(farthest))
    return graph.add("Gather", graph.weight(f"bias by {name}", by_distance), distances, axis=1)


def _add_layer(graph: Graph, layout: LayoutConfig, part: Part, rows: str, bias: str) -> str:
    """Add attention, residual, norm; feed-forward, residual, norm."""
    width = layout.hidden
    weight = part.floats("attention.qkv.weight").reshape(3, width, width)
    biases = part.floats("attention.query_bias"), None, part.floats("attention.value_bias")
    names = [f"{part.name}.attention.{which}" for which in ("query", "key", "value")]
    projected = [
        graph.reshape(graph.linear(rows, Linear(name, values, shift)), 1, -1, width)
        for name, values, shift in zip(names, weight, biases, strict=True)
    ]
    extra = ["", "", bias] if bias else []
    mixed = graph.add("MultiHeadAttention", *projected, *extra, num_heads=layout.heads)
    changed = graph.linear(graph.reshape(mixed, -1, width), part.linear("attention.output"))
    rows = part.norm(graph, "attention_norm", graph.add("Add", rows, changed), layout.norm_epsilon)
    inner = graph.linear(rows, part.linear("feed_forward.expand"), activation="gelu")
    changed = graph.linear(inner, part.linear("feed_forward.contract"))
    return part.norm(graph, "feed_forward_norm", graph.add("Add", rows, changed), layout.norm_epsilon)


def _buckets(distances: NDArray[np.int64], count: int, reach: int) -> NDArray[np.int64]:
    """Do what `layers.spatial.buckets` does."""
    half = count // 2
    near = half // 2
    size = np.abs(distances)
    along = np.log(np.maximum(size, 1).astype(np.float32) / np.float32(near)) / np.float32(np.log(reach / near))
    far = np.minimum(near + (along * np.float32(half - near)).astype(np.int64), half - 1)
    return np.where(distances > 0, half, 0) + np.where(size < near, size, far)


def _range(graph: Graph, length: str) -> str:
    zero, one = graph.weight("zero", np.array(0, np.int64)), graph.weight("one", np.array(1, np.int64))
    return graph.add("Range", zero, graph.add("Squeeze", length), one)
