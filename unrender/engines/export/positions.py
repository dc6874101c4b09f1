"""Sinusoidal positions (seed 002, eq. 1): as a table, and as nodes for lengths known only when the graph runs."""

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from unrender.engines.export.graph import Graph

_WAVELENGTH = 10000.0


def sinusoids(length: int, width: int) -> NDArray[np.float32]:
    """Return the (length, width) table: sines on even, cosines on odd dimensions."""
    angle = np.arange(length, dtype=np.float32)[:, None] / _wavelengths(width)
    table = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return np.ascontiguousarray(table.reshape(length, -1)[:, :width], dtype=np.float32)


def add_sinusoids(graph: Graph, length: str, width: int) -> str:
    """Add the same table for a length that is a value of the graph, a vector of one number."""
    zero, one = (graph.weight(f"scalar {value}", np.array(value, dtype=np.int64)) for value in (0, 1))
    index = graph.add("Range", zero, graph.add("Squeeze", length), one)
    column = graph.reshape(graph.add("Cast", index, to=TensorProto.FLOAT), -1, 1)
    angle = graph.add("Div", column, graph.weight(f"wavelengths {width}", _wavelengths(width)))
    waves = [graph.add("Unsqueeze", graph.add(wave, angle), graph.integers(2)) for wave in ("Sin", "Cos")]
    table = graph.reshape(graph.add("Concat", *waves, axis=2), 0, -1)
    if width % 2 == 0:
        return table
    return graph.add("Slice", table, graph.integers(0), graph.integers(width), graph.integers(1))


def _wavelengths(width: int) -> NDArray[np.float32]:
    even = np.arange(0, width, 2, dtype=np.float32)
    return np.asarray(np.float32(_WAVELENGTH) ** (even / np.float32(width)), dtype=np.float32)
