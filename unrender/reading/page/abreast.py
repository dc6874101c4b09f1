"""Names side by side: lines that are centred in columns, as those of authors above a paper, are read column by column.

What is flush left in columns (forms, lists, contents) is read line by line, as it belongs together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from unrender.reading.page.places import Kind, Region, Row

_GAP = 3.0  # times small letters: between two columns, at least
_EVEN = 0.8  # the same: how far the middles of a column's lines differ
_UNEVEN = 1.0  # the same: how much the beginnings of a column's lines differ at least, if they are centred
_STEP = 4.0  # the same: from one line to the next, at most
_FEWEST = 2  # lines with several columns
_WORDS = (Kind.TEXT, Kind.HEADING, Kind.CODE, Kind.FOOTNOTE)
_LEVEL = 1.0  # the same: lines nearer to one another are parts of one


@dataclass
class _Column:
    """Lines centred below one another."""

    middle: float
    parts: list[Region] = field(default_factory=list)

    def is_centred(self, letters: float) -> bool:
        lefts = [part.box[0] for part in self.parts]
        return max(lefts) - min(lefts) > _UNEVEN * letters


def part_abreast(pieces: Sequence[Region], letters: float) -> Iterator[list[Region]]:
    """Give the lines of a part of a page in groups to be read one after the other, each from top to bottom."""
    rows = _rows(pieces, letters)
    index, together = 0, list[Region]()
    while index < len(rows):
        columns, count = _columns(rows[index:], letters)
        if count:
            yield together
            yield from (column.parts for column in sorted(columns, key=lambda column: column.middle))
            together = []
        else:
            together += rows[index]
        index += max(1, count)
    yield together


def _rows(pieces: Sequence[Region], letters: float) -> list[list[Region]]:
    """Put what stands on one level together, from top to bottom."""
    rows: list[list[Region]] = []
    for piece in sorted(pieces, key=lambda piece: piece.box[1] + piece.box[3]):
        if rows and _middle(piece) - _middle(rows[-1][0]) < _LEVEL * letters:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return rows


def _middle(piece: Region) -> float:
    return (piece.box[1] + piece.box[3]) / 2


def _columns(rows: Sequence[Sequence[Region]], letters: float) -> tuple[list[_Column], int]:
    """Return the columns that begin with the first row, and how many rows are in them; none if it is a usual line."""
    columns: list[_Column] = []
    several = count = 0
    for row, before in zip(rows, [rows[0], *rows], strict=False):
        words = all(piece.kind in _WORDS and len(piece.rows) == 1 for piece in row)
        if not words or _middle(row[0]) - _middle(before[0]) > _STEP * letters:
            break
        parts = [part for piece in row for part in _parts(piece, letters)]
        homes = [_home(columns, part, letters) for part in parts]
        if (count and None in homes) or (not count and len(parts) == 1):
            break
        for part, home in zip(parts, homes, strict=True):
            if home is None:
                columns.append(_Column((part.box[0] + part.box[2]) / 2, [part]))
            else:
                home.parts.append(part)
        several += len(parts) > 1
        count += 1
    full = [column for column in columns if len(column.parts) > 1]
    centred = len(full) > 1 and all(column.is_centred(letters) for column in full)
    return (columns, count) if centred and several >= _FEWEST else ([], 0)


def _home(columns: Sequence[_Column], part: Region, letters: float) -> _Column | None:
    middle = (part.box[0] + part.box[2]) / 2
    return next((column for column in columns if abs(column.middle - middle) < _EVEN * letters), None)


def _parts(piece: Region, letters: float) -> list[Region]:
    """Cut a line at its wide gaps."""
    [row] = piece.rows
    left, _, right, _ = row.box
    wide = [(middle - width // 2, middle + width // 2) for middle, width in row.gaps if width > _GAP * letters]
    edges = [left, *(side for gap in wide for side in gap), right]
    return [_cut(piece, row, one, other) for one, other in list(pairwise(edges))[::2]]


def _cut(piece: Region, row: Row, left: int, right: int) -> Region:
    box = left, row.box[1], right, row.box[3]
    gaps = tuple(gap for gap in row.gaps if left < gap[0] < right)
    return replace(piece, kind=Kind.TEXT, box=box, rows=(replace(row, box=box, gaps=gaps),))
