"""LayoutLMv2 (seed 003): the words of a page, their boxes and its picture to labels, a class or an answer.

| The paper's words                             | Here                                                    |
|-----------------------------------------------|---------------------------------------------------------|
| text embedding t_i                            | `layers.spatial.LabelEmbedding.text`                     |
| visual embedding v_i, VisTokEmb               | `layers.spatial.LabelEmbedding.picture`, `layers.visual` |
| visual tokens as evenly divided grids         | `grid_boxes`                                            |
| box normalisation to [0, 1000]                | `words.WordPage.normalised`                             |
| layout embedding l_i                          | `layers.spatial.LabelEmbedding.layout`                   |
| segments [A], [B], [C]                        | `segments`, `visual_segment`                            |
| boxPAD                                        | `separator_box`; [CLS] and [PAD] always have it         |
| spatial-aware self-attention, b1D, b2Dx, b2Dy | `layers.spatial.SpatialBias`, `SpatialAttention`        |
| masked visual-language modelling              | `training.receipt.pretraining.Example.mask_tokens`      |
| text-image alignment                          | `training.receipt.pretraining.Example.cover_lines`      |
| text-image matching                           | `training.receipt.pretraining.Example.exchange_image`   |

The published code departs from the seed in four places, each of them a setting: it puts text before the picture
(`order`), anchors y at the bottom of a box (`anchor`), gives [SEP] the box 1000, 1000, 1000, 1000 (`separator_box`) and
has no [C] embedding (`visual_segment`). The defaults are the seed's; `LAYOUTLMV2_BASE` is set as published.
"""

from dataclasses import dataclass, replace
from typing import Literal

from unrender.errors import ConfigError
from unrender.models.config import Count, ImagePrep, Positive, Share, Size, SystemConfig, check_heads

COORDINATES = 1000  # boxes are integers from 0 to this

Order = Literal["visual first", "text first"]
Anchor = Literal["top", "bottom"]
SeparatorBox = Literal["empty", "last"]
HeadKind = Literal["none", "labels", "class", "answer"]
Boxes = tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True, kw_only=True)
class ResNeXtConfig:
    """ResNeXt with a feature pyramid, as in the published model: Mask R-CNN's trunk, of which p2 is used."""

    kind: Literal["resnext"] = "resnext"
    depths: tuple[Size, ...] = (3, 4, 23, 3)
    groups: Size = 32
    group_width: Size = 8
    stem_width: Size = 64
    first_width: Size = 256  # of the first stage's output; doubles with every stage
    out_width: Size = 256
    norm_epsilon: Positive = 1e-5
    channels: Size = 3


@dataclass(frozen=True, kw_only=True)
class SmallCnnConfig:
    """A few residual stages, each halving the picture: 224 x 224 to 7 x 7."""

    kind: Literal["small"] = "small"
    widths: tuple[Size, ...] = (16, 32, 64, 128, 256)
    channels: Size = 1

    def __post_init__(self) -> None:
        if not self.widths:
            raise ConfigError("the small CNN needs at least one stage")

    @property
    def out_width(self) -> int:
        return self.widths[-1]


VisualConfig = ResNeXtConfig | SmallCnnConfig


@dataclass(frozen=True, kw_only=True)
class LayoutConfig:
    """The multimodal encoder. Parts can be left out, to measure what each of them gives."""

    vocabulary: Size = 30522
    hidden: Size = 768
    layers: Size = 12
    heads: Size = 12
    feed_forward: Size = 3072
    max_positions: Size = 512
    coordinate_rows: Size = 1024  # of the tables; coordinates end at 1000
    coordinate_width: Size = 128  # six of them make `hidden`
    segments: Size = 2  # [A] and [B]
    position_buckets: Size = 32
    position_reach: Size = 128
    spatial_buckets: Size = 64
    spatial_reach: Size = 256
    grid: Size = 7  # visual tokens on each side
    dropout: Share = 0.1
    attention_dropout: Share = 0.1
    norm_epsilon: Positive = 1e-12
    visual: VisualConfig | None = ResNeXtConfig()  # None: no picture
    layout: bool = True  # the layout embedding
    spatial_bias: bool = True  # b1D, b2Dx and b2Dy
    pooler: bool = True
    order: Order = "visual first"
    anchor: Anchor = "top"
    separator_box: SeparatorBox = "empty"
    visual_segment: bool = True  # the [C] embedding

    def __post_init__(self) -> None:
        if self.layout and 6 * self.coordinate_width != self.hidden:
            raise ConfigError(
                f"six coordinates of width {self.coordinate_width} make {6 * self.coordinate_width}, "
                f"but the model is {self.hidden} wide"
            )
        check_heads(self.hidden, self.heads)

    @property
    def visual_tokens(self) -> int:
        return self.grid**2 if self.visual else 0


@dataclass(frozen=True, kw_only=True)
class LabelConfig(SystemConfig):
    """One system from the words and the picture of a page to labels, complete."""

    kind: Literal["labels"] = "labels"
    seed: str = "003"
    layout: LayoutConfig
    head: HeadKind = "none"
    labels: tuple[str, ...] = ()
    stride: Count = 128  # tokens that neighbouring windows of a long page share
    temperature: Positive = 1.0  # divides the scores, so that probabilities mean what they say
    calibration: tuple[tuple[float, ...], ...] = ()  # slope and offset of each field's log-odds

    def __post_init__(self) -> None:
        if (self.head in ("labels", "class")) != bool(self.labels):
            raise ConfigError(f"{self.name}: the head {self.head!r} and {len(self.labels)} labels do not go together")
        if not 0 <= self.stride < self.layout.max_positions - 2:
            raise ConfigError(f"{self.name}: windows cannot share {self.stride} tokens")
        if self.calibration and (len(self.calibration) != 2 or len(set(map(len, self.calibration))) != 1):
            raise ConfigError(f"{self.name}: calibration needs a slope and an offset for each field")


def grid_boxes(grid: int) -> Boxes:
    """Return the boxes of the visual tokens, row by row: a grid with neither overlap nor omission."""
    edges = [COORDINATES * step // grid for step in range(grid + 1)]
    return tuple(
        (edges[column], edges[row], edges[column + 1], edges[row + 1]) for row in range(grid) for column in range(grid)
    )


LAYOUTLMV2_BASE = LabelConfig(
    name="layoutlmv2-base",
    task="labels",
    image=ImagePrep(height=224, width=224, fit="squash", mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0)),
    layout=LayoutConfig(order="text first", anchor="bottom", separator_box="last", visual_segment=False),
    licence="CC-BY-NC-SA-4.0",
    published="microsoft/layoutlmv2-base-uncased",
    parameters=200_081_984,
    notes=("the encoder alone: fine-tune it for labels, a class or answers",),
)

LAYOUTLMV2_MINI = LabelConfig(
    name="layoutlmv2-mini",
    task="labels",
    image=ImagePrep(height=224, width=224, fit="squash", channels=1, mean=(1.0,), std=(-0.3,)),
    layout=LayoutConfig(
        hidden=384,
        layers=6,
        feed_forward=1536,
        coordinate_width=64,
        visual=SmallCnnConfig(),
        attention_dropout=0.0,  # costs a fifth of the training time on a CPU
    ),
    notes=("text part from MiniLM-L6; the picture's part and the layout are learnt in pre-training",),
    parameters=24_298_816,
)


def with_labels(config: LabelConfig, name: str, task: str, labels: tuple[str, ...]) -> LabelConfig:
    """Return the system that labels each word with one of `labels`."""
    return replace(config, name=name, task=task, head="labels", labels=labels, published="", notes=(), parameters=0)
