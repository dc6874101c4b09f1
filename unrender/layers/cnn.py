"""A residual CNN that turns an image of any size into a sequence (seed 002's "CNN Encoder").

A batch holds images padded at the right and the bottom; `sizes` (B, 2) are their true heights and widths. What
lies outside an image is kept at zero in front of every convolution, so a row of a batch comes out as it would alone.
The page reader's layout network is made of the same blocks.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, pad, pixel_shuffle, relu

from unrender.layers.attention import BlockConfig, EncoderBlock, sinusoids, sinusoids_2d
from unrender.models.config import CnnConfig
from unrender.models.page import CHANNELS, SegmentationConfig

_SHUFFLE = 2  # cells beside one another that one vector speaks for
_STEM = 4  # side of the first patches, which overlap by half


class CnnEncoder(nn.Module):
    """Residual stages, projection, positions, transformer blocks: (B, C, H, W) -> (B, N, hidden)."""

    def __init__(self, config: CnnConfig) -> None:
        super().__init__()
        self.config = config
        inputs = (config.channels, *config.widths[:-1])
        stages = zip(inputs, config.widths, config.blocks, config.strides, strict=True)
        self.stages = nn.ModuleList(_Stage(*stage) for stage in stages)
        self.projection = nn.Linear(config.widths[-1], config.hidden)
        block = BlockConfig(
            hidden=config.hidden, heads=config.heads, feed_forward=config.feed_forward, dropout=config.dropout
        )
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(EncoderBlock(block) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.hidden) if config.layers else nn.Identity()
        if config.context:
            self.context = Context(config, block)

    def forward(self, pixels: Tensor, sizes: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the memory (B, N, hidden), rows before columns, and which of it is image (B, N) if not all."""
        features, inside = self.features(pixels, sizes)
        rows, columns = features.shape[2:]
        sequence = self.projection(features.permute(0, 2, 3, 1).flatten(1, 2))
        visible = None if inside is None else inside.flatten(1)
        sequence = self.dropout(sequence + self._positions(rows, columns, visible, sequence.device).to(sequence.dtype))
        mask = None if visible is None else visible[:, None, None, :]
        for block in self.blocks:
            sequence = block(sequence, mask)
        if self.config.context:
            sequence = sequence + self.context(sequence, rows, columns, inside)
        return self.norm(sequence), visible

    def features(self, pixels: Tensor, sizes: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the feature map (B, C, rows, columns) and which of it is image (B, rows, columns) if not all."""
        features = pixels.contiguous(memory_format=torch.channels_last)
        inside = None if sizes is None else _inside(sizes.to(pixels.device), pixels.shape[2], pixels.shape[3])
        if inside is not None:
            features = features * inside[:, None]
        for stage, stride in zip(self.stages, self.config.strides, strict=True):
            if sizes is not None and inside is not None:
                steps = torch.tensor(stride, device=sizes.device)
                sizes = (sizes + steps - 1) // steps
                inside = _inside(sizes, -(-features.shape[2] // stride[0]), -(-features.shape[3] // stride[1]))
            features = stage(features, None if inside is None else inside[:, None].to(features.dtype))
        return features, inside

    def _positions(self, rows: int, columns: int, visible: Tensor | None, device: torch.device) -> Tensor:
        if self.config.position_2d:
            return sinusoids_2d(rows, columns, self.config.hidden, device).flatten(0, 1)
        if visible is None:
            return sinusoids(torch.arange(rows * columns, device=device), self.config.hidden)
        return sinusoids(visible.cumsum(1) - visible.long(), self.config.hidden)  # count image features only


class Context(nn.Module):
    """What stands far around each cell: transformer blocks over coarse cells, handed down to the cells they cover."""

    def __init__(self, config: CnnConfig, block: BlockConfig) -> None:
        super().__init__()
        self.hidden, self.coarse = config.hidden, config.coarse
        self.gather = _Patches(config.hidden, config.hidden, config.coarse)
        self.blocks = nn.ModuleList(EncoderBlock(block) for _ in range(config.context))
        self.norm = nn.LayerNorm(config.hidden)
        self.hand_down = nn.Linear(config.hidden, config.hidden)

    def forward(self, sequence: Tensor, rows: int, columns: int, inside: Tensor | None) -> Tensor:
        """Return what to add to the cells (B, rows x columns, hidden) of which `inside` (B, rows, columns) is image."""
        cells = sequence.transpose(1, 2).reshape(len(sequence), self.hidden, rows, columns)
        if inside is not None:
            cells = cells * inside[:, None]
        down, across = self.coarse
        features = self.gather(cells, None)
        height, width = features.shape[2:]
        places = sinusoids_2d(height, width, self.hidden, sequence.device).flatten(0, 1).to(sequence.dtype)
        hidden = features.flatten(2).transpose(1, 2) + places
        mask = None if inside is None else inside[:, ::down, ::across].flatten(1)[:, None, None, :]
        for block in self.blocks:
            hidden = block(hidden, mask)
        handed = self.hand_down(self.norm(hidden)).transpose(1, 2).reshape(len(sequence), self.hidden, height, width)
        spread = handed[:, :, :, None, :, None].expand(-1, -1, -1, down, -1, across).flatten(4, 5).flatten(2, 3)
        outputs: Tensor = spread[:, :, :rows, :columns].flatten(2).transpose(1, 2)
        return outputs


class _Stage(nn.Module):
    """Residual blocks, the first of which strides; without any, one convolution over patches."""

    def __init__(self, inputs: int, outputs: int, blocks: int, stride: tuple[int, int]) -> None:
        super().__init__()
        if not blocks:
            self.blocks = nn.ModuleList([_Patches(inputs, outputs, stride)])
            return
        first = ResidualBlock(inputs, outputs, stride)
        self.blocks = nn.ModuleList([first, *(ResidualBlock(outputs, outputs, (1, 1)) for _ in range(blocks - 1))])

    def forward(self, features: Tensor, inside: Tensor | None) -> Tensor:
        for block in self.blocks:
            features = block(features, inside)
        return features


class _Patches(nn.Module):
    """What a vision transformer begins with: each patch times one matrix."""

    def __init__(self, inputs: int, outputs: int, stride: tuple[int, int]) -> None:
        super().__init__()
        self.stride = stride
        self.cut = nn.Conv2d(inputs, outputs, stride, stride)

    def forward(self, features: Tensor, inside: Tensor | None) -> Tensor:
        down, across = (-side % step for side, step in zip(features.shape[2:], self.stride, strict=True))
        outputs: Tensor = self.cut(pad(features, (0, across, 0, down)))
        return outputs if inside is None else outputs * inside


class ResidualBlock(nn.Module):
    """Two 3 x 3 convolutions with batch norm beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: tuple[int, int]) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        same = inputs == outputs and stride == (1, 1)
        self.shortcut: nn.Module = nn.Identity() if same else _shortcut(inputs, outputs, stride)

    def forward(self, features: Tensor, inside: Tensor | None) -> Tensor:
        middle = relu(self.first_norm(self.first(features)))
        if inside is not None:
            middle = middle * inside
        outputs = relu(self.second_norm(self.second(middle)) + self.shortcut(features))
        return outputs if inside is None else outputs * inside


