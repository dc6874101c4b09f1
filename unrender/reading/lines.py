"""Pictures of lines: which parts a model that reads one line looks at, and how the pieces go together again."""

from collections.abc import Sequence
from dataclasses import replace

from PIL import Image

from unrender.documents import Block, Box, Token
from unrender.images.lines import Region, cut_long, find_line, find_lines
from unrender.images.opening import is_blank
from unrender.models.config import ImagePrep
from unrender.reading.systems import Sheet

_SPACE = Token(" ", 1.0)


def parts_to_read(sheet: Sheet, prep: ImagePrep, *, several: bool) -> tuple[Region, ...]:
    """Return the parts of a picture to look at one by one, in reading order; none: the picture as it is."""
    longest = prep.width / prep.line_height
    if sheet.region is not None:
        return cut_long(sheet.image, sheet.region, longest)
    if not several:
        return find_line(sheet.image, longest)
    return tuple(region for line in find_lines(sheet.image, longest) for region in line)


def join_pieces(regions: Sequence[Region | None], rows: Sequence[tuple[Block, ...]]) -> tuple[Block, ...]:
    """Join the pieces of each line, which stand at one height, and give every line the box it was read in."""
    lines: list[Block] = []
    before: Region | None = None
    for region, (block, *_) in zip(regions, rows, strict=True):
        placed = block if region is None else replace(block, box=Box(*map(float, region)))
        if region is not None and before is not None and region[1::2] == before[1::2]:
            lines[-1] = _joined(lines[-1], placed)
        else:
            lines.append(placed)
        before = region
    return tuple(line for line in lines if line.text) or tuple(lines[:1])


def clipped(box: Box, image: Image.Image) -> Region | None:
    """Return the part of a picture that a box covers; None where that is nothing, or blank."""
    left, top = max(0, int(box.x0)), max(0, int(box.y0))
    right, bottom = min(image.width, int(box.x1 + 0.99)), min(image.height, int(box.y1 + 0.99))
    if right <= left or bottom <= top or is_blank(image.crop((left, top, right, bottom))):
        return None
    return left, top, right, bottom


def _joined(first: Block, second: Block) -> Block:
    if not first.text or not second.text:
        return first if first.text else second
    sure = [block.confidence for block in (first, second) if block.confidence is not None]
    box = first.box
    if first.box is not None and second.box is not None:
        box = Box(first.box.x0, first.box.y0, second.box.x1, first.box.y1)
    return replace(
        first,
        text=f"{first.text} {second.text}",
        tokens=(*first.tokens, _SPACE, *second.tokens),
        confidence=min(sure) if sure else None,
        box=box,
        readings=(),
    )
