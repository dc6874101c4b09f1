"""encoder.onnx: the pixels of one image in; keys and values of the memory for every decoder layer out.

One image at a time: matrix products of some hundred rows run faster than larger ones here, an image never pays for
the padding of its neighbours, and a batch is the sum of its images. Shapes: N memory vectors, H heads, D of a head.
"""

from unrender.checkpoints import Weights
from unrender.engines.export.blocks import Part, add_attention, add_block, add_patches
from unrender.engines.export.cnn import add_cnn
from unrender.engines.export.graph import Graph
from unrender.engines.export.swin import add_swin
from unrender.models.config import CnnConfig, DecoderConfig, ModelConfig, SwinConfig, ViTConfig


def build_encoder(config: ModelConfig, weights: Weights) -> Graph:
    """Write the encoder and what the decoder computes once for each image."""
    graph, encoder = Graph("encoder"), Part(weights, "encoder")
    image = config.image
    match config.encoder:
        case CnnConfig():
            memory = add_cnn(graph, config.encoder, encoder)
        case ViTConfig():
            memory = _add_vit(graph, config.encoder, encoder)
        case SwinConfig():
            memory = add_swin(graph, config.encoder, encoder, image.height, image.width)
    _add_projections(graph, config.decoder, Part(weights, "decoder"), memory)
    return graph


def _add_vit(graph: Graph, config: ViTConfig, encoder: Part) -> str:
    size = config.channels, config.height, config.width
    patches = add_patches(graph, encoder, graph.input("pixels", "float32", [1, *size]), size, config.patch)
    specials = graph.weight("specials", encoder.floats("specials")[0])
    rows = graph.add("Concat", specials, patches, axis=0)
    rows = graph.add("Add", rows, graph.weight("positions", encoder.floats("positions")[0]))
    for index in range(config.layers):
        block = encoder.under(f"blocks.{index}")
        attend = lambda normal, block=block: add_attention(graph, block, normal, config.heads)  # noqa: E731
        rows = add_block(graph, block, rows, epsilon=config.norm_epsilon, attend=attend)
    return encoder.norm(graph, "norm", rows, config.norm_epsilon)


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
