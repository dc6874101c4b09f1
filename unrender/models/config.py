"""What a model is, as frozen values: image preparation, encoder, decoder, generation.

No torch here. A `ModelConfig` is saved as config.json in the model folder and is all that an engine
needs besides the weights.
"""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Literal

from unrender.errors import ConfigError

Fit = Literal["squash", "canvas", "free"]
Resample = Literal["bilinear", "bicubic", "lanczos"]
Thumbnail = Literal["bicubic", "resample"]  # Pillow's own (Nougat, first Donut), or `resample` again (Donut now)
Activation = Literal["gelu", "relu"]
Positions = Literal["learned", "sinusoidal"]
Vocabulary = Literal["tokenizer", "characters", "latex"]


@dataclass(frozen=True, kw_only=True)
class ImagePrep:
    """How an image becomes pixels, the same in training, evaluation and reading.

    `squash` resizes to height x width whatever the aspect (TrOCR); `canvas` keeps the aspect and pads to
    height x width (Donut, Nougat); `free` keeps the aspect, never exceeds height x width and pads to a
    multiple of `multiple` (formulas, words).
    """

    height: int
    width: int
    fit: Fit = "canvas"
    channels: int = 3
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    resample: Resample = "bilinear"
    crop_margin: bool = False  # cut the white border first (Nougat, formulas)
    align_long_axis: bool = False  # rotate when canvas and image disagree on landscape (Donut)
    pad_value: float = 0.0  # before normalisation, 0 black to 1 white
    multiple: int = 1  # `free` only
    line_height: int = 0  # `free` only: scale to this height first; 0 keeps the size
    symbols: tuple[float, float, float] = (0.0, 0.0, 0.0)  # `free` only: symbols lower or higher than the outer two
    # heights in pixels are scaled to the middle one; zeros keep the size
    zoom: float = 1.0  # `free` only: and then everything by this
    margin: int = 0  # `free` only: pixels left around the ink by crop_margin
    thumbnail: Thumbnail = "bicubic"  # `canvas` only: how an image that overflows the canvas is shrunk
    paper: bool = False  # take away shadows, dark ground, ruled lines and specks first (photos of formulas)
    dpi: int = 96  # PDF pages are rendered at this resolution

    def __post_init__(self) -> None:
        if self.height < 1 or self.width < 1:
            raise ConfigError(f"image height and width must be positive, got {self.height} x {self.width}")
        if len(self.mean) != self.channels or len(self.std) != self.channels:
            raise ConfigError(f"mean and std need one value for each of the {self.channels} channels")


