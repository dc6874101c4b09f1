"""transformers' LayoutLMv2 without detectron2: its own modules around a visual backbone that the test provides."""

import pytest
import torch
from torch import Tensor, nn
from transformers import LayoutLMv2Config
from transformers.models.layoutlmv2 import modeling_layoutlmv2 as theirs

SIZES = {
    "vocab_size": 60,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 50,
    "coordinate_size": 8,
    "shape_size": 8,
}


class GivenFeatures(nn.Module):
    """Stands for the visual backbone: the picture's features are handed in as they are, (B, V, width)."""

    def __init__(self, config: LayoutLMv2Config) -> None:
        super().__init__()

    def forward(self, features: Tensor) -> Tensor:
        return features


def make(monkeypatch: pytest.MonkeyPatch, kind: str = "LayoutLMv2Model", **settings: object) -> nn.Module:
    """Build one of transformers' LayoutLMv2 classes with random weights, biases and norms included."""
    monkeypatch.setattr(theirs, "requires_backends", lambda *_: None)
    monkeypatch.setattr(theirs, "LayoutLMv2VisualBackbone", GivenFeatures)
    monkeypatch.setattr(theirs.LayoutLMv2PreTrainedModel, "_init_weights", lambda *_: None)
    config = LayoutLMv2Config(**SIZES, image_feature_pool_shape=[7, 7, 16], **settings)
    model: nn.Module = getattr(theirs, kind)(config).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            norm = "LayerNorm.weight" in name
            scale = 0.1 if parameter.dim() < 2 else 1.0 if "embeddings" in name or "rel_pos" in name else 0.2
            parameter.copy_(scale * noise + (1.0 if norm else 0.0))
    return model


def inputs(pages: int = 3, length: int = 20) -> dict[str, Tensor]:
    """Draw tokens, boxes, a mask of several lengths and visual features."""
    generator = torch.Generator().manual_seed(1)
    corners = torch.randint(0, 1001, (pages, length, 2, 2), generator=generator).sort(2).values
    lengths = torch.tensor([length - 4 * page for page in range(pages)])
    return {
        "input_ids": torch.randint(0, SIZES["vocab_size"], (pages, length), generator=generator),
        "bbox": corners.flatten(2),
        "attention_mask": (torch.arange(length) < lengths[:, None]).long(),
        "token_type_ids": torch.randint(0, 2, (pages, length), generator=generator),
        "image": torch.randn((pages, 49, 16), generator=generator),
    }
