"""Small configurations of each kind of model, for tests of the layers."""

from dataclasses import replace

import torch

from unrender.layers.seq2seq import VisionText
from unrender.models import preset
from unrender.models.config import CnnConfig, DecoderConfig, ImagePrep, SwinConfig, TextConfig, ViTConfig

CNN = CnnConfig(
    widths=(4, 8, 8), blocks=(1, 2, 1), strides=((2, 2), (2, 1), (1, 2)), hidden=16, layers=1, heads=2, feed_forward=32
)
SWIN = SwinConfig(width=4, depths=(2, 2), heads=(2, 2), window=4, drop_path=0.5)
VIT = ViTConfig(height=16, width=24, patch=8, hidden=16, layers=2, heads=2, feed_forward=32, distilled=True)
DECODER = DecoderConfig(vocabulary=11, hidden=16, layers=2, heads=2, feed_forward=32, max_positions=12, memory_width=16)


def config(encoder: CnnConfig | SwinConfig | ViTConfig = CNN, decoder: DecoderConfig = DECODER) -> TextConfig:
    """Return a small model with this encoder."""
    image = ImagePrep(height=32, width=48, channels=encoder.channels, mean=(0.5,) * encoder.channels,
                      std=(0.5,) * encoder.channels)  # fmt: skip
    decoder = replace(decoder, memory_width=encoder.out_width)
    return replace(preset("recognizer"), name="small", image=image, encoder=encoder, decoder=decoder)


def build(settings: TextConfig, seed: int = 0) -> VisionText:
    """Build a model ready to read, its weights, norms and statistics drawn at random."""
    module = VisionText(settings)
    generator = torch.Generator().manual_seed(seed)
    module.init_weights(generator)
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            noise = torch.randn(tensor.shape, generator=generator)
            if "running_var" in name:
                tensor.copy_(noise.abs() + 0.5)
            elif tensor.is_floating_point():
                tensor += 0.2 * noise
    return module.eval()
