"""Where paragraphs begin and go on, as far as the places of their lines tell: indented lines, and full ones.

The layout network sees a page too small to tell every indented line. Lines are those of one column, from top to bottom.
"""

from collections.abc import Sequence
from dataclasses import replace

from unrender.reading.page.places import Kind, Region, Row

_INDENTED = (0.9, 6.0)  # times small letters: how far the first line of a paragraph is set in
_EVEN = 0.5  # the same: how far the beginnings and ends of lines that are flush differ
_SHORT = 1.5  # the same: a line that ends so far from where others do is short
_CENTRED = 0.25  # of what a line is set in: how far its middle is from that of the next, at least
_NEIGHBOURS = 3  # lines above and below that tell where lines end
_BEGINS = 0.9  # how likely such a line begins a paragraph


def mark_beginnings(pieces: Sequence[Region]) -> list[Region]:
    """Return the lines of a column, those marked as beginnings that are set in as the first of a paragraph is."""
    marked = list(pieces)
    for index, piece in enumerate(pieces):
        if piece.kind == Kind.TEXT and len(piece.rows) == 1 and _is_indented(pieces, index):
            marked[index] = replace(piece, rows=(replace(piece.rows[0], begins=max(piece.rows[0].begins, _BEGINS)),))
    return marked


def step(above: Row, below: Row) -> int:
    """Return how far a line is below another; a high sign at the end of one does not count."""
    return min(below.box[3] - above.box[3], below.box[1] - above.box[1])


def _is_indented(pieces: Sequence[Region], index: int) -> bool:
    """Say whether a full line is set in from the lines around it, which begin below one another."""
    row = pieces[index].rows[0]
    above, below = _run(pieces, index, -1), _run(pieces, index, 1)
    flush = below or above
    if not flush:
        return False
    indent = row.box[0] - flush[0].box[0]
    if not _INDENTED[0] * row.letters < indent < _INDENTED[1] * row.letters:
        return False
    edge = max(one.box[2] for one in (row, *above, *below))
    if row.box[2] < edge - _SHORT * row.letters or _middle(row) - _middle(flush[0]) < _CENTRED * indent:
        return False
    ended = bool(above) and above[0].box[2] < edge - _SHORT * row.letters
    if not below:
        return ended and len(above) > 1 and _flush(above[0], above[1])
    alike = abs(above[0].box[0] - below[0].box[0]) < _EVEN * row.letters if above else True
    return (alike or ended) and (ended or (len(below) > 1 and _flush(below[0], below[1])))


def _run(pieces: Sequence[Region], index: int, way: int) -> list[Row]:
    """Return the lines of text next to one, at most so many as tell."""
    rows: list[Row] = []
    for other in range(index + way, index + way * (_NEIGHBOURS + 1), way):
        if not 0 <= other < len(pieces) or pieces[other].kind != Kind.TEXT or len(pieces[other].rows) != 1:
            break
        rows.append(pieces[other].rows[0])
    return rows


def _flush(one: Row, other: Row) -> bool:
    return abs(one.box[0] - other.box[0]) < _EVEN * one.letters


def _middle(row: Row) -> float:
    return (row.box[0] + row.box[2]) / 2
