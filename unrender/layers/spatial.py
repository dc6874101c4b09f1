"""LayoutLMv2's multimodal encoder with spatial-aware self-attention (seed 003).

Shapes: B pages, L text tokens, V visual tokens, T = V + L, H heads, C width. Boxes are (x0, y0, x1, y1), 0 to 1000.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, dropout, embedding

from unrender.layers.attention import FeedForward, draw_alike
from unrender.layers.visual import make_visual
from unrender.models.layoutlmv2 import COORDINATES, LabelConfig, LayoutConfig, grid_boxes

_INIT_STD = 0.02


class LabelInputs(NamedTuple):
    """One batch of pages: what the model is given."""

    tokens: Tensor  # (B, L) ids
    boxes: Tensor  # (B, L, 4) integers
    mask: Tensor  # (B, L) True: a token, False: padding
    pixels: Tensor | None = None  # (B, channels, H, W); not needed by a model without a picture
    segments: Tensor | None = None  # (B, L); None: all [A]


class LabelVectors(NamedTuple):
    """What the encoder makes of a batch."""

    text: Tensor  # (B, L, C)
    visual: Tensor  # (B, V, C)
    first_visual: Tensor  # (B, V, C), before the first layer


class LabelModel(nn.Module):
    """The encoder and the head that the config names."""

    def __init__(self, config: LabelConfig) -> None:
        super().__init__()
        layout = config.layout
        self.layout = layout
        self.embedding = LabelEmbedding(layout)
        self.encoder = SpatialEncoder(layout)
        self.pooler = nn.Linear(layout.hidden, layout.hidden) if layout.pooler else None
        self.head = _make_head(config)

    def forward(self, inputs: LabelInputs) -> Tensor:
        """Return the head's scores: labels (B, L, K), class (B, K), answer (B, L, 2) as start and end."""
        assert self.head is not None, "this model has no head"
        scores: Tensor = self.head(self.encode(inputs))
        return scores

    def encode(self, inputs: LabelInputs) -> LabelVectors:
        """Return the vectors of text and visual tokens after the last layer."""
        text, visual = self.embedding.text(inputs), self.embedding.picture(inputs)
        order = -1 if self.layout.order == "visual first" else 1

        def join(of_text: Tensor, of_picture: Tensor, dim: int = 1) -> Tensor:
            return torch.cat([of_text, of_picture][::order], dim=dim)

        hidden = self.encoder(
            join(text, visual),
            join(inputs.boxes, self.embedding.grid.expand(len(text), -1, -1)),
            join(torch.arange(text.shape[1]), torch.arange(visual.shape[1]), dim=0).to(text.device),
            join(inputs.mask, torch.ones(visual.shape[:2], dtype=torch.bool, device=text.device)),
        )
        after, pictured = hidden.split([text.shape[1], visual.shape[1]][::order], dim=1)[::order]
        return LabelVectors(after, pictured, visual)

    def pool(self, vectors: LabelVectors) -> Tensor:
        """Return one vector a page, from [CLS]: (B, C)."""
        assert self.pooler is not None, "this model has no pooler"
        pooled: Tensor = self.pooler(vectors.text[:, 0]).tanh()
        return pooled

    @torch.no_grad()
    def init_weights(self, generator: torch.Generator) -> None:
        """Draw every weight anew, as for training from scratch."""
        for module in self.modules():
            draw_alike(module, generator)
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=_INIT_STD, generator=generator)
            elif isinstance(module, SpatialBias | SpatialAttention):
                for parameter in module.parameters(recurse=False):
                    nn.init.zeros_(parameter)


