"""The vision transformer, plain (TrOCR-base) or distilled (TrOCR-small) (seed 004, 4.2.1)."""

import torch
from torch import Tensor, nn

from unrender.errors import ConfigError
from unrender.layers.attention import BlockConfig, EncoderBlock
from unrender.layers.swin import check_one_size
from unrender.models.config import ViTConfig


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
