"""What stands where on a page: strokes in lines, and lines in regions, each of one kind.

Letters are chained from left to right, so lines may be slightly tilted. What is too small or too high for a letter of
a line (dots, accents, exponents, the parts of a fraction) goes to the line that it stands nearest to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from statistics import median

import numpy as np
from numpy.typing import NDArray

Boxes = NDArray[np.int64]  # (strokes, 4): left, top, right, bottom

_SMALL, _TALL = 0.7, 2.6  # times the height of small letters: what may be a letter of a line
_GAP = 3.2  # the same: between two letters of one line
_LEVEL = 0.45  # of the lower one's height: how much two letters of one line share
_NEAR = 1.25  # times the height of small letters: chains whose middles are nearer are parts of one line
_REACH = 2.2  # the same: a stroke farther from every line stands alone
_DOT, _DOT_REACH = 0.4, 1.2  # the same: a dot farther than that from a line is dirt
_SPACE = 0.4  # the same: between two words
_RECENT = 4  # letters at the end of a chain that the next one is compared with
_FEW = 3  # letters; a chain of no more is no line if another is near
Rectangle = tuple[int, int, int, int]  # left, top, right, bottom in pixels of the straight page


class Kind(IntEnum):
    """What a region is; in the order of the layout network's `KINDS`."""

    NOTHING = 0
    TEXT = 1
    HEADING = 2
    FORMULA = 3
    TABLE = 4
    FIGURE = 5
    CAPTION = 6
    HEADER = 7
    FOOTER = 8
    FOLIO = 9
    FOOTNOTE = 10
    CODE = 11


WHOLE = (Kind.FORMULA, Kind.TABLE, Kind.FIGURE)  # regions that are found as rectangles before there are lines


@dataclass(frozen=True)
class Row:
    """A line to read; `letters` is the height of its small letters.

    `cells` are its parts where it is a table's; of a display, the formula and, if it has one, its number.
    `gaps` are where it may be cut: the middles and widths of the spaces between its strokes.
    """

    box: Rectangle
    letters: float
    cells: tuple[Rectangle | None, ...] = ()
    begins: float = 0.0
    gaps: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Region:
    """One block of a page: what it is, how likely, where, in which column, and its lines."""

    kind: int
    box: Rectangle
    rows: tuple[Row, ...] = ()
    column: int = -1
    likely: float = 1.0
    continued: bool = False  # it may go on where the column or the page before ended


@dataclass(frozen=True)
class Line:
    """The strokes of a line, and the box around them: left, top, right, bottom."""

    strokes: tuple[int, ...]
    box: tuple[int, int, int, int]

    @property
    def middle(self) -> float:
        return (self.box[1] + self.box[3]) / 2


@dataclass(eq=False)
class _Chain:
    """Letters from left to right."""

    members: list[int] = field(default_factory=list)
    right: int = 0  # where it ends
    over: float = 0.0  # top and bottom of its last letters
    under: float = 0.0
    recent: list[tuple[int, int]] = field(default_factory=list)
    slope: float = 0.0
    level: float = 0.0  # of the middles of its letters, where it begins

    def add(self, one: int, top: int, right: int, bottom: int) -> None:
        """Take in the next letter."""
        self.members.append(one)
        self.right = max(self.right, right)
        self.recent = [*self.recent[1 - _RECENT :], (top, bottom)]
        self.over = median(top for top, _ in self.recent)
        self.under = median(bottom for _, bottom in self.recent)

    def settle(self, boxes: Boxes) -> None:
        """Find out where the line through the letters lies."""
        chosen = boxes[self.members]
        across, middles = chosen[:, [0, 2]].mean(axis=1), chosen[:, [1, 3]].mean(axis=1)
        if len(self.members) > 2 * _FEW:
            self.slope = float(np.clip(np.polyfit(across, middles, 1)[0], -0.06, 0.06))
        self.level = float(np.median(middles - self.slope * across))

    def at(self, across: float) -> float:
        return self.level + self.slope * across


def find_lines(boxes: Boxes, chosen: Sequence[int], letters: float) -> list[Line]:
    """Put the chosen strokes into lines, from top to bottom; `letters` is the height of small letters."""
    heights = boxes[:, 3] - boxes[:, 1]
    widths = boxes[:, 2] - boxes[:, 0]
    cores = [one for one in chosen if _SMALL * letters <= heights[one] <= _TALL * letters]
    chains = _chain(boxes, sorted(cores, key=lambda one: int(boxes[one, 0])), letters)
    if not chains:
        return _alone(boxes, chosen, letters)
    for chain in chains:
        chain.settle(boxes)
    chains = _merge(boxes, chains, letters)
    placed = {member for chain in chains for member in chain.members}
    members = [list(chain.members) for chain in chains]
    bounds = np.array([_bounds(boxes, chain.members) for chain in chains], dtype=np.float64)
    for one in chosen:
        if one in placed:
            continue
        home = _nearest(chains, bounds, boxes[one], letters)
        if home is not None:
            members[home].append(one)
        elif max(heights[one], widths[one]) > letters:
            members.append([one])
    lines = [Line(tuple(sorted(each)), _bounds(boxes, each)) for each in members]
    return sorted(lines, key=lambda line: (line.middle, line.box[0]))


