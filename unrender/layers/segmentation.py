"""The page reader's layout network: from the greys of a page to what stands in every cell."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, pixel_shuffle, relu

from unrender.layers.cnn import ResidualBlock
from unrender.models.segmentation import CHANNELS, SegmentationConfig

_SHUFFLE = 2  # cells beside one another that one vector speaks for
_STEM = 4  # side of the first patches, which overlap by half


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
