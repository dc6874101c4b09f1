"""Running heads and feet: which lines at the ends of a page they are, and which are of the body."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unrender.reading.page.places import Kind, Line, find_lines, union_of
from unrender.reading.page.strokes import FURNITURE, Strokes

_TOGETHER = 2.0  # times small letters: what stands nearer in a line is of one kind
_PARTED = 6.0  # the same: parts of a running head stand at least so far apart
_CLEAR, _NEXT = 1.3, 1.2  # times the usual distance of rows: of a running head from the body, and of the body's rows
_LONG = 0.5  # of the width of the next row: such a row is no page number
_DISPLAYED = 0.5  # share of what stands beside a number: above, it is the number of a formula
_OUTERMOST = 4  # rows at either end among which they stand
_ROWS = 2  # rows at either end that may be running ones


def settle_heads(page: Strokes, members: NDArray[np.int64]) -> None:
    """Let what stands together be all of the body or all of one running head or foot; so for lines as wholes.

    A line that goes on in the next one is of the body; what stands far apart in a line with a running head is one too.
    """
    if not np.isin(page.kinds[members], FURNITURE).any():
        return
    lines = find_lines(page.boxes, members.tolist(), page.letters)
    for line in lines:
        for group in _groups(page, line, _TOGETHER):
            kinds = page.kinds[group]
            if np.isin(kinds, FURNITURE).any() and (kinds != kinds[0]).any():
                votes = np.bincount(kinds, page.boxes[group, 2] - page.boxes[group, 0])
                page.decide(group, int(votes.argmax()))
    rows = _rows(lines, page.letters)
    _keep_to_the_ends(page, rows)
    usual = float(np.median([_distance(one, rows[number + 1 :]) for number, one in enumerate(rows[:-1])] or [0]))
    for ends, kind in ((rows, Kind.HEADER), (rows[::-1], Kind.FOOTER)):
        for number in reversed(range(min(_ROWS, len(ends) - 1))):
            _settle_row(page, ends[number], ends[number + 1 :], kind, usual)


def _keep_to_the_ends(page: Strokes, rows: Sequence[Line]) -> None:
    """Give what seems a running head or foot and stands in the midst of a page to the body, to a formula beside it."""
    for row in rows[_OUTERMOST:-_OUTERMOST]:
        strokes = np.array(row.strokes)
        running = np.isin(page.kinds[strokes], FURNITURE)
        if running.any():
            displayed = (page.kinds[strokes[~running]] == Kind.FORMULA).any()
            page.decide(strokes[running], Kind.FORMULA if displayed else Kind.TEXT)


def _rows(lines: Sequence[Line], letters: float) -> list[Line]:
    """Join lines that stand beside one another."""
    rows: list[Line] = []
    for line in lines:
        if rows and abs(rows[-1].middle - line.middle) < letters:
            box = union_of([rows[-1].box, line.box])
            rows[-1] = Line((*rows[-1].strokes, *line.strokes), box)
        else:
            rows.append(line)
    return rows


def _settle_row(page: Strokes, row: Line, inner: Sequence[Line], kind: Kind, usual: float) -> None:
    """Decide about a row at one end of a page; `inner` are those from there to the other end."""
    strokes = np.array(row.strokes)
    running = np.isin(page.kinds[strokes], FURNITURE)
    distance, parted = _distance(row, inner), len(_groups(page, row, _PARTED)) > 1
    if running.all():
        followed = not np.isin(page.kinds[list(inner[0].strokes)], FURNITURE).any()
        long = row.box[2] - row.box[0] > _LONG * (inner[0].box[2] - inner[0].box[0])
        flush = abs(row.box[0] - inner[0].box[0]) < page.letters
        if followed and (long or flush) and not parted and distance < _NEXT * usual:
            page.decide(strokes, Kind.TEXT)
    elif running.any() and (page.kinds[strokes[~running]] == Kind.FORMULA).mean() > _DISPLAYED:
        page.decide(strokes[running], Kind.FORMULA)
    elif running.any() and parted and distance > _CLEAR * max(usual, page.letters):
        page.decide(strokes[~running], kind)


def _distance(row: Line, others: Sequence[Line]) -> float:
    """Return how far the nearest of the rows that share a part of the page's width with one is from it."""
    beside = [other.box for other in others if row.box[0] < other.box[2] and other.box[0] < row.box[2]]
    return min((max(box[1] - row.box[3], row.box[1] - box[3]) for box in beside), default=float("inf"))


def _groups(page: Strokes, line: Line, gap: float) -> list[NDArray[np.int64]]:
    """Part a line where nothing stands for so many times the height of small letters."""
    strokes = np.array(line.strokes)[page.boxes[list(line.strokes), 0].argsort()]
    edges = np.maximum.accumulate(page.boxes[strokes, 2])
    far = page.boxes[strokes[1:], 0] - edges[:-1] > gap * page.letters
    return np.split(strokes, np.flatnonzero(far) + 1)
