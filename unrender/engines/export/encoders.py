"""encoder.onnx: the pixels of one image in; keys and values of the memory for every decoder layer out.

One image at a time: matrix products of some hundred rows run faster than larger ones here, an image never pays for
the padding of its neighbours, and a batch is the sum of its images. Shapes: N memory vectors, H heads, D of a head.
"""

import onnx
import torch

from unrender.checkpoints import Weights
from unrender.engines.export.blocks import Part
from unrender.engines.export.graph import Graph
from unrender.engines.export.swin import add_swin
from unrender.engines.export.traced import trace_encoder
from unrender.layers.seq2seq import VisionText
from unrender.models.config import DecoderConfig, SwinConfig, TextConfig


def build_encoder(config: TextConfig, weights: Weights) -> onnx.ModelProto:
    """Write the encoder and what the decoder computes once for each image."""
    if not isinstance(config.encoder, SwinConfig):
        with torch.device("meta"):
            module = VisionText(config)
        module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()}, assign=True)
        return trace_encoder(config, module)
    graph = Graph("encoder")
    memory = add_swin(graph, config.encoder, Part(weights, "encoder"), config.image.height, config.image.width)
    _add_projections(graph, config.decoder, Part(weights, "decoder"), memory)
    return graph.model()


def _add_projections(graph: Graph, config: DecoderConfig, decoder: Part, memory: str) -> None:
    """Turn the memory (N, width) into keys and values (1, H, N, D), once for a whole decoding."""
    head = config.hidden // config.heads
    channels = graph.to_channels(memory, config.memory_width)
    halves = {"keys": slice(config.hidden), "values": slice(config.hidden, None)}
    for layer in range(config.layers):
        attention = decoder.under(f"layers.{layer}.cross_attention")
        for part, half in halves.items():
            projected = graph.pointwise(channels, attention.linear("key_value", half, f".{part}"))
            projected = graph.to_rows(projected, config.hidden)
            by_head = graph.add("Transpose", graph.reshape(projected, 1, -1, config.heads, head), perm=[0, 2, 1, 3])
            graph.output(by_head, f"memory_{part}.{layer}", [1, config.heads, "N", head])
