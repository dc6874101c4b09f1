"""The visual backbones of LayoutLMv2 (seed 003, "CNN visual encoder"): a page picture to a map of features.

Names of the published trunk: stem, res2 to res5, lateral and output convolutions of the feature pyramid; of its levels
only p2, the finest, is used, as published.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, interpolate, max_pool2d, relu

from unrender.layers.cnn import ResidualBlock
from unrender.models.layoutlmv2 import ResNeXtConfig, SmallCnnConfig, VisualConfig

_PUBLISHED_MEAN = (103.53, 116.28, 123.675)  # blue, green, red from 0 to 255
_PUBLISHED_STD = (57.375, 57.12, 58.395)
_HIGHEST = 255.0


def make_visual(config: VisualConfig) -> nn.Module:
    """Build a backbone: (B, channels, H, W) -> (B, out_width, h, w)."""
    match config:
        case ResNeXtConfig():
            return ResNeXtPyramid(config)
        case SmallCnnConfig():
            return SmallCnn(config)


class SmallCnn(nn.Module):
    """Residual blocks, each halving the picture."""

    def __init__(self, config: SmallCnnConfig) -> None:
        super().__init__()
        inputs = (config.channels, *config.widths[:-1])
        self.stages = nn.ModuleList(
            ResidualBlock(before, after, (2, 2)) for before, after in zip(inputs, config.widths, strict=True)
        )

    def forward(self, pixels: Tensor) -> Tensor:
        for stage in self.stages:
            pixels = stage(pixels, None)
        return pixels


class ResNeXtPyramid(nn.Module):
    """ResNeXt bottom-up, feature pyramid top-down; RGB pixels from 0 to 1 -> p2, a quarter of the size."""

    def __init__(self, config: ResNeXtConfig) -> None:
        super().__init__()
        self.mean: Tensor
        self.std: Tensor
        self.register_buffer("mean", torch.tensor(_PUBLISHED_MEAN).view(3, 1, 1))
        self.register_buffer("std", torch.tensor(_PUBLISHED_STD).view(3, 1, 1))
        self.stem = NormedConvolution(config, config.channels, config.stem_width, side=7, stride=2)
        self.stages = nn.ModuleList()
        self.laterals, self.outputs = nn.ModuleList(), nn.ModuleList()
        inputs = config.stem_width
        for stage, depth in enumerate(config.depths):
            outputs = config.first_width << stage
            self.stages.append(_make_stage(config, stage, inputs, outputs, depth))
            self.laterals.append(nn.Conv2d(outputs, config.out_width, 1))
            self.outputs.append(nn.Conv2d(config.out_width, config.out_width, 3, padding=1))
            inputs = outputs

    def forward(self, pixels: Tensor) -> Tensor:
        features = (_HIGHEST * pixels.flip(1) - self.mean) / self.std
        features = max_pool2d(relu(self.stem(features)), 3, stride=2, padding=1)
        levels = []
        for stage, lateral in zip(self.stages, self.laterals, strict=True):
            features = stage(features)
            levels.append(lateral(features))
        merged: Tensor = levels.pop()
        while levels:
            merged = levels.pop() + interpolate(merged, scale_factor=2.0, mode="nearest")
        finest: Tensor = self.outputs[0](merged)
        return finest


class Bottleneck(nn.Module):
    """1 x 1, grouped 3 x 3 with the stride, 1 x 1, beside a shortcut."""

    def __init__(self, config: ResNeXtConfig, inputs: int, middle: int, outputs: int, stride: int, first: bool) -> None:
        super().__init__()
        self.shortcut = NormedConvolution(config, inputs, outputs, stride=stride) if first else nn.Identity()
        self.narrow = NormedConvolution(config, inputs, middle)
        self.grouped = NormedConvolution(config, middle, middle, side=3, stride=stride, groups=config.groups)
        self.widen = NormedConvolution(config, middle, outputs)

    def forward(self, features: Tensor) -> Tensor:
        middle = relu(self.grouped(relu(self.narrow(features))))
        return relu(self.widen(middle) + self.shortcut(features))


class NormedConvolution(nn.Module):
    """A convolution without bias and a frozen batch norm."""

    def __init__(
        self, config: ResNeXtConfig, inputs: int, outputs: int, *, side: int = 1, stride: int = 1, groups: int = 1
    ) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, side, stride, padding=side // 2, groups=groups, bias=False)
        self.norm = FrozenNorm(outputs, config.norm_epsilon)

    def forward(self, features: Tensor) -> Tensor:
        scale, shift = self.norm.affine()
        kernel = self.convolution.weight * scale[:, None, None, None]
        convolution = self.convolution
        return conv2d(features, kernel, shift, convolution.stride, convolution.padding, groups=convolution.groups)


class FrozenNorm(nn.Module):
    """Batch norm whose statistics and affine values are constants; folded into the convolution before it."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight: Tensor
        self.bias: Tensor
        self.running_mean: Tensor
        self.running_var: Tensor
        for name, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((width,), value))

    def affine(self) -> tuple[Tensor, Tensor]:
        """Return what to multiply by, and then to add."""
        scale = self.weight * (self.running_var + self.epsilon).rsqrt()
        return scale, self.bias - self.running_mean * scale


def _make_stage(config: ResNeXtConfig, stage: int, inputs: int, outputs: int, depth: int) -> nn.Module:
    middle = config.groups * config.group_width << stage
    stride = 1 if stage == 0 else 2
    first = Bottleneck(config, inputs, middle, outputs, stride, first=True)
    rest = (Bottleneck(config, outputs, middle, outputs, 1, first=False) for _ in range(depth - 1))
    return nn.Sequential(first, *rest)
