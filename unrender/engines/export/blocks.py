"""What graphs built by hand share: weights by name, patches, pre-norm transformer blocks. One image, N rows of C."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unrender.checkpoints import Weights
from unrender.engines.export.graph import Floats, Graph, Linear


@dataclass(frozen=True)
class Part:
    """The weights of one module, under short names."""

    weights: Weights
    name: str

    def under(self, name: str) -> "Part":
        return Part(self.weights, f"{self.name}.{name}")

    def has(self, name: str) -> bool:
        return f"{self.name}.{name}" in self.weights

    def floats(self, name: str) -> Floats:
        return np.asarray(self.weights[f"{self.name}.{name}"], dtype=np.float32)

    def linear(self, name: str, outputs: slice = slice(None), part: str = "") -> Linear:
        """Return a linear layer, or the rows of it that make some of its outputs."""
        bias = self.floats(f"{name}.bias")[outputs] if self.has(f"{name}.bias") else None
        return Linear(f"{self.name}.{name}{part}", self.floats(f"{name}.weight")[outputs], bias)

    def thirds(self, name: str) -> tuple[Linear, Linear, Linear]:
        """Return a joint query, key and value projection as three."""
        width = len(self.floats(f"{name}.weight")) // 3
        query, keys, values = (slice(third * width, (third + 1) * width) for third in range(3))
        return self.linear(name, query, ".0"), self.linear(name, keys, ".1"), self.linear(name, values, ".2")

    def norm(self, graph: Graph, name: str, rows: str, epsilon: float) -> str:
        return graph.norm(
            rows, f"{self.name}.{name}", self.floats(f"{name}.weight"), self.floats(f"{name}.bias"), epsilon
        )


def add_patches(graph: Graph, encoder: Part, pixels: str, size: tuple[int, int, int], patch: int) -> str:
    """Cut (1, channels, height, width) pixels into patches and map each to a row, (N, C)."""
    channels, height, width = size
    below, beside = -height % patch, -width % patch
    if below or beside:
        pixels = graph.add("Pad", pixels, graph.integers(0, 0, 0, 0, 0, 0, below, beside))
    rows, columns = -(-height // patch), -(-width // patch)
    grid = graph.reshape(pixels, channels, rows, patch, columns, patch)
    flat = graph.reshape(graph.add("Transpose", grid, perm=[1, 3, 0, 2, 4]), rows * columns, channels * patch * patch)
    weight = encoder.floats("patches.weight")
    return graph.linear(flat, Linear("patches", weight.reshape(len(weight), -1), encoder.floats("patches.bias")))


def add_block(
    graph: Graph,
    block: Part,
    rows: str,
    *,
    epsilon: float,
    attend: Callable[[str], str],
    keep: str = "",
) -> str:
    """Add norm, attention, residual; norm, feed-forward, residual to rows (N, C).

    `attend` takes (1, C, N, 1) and gives rows; `keep` zeroes normalised rows before attention.
    """
    width = block.floats("attention_norm.weight").size
    normal = block.norm(graph, "attention_norm", rows, epsilon)
    if keep:
        normal = graph.add("Mul", normal, keep)
    mixed = graph.to_channels(attend(graph.to_channels(normal, width)), width)
    change = graph.to_rows(graph.pointwise(mixed, block.linear("attention.output")), width)
    middle = graph.add("Add", rows, change)
    normal = graph.to_channels(block.norm(graph, "feed_forward_norm", middle, epsilon), width)
    inner = graph.pointwise(normal, block.linear("feed_forward.expand"), activation="gelu")
    return graph.add("Add", middle, graph.to_rows(graph.pointwise(inner, block.linear("feed_forward.contract")), width))
