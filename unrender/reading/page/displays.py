"""Displays that are none: names, dates, headings and page numbers that stand alone, as formulas do.

The layout network sees only where they stand. So a row of a display that is no higher than a line is read by the line
reader too, and is text if that reads words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from unrender.formats.marked import DISPLAY, MATH, SPACE, plain_text
from unrender.reading.page.places import Kind, Region, Row, union_of
from unrender.reading.page.rows import ReadRow

Place = tuple[int, int, int]  # region, row, part
Readings = Mapping[Place, ReadRow]

_FLAT = 2.6  # times the letters' height: of a line of text, at most
_SURE = 0.6  # a reading that is less sure says nothing
_LIKELY = 0.5  # that such a line is text, as far as the layout network goes
_WORD = re.compile(r"[^\W\d_]{3}")
_SIGNS = re.compile(r"[=<>+^_\\∑∫√≤≥≈∈]")
_NUMBER = re.compile(r"[\d./: -]{1,12}")
_FOLIO = re.compile(r"\d{1,4}(?:/\d{1,4})?")


def may_be_words(row: Row) -> bool:
    """Say whether a row of a display is as low as a line of text."""
    return row.box[3] - row.box[1] < _FLAT * row.letters


def is_words(row: ReadRow) -> bool:
    """Say whether the line reader read words, or a number alone, and no formula."""
    if row.confidence < _SURE or not row.tokens or any(mark in row.tokens for mark in (MATH[0], DISPLAY[0])):
        return False
    text = plain_text(row.tokens).replace(SPACE, " ").strip()
    return bool((_WORD.search(text) and not _SIGNS.search(text)) or _NUMBER.fullmatch(text))


def settle(regions: Sequence[Region], found: Readings) -> tuple[tuple[Region, ...], dict[Place, ReadRow]]:
    """Make text of the rows of displays in which words were read; what was read keeps its place."""
    settled: list[Region] = []
    moved: dict[Place, ReadRow] = {}
    for number, region in enumerate(regions):
        for words, positions in _runs(number, region, found):
            for position, old in enumerate(positions):
                parts = (place for place in found if place[:2] == (number, old))
                moved |= {(len(settled), position, place[2]): found[place] for place in parts}
            settled.append(_part(region, positions, words=words))
    return tuple(_with_folio(settled, moved)), moved


def _runs(number: int, region: Region, found: Readings) -> list[tuple[bool, list[int]]]:
    """Part the rows of a region into runs that are words and runs that are not."""
    if region.kind != Kind.FORMULA:
        return [(False, list(range(len(region.rows))))]

    def words(position: int) -> bool:
        return (number, position, 0) in found and is_words(found[number, position, 0])

    return [(are, list(run)) for are, run in groupby(range(len(region.rows)), key=words)]


def _part(region: Region, positions: Sequence[int], *, words: bool) -> Region:
    if not words and len(positions) == len(region.rows):
        return region
    rows = [region.rows[position] for position in positions]
    part = replace(region, rows=tuple(rows), box=union_of([row.box for row in rows]))
    if not words:
        return part
    return replace(part, kind=Kind.TEXT, likely=_LIKELY, rows=tuple(replace(row, cells=()) for row in rows))


def _with_folio(regions: Sequence[Region], found: Readings) -> list[Region]:
    """Take a number alone in the last line of a page for the page's."""
    kept = list(regions)
    body = [number for number, region in enumerate(kept) if region.kind not in (Kind.HEADER, Kind.FOOTER, Kind.FOLIO)]
    last = max(body, key=lambda number: kept[number].box[3], default=None)
    if last is None or len(kept[last].rows) != 1 or (last, 0, 0) not in found or kept[last].kind != Kind.TEXT:
        return kept
    if _FOLIO.fullmatch(plain_text(found[last, 0, 0].tokens).strip()):
        kept[last] = replace(kept[last], kind=Kind.FOLIO)
    return kept
