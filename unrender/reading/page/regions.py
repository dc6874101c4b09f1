"""What a page is made of: regions in reading order, each of one kind, with the lines that are to be read in it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unrender.engines import Cells
from unrender.reading.page.abreast import part_abreast
from unrender.reading.page.blocks import BEGINS, find_formulas, find_rows, give_numbers, join_blocks
from unrender.reading.page.columns import Part, find_parts
from unrender.reading.page.heads import settle_heads
from unrender.reading.page.places import (
    WHOLE,
    Boxes,
    Kind,
    Line,
    Region,
    Row,
    find_gaps,
    find_lines,
    union,
    union_of,
)
from unrender.reading.page.straight import Straight
from unrender.reading.page.strokes import FURNITURE, PROSE, Strokes, find_inside, look_at, mean_in
from unrender.reading.page.wholes import find_rectangles, find_wholes

_DIRT = 0.6  # times the letters' height: smaller strokes do not close a gutter
_BRIDGE = (-6.0, -1.2, 6.0, 0.4)  # the same: how far around themselves a leader's dots do
_LINE_HEIGHT = 2.6  # times the letters' height: of a line of text, at most
_SURELY = 0.9  # a formula where a line of text would begin
_BESIDE, _PART = 1.5, 0.5  # the same: how close; and of the width of a display, how much of it is added at most
_WORDS = (*PROSE, Kind.CODE, Kind.TABLE)  # what may be words, whatever they seem
_INLINE = 0.35  # share of the ink beside a formula that is text: above, the formula stands in the text


def find_regions(straight: Straight, cells: Cells, scale: float) -> list[Region]:
    """Take a page apart; there are `scale` cells to a pixel."""
    page = look_at(straight, cells, scale)
    displays = [_with_beginning(page, display) for display in find_rectangles(page, Kind.FORMULA)]
    wholes, taken = find_wholes(straight, page, displays)
    read = ~taken & (page.kinds != Kind.NOTHING) & ~page.rules
    settle_heads(page, np.flatnonzero(read))
    furniture = read & np.isin(page.kinds, FURNITURE)
    running = read & ~furniture
    parts = find_parts(*_masks(page, wholes, running))
    body = list(_in_order(page, parts, wholes, displays, np.flatnonzero(running)))
    heads, feet = _furniture_regions(page, furniture)
    return [*heads, *body, *feet]


def _with_beginning(page: Strokes, display: Region) -> Region:
    """Give a display what seems a heading and stands so close beside it that it must be a part of it."""
    left, top, right, bottom = display.box
    reach, most = _BESIDE * page.letters, _PART * (right - left)
    middles = (page.boxes[:, 1] + page.boxes[:, 3]) / 2
    seeming = np.flatnonzero((page.kinds == Kind.HEADING) & (middles > top) & (middles < bottom))
    added: list[int] = []
    for one in seeming[(-page.boxes[seeming, 2]).argsort()].tolist():
        if left - reach < page.boxes[one, 2] < left + reach:
            left = min(left, int(page.boxes[one, 0]))
            added.append(one)
    if not added or display.box[0] - left > most:
        return display
    page.decide(np.array(added), Kind.FORMULA)
    return replace(display, box=union_of([display.box, union(page.boxes[added])]))


def _masks(
    page: Strokes, wholes: Sequence[Region], running: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which cells hold anything of the body, and which of them running text, and which a figure."""
    occupied, prose, figures = (np.zeros(page.cells.begins.shape, dtype=bool) for _ in range(3))
    sizes = np.maximum(page.boxes[:, 2] - page.boxes[:, 0], page.boxes[:, 3] - page.boxes[:, 1])
    boxes = page.boxes + np.where(page.leaders[:, None], np.array(_BRIDGE) * page.letters, 0.0)
    for number in np.flatnonzero(running & ((sizes > _DIRT * page.letters) | page.leaders)):
        left, top, right, bottom = np.maximum(0, boxes[number] * page.scale).tolist()
        area = slice(int(top), int(bottom) + 1), slice(int(left), int(right) + 1)
        occupied[area] = True
        prose[area] |= page.kinds[number] in PROSE
    for region in wholes:
        left, top, right, bottom = (int(side * page.scale) for side in region.box)
        occupied[top : bottom + 1, left : right + 1] = True
        figures[top : bottom + 1, left : right + 1] |= region.kind == Kind.FIGURE
    return occupied, prose, figures


def _in_order(
    page: Strokes,
    parts: Sequence[Part],
    wholes: Sequence[Region],
    displays: Sequence[Region],
    running: NDArray[np.int64],
) -> Iterator[Region]:
    """Give the regions part by part, from top to bottom."""
    homes = _homes(page, parts, page.boxes[running])
    whole_homes = _homes(page, parts, np.array([whole.box for whole in wholes], dtype=np.int64).reshape(-1, 4))
    for number, part in enumerate(parts):
        members = running[homes == number]
        displayed, likely = np.zeros(len(members), dtype=bool), list[float]()
        for display in displays:
            inside = find_inside(page.boxes[members], display.box) & ~displayed
            others = members[~inside & ~displayed]
            inside[inside] = _is_formula(page, members[inside], others, part.left / page.scale)
            if inside.any():
                displayed |= inside
                likely.append(display.likely)
        formulas = find_formulas(page.boxes[members[displayed]], page.letters, float(np.mean(likely or [0.0])))
        members = members[~displayed]
        lines = [_line_region(page, line) for line in find_lines(page.boxes, members.tolist(), page.letters)]
        inner = [whole for whole, home in zip(wholes, whole_homes, strict=True) if home == number]
        pieces = [*give_numbers(lines, formulas, page.letters), *inner]
        groups = part_abreast(pieces, page.letters)
        regions = [region for group in groups for region in join_blocks(group, part.column)]
        if regions and regions[0].kind == Kind.TEXT:
            regions[0] = replace(regions[0], continued=regions[0].rows[0].begins < BEGINS)
        yield from regions