@dataclass(frozen=True, kw_only=True)
class SwinConfig:
    """Swin encoder (seed 000, algorithm 1; seed 004, 4.2.2)."""

    kind: Literal["swin"] = "swin"
    channels: int = 3
    patch: int = 4
    width: int = 128  # of the first stage; doubles with every merge
    depths: tuple[int, ...] = (2, 2, 14, 2)
    heads: tuple[int, ...] = (4, 8, 16, 32)
    window: int = 10
    mlp_ratio: float = 4.0
    qkv_bias: bool = True
    final_norm: bool = False  # Donut and Nougat drop it, SwimNet keeps it
    norm_epsilon: float = 1e-5
    drop_path: float = 0.1
    strict_size: bool = False  # refuse sizes whose windows would need padding (Donut, Nougat)

    @property
    def out_width(self) -> int:
        return self.width << self.merges

    @property
    def merges(self) -> int:
        return len(self.depths) - 1  # one after every stage but the last

    @property
    def size_multiple(self) -> int:
        """What height and width are multiples of when no window needs padding (320 in Donut, 224 in Nougat)."""
        return self.patch * self.window << self.merges

    def check_size(self, height: int, width: int, name: str = "Swin") -> None:
        """Raise a ConfigError for a size that `strict_size` forbids."""
        if not self.strict_size:
            return
        for side, length in (("height", height), ("width", width)):
            if length % self.size_multiple:
                lower = max(1, length // self.size_multiple) * self.size_multiple
                raise ConfigError(
                    f"{name}: image {side} {length} does not fit the Swin encoder; it must be a multiple of "
                    f"{self.size_multiple} (patch x window x 2^merges). Use {lower} or {lower + self.size_multiple}."
                )


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """Vision transformer, plain or distilled (seed 004, 4.2.1)."""

    kind: Literal["vit"] = "vit"
    channels: int = 3
    height: int = 384
    width: int = 384
    patch: int = 16
    hidden: int = 768
    layers: int = 12
    heads: int = 12
    feed_forward: int = 3072
    qkv_bias: bool = False
    distilled: bool = False  # a second special token (DeiT)
    pooler: bool = False  # published trocr-small carries an unused one
    norm_epsilon: float = 1e-12

    @property
    def out_width(self) -> int:
        return self.hidden


@dataclass(frozen=True, kw_only=True)
class CnnConfig:
    """Residual CNN, optionally followed by transformer layers (seed 002's encoder; the formula model)."""

    kind: Literal["cnn"] = "cnn"
    channels: int = 1
    widths: tuple[int, ...] = (32, 64, 128, 256)
    blocks: tuple[int, ...] = (1, 1, 2, 2)  # at each stage; 0: one convolution over patches, as in a ViT
    strides: tuple[tuple[int, int], ...] = ((2, 2), (2, 2), (2, 1), (1, 1))  # (height, width) at each stage
    hidden: int = 256  # of the sequence handed to the decoder
    layers: int = 0  # transformer layers on top
    heads: int = 4
    feed_forward: int = 1024
    dropout: float = 0.1
    position_2d: bool = True  # sinusoids over rows and columns; False: seed 002's eq. 1 over the flattened sequence

    @property
    def out_width(self) -> int:
        return self.hidden


EncoderConfig = SwinConfig | ViTConfig | CnnConfig


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """Autoregressive transformer decoder with cross-attention (seeds 000, 001, 002, 004)."""

    vocabulary: int
    hidden: int = 1024
    layers: int = 4
    heads: int = 16
    feed_forward: int = 4096
    max_positions: int = 1536
    position_offset: int = 2  # BART's learned table begins with two unused rows
    positions: Positions = "learned"
    activation: Activation = "gelu"
    pre_norm: bool = True  # mBART; TrOCR and seed 002 normalise after the residual
    final_norm: bool = True
    embedding_norm: bool = True
    scale_embedding: bool = True
    tied: bool = True  # scores share the token embedding
    output_projection: bool = True  # W_O of multi-head attention; seed 002, eq. 4 has none
    memory_width: int = 1024
    dropout: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Generation:
    """How tokens are produced unless the caller says otherwise."""

    start: tuple[int, ...]
    end: int
    pad: int
    max_tokens: int
    beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool = False  # stop a beam search as soon as `beams` sequences have ended
    forbidden: tuple[int, ...] = ()
    repetition_guard: bool = False
    well_formed: bool = False  # vocabularies of LaTeX tokens only: write nothing that is not well-formed
    far_looks: tuple[float, ...] = ()  # zooms among which the right size is sought, for a reading that got lost
    lost: float = 0.0  # mean probability of a token (geometric) below which the size may be wrong
    second_looks: tuple[float, ...] = ()  # zooms at which an unsure reading is done again
    sure: float = 1.0  # mean probability of a token (geometric) that makes a second look needless
    rows: bool = False  # pictures may hold several lines: ink left unread below is looked at by itself


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """One image-to-text system, complete."""

    name: str
    seed: str  # which document it comes from, e.g. "000"
    task: str
    image: ImagePrep
    encoder: EncoderConfig
    decoder: DecoderConfig
    generation: Generation
    vocabulary: Vocabulary = "tokenizer"
    licence: str = "Apache-2.0"
    published: str = ""  # Hub name of the published weights
    notes: tuple[str, ...] = field(default=())
    calibration: tuple[float, float] = (1.0, 0.0)  # slope and offset of the log-odds of a text's probability

    def __post_init__(self) -> None:
        if isinstance(self.encoder, SwinConfig):
            self.encoder.check_size(self.image.height, self.image.width, self.name)


_ENCODERS: dict[str, type[SwinConfig] | type[ViTConfig] | type[CnnConfig]] = {
    "swin": SwinConfig,
    "vit": ViTConfig,
    "cnn": CnnConfig,
}


def to_json(config: ModelConfig) -> str:
    """Write a config as the text of config.json."""
    return json.dumps({"unrender": 1, **dataclasses.asdict(config)}, indent=2) + "\n"


def from_json(text: str) -> ModelConfig:
    """Read what `to_json` wrote; a ConfigError names what does not fit."""
    try:
        values = json.loads(text, object_pairs_hook=_with_tuples)
        values.pop("unrender")
        kind = values["encoder"]["kind"]
        return ModelConfig(
            **{
                **values,
                "image": ImagePrep(**values["image"]),
                "encoder": _ENCODERS[kind](**values["encoder"]),
                "decoder": DecoderConfig(**values["decoder"]),
                "generation": Generation(**values["generation"]),
            }
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"config.json is not one of ours: {error}") from error


def _with_tuples(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return {key: _tuple(value) for key, value in pairs}


def _tuple(value: object) -> object:
    return tuple(_tuple(item) for item in value) if isinstance(value, list) else value