def _shortcut(inputs: int, outputs: int, stride: tuple[int, int]) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


def _inside(sizes: Tensor, height: int, width: int) -> Tensor:
    """Return (B, height, width): True inside each image."""
    down = torch.arange(height, device=sizes.device) < sizes[:, :1]
    across = torch.arange(width, device=sizes.device) < sizes[:, 1:]
    return down[:, :, None] & across[:, None, :]


class Segmenter(nn.Module):
    """Down by halves and up again, with what was seen on the way down: (B, 1, H, W) -> (B, CHANNELS, H, W)."""

    def __init__(self, config: SegmentationConfig) -> None:
        super().__init__()
        widths, steps = config.widths, list(pairwise(config.widths))
        self.stem = nn.Conv2d(1, widths[0], _STEM, _SHUFFLE, padding=1)
        self.first = ResidualBlock(widths[0], widths[0], (1, 1))
        self.down = nn.ModuleList(ResidualBlock(upper, lower, (2, 2)) for upper, lower in steps)
        self.bottom = nn.ModuleList(ResidualBlock(widths[-1], widths[-1], (1, 1)) for _ in range(config.depth))
        self.up = nn.ModuleList(_Joining(lower, upper) for upper, lower in reversed(steps))
        self.head = nn.Conv2d(widths[0], CHANNELS * _SHUFFLE**2, 1)

    def forward(self, ink: Tensor) -> Tensor:
        """Score every cell; rows and columns are multiples of 16."""
        features = self.first(relu(self.stem(ink)), None)
        seen = [features]
        for stage in self.down:
            features = stage(features, None)
            seen.append(features)
        for block in self.bottom:
            features = block(features, None)
        # A page's own mean tells every cell what kind of page it is on.
        features = features + features.mean((2, 3), keepdim=True)
        for joining, beside in zip(self.up, reversed(seen[:-1]), strict=True):
            features = joining(features, beside)
        return pixel_shuffle(self.head(features), _SHUFFLE)


class _Joining(nn.Module):
    """Enlarge what was seen below and join it with what was seen here."""

    def __init__(self, lower: int, upper: int) -> None:
        super().__init__()
        self.narrow = nn.Conv2d(lower, upper, 1)
        self.block = ResidualBlock(2 * upper, upper, (1, 1))

    def forward(self, below: Tensor, beside: Tensor) -> Tensor:
        enlarged = interpolate(self.narrow(below), scale_factor=2.0, mode="nearest")
        joined: Tensor = self.block(torch.cat((enlarged, beside), dim=1), None)
        return joined
