"""The Swin encoder (seed 000, algorithm 1; seed 004, 4.2.2): attention inside windows that shift.

Seed 000 leaves out the residuals, the shift, its mask and the relative position bias, which published weights
need, and indents patch merging into the layer loop: it belongs after the last block of a stage. Feature maps are
(B, rows, columns, C); a window holds L = window x window patches.
The plain vision transformer is TrOCR's: ViT (base) or, distilled, DeiT (small) (seed 004, 4.2.1).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from unrender.errors import ConfigError
from unrender.layers.attention import AttentionConfig, BlockConfig, EncoderBlock, FeedForward, SelfAttention
from unrender.models.config import SwinConfig, ViTConfig

_HIDDEN = -100.0  # added to the similarity of patches that only the cyclic shift made neighbours


@dataclass(frozen=True, kw_only=True)
class SwinBlockConfig:
    """One Swin block."""

    hidden: int
    heads: int
    window: int
    shift: int
    feed_forward: int
    bias: bool
    norm_epsilon: float
    drop_path: float


class SwinEncoder(nn.Module):
    """Patches, stages of windowed blocks, merging between stages: (B, channels, H, W) -> (B, N, out_width)."""

    def __init__(self, config: SwinConfig) -> None:
        super().__init__()
        self.config = config
        self.patches = nn.Conv2d(config.channels, config.width, config.patch, config.patch)
        self.patch_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        stages = _stages(config)
        self.stages = nn.ModuleList(SwinStage(blocks, index < config.merges) for index, blocks in enumerate(stages))
        self.norm = nn.LayerNorm(config.out_width, eps=config.norm_epsilon) if config.final_norm else nn.Identity()

    def forward(self, pixels: Tensor, sizes: Tensor | None = None) -> tuple[Tensor, None]:
        """Return the memory (B, N, out_width), rows before columns; all images of a batch share one size."""
        height, width = pixels.shape[2:]
        self.config.check_size(height, width)
        check_one_size(pixels, sizes)
        pixels = pad(pixels, (0, -width % self.config.patch, 0, -height % self.config.patch))
        features = self.patch_norm(self.patches(pixels).permute(0, 2, 3, 1))
        for stage in self.stages:
            features = stage(features)
        return self.norm(features.flatten(1, 2)), None


class SwinStage(nn.Module):
    """The blocks of one resolution and, but in the last stage, one patch merging."""

    def __init__(self, blocks: tuple[SwinBlockConfig, ...], merges: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(SwinBlock(block) for block in blocks)
        self.merge = PatchMerging(blocks[0].hidden) if merges else nn.Identity()

    def forward(self, features: Tensor) -> Tensor:
        for block in self.blocks:
            features = block(features)
        outputs: Tensor = self.merge(features)
        return outputs


class PatchMerging(nn.Module):
    """Join each 2 x 2 neighbourhood: half the rows and columns, twice the width."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * hidden)
        self.reduction = nn.Linear(4 * hidden, 2 * hidden, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        features = pad(features, (0, 0, 0, features.shape[2] % 2, 0, features.shape[1] % 2))
        corners = [features[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        merged: Tensor = self.reduction(self.norm(torch.cat(corners, dim=-1)))
        return merged


class SwinBlock(nn.Module):
    """Norm, window attention, residual; norm, feed-forward, residual."""

    def __init__(self, config: SwinBlockConfig) -> None:
        super().__init__()
        self.config = config
        self.attention_norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.attention = SelfAttention(AttentionConfig(hidden=config.hidden, heads=config.heads, bias=config.bias))
        self.bias_table = nn.Parameter(torch.zeros((2 * config.window - 1) ** 2, config.heads))
        self.feed_forward_norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.feed_forward = FeedForward(config.hidden, config.feed_forward, "gelu")

    def forward(self, features: Tensor) -> Tensor:
        middle = features + self._drop_path(self._attend(self.attention_norm(features)))
        outputs: Tensor = middle + self.feed_forward(self.feed_forward_norm(middle))
        return outputs

    def _attend(self, features: Tensor) -> Tensor:
        rows, columns = features.shape[1:3]
        window, shift = min(self.config.window, rows, columns), self.config.shift
        if min(rows, columns) <= self.config.window:
            shift = 0  # one window spans the map
        padded = pad(features, (0, 0, 0, -columns % window, 0, -rows % window))
        windows = to_windows(padded.roll((-shift, -shift), (1, 2)), window)
        mixed = from_windows(self._attend_windows(windows, window, shift), window)
        return mixed.roll((shift, shift), (1, 2))[:, :rows, :columns]

    def _attend_windows(self, windows: Tensor, window: int, shift: int) -> Tensor:
        """Attend in (B, window rows, window columns, L, C); only the last row and column hold wrapped patches."""
        index = relative_index(window, self.config.window).to(self.bias_table.device)
        bias = self.bias_table[index].permute(2, 0, 1)
        if not shift:
            return self._attend_alike(windows, bias)
        masks = shift_masks(window, shift).to(bias)
        inner, last = slice(None, -1), slice(-1, None)
        bands = []
        for row, down in enumerate((inner, last)):
            left = self._attend_alike(windows[:, down, inner], bias + masks[row, 0])
            right = self._attend_alike(windows[:, down, last], bias + masks[row, 1])
            bands.append(torch.cat([left, right], dim=2))
        return torch.cat(bands, dim=1)

    def _attend_alike(self, windows: Tensor, bias: Tensor) -> Tensor:
        mixed: Tensor = self.attention(windows.flatten(0, 2), bias[None])
        return mixed.view(windows.shape)

    def _drop_path(self, change: Tensor) -> Tensor:
        """While training, leave the whole branch out for some images."""
        rate = self.config.drop_path
        if not self.training or rate == 0:
            return change
        kept = torch.rand(len(change), 1, 1, 1, device=change.device) >= rate
        return change * kept / (1 - rate)


def to_windows(features: Tensor, window: int) -> Tensor:
    """Cut (B, rows, columns, C) into (B, rows / window, columns / window, L, C)."""
    batch, rows, columns, hidden = features.shape
    grid = features.view(batch, rows // window, window, columns // window, window, hidden)
    return grid.transpose(2, 3).flatten(3, 4)


def from_windows(windows: Tensor, window: int) -> Tensor:
    """Put the windows of `to_windows` together again."""
    batch, down, across, _, hidden = windows.shape
    grid = windows.view(batch, down, across, window, window, hidden)
    return grid.transpose(2, 3).reshape(batch, down * window, across * window, hidden)


def shift_masks(window: int, shift: int) -> Tensor:
    """Return what to add to similarities in the four kinds of shifted windows: (2, 2, L, L).

    The first index says whether it is a window of the last row, the second of the last column; there the cyclic
    shift has put patches of the opposite border, which must not see the others.
    """
    wrapped = torch.arange(window) >= window - shift
    none = torch.zeros(window, dtype=torch.bool)
    kinds = []
    for rows in (none, wrapped):
        for columns in (none, wrapped):
            region = (2 * rows[:, None].long() + columns[None, :].long()).flatten()
            kinds.append((region[:, None] != region[None, :]) * _HIDDEN)
    return torch.stack(kinds).view(2, 2, window**2, window**2)


def relative_index(window: int, table_window: int) -> Tensor:
    """Return for each pair of patches in a window the row of the bias table of `table_window`: (L, L)."""
    place = torch.cartesian_prod(torch.arange(window), torch.arange(window))  # (L, 2)
    offset = place[:, None] - place[None, :] + table_window - 1
    return offset[..., 0] * (2 * table_window - 1) + offset[..., 1]


def check_one_size(pixels: Tensor, sizes: Tensor | None) -> None:
    """Raise a ConfigError if the images of a batch differ in size, for encoders of one canvas."""
    if sizes is not None and not torch.equal(sizes.cpu(), torch.tensor([pixels.shape[2:]] * len(sizes))):
        raise ConfigError("this encoder reads images of one size; prepare them with fit 'canvas' or 'squash'")


def _stages(config: SwinConfig) -> list[tuple[SwinBlockConfig, ...]]:
    total = sum(config.depths)
    stages, first = [], 0
    for stage, (depth, heads) in enumerate(zip(config.depths, config.heads, strict=True)):
        hidden = config.width << stage
        stages.append(
            tuple(
                SwinBlockConfig(
                    hidden=hidden,
                    heads=heads,
                    window=config.window,
                    shift=config.window // 2 if block % 2 else 0,
                    feed_forward=int(config.mlp_ratio * hidden),
                    bias=config.qkv_bias,
                    norm_epsilon=config.norm_epsilon,
                    drop_path=config.drop_path * (first + block) / max(1, total - 1),
                )
                for block in range(depth)
            )
        )
        first += depth
    return stages


class ViTEncoder(nn.Module):
    """Patches behind one or two special tokens, learned positions, blocks: (B, channels, H, W) -> (B, N, hidden)."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        patches = (config.height // config.patch) * (config.width // config.patch)
        specials = 2 if config.distilled else 1  # class and, distilled, teacher
        self.specials = nn.Parameter(torch.zeros(1, specials, config.hidden))
        self.positions = nn.Parameter(torch.zeros(1, specials + patches, config.hidden))
        self.patches = nn.Conv2d(config.channels, config.hidden, config.patch, config.patch)
        block = BlockConfig(
            hidden=config.hidden,
            heads=config.heads,
            feed_forward=config.feed_forward,
            bias=config.qkv_bias,
            norm_epsilon=config.norm_epsilon,
        )
        self.blocks = nn.ModuleList(EncoderBlock(block) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        if config.pooler:
            self.pooler = nn.Linear(config.hidden, config.hidden)  # carried along, used by no one

    def forward(self, pixels: Tensor, sizes: Tensor | None = None) -> tuple[Tensor, None]:
        """Return the memory (B, N, hidden): special tokens first, then patches, rows before columns."""
        height, width = pixels.shape[2:]
        if (height, width) != (self.config.height, self.config.width):
            raise ConfigError(
                f"image of height {height}, width {width} does not fit the vision transformer, "
                f"which reads height {self.config.height}, width {self.config.width} only"
            )
        check_one_size(pixels, sizes)
        patches = self.patches(pixels).flatten(2).transpose(1, 2)
        sequence = torch.cat([self.specials.expand(len(patches), -1, -1), patches], dim=1) + self.positions
        for block in self.blocks:
            sequence = block(sequence)
        return self.norm(sequence), None
