"""The weights of a labelling model back out of its labels.onnx, so that training can go on from the reader that ships.

The graph keeps them in 8 bits, and the norms of the picture's network are folded into what they follow.
"""

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from unrender.checkpoints import GRAPHS, Loaded, Weights
from unrender.checkpoints.files import find_safetensors
from unrender.errors import ModelError
from unrender.layers.spatial import LabelModel

_PREFIX = "module."
_ZERO = 128  # how 8 bits store 0
_NORM_EPSILON = 1e-5
_IN_LAYER = ("attention.qkv", "attention.output", "feed_forward.expand", "feed_forward.contract")
Arrays = dict[str, NDArray[np.float32]]


def read_weights(loaded: Loaded) -> Weights:
    """Return a labelling model's weights: those beside it, or what its graph keeps of them."""
    if find_safetensors(loaded.folder):
        return loaded.weights()
    path = loaded.folder / GRAPHS["labels"][0]
    if not path.is_file():
        raise ModelError(f"{loaded.folder} has neither weights nor {path.name}; there is nothing to go on from")
    module = LabelModel(loaded.label_config)
    wanted = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    found = _read(path, loaded)
    given: Weights = {name: found.get(name, _folded(name, shape, found)) for name, shape in wanted.items()}
    other = [name for name, shape in wanted.items() if given[name].shape != shape]
    if other:
        raise ModelError(f"{path} was not written by this version of unrender: it has another {other[0]}")
    return given


def _read(path: Path, loaded: Loaded) -> Arrays:
    graph = onnx.load(path).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found: Arrays = {
        name.removeprefix(_PREFIX): array.copy() for name, array in stored.items() if name.startswith(_PREFIX)
    }
    words = f"{_PREFIX}embedding.words.weight"
    if f"{words}.values" in stored:
        found["embedding.words.weight"] = _whole(stored[f"{words}.values"], stored[f"{words}.scales"])
    products = [node for node in graph.node if node.op_type == "MatMulNBits"]
    for name, node in zip(_products(loaded), products, strict=False):
        found[f"{name}.weight"] = _whole(stored[node.input[1]], stored[node.input[2]])
    heads = loaded.label_config.layout.heads
    tables = [array.T for array in stored.values() if array.ndim == 2 and array.shape[1] == heads]
    found |= _biases(loaded, tables)
    shape = (loaded.label_config.layout.hidden, len(loaded.label_config.labels))
    head = next((array.T for array in stored.values() if array.shape == shape), None)
    if head is not None:
        found["head.scores.weight"] = head
    return {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in found.items()}


def _products(loaded: Loaded) -> list[str]:
    """Name the matrices in the order in which the graph multiplies by them."""
    layout = loaded.label_config.layout
    first = ["embedding.visual_projection"] if layout.visual is not None else []
    return [*first, *(f"encoder.layers.{layer}.{part}" for layer in range(layout.layers) for part in _IN_LAYER)]


def _biases(loaded: Loaded, tables: list[NDArray[np.float32]]) -> Arrays:
    """Gather what the graph has spread out by distance into buckets again."""
    bias = LabelModel(loaded.label_config).encoder.bias
    if bias is None or len(tables) != 3:
        return {}
    found: Arrays = {}
    buckets = {"positions": bias.position_bucket, "x": bias.spatial_bucket, "y": bias.spatial_bucket}
    for (name, bucket), table in zip(buckets.items(), tables, strict=True):
        rows = np.zeros(tuple(getattr(bias, name).shape), dtype=np.float32)
        rows[:, bucket.numpy()] = table
        found[f"encoder.bias.{name}"] = rows
    return found


def _folded(name: str, shape: tuple[int, ...], found: Arrays) -> NDArray[np.float32]:
    """Return a norm that does nothing but add what it was folded into; zeros for what the graph does not need."""
    if name.endswith(".running_var"):
        return np.full(shape, 1 - _NORM_EPSILON, dtype=np.float32)
    if "norm.weight" in name or name.endswith("shortcut.1.weight"):
        return np.ones(shape, dtype=np.float32)
    before = name.replace("_norm.bias", ".weight_bias").replace("shortcut.1.bias", "shortcut.0.weight_bias")
    return found.get(before, np.zeros(shape, dtype=np.float32))


def _whole(values: NDArray[np.uint8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn 8-bit blocks and their scales into numbers."""
    blocks = values.reshape(len(values), scales.shape[1], -1).astype(np.float32) - _ZERO
    return (blocks * scales[..., None]).reshape(len(values), -1)
