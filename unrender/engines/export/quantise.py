"""Weights in 8-bit integers: blocks along the inputs, each with its own scale.

The products are computed in integers too (`MatMulNBits`), with one scale for each block of each row, so the rows of a
batch do not influence one another. Quantising whole activations (`DynamicQuantizeMatMul`) was as fast for one row and
faster for sixteen, but there the largest row sets the rounding of all.
"""

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

CONTRIBUTED = "com.microsoft"  # domain of ONNX Runtime's own operations
BLOCK = 128  # inputs that share a scale
BITS = 8
INT8_ACTIVATIONS = 4  # MatMulNBits: multiply in 8-bit integers
_FEWEST = 1 << 12  # numbers of a weight that is worth the trouble
_MOST_POSITIONS = 1 << 12  # a table with more rows is one of words
_ZERO = 128  # how MatMulNBits stores 0
_LARGEST = 127


def quantise(weight: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return (outputs, blocks, BLOCK) values and (outputs, blocks) scales of an (outputs, inputs) weight."""
    outputs, inputs = weight.shape
    blocks = -(-inputs // BLOCK)
    padded = np.zeros((outputs, blocks * BLOCK), dtype=np.float32)
    padded[:, :inputs] = weight
    grouped = padded.reshape(outputs, blocks, BLOCK)
    scales = np.abs(grouped).max(axis=2) / _LARGEST
    scales[scales == 0] = 1
    values = np.rint(grouped / scales[..., None]) + _ZERO
    return values.astype(np.uint8), scales


def quantise_graph(model: onnx.ModelProto) -> onnx.ModelProto:
    """Put the weights of linear layers, and of tables that rows are looked up in, into 8 bits."""
    quantised = onnx.ModelProto()
    quantised.CopyFrom(model)
    graph = quantised.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        name = next((name for name in node.input[:2] if name in weights and len(weights[name].dims) == 2), "")
        if node.op_type in ("Gemm", "MatMul", "Gather") and name and np.prod(weights[name].dims) >= _FEWEST:
            array = numpy_helper.to_array(weights[name])
            if node.op_type == "Gather" and node.input[0] == name and _is_of_words(array):
                _look_up(graph, node, name, array)
            elif node.op_type != "Gather" and node.input[1] == name:
                _multiply(graph, node, name, array)
    used = {name for node in graph.node for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    if CONTRIBUTED not in {opset.domain for opset in quantised.opset_import}:
        quantised.opset_import.append(helper.make_opsetid(CONTRIBUTED, 1))
    return quantised


def halve_graph(model: onnx.ModelProto) -> onnx.ModelProto:
    """Store large weights in 16 bits; they are widened when the graph is opened, so nothing else changes."""
    halved = onnx.ModelProto()
    halved.CopyFrom(model)
    graph = halved.graph
    widened = []
    for tensor in graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and np.prod(tensor.dims) >= _FEWEST:
            name, array = tensor.name, numpy_helper.to_array(tensor).astype(np.float16)
            tensor.CopyFrom(numpy_helper.from_array(array, f"{name} in 16 bits"))
            widened.append(helper.make_node("Cast", [tensor.name], [name], to=onnx.TensorProto.FLOAT))
    nodes = [*widened, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return halved


def _is_of_words(table: NDArray[np.float32]) -> bool:
    return len(table) > _MOST_POSITIONS and not table.shape[1] % BLOCK


def _multiply(graph: onnx.GraphProto, node: onnx.NodeProto, name: str, weight: NDArray[np.float32]) -> None:
    turned = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
    rows = weight if turned else np.ascontiguousarray(weight.T)  # (outputs, inputs)
    values, scales = _store(graph, name, rows)
    bias = ["", "", node.input[2]] if len(node.input) > 2 else []
    inputs = [node.input[0], values, scales, *bias]
    _replace(
        node, "MatMulNBits", inputs, K=rows.shape[1], N=rows.shape[0], bits=BITS, block_size=BLOCK,
        accuracy_level=INT8_ACTIVATIONS,
    )  # fmt: skip


def _look_up(graph: onnx.GraphProto, node: onnx.NodeProto, name: str, table: NDArray[np.float32]) -> None:
    values, scales = _store(graph, name, table, flat=True)
    inputs = [values, node.input[1], scales]
    _replace(node, "GatherBlockQuantized", inputs, bits=BITS, block_size=BLOCK, quantize_axis=1, gather_axis=0)


def _store(graph: onnx.GraphProto, name: str, rows: NDArray[np.float32], *, flat: bool = False) -> tuple[str, str]:
    """Add values and scales beside a weight, once; return their names."""
    names = f"{name}.values", f"{name}.scales"
    if names[0] not in {tensor.name for tensor in graph.initializer}:
        values, scales = quantise(rows)
        stored = values.reshape(rows.shape) if flat else values
        graph.initializer.extend([numpy_helper.from_array(stored, names[0]), numpy_helper.from_array(scales, names[1])])
    return names


def _replace(node: onnx.NodeProto, operation: str, inputs: list[str], **attributes: int) -> None:
    node.op_type, node.domain = operation, CONTRIBUTED
    node.input[:] = inputs
    del node.attribute[:]
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
