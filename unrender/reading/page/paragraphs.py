"""Lines that follow one another become paragraphs."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from unrender.reading.page.places import CODE, TEXT, WHOLE, Region, union_of

BEGINS = 0.5  # a line that begins a block is at least so likely to
_FAR = 1.7  # times the usual distance of lines: farther apart are two blocks


def join_blocks(pieces: list[Region], column: int) -> list[Region]:
    """Join lines that follow one another to blocks."""
    pieces.sort(key=lambda region: (region.box[1] + region.box[3], region.box[0]))
    steps = [
        two.box[3] - one.box[3]
        for one, two in pairwise(pieces)
        if one.kind == two.kind == TEXT and two.box[3] > one.box[3]
    ]
    usual = float(np.median(steps)) if steps else 0.0
    joined: list[Region] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if before is not None and _goes_on(before, piece, usual):
            rows = (*before.rows, *piece.rows)
            joined[-1] = replace(before, rows=rows, box=union_of([before.box, piece.box]))
        else:
            joined.append(replace(piece, column=column))
    return joined


def _goes_on(before: Region, piece: Region, usual: float) -> bool:
    if before.kind != piece.kind or before.kind in WHOLE:
        return False
    if piece.kind == CODE:
        return True
    apart = piece.box[3] - before.rows[-1].box[3]
    far = bool(usual) and apart > _FAR * usual and piece.kind == TEXT
    return piece.rows[0].begins < BEGINS and not far
