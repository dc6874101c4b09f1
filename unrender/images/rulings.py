"""Ruled and squared paper, and frames: long thin lines that belong to the paper and not to the formula.

A picture is cut into strips across its lines. A line is a row that is darker than the rows beside it in nearly
every strip, allowing for a small slope. What may be erased: lines from edge to edge at a constant distance,
lines from edge to edge that are much fainter than the ink, and frames that are dotted, faint or at the very edge.
A fraction bar or a determinant's bar is none of these.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unrender.images.measures import percentile

Gray = NDArray[np.uint8]

INK = 200  # darker is ink, once the paper is white

_STRIPS = 16
_NARROWEST = 64  # pixels: a smaller picture has no lines to find
_SLOPE = 0.03  # of the picture's length, the largest drift of a line
_REACH = 4  # pixels: a line has paper this far from its middle
_CONTRAST = 7  # grey levels between a line and the rows beside it, averaged over a strip
_SUPPORT = 0.75  # of the strips must show a line
_HIDDEN_SUPPORT = 0.5  # are enough when other lines were found
_ALIKE = 0.25  # of the darkness of the other lines
_SAME_DISTANCE = 0.06  # of the distance between two lines
_REGULAR = 3  # lines at a constant distance, the fewest
_FAINT = 0.55  # of the ink's darkness
_MARGIN = 0.03  # of the length: ink stays this far from the ends of a line that is alone
_BORDER = 0.15  # of the picture: a frame is in this zone
_EDGE = 3  # pixels: nothing but a frame is so near to the edge
_THIN = 0.4  # of a full pixel row: a frame with less ink is faint
_GAPS = 0.15  # of a dotted line's length
_SURE_INK = 1.5  # times as dark as the line


@dataclass(frozen=True)
class _Line:
    row: int  # at the middle of the picture
    drift: int  # rows from the left edge to the right edge
    half: int  # rows on each side of the middle one
    darkness: float  # of the line, 0 to 255
    mass: float  # darkness summed across the line
    gaps: float  # share of its length where there is none
    through: bool  # from edge to edge


def erase_rulings(values: Gray) -> Gray:
    """Return the picture without the lines of its paper; the same array when there are none."""
    if min(values.shape) < _NARROWEST:
        return values
    across, down = _lines(values), _lines(values.T)
    if not across and not down:
        return values
    ink = 255 - percentile(values[::2, ::2], 1)
    framed = _frame(across, values.shape[0]) and _frame(down, values.shape[1])
    erased = values.copy()
    for before, picture, lines, others in ((values, erased, across, down), (values.T, erased.T, down, across)):
        regular = _regular(lines) and (len(lines) > _REGULAR or _regular(others))
        chosen = [line for line in lines if framed and _in_border(line, len(picture))]
        chosen += [line for line in lines if line.through and regular and line not in chosen]
        faint = [line for line in lines if line.through and line.darkness < _FAINT * ink and line not in chosen]
        if faint and _has_margin(before, lines):
            chosen += faint
        for line in chosen:
            _erase(picture, line, ink)
    return erased


def _lines(values: Gray) -> list[_Line]:
    """Find the thin lines that cross a picture from left to right."""
    length = values.shape[1] // _STRIPS * _STRIPS
    strips = values[:, :length].reshape(values.shape[0], _STRIPS, -1)
    darkness = 255 - strips.mean(axis=2, dtype=np.float32).T  # (strips, H)
    padded = np.pad(darkness, ((0, 0), (_REACH, _REACH)))
    thin = darkness - np.maximum(padded[:, : -2 * _REACH], padded[:, 2 * _REACH :]) > _CONTRAST
    drift, support = _best_drift(thin, round(_SLOPE * values.shape[1]))
    lines = _measured(values, support >= _SUPPORT * _STRIPS, drift)
    through = [line.darkness for line in lines if line.through]
    if not through:
        return lines
    usual = float(np.median(through))  # lines that much ink hides look like the others
    hidden = _measured(values, (support >= _HIDDEN_SUPPORT * _STRIPS) & (support < _SUPPORT * _STRIPS), drift)
    alike = [line for line in hidden if line.through and abs(line.darkness - usual) <= _ALIKE * usual]
    fresh = [line for line in alike if all(abs(line.row - known.row) > _REACH for known in lines)]
    return sorted(lines + fresh, key=lambda line: line.row)


def _measured(values: Gray, chosen: NDArray[np.bool_], drift: int) -> list[_Line]:
    rows = np.flatnonzero(chosen)
    if not rows.size:
        return []
    groups = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    lines = [_measure(values, group, drift) for group in groups if len(group) <= 2 * _REACH]
    return [line for line in lines if line is not None]


def _best_drift(thin: NDArray[np.bool_], most: int) -> tuple[int, NDArray[np.int64]]:
    """Return the drift along which the strips agree best, and how many of them show a line at each row."""
    height = thin.shape[1]
    padded = np.pad(thin, ((0, 0), (most + 1, most + 1))).astype(np.int8)
    padded = padded[:, :-2] | padded[:, 1:-1] | padded[:, 2:]  # a line that falls between two rows is in both
    best, best_score, best_support = 0, -1, np.zeros(height, np.int64)
    for drift in sorted(range(-most, most + 1), key=abs):
        shifts = [most + round(drift * ((strip + 0.5) / _STRIPS - 0.5)) for strip in range(_STRIPS)]
        support = np.add.reduce([padded[strip, shift : shift + height] for strip, shift in enumerate(shifts)])
        score = int((support[support >= _SUPPORT * _STRIPS].astype(np.int64) ** 2).sum())
        if score > best_score:
            best, best_score, best_support = drift, score, support
    return best, best_support


def _measure(values: Gray, rows: NDArray[np.int64], drift: int) -> _Line | None:
    middle = int(rows.mean().round())
    band = _band(values, middle, drift, _REACH)  # (2 * reach + 1, W) darknesses
    profile = np.median(band[:, ::2], axis=1)
    if profile.max() < _CONTRAST:  # dotted: more gaps than dots
        profile = band.mean(axis=1)
    middle += int(profile.argmax()) - _REACH
    wide = np.flatnonzero(profile > 0.2 * profile.max()) - int(profile.argmax())
    half = min(_REACH, max(1, int(np.abs(wide).max()) if wide.size else 1))
    crest = _band(values, middle, drift, half).max(axis=0)
    level = float(np.median(crest[crest > _CONTRAST])) if (crest > _CONTRAST).any() else 0.0
    if not level:
        return None
    gaps = float((crest < 0.25 * level).mean())
    end = max(2, len(crest) // _STRIPS // 4)
    through = bool((crest[:end] > 0.25 * level).any() and (crest[-end:] > 0.25 * level).any())
    return _Line(middle, drift, half, level, float(profile.sum()), gaps, through)


def _band(values: Gray, row: int, drift: int, half: int) -> NDArray[np.int64]:
    """Cut out the darkness of the rows along a line; white beyond the picture."""
    height, width = values.shape
    rows = _rows(row, drift, width)[None] + np.arange(-half, half + 1)[:, None]
    band: NDArray[np.int64] = 255 - values[np.clip(rows, 0, height - 1), np.arange(width)[None]].astype(np.int64)
    band[(rows < 0) | (rows >= height)] = 0
    return band


def _rows(row: int, drift: int, width: int) -> NDArray[np.int64]:
    return np.round(row + drift * ((np.arange(width) + 0.5) / width - 0.5)).astype(np.int64)


def _regular(lines: list[_Line]) -> bool:
    """Tell whether lines from edge to edge follow each other at a constant distance."""
    rows = np.array([line.row for line in lines if line.through])
    if len(rows) < _REGULAR:
        return False
    steps = np.diff(rows)
    usual = float(np.median(steps))
    whole = np.maximum(1, np.round(steps / usual))  # a line hidden by ink leaves a double distance
    return bool((np.abs(steps / whole - usual) <= max(1.5, _SAME_DISTANCE * usual)).all())


def _has_margin(values: Gray, lines: list[_Line]) -> bool:
    """Tell whether the other ink ends well before the lines do, as a fraction's does not."""
    height, width = values.shape
    margin = max(2 * _REACH, int(_MARGIN * width))
    ends = np.concatenate([np.arange(margin), np.arange(width - margin, width)])
    rest = values[:, ends] < INK
    for line in lines:
        rows = _rows(line.row, line.drift, width)[ends] + np.arange(-_REACH, _REACH + 1)[:, None]
        rest[np.clip(rows, 0, height - 1), np.arange(len(ends))[None]] = False
    return not rest.any()


