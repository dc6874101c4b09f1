"""Every tensor of a model, by name and shape, without torch: for counting, and for checking weight files.

The names are those of the modules in layers/; a test compares both.
"""

import math
from dataclasses import dataclass

from unrender.models.config import CnnConfig, DecoderConfig, ModelConfig, SwinConfig, ViTConfig

Shape = tuple[int, ...]
Shapes = dict[str, Shape]


@dataclass(frozen=True)
class State:
    """The tensors of a model: what training changes, and the running statistics beside it."""

    parameters: Shapes
    buffers: Shapes

    @property
    def all(self) -> Shapes:
        return {**self.parameters, **self.buffers}


def count_parameters(config: ModelConfig) -> int:
    """Return how many numbers training can change; nothing is allocated."""
    return sum(math.prod(shape) for shape in state(config).parameters.values())


def state(config: ModelConfig) -> State:
    """List the tensors of a model."""
    encoder, buffers = Shapes(), Shapes()
    match config.encoder:
        case SwinConfig():
            encoder = _swin(config.encoder)
        case ViTConfig():
            encoder = _vit(config.encoder)
        case CnnConfig():
            encoder, buffers = _cnn(config.encoder)
    return State(
        parameters=_under("encoder", encoder) | _under("decoder", _decoder(config.decoder)),
        buffers=_under("encoder", buffers),
    )


def _decoder(config: DecoderConfig) -> Shapes:
    hidden = config.hidden
    shapes: Shapes = {"tokens.weight": (config.vocabulary, hidden)}
    if config.positions == "learned":
        shapes["positions.weight"] = (config.max_positions + config.position_offset, hidden)
    if config.embedding_norm:
        shapes |= _norm("embedding_norm", hidden)
    for layer in range(config.layers):
        part = _linear("self_attention.qkv", hidden, 3 * hidden)
        part |= _linear("cross_attention.query", hidden, hidden)
        part |= _linear("cross_attention.key_value", config.memory_width, 2 * hidden)
        if config.output_projection:
            part |= _linear("self_attention.output", hidden, hidden) | _linear("cross_attention.output", hidden, hidden)
        part |= _feed_forward(hidden, config.feed_forward)
        for norm in ("self_norm", "cross_norm", "feed_forward_norm"):
            part |= _norm(norm, hidden)
        shapes |= _under(f"layers.{layer}", part)
    if config.final_norm:
        shapes |= _norm("final_norm", hidden)
    if not config.tied:
        shapes["scores.weight"] = (config.vocabulary, hidden)
    return shapes


def _swin(config: SwinConfig) -> Shapes:
    shapes = _convolution("patches", config.channels, config.width, config.patch) | _norm("patch_norm", config.width)
    for stage, (depth, heads) in enumerate(zip(config.depths, config.heads, strict=True)):
        hidden = config.width << stage
        for block in range(depth):
            part = _block(hidden, int(config.mlp_ratio * hidden), config.qkv_bias)
            part["bias_table"] = ((2 * config.window - 1) ** 2, heads)
            shapes |= _under(f"stages.{stage}.blocks.{block}", part)
        if stage < config.merges:
            shapes |= _norm(f"stages.{stage}.merge.norm", 4 * hidden)
            shapes |= _linear(f"stages.{stage}.merge.reduction", 4 * hidden, 2 * hidden, bias=False)
    return shapes | (_norm("norm", config.out_width) if config.final_norm else {})


def _vit(config: ViTConfig) -> Shapes:
    specials = 2 if config.distilled else 1
    patches = (config.height // config.patch) * (config.width // config.patch)
    shapes: Shapes = {
        "specials": (1, specials, config.hidden),
        "positions": (1, specials + patches, config.hidden),
        **_convolution("patches", config.channels, config.hidden, config.patch),
    }
    for block in range(config.layers):
        shapes |= _under(f"blocks.{block}", _block(config.hidden, config.feed_forward, config.qkv_bias))
    shapes |= _norm("norm", config.hidden)
    return shapes | (_linear("pooler", config.hidden, config.hidden) if config.pooler else {})


def _cnn(config: CnnConfig) -> tuple[Shapes, Shapes]:
    shapes, buffers, inputs = Shapes(), Shapes(), config.channels
    for stage, (outputs, blocks, stride) in enumerate(zip(config.widths, config.blocks, config.strides, strict=True)):
        for block in range(blocks):
            name = f"stages.{stage}.blocks.{block}"
            norms = [f"{name}.first_norm", f"{name}.second_norm"]
            shapes |= {
                f"{name}.first.weight": (outputs, inputs, 3, 3),
                f"{name}.second.weight": (outputs, outputs, 3, 3),
            }
            if block == 0 and (inputs != outputs or stride != (1, 1)):
                shapes[f"{name}.shortcut.0.weight"] = (outputs, inputs, 1, 1)
                norms.append(f"{name}.shortcut.1")
            for norm in norms:
                shapes |= _norm(norm, outputs)
                buffers |= {f"{norm}.running_mean": (outputs,), f"{norm}.running_var": (outputs,)}
                buffers[f"{norm}.num_batches_tracked"] = ()
            inputs = outputs
    shapes |= _linear("projection", inputs, config.hidden)
    for layer in range(config.layers):
        shapes |= _under(f"blocks.{layer}", _block(config.hidden, config.feed_forward, bias=True))
    return shapes | (_norm("norm", config.hidden) if config.layers else {}), buffers


def _block(hidden: int, feed_forward: int, bias: bool) -> Shapes:
    shapes = _linear("attention.qkv", hidden, 3 * hidden, bias) | _linear("attention.output", hidden, hidden)
    shapes |= _norm("attention_norm", hidden) | _norm("feed_forward_norm", hidden)
    return shapes | _feed_forward(hidden, feed_forward)


def _feed_forward(hidden: int, inner: int) -> Shapes:
    return _linear("feed_forward.expand", hidden, inner) | _linear("feed_forward.contract", inner, hidden)


def _linear(name: str, inputs: int, outputs: int, bias: bool = True) -> Shapes:
    weight: Shapes = {f"{name}.weight": (outputs, inputs)}
    return weight | ({f"{name}.bias": (outputs,)} if bias else {})


def _convolution(name: str, inputs: int, outputs: int, side: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs, side, side), f"{name}.bias": (outputs,)}


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def _under(name: str, shapes: Shapes) -> Shapes:
    return {f"{name}.{key}": shape for key, shape in shapes.items()}
