"""The settings of the original Donut and Nougat releases, turned into a TextConfig."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from unrender.checkpoints.settings import Values, as_integer, as_integers
from unrender.checkpoints.shapes import Shape
from unrender.models.config import SwinConfig, TextConfig
from unrender.models.donut import DONUT_BASE
from unrender.models.nougat import NOUGAT_BASE


def read_release(folder: Path, values: Values, shapes: Mapping[str, Shape]) -> TextConfig:
    """Describe an original Donut or Nougat release; its config names only what differed between trainings."""
    like = DONUT_BASE if values["model_type"] == "donut" else NOUGAT_BASE
    assert isinstance(like.encoder, SwinConfig)
    height, width = as_integers(values["input_size"])
    vocabulary, hidden = _shape(shapes, "embed_tokens.weight")
    rows = _shape(shapes, "embed_positions.weight")[0]
    longest = as_integer(values.get("max_length", rows - like.decoder.position_offset))
    return replace(
        like,
        name=folder.name,
        image=replace(
            like.image, height=height, width=width, align_long_axis=bool(values.get("align_long_axis", False))
        ),
        encoder=replace(
            like.encoder,
            patch=as_integer(values.get("patch_size", like.encoder.patch)),
            width=as_integer(values.get("embed_dim", like.encoder.width)),
            depths=as_integers(values["encoder_layer"]),
            heads=as_integers(values.get("num_heads", like.encoder.heads)),
            window=as_integer(values["window_size"]),
        ),
        decoder=replace(
            like.decoder,
            vocabulary=vocabulary,
            hidden=hidden,
            layers=as_integer(values["decoder_layer"]),
            feed_forward=_shape(shapes, "layers.0.fc1.weight")[0],
            max_positions=rows - like.decoder.position_offset,
            memory_width=hidden,
        ),
        generation=replace(like.generation, max_tokens=longest - 1),
        published="",
        notes=(),
        parameters=0,
    )


def _shape(shapes: Mapping[str, Shape], ending: str) -> Shape:
    for name, shape in shapes.items():
        if name.endswith(ending):
            return shape
    raise KeyError(ending)