def _frame(lines: list[_Line], height: int) -> bool:
    """Tell whether a line at each end of the picture is part of a frame that is not the formula's own box."""
    ends = [line for line in lines if _in_border(line, height)]
    sides = any(line.row < height / 2 for line in ends) and any(line.row > height / 2 for line in ends)
    return sides and all(
        line.gaps > _GAPS or line.mass < _THIN * 255 or min(line.row, height - 1 - line.row) <= _EDGE for line in ends
    )


def _in_border(line: _Line, height: int) -> bool:
    return min(line.row, height - 1 - line.row) <= _BORDER * height


def _erase(picture: Gray, line: _Line, ink: float) -> None:
    """Whiten a line where no stroke crosses it."""
    width = picture.shape[1]
    band = _band(picture, line.row, line.drift, line.half)
    beside = _band(picture, line.row, line.drift, line.half + 2) > 0.4 * ink
    crossed = _widen(beside[0] | beside[1]) & _widen(beside[-1] | beside[-2])
    kept = crossed[None] | (band > _SURE_INK * line.darkness + _CONTRAST)
    rows = _rows(line.row, line.drift, width)[None] + np.arange(-line.half, line.half + 1)[:, None]
    inside = (rows >= 0) & (rows < picture.shape[0]) & ~kept
    columns = np.broadcast_to(np.arange(width), rows.shape)
    picture[rows[inside], columns[inside]] = 255


def _widen(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    padded = np.pad(mask, 1)
    widened: NDArray[np.bool_] = padded[:-2] | padded[1:-1] | padded[2:]
    return widened
