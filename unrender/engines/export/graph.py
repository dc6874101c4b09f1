"""Write an ONNX graph node by node, so that every operation in it was chosen by measurement.

What the measurements on CPUs said (docs/performance.md): for a few rows `Gemm` carries its bias for free; for hundreds
a pointwise `Conv` in ONNX Runtime's blocked layout is 10 to 25 % faster; `Add` then `LayerNormalization` is several
times faster than the fused `SkipLayerNormalization`; `FusedMatMul` reads keys where they lie; `GroupQueryAttention`
appends to a cache in place.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, external_data_helper, helper, numpy_helper

from unrender.checkpoints import Weights
from unrender.engines.export.quantise import BITS, BLOCK, CONTRIBUTED, INT8_ACTIVATIONS, quantise

Array = NDArray[np.generic]
Floats = NDArray[np.float32]
Attribute = int | float | str | Sequence[int] | onnx.GraphProto
Dimension = int | str
_OPSET, _IR_VERSION = 20, 10
_CONTRIBUTED = frozenset(
    {"FusedGemm", "FusedMatMul", "GatherBlockQuantized", "GroupQueryAttention", "MatMulNBits", "MultiHeadAttention"}
)
_KINDS = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64}
_INLINE_BYTES = 64 << 20  # larger weights lie beside the graph, where ONNX Runtime maps them instead of copying


@dataclass(frozen=True)
class Linear:
    """One linear layer: weight (outputs, inputs) and bias (outputs,), as torch keeps them."""

    name: str
    weight: Floats
    bias: Floats | None = None


class Graph:
    """Nodes and weights of one graph; most methods return the name of what they add."""

    def __init__(self, name: str, *, int8: bool = False, parent: "Graph | None" = None) -> None:
        self._name, self._int8 = name, int8
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._weights: dict[str, Array] = {}
        self._numbers: Iterator[int] = count() if parent is None else parent._numbers

    def input(self, name: str, kind: str, shape: Sequence[Dimension]) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, _KINDS[kind], shape))
        return name

    def output(self, value: str, name: str, shape: Sequence[Dimension]) -> None:
        """Give a float value out under a name; the node that makes it is renamed, so nothing is copied."""
        for node in self._nodes:
            for names in (node.input, node.output):
                names[:] = [name if each == value else each for each in names]
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def weight(self, name: str, array: Array) -> str:
        """Store an array; the same name again means the same array."""
        self._weights.setdefault(name, np.asarray(array, order="C"))
        return name

    def integers(self, *values: int) -> str:
        return self.weight(f"integers {values}", np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        return self.weight(f"number {value}", np.array(value, dtype=np.float32))

    def add(self, operation: str, *inputs: str, **attributes: Attribute) -> str:
        """Add a node with one output."""
        return self.add_many(operation, *inputs, outputs=1, **attributes)[0]

    def add_many(self, operation: str, *inputs: str, outputs: int, **attributes: Attribute) -> list[str]:
        """Add a node with several outputs."""
        names = [f"{operation} {next(self._numbers)}" for _ in range(outputs)]
        domain = CONTRIBUTED if operation in _CONTRIBUTED else ""
        node = helper.make_node(operation, inputs, names, domain=domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self._nodes.append(node)
        return names

    def reshape(self, value: str, *shape: int) -> str:
        return self.add("Reshape", value, self.integers(*shape))

    def norm(self, value: str, name: str, scale: Floats, shift: Floats, epsilon: float) -> str:
        weights = self.weight(f"{name}.weight", scale), self.weight(f"{name}.bias", shift)
        return self.add("LayerNormalization", value, *weights, axis=-1, epsilon=epsilon)

    def linear(self, rows: str, layer: Linear, *, activation: str = "") -> str:
        """Map (R, inputs) to (R, outputs); `activation` is gelu, relu or none."""
        if self._int8:
            outputs = self._linear_int8(rows, layer)
        else:
            bias = [] if layer.bias is None else [self.weight(f"{layer.name}.bias", layer.bias)]
            weight = self.weight(f"{layer.name}.weight", layer.weight)
            if activation == "relu" and bias:
                return self.add("FusedGemm", rows, weight, *bias, transB=1, activation="Relu")
            outputs = self.add("Gemm", rows, weight, *bias, transB=1)
        return self.add(activation.capitalize(), outputs) if activation else outputs

    def to_channels(self, rows: str, width: int) -> str:
        """View rows (R, width) as an image of `width` channels (1, width, R, 1), for `pointwise`."""
        return self.add("Transpose", self.reshape(rows, 1, -1, 1, width), perm=[0, 3, 1, 2])

    def to_rows(self, channels: str, width: int) -> str:
        """Undo `to_channels`."""
        return self.reshape(self.add("Transpose", channels, perm=[0, 2, 3, 1]), -1, width)

    def pointwise(self, channels: str, layer: Linear, *, activation: str = "") -> str:
        """Do what `linear` does to (1, inputs, R, 1), faster where there are many rows."""
        bias = [] if layer.bias is None else [self.weight(f"{layer.name}.bias", layer.bias)]
        weight = self.weight(f"{layer.name}.weight", layer.weight[:, :, None, None])
        outputs = self.add("Conv", channels, weight, *bias, kernel_shape=[1, 1])
        return self.add(activation.capitalize(), outputs) if activation else outputs

    def embed(self, ids: str, name: str, table: Floats) -> str:
        """Look up rows (R, width) of a (count, width) table."""
        if not self._int8 or table.shape[1] % BLOCK:
            return self.add("Gather", self.weight(f"{name}.weight", table), ids)
        blocks, scales = quantise(table)
        values = self.weight(f"{name}.rows", blocks.reshape(table.shape))
        return self.add(
            "GatherBlockQuantized", values, ids, self.weight(f"{name}.scales", scales), bits=BITS, block_size=BLOCK,
            quantize_axis=1, gather_axis=0,
        )  # fmt: skip

    def body(self, name: str) -> "Graph":
        """Begin a graph inside this one; its weights are its own, or ONNX Runtime would not lay them out anew."""
        return Graph(name, parent=self)

    def scan(self, body: "Graph", *inputs: str) -> str:
        """Run a body over the first axis of the inputs and stack its one output."""
        graph = helper.make_graph(body._nodes, body._name, body._inputs, body._outputs, body._tensors())
        return self.add("Scan", *inputs, body=graph, num_scan_inputs=len(inputs))

    def model(self) -> onnx.ModelProto:
        """Return the whole graph."""
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, self._tensors())
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(CONTRIBUTED, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="unrender")

    def _tensors(self) -> list[onnx.TensorProto]:
        return [numpy_helper.from_array(array, name) for name, array in self._weights.items()]

    def _linear_int8(self, rows: str, layer: Linear) -> str:
        blocks, scales = quantise(layer.weight)
        bias = [] if layer.bias is None else ["", "", self.weight(f"{layer.name}.bias", layer.bias)]
        return self.add(
            "MatMulNBits", rows, self.weight(f"{layer.name}.values", blocks),
            self.weight(f"{layer.name}.scales", scales), *bias, K=layer.weight.shape[1], N=layer.weight.shape[0],
            bits=BITS, block_size=BLOCK, accuracy_level=INT8_ACTIVATIONS,
        )  # fmt: skip


def save_graph(model: onnx.ModelProto, path: Path) -> None:
    """Write a graph; large weights go to a file beside it, named after it."""
    path.with_name(f"{path.name}.data").unlink(missing_ok=True)
    if model.ByteSize() > _INLINE_BYTES:
        external_data_helper.convert_model_to_external_data(model, location=f"{path.name}.data")
    onnx.save(model, path)


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
