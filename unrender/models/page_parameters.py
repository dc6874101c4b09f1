"""Every tensor of a LayoutLMv2 system, by name and shape, without torch.

The names are those of the modules in layers/; a test compares both.
"""

import math

from unrender.models.layoutlmv2 import LayoutConfig, PageModelConfig, ResNeXtConfig, SmallCnnConfig
from unrender.models.parameters import Shapes, State

_NORM_PARTS = ("weight", "bias", "running_mean", "running_var")
_CLASS_PARTS = 3  # [CLS], the picture's first and its last vectors


def count_page_parameters(config: PageModelConfig) -> int:
    """Return how many numbers training can change; nothing is allocated."""
    return sum(math.prod(shape) for shape in page_state(config).parameters.values())


def page_state(config: PageModelConfig) -> State:
    """List the tensors of a system; frozen norms are buffers."""
    layout, buffers = config.layout, Shapes()
    shapes = _embedding(layout)
    match layout.visual:
        case ResNeXtConfig() as visual:
            more, buffers = _resnext(visual)
            shapes |= more
        case SmallCnnConfig() as visual:
            more, buffers = _small(visual)
            shapes |= more
    for layer in range(layout.layers):
        shapes |= _layer(layout, f"encoder.layers.{layer}")
    if layout.spatial_bias:
        shapes["encoder.bias.positions"] = (layout.heads, layout.position_buckets)
        shapes |= {f"encoder.bias.{axis}": (layout.heads, layout.spatial_buckets) for axis in "xy"}
    if layout.pooler:
        shapes |= _linear("pooler", layout.hidden, layout.hidden)
    match config.head:
        case "labels":
            shapes |= _linear("head.scores", layout.hidden, len(config.labels))
        case "class":
            shapes |= _linear("head.scores", _CLASS_PARTS * layout.hidden, len(config.labels))
        case "answer":
            shapes |= _linear("head.scores", layout.hidden, 2)
    return State(parameters=shapes, buffers=buffers)


def _embedding(layout: LayoutConfig) -> Shapes:
    hidden = layout.hidden
    shapes: Shapes = {
        "embedding.words.weight": (layout.vocabulary, hidden),
        "embedding.positions.weight": (layout.max_positions, hidden),
        "embedding.segments.weight": (layout.segments, hidden),
        **_norm("embedding.norm", hidden),
    }
    if layout.layout:
        for table in ("x", "y", "heights", "widths"):
            shapes[f"embedding.{table}.weight"] = (layout.coordinate_rows, layout.coordinate_width)
    if layout.visual:
        shapes |= _linear("embedding.visual_projection", layout.visual.out_width, hidden)
        shapes |= _norm("embedding.visual_norm", hidden)
        if layout.visual_segment:
            shapes["embedding.visual_segment"] = (hidden,)
    return shapes


def _layer(layout: LayoutConfig, name: str) -> Shapes:
    hidden = layout.hidden
    return {
        f"{name}.attention.qkv.weight": (3 * hidden, hidden),
        f"{name}.attention.query_bias": (hidden,),
        f"{name}.attention.value_bias": (hidden,),
        **_linear(f"{name}.attention.output", hidden, hidden),
        **_norm(f"{name}.attention_norm", hidden),
        **_linear(f"{name}.feed_forward.expand", hidden, layout.feed_forward),
        **_linear(f"{name}.feed_forward.contract", layout.feed_forward, hidden),
        **_norm(f"{name}.feed_forward_norm", hidden),
    }


def _resnext(config: ResNeXtConfig) -> tuple[Shapes, Shapes]:
    under = "embedding.visual"
    shapes, buffers = Shapes(), Shapes({f"{under}.mean": (3, 1, 1), f"{under}.std": (3, 1, 1)})

    def convolution(name: str, inputs: int, outputs: int, side: int) -> None:
        shapes[f"{under}.{name}.convolution.weight"] = (outputs, inputs, side, side)
        buffers.update({f"{under}.{name}.norm.{part}": (outputs,) for part in _NORM_PARTS})

    convolution("stem", config.channels, config.stem_width, 7)
    inputs = config.stem_width
    for stage, depth in enumerate(config.depths):
        outputs = config.first_width << stage
        middle = config.groups * config.group_width << stage
        for block in range(depth):
            name = f"stages.{stage}.{block}"
            if block == 0:
                convolution(f"{name}.shortcut", inputs, outputs, 1)
            convolution(f"{name}.narrow", inputs, middle, 1)
            convolution(f"{name}.grouped", middle // config.groups, middle, 3)
            convolution(f"{name}.widen", middle, outputs, 1)
            inputs = outputs
        shapes[f"{under}.laterals.{stage}.weight"] = (config.out_width, outputs, 1, 1)
        shapes[f"{under}.laterals.{stage}.bias"] = (config.out_width,)
        shapes[f"{under}.outputs.{stage}.weight"] = (config.out_width, config.out_width, 3, 3)
        shapes[f"{under}.outputs.{stage}.bias"] = (config.out_width,)
    return shapes, buffers


def _small(config: SmallCnnConfig) -> tuple[Shapes, Shapes]:
    shapes, buffers, inputs = Shapes(), Shapes(), config.channels
    for stage, outputs in enumerate(config.widths):
        name = f"embedding.visual.stages.{stage}"
        shapes |= {
            f"{name}.first.weight": (outputs, inputs, 3, 3),
            f"{name}.second.weight": (outputs, outputs, 3, 3),
            f"{name}.shortcut.0.weight": (outputs, inputs, 1, 1),
        }
        for norm in (f"{name}.first_norm", f"{name}.second_norm", f"{name}.shortcut.1"):
            shapes |= _norm(norm, outputs)
            buffers |= {f"{norm}.running_mean": (outputs,), f"{norm}.running_var": (outputs,)}
            buffers[f"{norm}.num_batches_tracked"] = ()
        inputs = outputs
    return shapes, buffers


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name: str, width: int) -> Shapes:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}
