"""Graphs that torch.onnx.export makes of the modules themselves: those that are as fast as any built by hand.

docs/performance.md has the measurements; the Swin encoders and the decoder are built by hand (encoders.py, decoder.py).
"""

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import onnx
import torch
from torch import Tensor, nn

from unrender.layers.cnn import Segmenter
from unrender.layers.seq2seq import VisionText
from unrender.layers.spatial import LabelInputs, LabelModel
from unrender.models.config import CnnConfig, TextConfig
from unrender.models.layoutlmv2 import LabelConfig
from unrender.models.page import MULTIPLE

_LINE = {"height": 64, "width": 160}  # of the picture that an encoder for any size is traced with
_PAGE = {"height": 96, "width": 64}  # of the cells that a layout network is traced with
_TOKENS = 60  # of the window that a labelling model is traced with
_FREE = torch.export.Dim.DYNAMIC


class _Memory(nn.Module):
    """The pixels of one image to keys and values for every layer of the decoder, and to its spelling."""

    def __init__(self, module: VisionText) -> None:
        super().__init__()
        self.module = module

    def forward(self, pixels: Tensor) -> list[Tensor]:
        memory, _ = self.module.encode(pixels)
        parts = [part for pair in self.module.decoder.start(memory).memory for part in pair]
        return [*parts, self.module.spelling(memory)] if self.module.config.spelling else parts


class _Labels(nn.Module):
    """The tokens, boxes and picture of one window to scores of every label for every token."""

    def __init__(self, module: LabelModel) -> None:
        super().__init__()
        self.module = module

    def forward(self, tokens: Tensor, boxes: Tensor, pixels: Tensor | None = None) -> Tensor:
        seen = torch.ones_like(tokens[None]) > 0
        scores: Tensor = self.module(LabelInputs(tokens[None], boxes[None], seen, pixels))
        return scores[0]


def trace_encoder(config: TextConfig, module: VisionText) -> onnx.ModelProto:
    """Write what encoder.onnx computes, for images of any size where the encoder allows that."""
    free = isinstance(config.encoder, CnnConfig)
    height, width = (_LINE["height"], _LINE["width"]) if free else (config.image.height, config.image.width)
    outputs = [f"memory_{part}.{layer}" for layer in range(config.decoder.layers) for part in ("keys", "values")]
    outputs += ["spelling"] if config.spelling else []
    pixels = torch.zeros(1, config.encoder.channels, height, width)
    return _trace(_Memory(module), {"pixels": pixels}, outputs, [{2: _FREE, 3: _FREE} if free else {}])


def trace_labels(config: LabelConfig, module: LabelModel) -> onnx.ModelProto:
    """Write what labels.onnx computes: one window at a time, of any length, so nothing is padded and nothing masked."""
    tokens, boxes = torch.zeros(_TOKENS, dtype=torch.int64), torch.zeros(_TOKENS, 4, dtype=torch.int64)
    inputs, dynamic = {"tokens": tokens, "boxes": boxes}, [{0: _FREE}, {0: _FREE}]
    if config.layout.visual is not None:
        inputs["pixels"] = torch.zeros(1, config.image.channels, config.image.height, config.image.width)
        dynamic.append({})
    return _trace(_Labels(module), inputs, ["scores"], dynamic)


def trace_segmenter(module: Segmenter) -> onnx.ModelProto:
    """Write what layout.onnx computes, for pages of any size in steps of 16 cells."""
    ink = torch.zeros(1, 1, _PAGE["height"], _PAGE["width"])
    rows, columns = (MULTIPLE * torch.export.Dim(name, min=1, max=200) for name in ("rows", "columns"))
    return _trace(module, {"ink": ink}, ["scores"], [{2: rows, 3: columns}])


def _trace(
    module: nn.Module, inputs: Mapping[str, Tensor], outputs: list[str], dynamic: Sequence[Mapping[int, object]]
) -> onnx.ModelProto:
    with _quiet(), torch.inference_mode():
        program = torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            input_names=list(inputs),
            output_names=outputs,
            dynamic_shapes=tuple(dynamic),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    return program.model_proto


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter from telling what is not installed and what will change in torch."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
