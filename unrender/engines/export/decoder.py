"""decoder.onnx: new tokens, the cache and the memory in; scores of the next token and the cache out.

Shapes: B rows, T new tokens, S cache slots, I images, N memory vectors, V vocabulary, C hidden, H heads, D of a head.
Rows lie image by image, B / I for each, so that all beams of an image read its memory at once. The caller binds
`present` to the memory of `past`: the cache is appended to in place.
"""

import math
from collections.abc import Callable

import numpy as np
import torch

from unrender.checkpoints import Weights
from unrender.engines.batch_rows import cached_width
from unrender.engines.export.graph import Dimension, Graph, Part
from unrender.layers.attention import sinusoids
from unrender.models.config import DecoderConfig

_EPSILON = 1e-5


def build_decoder(config: DecoderConfig, weights: Weights, *, masked: bool, watch: int, int8: bool) -> Graph:
    """Write one step of decoding.

    `masked` adds an input that hides memory; the last `watch` layers give where they look as `attention`.
    """
    graph = Graph("decoder", int8=int8)
    _Builder(graph, config, weights, masked, watch).build()
    return graph


class _Builder:
    def __init__(self, graph: Graph, config: DecoderConfig, weights: Weights, masked: bool, watch: int) -> None:
        self._graph, self._config, self._part = graph, config, Part(weights, "decoder")
        self._head, self._cached = config.hidden // config.heads, cached_width(config)
        self._watched_from, self._watched = config.layers - watch, list[str]()
        self._tokens = graph.input("tokens", "int64", ["B", "T"])
        self._positions = graph.input("positions", "int64", ["B", "T"])
        self._last = graph.input("last", "int32", ["B"])  # position of each row's newest token
        self._total = graph.input("total", "int32", [])  # tokens of the longest row, the new ones included
        self._mask = graph.input("memory_mask", "float32", ["I", 1, 1, "N"]) if masked else ""
        self._rows = graph.add("Shape", self._tokens)
        images = graph.add("Shape", "memory_keys.0", start=0, end=1)
        self._by_row = graph.add("Concat", self._rows, graph.integers(3 * config.heads * self._cached), axis=0)
        self._by_image = graph.add("Concat", images, graph.integers(-1, config.heads, self._head), axis=0)

    def build(self) -> None:
        config, graph = self._config, self._graph
        hidden = self._embed()
        for layer in range(config.layers):
            hidden = self._layer(layer, hidden)
        newest = self._pick_newest(hidden)
        if config.final_norm:
            newest = self._norm("final_norm", newest)
        scores = self._part.linear("tokens" if config.tied else "scores")
        graph.output(graph.linear(newest, scores), "scores", ["B", config.vocabulary])
        if self._watched:
            weights = self._watched[0] if len(self._watched) == 1 else graph.add("Mean", *self._watched)
            looks = graph.add("ReduceMean", weights, graph.integers(1), keepdims=0)  # (I, B / I x T, N)
            graph.output(self._pick_newest(looks), "attention", ["B", "N"])

    def _embed(self) -> str:
        config, graph = self._config, self._graph
        tokens, positions = (graph.reshape(name, -1) for name in (self._tokens, self._positions))
        embedded = graph.embed(tokens, "decoder.tokens", self._part.floats("tokens.weight"))
        if config.scale_embedding:
            embedded = graph.add("Mul", embedded, graph.number(math.sqrt(config.hidden)))
        if config.positions == "learned":
            table = self._part.floats("positions.weight")[config.position_offset :]
        else:
            table = sinusoids(torch.arange(config.max_positions), config.hidden).numpy()
        placed = graph.add("Gather", graph.weight("positions.weight", table), positions)
        embedded = graph.add("Add", embedded, placed)
        return self._norm("embedding_norm", embedded) if config.embedding_norm else embedded

    def _layer(self, layer: int, hidden: str) -> str:
        """Add one DecoderLayer; `hidden` is (B x T, C)."""
        name = f"layers.{layer}"
        hidden = self._residual(f"{name}.self_norm", hidden, lambda rows: self._attend_to_text(layer, rows))
        hidden = self._residual(f"{name}.cross_norm", hidden, lambda rows: self._attend_to_memory(layer, rows))
        return self._residual(f"{name}.feed_forward_norm", hidden, lambda rows: self._feed_forward(layer, rows))

    def _residual(self, norm: str, hidden: str, branch: Callable[[str], str]) -> str:
        if self._config.pre_norm:
            return self._graph.add("Add", hidden, branch(self._norm(norm, hidden)))
        return self._norm(norm, self._graph.add("Add", hidden, branch(hidden)))

    def _attend_to_text(self, layer: int, rows: str) -> str:
        """Append the new keys and values to the cache and attend to all of it (seed 002, eq. 3)."""
        graph, heads = self._graph, self._config.heads
        name = f"layers.{layer}.self_attention"
        projected = self._widen_heads(graph.linear(rows, self._part.linear(f"{name}.qkv")))
        cache: list[Dimension] = ["B", heads, "S", self._cached]
        past = [graph.input(f"past_{part}.{layer}", "float32", cache) for part in ("keys", "values")]
        mixed, *present = graph.add_many(
            "GroupQueryAttention", projected, "", "", *past, self._last, self._total, outputs=3,
            num_heads=heads, kv_num_heads=heads, scale=self._head**-0.5,
        )  # fmt: skip
        for part, value in zip(("keys", "values"), present, strict=True):
            graph.output(value, f"present_{part}.{layer}", cache)
        return self._project(f"{name}.output", self._narrow_heads(mixed))

    def _widen_heads(self, rows: str) -> str:
        """Turn joint queries, keys and values (B x T, 3 x C) into (B, T, heads), the heads as wide as the cache."""
        graph = self._graph
        if self._cached != self._head:
            apart = graph.reshape(rows, -1, self._head)
            wide = graph.add("Pad", apart, graph.integers(0, 0, 0, self._cached - self._head))
            rows = graph.reshape(wide, -1, 3 * self._config.heads * self._cached)
        return graph.add("Reshape", rows, self._by_row)

    def _narrow_heads(self, mixed: str) -> str:
        """Undo `_widen_heads` for the mixed values: (B, T, heads) to rows (B x T, C)."""
        graph = self._graph
        if self._cached != self._head:
            apart = graph.reshape(mixed, -1, self._cached)
            mixed = graph.add("Slice", apart, graph.integers(0), graph.integers(self._head), graph.integers(1))
        return graph.reshape(mixed, -1, self._config.hidden)

    def _attend_to_memory(self, layer: int, rows: str) -> str:
        graph = self._graph
        name = f"layers.{layer}.cross_attention"
        memory: list[Dimension] = ["I", self._config.heads, "N", self._head]
        keys, values = (graph.input(f"memory_{part}.{layer}", "float32", memory) for part in ("keys", "values"))
        query = graph.add("Reshape", graph.linear(rows, self._part.linear(f"{name}.query")), self._by_image)
        query = graph.add("Transpose", query, perm=[0, 2, 1, 3])  # (I, H, B / I x T, D)
        weights = graph.add("FusedMatMul", query, keys, transB=1, alpha=self._head**-0.5)
        if self._mask:
            weights = graph.add("Add", weights, self._mask)
        weights = graph.add("Softmax", weights, axis=-1)
        if layer >= self._watched_from:
            self._watched.append(weights)
        mixed = graph.add("Transpose", graph.add("MatMul", weights, values), perm=[0, 2, 1, 3])
        return self._project(f"{name}.output", graph.reshape(mixed, -1, self._config.hidden))

    def _feed_forward(self, layer: int, rows: str) -> str:
        graph, name = self._graph, f"layers.{layer}.feed_forward"
        inner = graph.linear(rows, self._part.linear(f"{name}.expand"), activation=self._config.activation)
        return graph.linear(inner, self._part.linear(f"{name}.contract"))

    def _project(self, name: str, rows: str) -> str:
        return self._graph.linear(rows, self._part.linear(name)) if self._config.output_projection else rows

    def _pick_newest(self, values: str) -> str:
        """Reduce (B x T, ...) to each row's last token, (B, ...)."""
        graph = self._graph
        shape = graph.add("Concat", self._rows, graph.integers(-1), axis=0)
        last = graph.weight("newest", np.array(-1, dtype=np.int64))
        return graph.add("Gather", graph.add("Reshape", values, shape), last, axis=1)

    def _norm(self, name: str, rows: str) -> str:
        return self._part.norm(self._graph, name, rows, _EPSILON)
