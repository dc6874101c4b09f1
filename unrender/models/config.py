"""What a model is, as frozen values: image preparation, encoder, decoder, generation.

No torch here. A config is saved as config.json in the model folder (models/codec.py) and is all that an engine needs
besides the weights.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from unrender.errors import ConfigError

Fit = Literal["squash", "canvas", "free"]
Resample = Literal["bilinear", "bicubic", "lanczos"]
Thumbnail = Literal["bicubic", "resample"]  # Pillow's own (Nougat, first Donut), or `resample` again (Donut now)
Activation = Literal["gelu", "relu"]
Positions = Literal["learned", "sinusoidal"]
Vocabulary = Literal["tokenizer", "characters", "latex"]
LeafKind = Literal["text", "date", "amount"]


@dataclass(frozen=True)
class Within:
    """The least and the most that a number in config.json may be."""

    least: float
    most: float


Size = Annotated[int, Within(1, 1 << 24)]
Count = Annotated[int, Within(0, 1 << 24)]
Positive = Annotated[float, Within(1e-30, 1e30)]
Share = Annotated[float, Within(0.0, 1.0)]


@dataclass(frozen=True, kw_only=True)
class ImagePrep:
    """How an image becomes pixels, the same in training, evaluation and reading.

    `squash` resizes to height x width whatever the aspect (TrOCR); `canvas` keeps the aspect and pads to
    height x width (Donut, Nougat); `free` keeps the aspect, never exceeds height x width and pads to a
    multiple of `multiple` (formulas, words).
    """

    height: Size
    width: Size
    fit: Fit = "canvas"
    channels: Size = 3
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    resample: Resample = "bilinear"
    crop_margin: bool = False  # cut the white border first (Nougat, formulas)
    align_long_axis: bool = False  # rotate when canvas and image disagree on landscape (Donut)
    pad_value: Share = 0.0  # before normalisation, 0 black to 1 white
    multiple: Size = 1  # `free` only
    line_height: Count = 0  # `free` only: scale to this height first; 0 keeps the size
    symbols: tuple[float, float, float] = (0.0, 0.0, 0.0)  # `free` only: symbols lower or higher than the outer two
    # heights in pixels are scaled to the middle one; zeros keep the size
    zoom: Positive = 1.0  # `free` only: and then everything by this
    margin: Count = 0  # `free` only: pixels left around the ink by crop_margin
    thumbnail: Thumbnail = "bicubic"  # `canvas` only: how an image that overflows the canvas is shrunk
    paper: bool = False  # take away shadows, dark ground, ruled lines and specks first (photos of formulas)
    contrast: bool = False  # stretch the grey levels of each picture to black on white (words)
    dpi: Size = 96  # PDF pages are rendered at this resolution

    def __post_init__(self) -> None:
        if self.height < 1 or self.width < 1:
            raise ConfigError(f"image height and width must be positive, got {self.height} x {self.width}")
        if len(self.mean) != self.channels or len(self.std) != self.channels:
            raise ConfigError(f"mean and std need one value for each of the {self.channels} channels")
        if not all(self.std):
            raise ConfigError("std divides the pixels, so none of its values may be 0")


@dataclass(frozen=True, kw_only=True)
class SwinConfig:
    """Swin encoder (seed 000, algorithm 1; seed 004, 4.2.2)."""

    kind: Literal["swin"] = "swin"
    channels: Size = 3
    patch: Size = 4
    width: Size = 128  # of the first stage; doubles with every merge
    depths: tuple[Size, ...] = (2, 2, 14, 2)
    heads: tuple[Size, ...] = (4, 8, 16, 32)
    window: Size = 10
    mlp_ratio: Positive = 4.0
    qkv_bias: bool = True
    final_norm: bool = False  # Donut and Nougat drop it, SwimNet keeps it
    norm_epsilon: Positive = 1e-5
    drop_path: Share = 0.1
    strict_size: bool = False  # refuse sizes whose windows would need padding (Donut, Nougat)

    def __post_init__(self) -> None:
        if not self.depths or len(self.depths) != len(self.heads):
            raise ConfigError(f"every Swin stage needs a depth and heads, got {self.depths} and {self.heads}")
        for stage, heads in enumerate(self.heads):
            check_heads(self.width << stage, heads)

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
    channels: Size = 3
    height: Size = 384
    width: Size = 384
    patch: Size = 16
    hidden: Size = 768
    layers: Count = 12
    heads: Size = 12
    feed_forward: Size = 3072
    qkv_bias: bool = False
    distilled: bool = False  # a second special token (DeiT)
    pooler: bool = False  # published trocr-small carries an unused one
    norm_epsilon: Positive = 1e-12

    def __post_init__(self) -> None:
        check_heads(self.hidden, self.heads)
        if min(self.height, self.width) < self.patch:
            raise ConfigError(f"an image of {self.height} x {self.width} has no patch of {self.patch} x {self.patch}")

    @property
    def out_width(self) -> int:
        return self.hidden


@dataclass(frozen=True, kw_only=True)
class CnnConfig:
    """Residual CNN, optionally followed by transformer layers (seed 002's encoder; the formula model)."""

    kind: Literal["cnn"] = "cnn"
    channels: Size = 1
    widths: tuple[Size, ...] = (32, 64, 128, 256)
    blocks: tuple[Count, ...] = (1, 1, 2, 2)  # at each stage; 0: one convolution over patches, as in a ViT
    strides: tuple[tuple[Size, Size], ...] = ((2, 2), (2, 2), (2, 1), (1, 1))  # (height, width) at each stage
    hidden: Size = 256  # of the sequence handed to the decoder
    layers: Count = 0  # transformer layers on top
    heads: Size = 4
    feed_forward: Size = 1024
    dropout: Share = 0.1
    position_2d: bool = True  # sinusoids over rows and columns; False: seed 002's eq. 1 over the flattened sequence
    context: Count = 0  # transformer layers over coarse cells, whose outcome is added to the cells that they cover
    coarse: tuple[Size, Size] = (2, 4)  # rows and columns of cells that make a coarse one

    def __post_init__(self) -> None:
        if not self.widths or not len(self.widths) == len(self.blocks) == len(self.strides):
            raise ConfigError(
                f"every stage of the CNN needs a width, blocks and a stride, got {len(self.widths)}, "
                f"{len(self.blocks)} and {len(self.strides)}"
            )
        if self.layers or self.context:
            check_heads(self.hidden, self.heads)

    @property
    def out_width(self) -> int:
        return self.hidden


EncoderConfig = SwinConfig | ViTConfig | CnnConfig


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """Autoregressive transformer decoder with cross-attention (seeds 000, 001, 002, 004)."""

    vocabulary: Size
    hidden: Size = 1024
    layers: Count = 4
    heads: Size = 16
    feed_forward: Size = 4096
    max_positions: Size = 1536
    position_offset: Count = 2  # BART's learned table begins with two unused rows
    positions: Positions = "learned"
    activation: Activation = "gelu"
    pre_norm: bool = True  # mBART; TrOCR and seed 002 normalise after the residual
    final_norm: bool = True
    embedding_norm: bool = True
    scale_embedding: bool = True
    tied: bool = True  # scores share the token embedding
    output_projection: bool = True  # W_O of multi-head attention; seed 002, eq. 4 has none
    memory_width: Size = 1024
    dropout: Share = 0.1

    def __post_init__(self) -> None:
        check_heads(self.hidden, self.heads)


@dataclass(frozen=True, kw_only=True)
class Generation:
    """How tokens are produced unless the caller says otherwise."""

    start: tuple[Count, ...]
    end: Count
    pad: Count
    max_tokens: Size
    beams: Size = 1
    length_penalty: float = 1.0
    early_stopping: bool = False  # stop a beam search as soon as `beams` sequences have ended
    forbidden: tuple[Count, ...] = ()
    repetition_guard: bool = False
    well_formed: bool = False  # write nothing but well-formed LaTeX, or tags that balance
    far_looks: tuple[Positive, ...] = ()  # zooms among which the right size is sought, for a reading that got lost
    lost: Share = 0.0  # mean probability of a token (geometric) below which the size may be wrong
    second_looks: tuple[Positive, ...] = ()  # zooms at which an unsure reading is done again
    greedy_first: bool = False  # the first look takes the best token at each step; only second looks search widely
    doubtful: Share = 1.0  # probability below which a single token makes a second look worth while
    sure: Share = 1.0  # mean probability of a token (geometric) that makes a second look needless
    unlikely: Share = 0.0  # mean probability of a token below which the picture shows something else
    rows: bool = False  # pictures may hold several lines: ink left unread below is looked at by itself


@dataclass(frozen=True, kw_only=True)
class FieldRule:
    """What the tags of one name may hold; names without a rule may hold anything."""

    name: str
    kind: LeafKind = "text"  # a date or an amount is written as one, or left empty
    single: bool = False  # at most once in what encloses it, and no list
    longest: Count = 0  # characters of a text; 0: as many as there are


@dataclass(frozen=True, kw_only=True)
class SystemConfig:
    """What is said of every system, whatever it computes."""

    name: str
    seed: str  # which document it comes from, e.g. "000"
    task: str
    image: ImagePrep
    licence: str = "Apache-2.0"
    published: str = ""  # Hub name of the published weights
    notes: tuple[str, ...] = ()
    parameters: Annotated[int, Within(0, 1 << 50)] = 0  # that training changes; counted when a folder is saved


@dataclass(frozen=True, kw_only=True)
class TextConfig(SystemConfig):
    """One image-to-text system, complete."""

    kind: Literal["text"] = "text"
    encoder: EncoderConfig
    decoder: DecoderConfig
    generation: Generation
    vocabulary: Vocabulary = "tokenizer"
    fields: tuple[FieldRule, ...] = ()  # of models that write tags and are kept to well-formed ones
    spelling: bool = False  # a layer names the character at each memory vector, by CTC; pad is its blank
    usual_doubt: Annotated[float, Within(0.0, 10.0)] = 0.0  # nats that even a right token lacks, and that do not count
    doubt_of_looks: Annotated[float, Within(0.0, 10.0)] = 0.0  # nats, if all looks at the picture read something else
    doubt_of_ink: Annotated[float, Within(0.0, 10.0)] = 0.0  # nats, if tokens and picture differ in their strokes
    calibration: tuple[float, float] = (1.0, 0.0)  # slope and offset of the log-odds of a text's probability

    def __post_init__(self) -> None:
        if isinstance(self.encoder, SwinConfig):
            self.encoder.check_size(self.image.height, self.image.width, self.name)
        if self.image.channels != self.encoder.channels:
            raise ConfigError(
                f"{self.name}: images of {self.image.channels} channels do not fit an encoder of "
                f"{self.encoder.channels}"
            )


def check_heads(width: int, heads: int) -> None:
    """Raise a ConfigError unless the heads share the width evenly."""
    if width % heads:
        raise ConfigError(f"{heads} heads do not divide the width {width}")
