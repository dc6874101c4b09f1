"""Attention, the blocks around it (seed 002, eq. 1 to 4) and the keys and values that one decoding remembers.

Shapes: B rows, T queries, N keys, H heads, D width of one head, C = H x D.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, relu, scaled_dot_product_attention

from unrender.layers.half import HalfAttention
from unrender.models.config import Activation

_WAVELENGTH = 10000.0
_FIRST_ROOM = 32  # tokens; the room doubles whenever it is full


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """One multi-head attention module."""

    hidden: int
    heads: int
    source_width: int = 0  # cross-attention only: width of what the keys and values are made from
    bias: bool = True  # of the query, key and value projections
    output_projection: bool = True


@dataclass(frozen=True, kw_only=True)
class BlockConfig:
    """One pre-norm encoder block."""

    hidden: int
    heads: int
    feed_forward: int
    bias: bool = True
    norm_epsilon: float = 1e-5
    dropout: float = 0.0


def sinusoids(index: Tensor, width: int) -> Tensor:
    """Return position vectors (..., width): sines on even, cosines on odd dimensions (seed 002, eq. 1)."""
    even = torch.arange(0, width, 2, dtype=torch.float32, device=index.device)
    angle = index[..., None] / _WAVELENGTH ** (even / width)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)[..., :width]


def sinusoids_2d(rows: int, columns: int, width: int, device: torch.device | None = None) -> Tensor:
    """Return (rows, columns, width): eq. 1 over rows in the first half, over columns in the second."""
    half = width // 2
    down = sinusoids(torch.arange(rows, device=device), half)[:, None].expand(rows, columns, half)
    across = sinusoids(torch.arange(columns, device=device), width - half)[None].expand(rows, columns, width - half)
    return torch.cat([down, across], dim=-1)


class SelfAttention(nn.Module):
    """Multi-head attention whose queries, keys and values come from one input (seed 002, eq. 2 to 4)."""

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.hidden, 3 * config.hidden, bias=config.bias)
        self.output = _output_projection(config)

    def forward(self, inputs: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """Attend within (B, T, C); `mask` is boolean (True: visible) or additive, (B or 1, H or 1, T, T)."""
        query, keys, values = self.project(inputs)
        return self.attend(query, keys, values, mask, causal)

    def project(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values, each (B, H, T, D) (seed 002, eq. 2)."""
        rows, length, _ = inputs.shape
        query, keys, values = self.qkv(inputs).view(rows, length, 3, self.heads, -1).unbind(2)
        return query.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """Mix the values by the similarity of queries and keys, back to (B, T, C) (seed 002, eq. 3)."""
        mixed = _mix(query, keys, values, mask, causal)
        return join_heads(mixed, self.output)


