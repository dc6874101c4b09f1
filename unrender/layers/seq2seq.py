"""An image encoder and a text decoder, joined (seeds 000, 001, 002, 004)."""

import math

import torch
from torch import Tensor, nn

from unrender.errors import ConfigError
from unrender.layers.attention import EncoderBlock, draw_alike
from unrender.layers.cnn import CnnEncoder, Context
from unrender.layers.decoder import Decoder, DecoderLayer
from unrender.layers.swin import SwinBlock, SwinEncoder, ViTEncoder
from unrender.models.config import CnnConfig, EncoderConfig, SwinConfig, TextConfig, ViTConfig

_TABLE_STD = 0.02


class VisionText(nn.Module):
    """One image-to-text system: pixels (B, channels, H, W) and tokens (B, T) -> scores (B, T, V)."""

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        if config.encoder.out_width != config.decoder.memory_width:
            raise ConfigError(
                f"{config.name}: the encoder gives vectors of width {config.encoder.out_width}, "
                f"the decoder expects {config.decoder.memory_width}"
            )
        self.config = config
        self.encoder = _encoder(config.encoder)
        self.decoder = Decoder(config.decoder)
        if config.spelling:
            self.spelling = nn.Linear(config.encoder.out_width, config.decoder.vocabulary)

    def forward(self, pixels: Tensor, tokens: Tensor, sizes: Tensor | None = None) -> Tensor:
        """Score the token that follows each of `tokens`; `sizes` (B, 2) are true heights and widths."""
        memory, mask = self.encode(pixels, sizes)
        scores: Tensor = self.decoder(tokens, memory, mask)
        return scores

    def encode(self, pixels: Tensor, sizes: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the memory (B, N, D) and, where images differ in size, which of it is image (B, N)."""
        memory, mask = self.encoder(pixels, sizes)
        return memory, mask

    @torch.no_grad()
    def init_weights(self, generator: torch.Generator) -> None:
        """Draw every weight anew, at scales fit for training from scratch."""
        for module in self.modules():
            _draw(module, generator)
        for module in self.modules():
            _quieten(module, len(self.decoder.layers))


def _encoder(config: EncoderConfig) -> nn.Module:
    match config:
        case SwinConfig():
            return SwinEncoder(config)
        case ViTConfig():
            return ViTEncoder(config)
        case CnnConfig():
            return CnnEncoder(config)


def _draw(module: nn.Module, generator: torch.Generator) -> None:
    draw_alike(module, generator)
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight, generator=generator)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5, generator=generator)
    elif isinstance(module, SwinBlock):
        nn.init.normal_(module.bias_table, std=_TABLE_STD, generator=generator)
    elif isinstance(module, ViTEncoder):
        nn.init.normal_(module.specials, std=_TABLE_STD, generator=generator)
        nn.init.normal_(module.positions, std=_TABLE_STD, generator=generator)


def _quieten(module: nn.Module, layers: int) -> None:
    """Let residual branches start small, so that depth does not hurt the first steps.

    Encoder blocks start as the identity: what the convolutions see reaches the decoder at once. The convolutions
    themselves start at full strength, for beside them there is only a shortcut that skips pixels.
    """
    if isinstance(module, EncoderBlock):
        nn.init.zeros_(module.feed_forward.contract.weight)
        if isinstance(module.attention.output, nn.Linear):
            nn.init.zeros_(module.attention.output.weight)
    elif isinstance(module, Context):
        nn.init.zeros_(module.hand_down.weight)
    elif isinstance(module, DecoderLayer) and module.pre_norm:
        module.feed_forward.contract.weight /= math.sqrt(2 * layers)