class LabelEmbedding(nn.Module):
    """Text, visual and layout embeddings; the position and layout tables serve text and picture alike."""

    def __init__(self, config: LayoutConfig) -> None:
        super().__init__()
        hidden, rows, width = config.hidden, config.coordinate_rows, config.coordinate_width
        self.config = config
        self.words = nn.Embedding(config.vocabulary, hidden)
        self.positions = nn.Embedding(config.max_positions, hidden)
        self.segments = nn.Embedding(config.segments, hidden)
        self.norm = nn.LayerNorm(hidden, eps=config.norm_epsilon)
        if config.layout:
            self.x, self.y = nn.Embedding(rows, width), nn.Embedding(rows, width)
            self.heights, self.widths = nn.Embedding(rows, width), nn.Embedding(rows, width)
        self.grid: Tensor
        self.register_buffer("grid", torch.tensor(grid_boxes(config.grid))[: config.visual_tokens], persistent=False)
        if config.visual is not None:
            self.visual = make_visual(config.visual)
            self.visual_projection = nn.Linear(config.visual.out_width, hidden)
            self.visual_norm = nn.LayerNorm(hidden, eps=config.norm_epsilon)
            if config.visual_segment:
                self.visual_segment = nn.Parameter(torch.zeros(hidden))

    def text(self, inputs: LabelInputs) -> Tensor:
        """Return t_i + l_i, normalised: (B, L, C)."""
        segments = torch.zeros_like(inputs.tokens) if inputs.segments is None else inputs.segments
        places = torch.arange(inputs.tokens.shape[1], device=inputs.tokens.device)
        total = self.words(inputs.tokens) + self.positions(places) + self.segments(segments)
        return self._dropped(self.norm(total + self.layout(inputs.boxes)))

    def picture(self, inputs: LabelInputs) -> Tensor:
        """Return v_i + l_i, normalised: (B, V, C)."""
        if self.config.visual is None:
            return inputs.boxes.new_zeros((len(inputs.tokens), 0, self.config.hidden), dtype=self.words.weight.dtype)
        assert inputs.pixels is not None, "this model looks at the picture too"
        features = adaptive_avg_pool2d(self.visual(inputs.pixels), self.config.grid)
        total = self.visual_projection(features.flatten(2).transpose(1, 2))
        total = total + self.positions.weight[: self.config.visual_tokens] + self.layout(self.grid)
        if self.config.visual_segment:
            total = total + self.visual_segment
        return self._dropped(self.visual_norm(total))

    def layout(self, boxes: Tensor) -> Tensor | float:
        """Return l_i (..., C), the six features in the published order: x0, y0, x1, y1, height, width."""
        if not self.config.layout:
            return 0.0
        x0, y0, x1, y1 = boxes.unbind(-1)
        parts = [self.x(x0), self.y(y0), self.x(x1), self.y(y1), self.heights(y1 - y0), self.widths(x1 - x0)]
        return torch.cat(parts, dim=-1)

    def _dropped(self, values: Tensor) -> Tensor:
        return dropout(values, self.config.dropout, self.training)


class SpatialEncoder(nn.Module):
    """Post-norm transformer layers that share one set of relative position biases."""

    def __init__(self, config: LayoutConfig) -> None:
        super().__init__()
        self.bias = SpatialBias(config) if config.spatial_bias else None
        self.layers = nn.ModuleList(SpatialLayer(config) for _ in range(config.layers))

    def forward(self, hidden: Tensor, boxes: Tensor, places: Tensor, mask: Tensor) -> Tensor:
        """Encode (B, T, C); `boxes` (B, T, 4), `places` (T,) in each one's own sequence, `mask` (B, T)."""
        bias = torch.zeros_like(mask, dtype=hidden.dtype).masked_fill(~mask, torch.finfo(hidden.dtype).min)
        bias = bias[:, None, None, :]
        if self.bias is not None:
            bias = bias + self.bias(boxes, places)
        for layer in self.layers:
            hidden = layer(hidden, bias)
        return hidden


class SpatialBias(nn.Module):
    """b1D, b2Dx and b2Dy: learnt for each head and bucket of distance, the same in all layers."""

    def __init__(self, config: LayoutConfig) -> None:
        super().__init__()
        self.anchor = 1 if config.anchor == "top" else 3
        self.positions = nn.Parameter(torch.zeros(config.heads, config.position_buckets))
        self.x = nn.Parameter(torch.zeros(config.heads, config.spatial_buckets))
        self.y = nn.Parameter(torch.zeros(config.heads, config.spatial_buckets))
        self.farthest = max(config.max_positions, config.visual_tokens) - 1
        far = buckets(torch.arange(-self.farthest, self.farthest + 1), config.position_buckets, config.position_reach)
        wide = buckets(torch.arange(-COORDINATES, COORDINATES + 1), config.spatial_buckets, config.spatial_reach)
        self.position_bucket: Tensor
        self.spatial_bucket: Tensor
        self.register_buffer("position_bucket", far, persistent=False)
        self.register_buffer("spatial_bucket", wide, persistent=False)

    @torch.no_grad()
    def lean(self, strength: float, cell: int) -> None:
        """Let a quarter of the heads begin by looking from a word to the part of the picture that it stands in.

        A visual token is anchored at the upper left of its cell, so that part is up and left by less than a cell. A
        quarter of the heads look back, from the picture to the words in it; the others are left as they are.
        """
        reach = torch.arange(-COORDINATES, COORDINATES + 1)
        quarter = len(self.x) // 4
        for first, near in ((0, (reach > -cell) & (reach <= 0)), (quarter, (reach >= 0) & (reach < cell))):
            for table in (self.x, self.y):
                table[first : first + quarter, self.spatial_bucket[near]] = strength

    def forward(self, boxes: Tensor, places: Tensor) -> Tensor:
        """Return what to add to the attention scores, (B, H, T, T): from query i (rows) to key j."""
        total = _look_up(self.positions, self.position_bucket, places[None], self.farthest)
        total = total + _look_up(self.x, self.spatial_bucket, boxes[..., 0], COORDINATES)
        return total + _look_up(self.y, self.spatial_bucket, boxes[..., self.anchor], COORDINATES)


