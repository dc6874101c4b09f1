"""The residual CNN and its transformer blocks, for an image of any size (layers/cnn.py); batch norms are folded."""

import numpy as np

from unrender.engines.export.blocks import Part, add_attention, add_block
from unrender.engines.export.graph import Floats, Graph
from unrender.engines.export.positions import add_sinusoids
from unrender.models.config import CnnConfig

_EPSILON = 1e-5


def add_cnn(graph: Graph, config: CnnConfig, encoder: Part) -> str:
    """Map (1, channels, height, width) pixels to the memory (N, hidden)."""
    features = graph.input("pixels", "float32", [1, config.channels, "height", "width"])
    for stage, (blocks, stride) in enumerate(zip(config.blocks, config.strides, strict=True)):
        for index in range(blocks):
            step = stride if index == 0 else (1, 1)
            features = _add_residual(graph, encoder.under(f"stages.{stage}.blocks.{index}"), features, step)
    rows = graph.linear(_rows_of(graph, features, config.widths[-1]), encoder.linear("projection"))
    rows = _add_positions(graph, config, rows, features)
    for index in range(config.layers):
        block = encoder.under(f"blocks.{index}")
        attend = lambda normal, block=block: add_attention(graph, block, normal, config.heads)  # noqa: E731
        rows = add_block(graph, block, rows, epsilon=_EPSILON, attend=attend)
    return encoder.norm(graph, "norm", rows, _EPSILON) if config.layers else rows


def _add_residual(graph: Graph, block: Part, features: str, stride: tuple[int, int]) -> str:
    middle = graph.add("Relu", _add_convolution(graph, block, "first", "first_norm", features, stride))
    outputs = _add_convolution(graph, block, "second", "second_norm", middle, (1, 1))
    if block.has("shortcut.0.weight"):
        features = _add_convolution(graph, block, "shortcut.0", "shortcut.1", features, stride)
    return graph.add("Relu", graph.add("Add", outputs, features))


def _add_convolution(graph: Graph, block: Part, name: str, norm: str, features: str, stride: tuple[int, int]) -> str:
    """Add a convolution with the batch norm behind it folded into weight and bias."""
    spread = np.sqrt(block.floats(f"{norm}.running_var") + np.float32(_EPSILON))
    scale: Floats = block.floats(f"{norm}.weight") / spread
    weight = block.floats(f"{name}.weight") * scale[:, None, None, None]
    bias = block.floats(f"{norm}.bias") - block.floats(f"{norm}.running_mean") * scale
    side = weight.shape[2]
    names = graph.weight(f"{block.name}.{name}.weight", weight), graph.weight(f"{block.name}.{name}.bias", bias)
    pads = [side // 2] * 4
    return graph.add("Conv", features, *names, kernel_shape=[side, side], strides=stride, pads=pads)


def _rows_of(graph: Graph, features: str, width: int) -> str:
    """Turn a (1, width, rows, columns) map into (N, width), rows before columns."""
    return graph.add("Transpose", graph.reshape(features, width, -1), perm=[1, 0])


def _add_positions(graph: Graph, config: CnnConfig, rows: str, features: str) -> str:
    """Add sinusoids over rows and columns, each in its half of the width, or over the whole sequence."""
    if not config.position_2d:
        length = graph.add("Shape", rows, start=0, end=1)
        return graph.add("Add", rows, add_sinusoids(graph, length, config.hidden))
    half = config.hidden // 2
    height, width = (graph.add("Shape", features, start=axis, end=axis + 1) for axis in (2, 3))
    down, across = add_sinusoids(graph, height, half), add_sinusoids(graph, width, config.hidden - half)
    down = graph.add("Pad", down, graph.integers(0, 0, 0, config.hidden - half))
    across = graph.add("Pad", across, graph.integers(0, half, 0, 0))
    grid = graph.add("Concat", height, width, graph.integers(config.hidden), axis=0)
    placed = graph.add("Add", graph.add("Reshape", rows, grid), graph.reshape(down, -1, 1, config.hidden))
    return graph.reshape(graph.add("Add", placed, across), -1, config.hidden)
