"""What the page reader's layout network is: what it says of every cell of a page, and its size."""

from dataclasses import dataclass

KINDS = (
    "nothing", "text", "heading", "display formula", "table", "figure", "caption", "header", "footer", "page number",
    "footnote", "code",
)  # fmt: skip
CELLS_PER_INCH = 25.0
BEGINS, TURNED = (
    len(KINDS),
    len(KINDS) + 1,
)  # channels behind the kinds: a block begins here; the page is upside down, which strokes tell better
CHANNELS = len(KINDS) + 2
MULTIPLE = 16  # of rows and columns


@dataclass(frozen=True, kw_only=True)
class SegmentationConfig:
    """A small U-shaped network; it works at half the resolution of the cells and below."""

    widths: tuple[int, ...] = (16, 32, 64, 96)  # at a half, a quarter, an eighth, a sixteenth of the cells
    depth: int = 2  # blocks at the lowest level