class SpatialLayer(nn.Module):
    """Attention, residual, norm; feed-forward, residual, norm."""

    def __init__(self, config: LayoutConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        self.attention = SpatialAttention(config)
        self.attention_norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.feed_forward = FeedForward(config.hidden, config.feed_forward, "gelu")
        self.feed_forward_norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)

    def forward(self, hidden: Tensor, bias: Tensor) -> Tensor:
        changed = dropout(self.attention(hidden, bias), self.dropout, self.training)
        hidden = self.attention_norm(hidden + changed)
        changed = dropout(self.feed_forward(hidden), self.dropout, self.training)
        outputs: Tensor = self.feed_forward_norm(hidden + changed)
        return outputs


class SpatialAttention(nn.Module):
    """Self-attention with a bias on the scores (seed 003, alpha'); keys have none of their own.

    A bias of the keys would add the same number to all scores of a query, which the softmax takes away again.
    """

    def __init__(self, config: LayoutConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.attention_dropout
        self.qkv = nn.Linear(config.hidden, 3 * config.hidden, bias=False)
        self.query_bias = nn.Parameter(torch.zeros(config.hidden))
        self.value_bias = nn.Parameter(torch.zeros(config.hidden))
        self.output = nn.Linear(config.hidden, config.hidden)

    def forward(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """Attend within (B, T, C); `bias` (B, H or 1, T or 1, T)."""
        rows, length, width = hidden.shape
        query, keys, values = self.qkv(hidden).chunk(3, dim=-1)
        query, keys, values = (
            part.view(rows, length, self.heads, -1).transpose(1, 2)
            for part in (query + self.query_bias, keys, values + self.value_bias)
        )
        scores = query @ keys.transpose(-1, -2) / math.sqrt(width // self.heads) + bias
        weights = dropout(scores.softmax(-1), self.dropout, self.training)
        outputs: Tensor = self.output((weights @ values).transpose(1, 2).flatten(2))
        return outputs


class LabelHead(nn.Module):
    """Scores of each label for each text token."""

    def __init__(self, config: LabelConfig, outputs: int) -> None:
        super().__init__()
        self.dropout = config.layout.dropout
        self.scores = nn.Linear(config.layout.hidden, outputs)

    def forward(self, vectors: LabelVectors) -> Tensor:
        scores: Tensor = self.scores(dropout(vectors.text, self.dropout, self.training))
        return scores


class ClassHead(nn.Module):
    """Scores of each class for a page, from [CLS] and the picture's vectors before and after the encoder."""

    def __init__(self, config: LabelConfig) -> None:
        super().__init__()
        self.dropout = config.layout.dropout
        self.scores = nn.Linear(3 * config.layout.hidden, len(config.labels))

    def forward(self, vectors: LabelVectors) -> Tensor:
        parts = vectors.text[:, 0], vectors.first_visual.mean(1), vectors.visual.mean(1)
        scores: Tensor = self.scores(dropout(torch.cat(parts, dim=-1), self.dropout, self.training))
        return scores


def buckets(distances: Tensor, count: int, reach: int) -> Tensor:
    """Sort distances j - i into `count` buckets: by sign, then exactly while near, logarithmically up to `reach`."""
    half = count // 2
    near = half // 2
    size = distances.abs()
    along = torch.log(size.clamp(min=1).float() / near) / math.log(reach / near) * (half - near)
    far = (near + along.long()).clamp(max=half - 1)
    return torch.where(distances > 0, half, 0) + torch.where(size < near, size, far)


def _look_up(table: Tensor, bucket: Tensor, places: Tensor, farthest: int) -> Tensor:
    """Return (B, H, T, T): the value for the distance from each place (B, T) to each other."""
    distances = places[:, None, :] - places[:, :, None]
    return embedding(distances + farthest, table[:, bucket].T).permute(0, 3, 1, 2)


def _make_head(config: LabelConfig) -> nn.Module | None:
    match config.head:
        case "labels":
            return LabelHead(config, len(config.labels))
        case "class":
            return ClassHead(config)
        case "answer":
            return LabelHead(config, 2)
        case "none":
            return None