class CrossAttention(nn.Module):
    """Multi-head attention from tokens to the image memory (seed 002: K and V come from the fused feature F)."""

    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.hidden, config.hidden, bias=config.bias)
        self.key_value = nn.Linear(config.source_width, 2 * config.hidden, bias=config.bias)
        self.output = _output_projection(config)

    def forward(self, inputs: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend from (B, T, C) to keys and values made by `project_source`."""
        mixed = _mix(self.project_query(inputs), keys, values, mask)
        return join_heads(mixed, self.output)

    def look(self, inputs: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Do what `forward` does, and return the weights (B, H, T, N) too."""
        if torch.is_autocast_enabled("cpu"):
            mixed, weights = HalfAttention.mix(self.project_query(inputs), keys, values, mask)
            return join_heads(mixed, self.output), weights
        weights = self.weigh(inputs, keys, mask)
        return join_heads(weights @ values, self.output), weights

    def project_query(self, inputs: Tensor) -> Tensor:
        rows, length, _ = inputs.shape
        query: Tensor = self.query(inputs)
        return query.view(rows, length, self.heads, -1).transpose(1, 2)

    def project_source(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Make keys and values (B, H, N, D) from the memory, once for a whole decoding."""
        rows, length, _ = source.shape
        keys, values = self.key_value(source).view(rows, length, 2, self.heads, -1).unbind(2)
        return keys.transpose(1, 2), values.transpose(1, 2)

    def weigh(self, inputs: Tensor, keys: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the attention weights (B, H, T, N) that `forward` uses without showing them."""
        query = self.project_query(inputs)
        similarity = query @ keys.transpose(-1, -2) / math.sqrt(query.shape[-1])
        if mask is not None:
            similarity = similarity.masked_fill(~mask, -math.inf)
        return similarity.softmax(-1)


class FeedForward(nn.Module):
    """Two linear layers around one activation."""

    def __init__(self, hidden: int, inner: int, activation: Activation) -> None:
        super().__init__()
        self.expand = nn.Linear(hidden, inner)
        self.contract = nn.Linear(inner, hidden)
        self.activation = gelu if activation == "gelu" else relu

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.contract(self.activation(self.expand(inputs)))
        return outputs


class EncoderBlock(nn.Module):
    """Norm, attention, residual; norm, feed-forward, residual."""

    def __init__(self, config: BlockConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.attention = SelfAttention(AttentionConfig(hidden=config.hidden, heads=config.heads, bias=config.bias))
        self.feed_forward_norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.feed_forward = FeedForward(config.hidden, config.feed_forward, "gelu")
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        middle = inputs + self.dropout(self.attention(self.attention_norm(inputs), mask))
        outputs: Tensor = middle + self.dropout(self.feed_forward(self.feed_forward_norm(middle)))
        return outputs


def join_heads(mixed: Tensor, output: nn.Module) -> Tensor:
    """Concatenate the heads (seed 002, eq. 4): (B, H, T, D) -> (B, T, C), then the output projection."""
    joined: Tensor = output(mixed.transpose(1, 2).flatten(2))
    return joined


def _mix(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
    """Mix the values (B, H, T, D) by the similarity of queries and keys (seed 002, eq. 3)."""
    if torch.is_autocast_enabled("cpu"):
        return HalfAttention.mix(query, keys, values, mask, causal)[0]
    return scaled_dot_product_attention(query, keys, values, attn_mask=mask, is_causal=causal)


def _output_projection(config: AttentionConfig) -> nn.Module:
    return nn.Linear(config.hidden, config.hidden) if config.output_projection else nn.Identity()


class KeyValue:
    """Keys and values (B, H, T, D) of one layer, appended to in place."""

    def __init__(self) -> None:
        self._keys = torch.empty(0)
        self._values = torch.empty(0)
        self.length = 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add new keys and values at the end; return all of them."""
        end = self.length + keys.shape[2]
        if self.length == 0 or end > self._keys.shape[2]:
            self._keys, self._values = self._grown(self._keys, keys, end), self._grown(self._values, values, end)
        self._keys[:, :, self.length : end] = keys
        self._values[:, :, self.length : end] = values
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]

    def reorder(self, rows: Tensor) -> None:
        if self.length:
            self._keys, self._values = self._picked(self._keys, rows), self._picked(self._values, rows)

    def _grown(self, old: Tensor, new: Tensor, end: int) -> Tensor:
        room = max(_FIRST_ROOM, 2 * end)
        grown = new.new_empty((*new.shape[:2], room, new.shape[3]))
        if self.length:
            grown[:, :, : self.length] = old[:, :, : self.length]
        return grown

    def _picked(self, old: Tensor, rows: Tensor) -> Tensor:
        picked = old.new_empty((len(rows), *old.shape[1:]))
        picked[:, :, : self.length] = old[:, :, : self.length][rows]
        return picked


class DecoderState:
    """The memory and the cache of one batch of rows; `images` says which image each row reads."""

    def __init__(self, memory: list[tuple[Tensor, Tensor]], memory_mask: Tensor | None) -> None:
        self._all_memory = memory
        self._all_masks = None if memory_mask is None else memory_mask[:, None, None, :]
        self.memory = memory
        self.memory_mask = self._all_masks
        self.past = [KeyValue() for _ in memory]
        self.images = torch.arange(len(memory[0][0]))
        self.length = 0
        self.watched: Tensor | None = None

    @property
    def rows(self) -> int:
        return len(self.images)

    def advance(self, count: int, device: torch.device) -> tuple[Tensor, Tensor | None]:
        """Make room for `count` new tokens; return their positions and, if there are several, who may see whom."""
        before, self.length = self.length, self.length + count
        order = torch.arange(self.length, device=device)
        return order[before:], None if count == 1 else order[None, :] <= order[before:, None]

    def reorder(self, rows: Tensor) -> None:
        """Keep these rows, in this order; the memory is copied only when a row changes its image."""
        images = self.images[rows]
        if not torch.equal(images, self.images):
            self.images = images
            self.memory = [(keys[images], values[images]) for keys, values in self._all_memory]
            self.memory_mask = None if self._all_masks is None else self._all_masks[images]
        for past in self.past:
            past.reorder(rows)


def draw_alike(module: nn.Module, generator: torch.Generator) -> None:
    """Draw what every model draws alike: convolutions at full strength, no bias, norms that change nothing."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", generator=generator)
    if isinstance(module, nn.LayerNorm | nn.BatchNorm2d):
        nn.init.ones_(module.weight)
    if isinstance(module, nn.Linear | nn.Conv2d | nn.LayerNorm | nn.BatchNorm2d) and module.bias is not None:
        nn.init.zeros_(module.bias)
