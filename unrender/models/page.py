"""The page reader's line reader: the formula reader's layers, finer across; it writes characters, formulas and markup.

| the words of seed 001 | here |
|---|---|
| encoder over the page's picture | `CnnConfig` over one line or a few, found by the layout network |
| decoder that writes the page's markup | the formula reader's decoder; `<m>`, `<b>`, `<h1>` ... mark up |
| defence against repetition | the search's; besides, a line's width bounds its tokens |

The layout network says of every cell of a page what stands there.
"""

from dataclasses import dataclass, replace

from unrender.models.config import TextConfig
from unrender.models.formula import ENCODER, formula

_MAX_TOKENS = 512
STRIDES = ((2, 2), (2, 2), (2, 1))  # letters are narrower than eight pixels
KINDS = (
    "nothing", "text", "heading", "display formula", "table", "figure", "caption", "header", "footer", "page number",
    "footnote", "code",
)  # fmt: skip
CELLS_PER_INCH = 25.0
# Channels behind the kinds: a block begins here; the page is upside down, which strokes tell better.
BEGINS, TURNED = len(KINDS), len(KINDS) + 1
CHANNELS = len(KINDS) + 2
MULTIPLE = 16  # of rows and columns


def page(vocabulary: int) -> TextConfig:
    """Return the configuration for a vocabulary whose first ids are pad, start, end, unknown."""
    base = formula(vocabulary)
    return replace(
        base,
        name="page",
        seed="001",
        task="page",
        # The page's letters are measured before; they are read a little larger than that, as they were trained.
        image=replace(base.image, margin=2, symbols=(0.0, 0.0, 0.0), zoom=1.15),
        encoder=replace(ENCODER, strides=STRIDES),
        decoder=replace(base.decoder, max_positions=_MAX_TOKENS),
        generation=replace(
            base.generation,
            max_tokens=_MAX_TOKENS,
            beams=1,
            length_penalty=1.0,
            well_formed=False,
            far_looks=(),
            second_looks=(),
            rows=False,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class SegmentationConfig:
    """A small U-shaped network; it works at half the resolution of the cells and below."""

    widths: tuple[int, ...] = (16, 32, 64, 96)  # at a half, a quarter, an eighth, a sixteenth of the cells
    depth: int = 2  # blocks at the lowest level