def find_gaps(boxes: Boxes, letters: float) -> tuple[tuple[int, int], ...]:
    """Return the middle and the width of each space between words of a line."""
    gaps: list[tuple[int, int]] = []
    edge = None
    for left, _, right, _ in boxes[boxes[:, 0].argsort()].tolist():
        if edge is not None and left - edge > _SPACE * letters:
            gaps.append(((left + edge) // 2, left - edge))
        edge = right if edge is None else max(edge, right)
    return tuple(gaps)


def _chain(boxes: Boxes, cores: Sequence[int], letters: float) -> list[_Chain]:
    chains: list[_Chain] = []
    going: list[_Chain] = []
    for one in cores:
        left, top, right, bottom = boxes[one].tolist()
        going = [chain for chain in going if chain.right > left - _GAP * letters]
        best, most = None, _LEVEL
        for chain in going:
            shared = min(bottom, chain.under) - max(top, chain.over)
            if shared > 0 and (share := shared / min(bottom - top, chain.under - chain.over)) > most:
                best, most = chain, share
        if best is None:
            best = _Chain()
            chains.append(best)
            going.append(best)
        best.add(one, top, right, bottom)
    return chains


def _merge(boxes: Boxes, chains: list[_Chain], letters: float) -> list[_Chain]:
    """Join chains that are parts of one line: the longest claim what is near to them."""
    kept: list[_Chain] = []
    for chain in sorted(chains, key=lambda chain: -len(chain.members)):
        left, _, right, _ = _bounds(boxes, chain.members)
        middle = (left + right) / 2
        apart = [abs(other.at(middle) - chain.at(middle)) for other in kept]
        near = int(np.argmin(apart)) if apart else -1
        few = len(chain.members) <= _FEW
        if near >= 0 and apart[near] < letters * (_NEAR * 1.3 if few else _NEAR):
            kept[near].members += chain.members
            kept[near].members.sort(key=lambda one: int(boxes[one, 0]))
        else:
            kept.append(chain)
    return kept


def _nearest(chains: Sequence[_Chain], bounds: NDArray[np.float64], box: Boxes, letters: float) -> int | None:
    """Return the chain that a stroke belongs to: the nearest above or below, if there is one within reach."""
    across, middle = float(box[0] + box[2]) / 2, float(box[1] + box[3]) / 2
    levels = np.array([chain.at(across) for chain in chains])
    aside = np.maximum(0, np.maximum(bounds[:, 0] - across, across - bounds[:, 2]))
    # A tall stroke belongs to the line that it reaches, however far away its middle is.
    down = np.maximum(0, np.maximum(box[1] - levels, levels - box[3]))
    distances = np.abs(levels - middle) * 0.2 + down + 0.3 * aside
    near = int(distances.argmin())
    if max(box[2] - box[0], box[3] - box[1]) < _DOT * letters and max(down[near], aside[near]) > _DOT_REACH * letters:
        return None
    return near if down[near] < _REACH * letters and aside[near] < 3 * _GAP * letters else None


def _alone(boxes: Boxes, chosen: Sequence[int], letters: float) -> list[Line]:
    """Take what is left where no stroke looks like a letter as one line, if it is large enough to be one."""
    large = [one for one in chosen if max(boxes[one, 2] - boxes[one, 0], boxes[one, 3] - boxes[one, 1]) > letters]
    return [Line(tuple(chosen), _bounds(boxes, chosen))] if large else []


def _bounds(boxes: Boxes, members: Sequence[int]) -> tuple[int, int, int, int]:
    chosen = boxes[list(members)]
    left, top = chosen[:, :2].min(axis=0).tolist()
    right, bottom = chosen[:, 2:].max(axis=0).tolist()
    return left, top, right, bottom


def union(boxes: Boxes) -> Rectangle:
    left, top = boxes[:, :2].min(axis=0).tolist()
    right, bottom = boxes[:, 2:].max(axis=0).tolist()
    return left, top, right, bottom


def union_of(boxes: Sequence[Rectangle | None]) -> Rectangle:
    return union(np.array([box for box in boxes if box is not None], dtype=np.int64))
