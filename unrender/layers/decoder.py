"""The decoder of every image-to-text system (seed 000, algorithm 2; seed 002; seed 004, 4.2.3).

Shapes: B rows, T tokens, N memory vectors, V vocabulary, C hidden width, H heads, D width of one head.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from unrender.layers.attention import (
    AttentionConfig,
    CrossAttention,
    DecoderState,
    FeedForward,
    KeyValue,
    SelfAttention,
    sinusoids,
)
from unrender.models.config import DecoderConfig


class Decoder(nn.Module):
    """Token and position embeddings, layers, scores over the vocabulary."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.hidden)
        if config.positions == "learned":
            self.positions = nn.Embedding(config.max_positions + config.position_offset, config.hidden)
        self.embedding_norm = nn.LayerNorm(config.hidden) if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.final_norm = nn.LayerNorm(config.hidden) if config.final_norm else nn.Identity()
        if not config.tied:
            self.scores = nn.Linear(config.hidden, config.vocabulary, bias=False)

    def forward(self, tokens: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        """Score every next token at once, as in training: (B, T) -> (B, T, V)."""
        return self.score(self.hidden(tokens, memory, memory_mask))

    def hidden(
        self, tokens: Tensor, memory: Tensor, memory_mask: Tensor | None = None, watched: list[Tensor] | None = None
    ) -> Tensor:
        """Return what `score` turns into scores (B, T, C); a loss may pick rows first and skip padding.

        To `watched` the cross-attention weights (B, H, T, N) of each layer but the first are added.
        """
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        mask = None if memory_mask is None else memory_mask[:, None, None, :]
        hidden = self.embed(tokens, positions)
        unwatched = 1 if len(self.layers) > 1 else 0
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden, memory, mask, watched if number >= unwatched else None)
        outputs: Tensor = self.final_norm(hidden)
        return outputs

    def score(self, hidden: Tensor) -> Tensor:
        """Map (..., C) to scores (..., V)."""
        weight = self.tokens.weight if self.config.tied else self.scores.weight
        if torch.is_autocast_enabled("cpu"):  # products in bfloat16 are ten times faster for rows by the dozen
            return linear(hidden, pad(weight, (0, 0, 0, -len(weight) % 32)))[..., : len(weight)]
        return linear(hidden, weight)

    def embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Add token and position vectors (seed 000, algorithm 2, line 3); positions are (T,)."""
        embedded = self.tokens(tokens)
        if self.config.scale_embedding:
            embedded = embedded * math.sqrt(self.config.hidden)
        if self.config.positions == "learned":
            embedded = embedded + self.positions(positions + self.config.position_offset)
        else:
            embedded = embedded + sinusoids(positions, self.config.hidden).to(embedded.dtype)
        outputs: Tensor = self.dropout(self.embedding_norm(embedded))
        return outputs

    def start(self, memory: Tensor, memory_mask: Tensor | None = None) -> DecoderState:
        """Begin a decoding: keys and values of the memory are made here, once."""
        pairs = [layer.cross_attention.project_source(memory) for layer in self._layers()]
        return DecoderState(pairs, memory_mask)

    def step(self, tokens: Tensor, state: DecoderState, watch: int = 0) -> Tensor:
        """Feed (B, T) new tokens after those in `state`; return (B, V) scores for the one that follows.

        With `watch` = n the cross-attention weights of the last n layers are kept in `state.watched` as
        (B, n, H, T, N).
        """
        positions, mask = state.advance(tokens.shape[1], tokens.device)
        hidden = self.embed(tokens, positions)
        first_watched = len(self.layers) - watch
        watched: list[Tensor] = []
        for index, layer in enumerate(self._layers()):
            seen = watched if index >= first_watched else None
            hidden = layer.step(hidden, state.past[index], state.memory[index], mask, state.memory_mask, seen)
        state.watched = torch.stack(watched, dim=1) if watched else None
        return self.score(self.final_norm(hidden[:, -1]))

    def _layers(self) -> Sequence["DecoderLayer"]:
        return [layer for layer in self.layers if isinstance(layer, DecoderLayer)]


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward, each with residual and norm.

    Seed 000 writes the two attentions as one line; seed 002 names both. `pre_norm` normalises in front of each
    part (mBART), otherwise after each residual (seed 002's add & norm, TrOCR).
    """

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.pre_norm = config.pre_norm
        shape = AttentionConfig(
            hidden=config.hidden,
            heads=config.heads,
            source_width=config.memory_width,
            output_projection=config.output_projection,
        )
        self.self_attention = SelfAttention(shape)
        self.self_norm = nn.LayerNorm(config.hidden)
        self.cross_attention = CrossAttention(shape)
        self.cross_norm = nn.LayerNorm(config.hidden)
        self.feed_forward = FeedForward(config.hidden, config.feed_forward, config.activation)
        self.feed_forward_norm = nn.LayerNorm(config.hidden)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, hidden: Tensor, memory: Tensor, memory_mask: Tensor | None, watched: list[Tensor] | None = None
    ) -> Tensor:
        keys, values = self.cross_attention.project_source(memory)
        attended = self.self_attention(self._before(self.self_norm, hidden), causal=True)
        hidden = self._after(self.self_norm, hidden, attended)
        query = self._before(self.cross_norm, hidden)
        if watched is None:
            attended = self.cross_attention(query, keys, values, memory_mask)
        else:
            attended, weights = self.cross_attention.look(query, keys, values, memory_mask)
            watched.append(weights)
        hidden = self._after(self.cross_norm, hidden, attended)
        return self._feed_forward(hidden)

    def step(
        self,
        hidden: Tensor,
        past: KeyValue,
        memory: tuple[Tensor, Tensor],
        mask: Tensor | None,
        memory_mask: Tensor | None,
        watched: list[Tensor] | None = None,
    ) -> Tensor:
        """Do what `forward` does for the newest tokens only, with the earlier keys and values in `past`."""
        query, keys, values = self.self_attention.project(self._before(self.self_norm, hidden))
        keys, values = past.append(keys, values)
        hidden = self._after(self.self_norm, hidden, self.self_attention.attend(query, keys, values, mask))
        query = self._before(self.cross_norm, hidden)
        if watched is not None:
            watched.append(self.cross_attention.weigh(query, memory[0], memory_mask))
        hidden = self._after(self.cross_norm, hidden, self.cross_attention(query, *memory, memory_mask))
        return self._feed_forward(hidden)

    def _feed_forward(self, hidden: Tensor) -> Tensor:
        outputs = self.feed_forward(self._before(self.feed_forward_norm, hidden))
        return self._after(self.feed_forward_norm, hidden, outputs)

    def _before(self, norm: nn.Module, hidden: Tensor) -> Tensor:
        outputs: Tensor = norm(hidden) if self.pre_norm else hidden
        return outputs

    def _after(self, norm: nn.Module, hidden: Tensor, change: Tensor) -> Tensor:
        summed: Tensor = hidden + self.dropout(change)
        outputs: Tensor = summed if self.pre_norm else norm(summed)
        return outputs