def _is_formula(
    page: Strokes, inside: NDArray[np.int64], others: NDArray[np.int64], margin: float
) -> NDArray[np.bool_]:
    """Say which strokes in a display's rectangle are in rows of formulas: words of the text may stand between them."""
    formula = np.zeros(len(inside), dtype=bool)
    for row in find_rows(page.boxes[inside], page.letters) if inside.size else ():
        boxes, likely = page.boxes[inside[row]], page.likely[inside[row]]
        left, top, _, bottom = union(boxes)
        votes = (likely * (boxes[:, 2] - boxes[:, 0])[:, None]).sum(axis=0)
        share = votes[Kind.FORMULA] / max(1e-6, votes[Kind.FORMULA] + votes[list(PROSE)].sum())
        in_line = left < margin + page.letters and bottom - top < _LINE_HEIGHT * page.letters
        surely = share > (_SURELY if in_line else 0.5)
        formula[row] = surely and not _stands_in_text(page, inside[row], others)
    return formula


def _stands_in_text(page: Strokes, inside: NDArray[np.int64], others: NDArray[np.int64]) -> bool:
    """Say whether there is as much text beside a formula that it must be a part of that line."""
    top, bottom = page.boxes[inside, 1].min(), page.boxes[inside, 3].max()
    middles = (page.boxes[others, 1] + page.boxes[others, 3]) / 2
    beside = others[(middles > top) & (middles < bottom) & np.isin(page.kinds[others], _WORDS)]
    widths = page.boxes[:, 2] - page.boxes[:, 0]
    text = float(widths[beside].sum())
    return text > _INLINE * (text + float(widths[inside].sum()))


def _homes(page: Strokes, parts: Sequence[Part], boxes: Boxes) -> NDArray[np.int64]:
    """Return for each box the part that it stands in, or the nearest."""
    if not parts or not len(boxes):
        return np.zeros(len(boxes), dtype=np.int64)
    across = (boxes[:, 0] + boxes[:, 2]) / 2 * page.scale
    down = (boxes[:, 1] + boxes[:, 3]) / 2 * page.scale
    aside = [np.maximum(0, np.maximum(part.left - across, across - part.right)) for part in parts]
    above = [np.maximum(0, np.maximum(part.top - down, down - part.bottom)) for part in parts]
    return np.asarray((np.array(aside) + np.array(above)).argmin(axis=0), dtype=np.int64)


def _line_region(page: Strokes, line: Line) -> Region:
    members = list(line.strokes)
    weights = (page.boxes[members, 2] - page.boxes[members, 0])[:, None]
    votes = (page.likely[members] * weights).sum(axis=0) / max(1, weights.sum())
    votes[Kind.NOTHING] = 0
    if votes.argmax() in WHOLE:  # which were found before
        votes[Kind.TEXT] += votes.max()
    votes[list(WHOLE)] = 0
    kind = int(votes.argmax())
    begins = mean_in(page.cells.begins[None], np.array([line.box]), page.scale)[0, 0]
    letters = _row_letters(page.boxes[members], page.letters)
    read = [one for one in members if not page.leaders[one]] or members
    row = Row(line.box, letters, (), float(begins), find_gaps(page.boxes[read], letters))
    return Region(kind, line.box, (row,), likely=float(votes[kind] / max(1e-6, votes.sum())))


def _row_letters(boxes: Boxes, usual: float) -> float:
    """Return the height of a line's small letters, the usual one where it tells nothing else."""
    heights = boxes[:, 3] - boxes[:, 1]
    like = heights[(heights > 0.5 * usual) & (heights < 4 * usual)]
    if len(like) < 5:
        return usual
    counts = np.bincount(like)
    near = np.convolve(counts, np.ones(3), "same")
    found = float(near.argmax())
    return usual if 0.8 < found / usual < 1.25 else min(max(found, 0.6 * usual), 2.5 * usual)


def _furniture_regions(page: Strokes, members: NDArray[np.bool_]) -> tuple[list[Region], list[Region]]:
    """Return running heads with the page numbers beside them, and running feet with theirs."""
    found: list[Region] = []
    for kind in FURNITURE:
        chosen = [int(one) for one in np.flatnonzero(members & (page.kinds == kind))]
        for line in find_lines(page.boxes, chosen, page.letters):
            row = Row(line.box, page.letters)
            likely = float(page.likely[list(line.strokes), kind].mean())
            found.append(Region(kind, line.box, (row,), likely=likely))
    middle = page.cells.begins.shape[0] / page.scale / 2
    heads = [region for region in found if region.box[1] < middle]
    feet = [region for region in found if region.box[1] >= middle]
    return tuple(sorted(side, key=lambda region: (region.box[1], region.box[0])) for side in (heads, feet))  # type: ignore[return-value]
