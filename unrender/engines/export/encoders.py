"""encoder.onnx: the pixels of one image in; keys and values of the memory for every decoder layer out.

One image at a time: matrix products of some hundred rows run faster than larger ones here, an image never pays for the
padding of its neighbours, and a batch is the sum of its images. Swin (layers/swin.py) is built by hand, for one size:
everything in a block but attention treats rows alone, and attention stays inside a window. So the rows are kept in
the order of the block's windows, one `Gather` leads from the windows of a block to those of the next (roll, cut and
pad in one), and a block runs over a few windows at a time (`Scan`), whose values stay in the processor's cache.
"""

from dataclasses import dataclass

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

from unrender.checkpoints import Weights
from unrender.engines.export.graph import Graph, Part, add_block, add_patches
from unrender.engines.export.traced import trace_encoder
from unrender.layers import fill
from unrender.layers.seq2seq import VisionText
from unrender.layers.swin import relative_index, shift_masks
from unrender.models.config import DecoderConfig, SwinConfig, TextConfig

_ROWS_AT_ONCE = 640
_PAD = -1
_MERGE_EPSILON = 1e-5
Order = NDArray[np.int64]  # for each row the index of its patch, row by row; _PAD where there is none


@dataclass(frozen=True)
class Windows:
    """The windows of one block over a map of `rows` x `columns` patches."""

    rows: int
    columns: int
    window: int
    shift: int

    @property
    def down(self) -> int:
        return -(-self.rows // self.window)

    @property
    def across(self) -> int:
        return -(-self.columns // self.window)

    def order(self) -> Order:
        """List the patches window by window: the map is padded, rolled, cut."""
        patches = np.full((self.down * self.window, self.across * self.window), _PAD)
        patches[: self.rows, : self.columns] = np.arange(self.rows * self.columns).reshape(self.rows, self.columns)
        rolled = np.roll(patches, (-self.shift, -self.shift), axis=(0, 1))
        grid = rolled.reshape(self.down, self.window, self.across, self.window)
        return np.asarray(grid.transpose(0, 2, 1, 3).reshape(-1), dtype=np.int64)

    def kinds(self) -> NDArray[np.int64]:
        """Tell for each window which of `shift_masks` it takes."""
        last_row = np.arange(self.down)[:, None] == self.down - 1
        last_column = np.arange(self.across)[None, :] == self.across - 1
        return np.asarray((2 * last_row + last_column).reshape(-1), dtype=np.int64)

    def at_once(self) -> int:
        """Choose how many windows to compute together: a divisor of their number."""
        total = self.down * self.across
        most = max(1, _ROWS_AT_ONCE // self.window**2)
        return max(count for count in range(1, most + 1) if total % count == 0)


def build_encoder(config: TextConfig, weights: Weights) -> onnx.ModelProto:
    """Write the encoder and what the decoder computes once for each image."""
    if not isinstance(config.encoder, SwinConfig):
        with torch.device("meta"):
            module = VisionText(config)
        return trace_encoder(config, fill(module, weights))
    graph = Graph("encoder")
    memory = add_swin(graph, config.encoder, Part(weights, "encoder"), config.image.height, config.image.width)
    _add_projections(graph, config.decoder, Part(weights, "decoder"), memory)
    return graph.model()


def _add_projections(graph: Graph, config: DecoderConfig, decoder: Part, memory: str) -> None:
    """Turn the memory (N, width) into keys and values (1, H, N, D), once for a whole decoding."""
    head = config.hidden // config.heads
    channels = graph.to_channels(memory, config.memory_width)
    halves = {"keys": slice(config.hidden), "values": slice(config.hidden, None)}
    for layer in range(config.layers):
        attention = decoder.under(f"layers.{layer}.cross_attention")
        for part, half in halves.items():
            projected = graph.pointwise(channels, attention.linear("key_value", half, f".{part}"))
            projected = graph.to_rows(projected, config.hidden)
            by_head = graph.add("Transpose", graph.reshape(projected, 1, -1, config.heads, head), perm=[0, 2, 1, 3])
            graph.output(by_head, f"memory_{part}.{layer}", [1, config.heads, "N", head])


def add_swin(graph: Graph, config: SwinConfig, encoder: Part, height: int, width: int) -> str:
    """Map (1, channels, height, width) pixels to the memory (N, out_width), rows before columns."""
    config.check_size(height, width)
    size = config.channels, height, width
    features = add_patches(graph, encoder, graph.input("pixels", "float32", [1, *size]), size, config.patch)
    features = encoder.norm(graph, "patch_norm", features, config.norm_epsilon)
    rows, columns = -(-height // config.patch), -(-width // config.patch)
    order = np.arange(rows * columns)
    for stage, (depth, heads) in enumerate(zip(config.depths, config.heads, strict=True)):
        part = encoder.under(f"stages.{stage}")
        for index in range(depth):
            windows = _windows(config, rows, columns, shifted=index % 2 == 1)
            features = _add_moves(graph, f"{part.name}.{index}.order", features, order, windows.order())
            order = windows.order()
            features = _add_window_block(graph, config, part.under(f"blocks.{index}"), heads, features, windows)
        if stage < config.merges:
            features = _add_merging(graph, part.under("merge"), features, order, rows, columns)
            rows, columns = -(-rows // 2), -(-columns // 2)
            order = np.arange(rows * columns)
    features = _add_moves(graph, "memory.order", features, order, np.arange(rows * columns))
    return encoder.norm(graph, "norm", features, config.norm_epsilon) if config.final_norm else features


def _windows(config: SwinConfig, rows: int, columns: int, *, shifted: bool) -> Windows:
    whole = min(rows, columns) <= config.window  # one window spans the map
    return Windows(rows, columns, min(config.window, rows, columns), config.window // 2 if shifted and not whole else 0)


def _add_moves(graph: Graph, name: str, features: str, present: Order, wanted: Order) -> str:
    """Bring rows from one order into another; rows that stand for no patch get any values."""
    if np.array_equal(present, wanted):
        return features
    return graph.add("Gather", features, graph.weight(name, _inverse(present)[wanted]), axis=0)


def _inverse(order: Order) -> Order:
    """Return for each patch, and last for _PAD, in which row it is."""
    inverse = np.zeros(order.max() + 2, dtype=np.int64)
    real = np.flatnonzero(order != _PAD)
    inverse[order[real]] = real
    return inverse


def _add_window_block(
    graph: Graph, config: SwinConfig, block: Part, heads: int, features: str, windows: Windows
) -> str:
    """Run one block over a few windows at a time."""
    length, hidden = windows.window**2, block.floats("attention_norm.weight").size
    count = windows.at_once()
    body = graph.body("windows")
    rows = body.input(f"{block.name} rows", "float32", [count * length, hidden])
    scanned = [graph.reshape(features, -1, count * length, hidden)]
    masks = keep = ""
    if windows.shift:
        kinds = body.input(f"{block.name} kinds", "int64", [count])
        scanned.append(graph.weight(f"{block.name}.kinds", windows.kinds().reshape(-1, count)))
        masks = body.add("Gather", _shift_masks(body, windows), kinds, axis=0)
    real = windows.order() != _PAD
    if not real.all():
        keep = body.input(f"{block.name} keep", "float32", [count * length, 1])
        scanned.append(graph.weight(f"{block.name}.keep", real.astype(np.float32).reshape(-1, count * length, 1)))
    bias = _position_bias(body, config, block, windows.window)
    attend = lambda normal: _attend(body, block, normal, length, heads, [bias, masks])  # noqa: E731
    outputs = add_block(body, block, rows, epsilon=config.norm_epsilon, attend=attend, keep=keep)
    body.output(outputs, f"{block.name} outputs", [count * length, hidden])
    return graph.reshape(graph.scan(body, *scanned), -1, hidden)


def _attend(graph: Graph, block: Part, channels: str, length: int, heads: int, biases: list[str]) -> str:
    """Attend inside each window of (1, C, windows x length, 1); the mixed values come as rows."""
    hidden = block.floats("attention_norm.weight").size
    head = hidden // heads
    projected = (graph.to_rows(graph.pointwise(channels, layer), hidden) for layer in block.thirds("attention.qkv"))
    query, keys, values = (
        graph.add("Transpose", graph.reshape(rows, -1, length, heads, head), perm=[0, 2, 1, 3]) for rows in projected
    )
    weights = graph.add("FusedMatMul", query, keys, transB=1, alpha=head**-0.5)
    for bias in filter(None, biases):
        weights = graph.add("Add", weights, bias)
    mixed = graph.add("MatMul", graph.add("Softmax", weights, axis=-1), values)
    return graph.reshape(graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), -1, hidden)


def _position_bias(graph: Graph, config: SwinConfig, block: Part, window: int) -> str:
    """Return the bias (1, heads, length, length) by how far two patches are apart."""
    table = block.floats("bias_table")[relative_index(window, config.window).numpy()]
    return graph.weight(f"{block.name}.bias", table.transpose(2, 0, 1)[None])


def _shift_masks(graph: Graph, windows: Windows) -> str:
    """Return what hides patches from one another: (4, 1, length, length), for inner, right, bottom, corner windows."""
    masks = shift_masks(windows.window, windows.shift).flatten(0, 1)[:, None]
    return graph.weight(f"shift masks {windows.window}", masks.numpy())


def _add_merging(graph: Graph, merge: Part, features: str, order: Order, rows: int, columns: int) -> str:
    """Join each 2 x 2 neighbourhood to one row of four times the width, then halve that."""
    norm = merge.floats("norm.weight")
    patches = np.full((rows + rows % 2, columns + columns % 2), _PAD)
    patches[:rows, :columns] = np.arange(rows * columns).reshape(rows, columns)
    if (patches == _PAD).any():  # an odd side is padded with zeros
        zeros = graph.weight(f"zeros {norm.size // 4}", np.zeros((1, norm.size // 4), dtype=np.float32))
        features = graph.add("Concat", features, zeros, axis=0)
    index = np.append(_inverse(order)[:-1], order.size)[patches]
    corners = np.stack([index[row::2, column::2] for column in (0, 1) for row in (0, 1)], axis=-1).reshape(-1)
    joined = graph.add("Gather", features, graph.weight(f"{merge.name}.order", corners), axis=0)
    normal = merge.norm(graph, "norm", graph.reshape(joined, -1, norm.size), _MERGE_EPSILON)
    reduced = graph.pointwise(graph.to_channels(normal, norm.size), merge.linear("reduction"))
    return graph.to_rows(reduced, norm.size // 2)
