"""Displays that are none: names, dates, headings and page numbers that stand alone, as formulas do.

The layout network sees only where they stand. So a row of a display that is no higher than a line is read by the line
reader too, and is text if that reads words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from unrender.formats.marked import DISPLAY, HEADINGS, MATH, SPACE, STYLES, plain_text
from unrender.reading.page.places import Kind, Region, Row, union_of
from unrender.reading.page.rows import ReadRow
from unrender.reading.page.strokes import PROSE

PartIndex = tuple[int, int, int]  # region, row, part
Readings = Mapping[PartIndex, ReadRow]

_FLAT = 2.6  # times the letters' height: of a line of text, at most
_SURE = 0.6  # a reading that is less sure says nothing
_LIKELY = 0.5  # that such a line is text, as far as the layout network goes
_WORD = re.compile(r"[^\W\d_]{3}")
_SIGNS = re.compile(r"[=<>+^_\\∑∫√≤≥≈∈]")
_NUMBER = re.compile(r"[\d./: -]{1,12}")
_NUMBERED = re.compile(r"\([A-Z]?[\d.]{1,6}[a-z]?\)[.,]?|[.,]?\([A-Z]?[\d.]{1,6}[a-z]?\)")
_NUMBER_GAP = 2.5  # times the letters' height: between a formula and its number, at least
_STOP, _LONG = re.compile(r"[.,;]"), 8  # tokens of a formula that is no word of a sentence
_BEGINNINGS, _ENDS = (MATH[0], DISPLAY[0]), (MATH[1], DISPLAY[1])
_AROUND = frozenset([SPACE, *HEADINGS, *STYLES["bold"], *STYLES["italic"]])
_FOLIO = re.compile(r"(?:[Pp]age )?[-–—]? ?\d{1,4}(?: ?(?:/|of) ?\d{1,4})? ?[-–—]?")


def may_be_words(row: Row) -> bool:
    """Say whether a row of a display is as low as a line of text."""
    return row.box[3] - row.box[1] < _FLAT * row.letters


def is_words(row: ReadRow) -> bool:
    """Say whether the line reader read words, a number alone, or program code, and no formula."""
    if row.confidence < _SURE or not row.tokens or any(mark in row.tokens for mark in (MATH[0], DISPLAY[0])):
        return False
    if row.tokens[0] == STYLES["mono"][0] and row.tokens[-1] == STYLES["mono"][1]:
        return True
    text = _text(row)
    number = _NUMBER.fullmatch(text) or _FOLIO.fullmatch(text)
    return bool(number or (_WORD.search(text) and not _SIGNS.search(text)))


def is_numbered(row: ReadRow, places: Sequence[Row]) -> bool:
    """Say whether a line holds but a formula and, at some distance, its number."""
    apart = any(gap[1] > _NUMBER_GAP * place.letters for place in places for gap in place.gaps)
    outside = "".join(token for token in _outside(row.tokens) if token != SPACE)
    return apart and MATH[0] in row.tokens and _NUMBERED.fullmatch(outside) is not None


def is_display(region: Region, rows: Sequence[ReadRow]) -> bool:
    """Say whether there is nothing but formulas in the lines of what seems text or a heading, and their numbers."""
    if region.kind not in (Kind.TEXT, Kind.HEADING) or region.continued:
        return False
    return all(_is_formula(row) for row in rows)


def _is_formula(row: ReadRow) -> bool:
    ends = [index for index, token in enumerate(row.tokens) if token in _ENDS]
    rest = "".join(token for token in _outside(row.tokens) if token not in _AROUND)
    surely = bool(ends) and (DISPLAY[1] in row.tokens or ends[0] > _LONG)
    return surely and (not rest or _STOP.fullmatch(rest) is not None or _NUMBERED.fullmatch(rest) is not None)


def _outside(tokens: Sequence[str]) -> Iterator[str]:
    """Give the tokens that are in no formula."""
    inside = False
    for token in tokens:
        inside = (inside or token in _BEGINNINGS) and token not in _ENDS
        if not inside and token not in _ENDS:
            yield token


def settle(regions: Sequence[Region], found: Readings) -> tuple[tuple[Region, ...], dict[PartIndex, ReadRow]]:
    """Make text of the rows of displays in which words were read; what was read keeps its place."""
    settled: list[Region] = []
    moved: dict[PartIndex, ReadRow] = {}
    for number, region in enumerate(regions):
        for words, positions in _runs(number, region, found):
            for position, old in enumerate(positions):
                parts = (part for part in found if part[:2] == (number, old))
                moved |= {(len(settled), position, part[2]): found[part] for part in parts}
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
    """Take a number alone in the last line of a page for the page's; a line below it is a running foot."""
    kept = list(regions)
    furniture = (Kind.HEADER, Kind.FOOTER, Kind.FOLIO)
    body = [number for number, region in enumerate(kept) if region.kind not in furniture]
    last = sorted((number for number in body), key=lambda number: -kept[number].box[3])[:2]
    for count, number in enumerate(last, start=1):
        if (
            len(kept[number].rows) != 1
            or (number, 0, 0) not in found
            or kept[number].kind not in (*PROSE, Kind.FORMULA)
        ):
            break
        if _FOLIO.fullmatch(_text(found[number, 0, 0])):
            kept[number] = replace(kept[number], kind=Kind.FOLIO, rows=(replace(kept[number].rows[0], cells=()),))
            for below in last[: count - 1]:
                kept[below] = replace(kept[below], kind=Kind.FOOTER)
            break
    return kept


def _text(row: ReadRow) -> str:
    return plain_text(row.tokens).replace(SPACE, " ").strip()
