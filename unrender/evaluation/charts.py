"""Bar charts as inline SVG."""

import html
from collections.abc import Sequence

_WIDTH, _HEIGHT = 720, 260
_LEFT, _BOTTOM, _TOP = 60, 62, 14
_GAP = 0.25  # of a bar's width
_LINES = 4  # of the grid


def bars(
    names: Sequence[str],
    values: Sequence[float | None],
    notes: Sequence[str],
    *,
    horizontal: str,
    vertical: str,
    marks: Sequence[float] = (),
) -> str:
    """Draw one bar a name, a note under each, and a short line across it at the height of its mark."""
    top = _ceiling(max([value for value in values if value is not None] + list(marks), default=0.0))
    step = (_WIDTH - _LEFT) / max(1, len(names))
    parts = [_grid(top)]
    for index, (name, value, note) in enumerate(zip(names, values, notes, strict=True)):
        left, width = _LEFT + step * (index + _GAP / 2), step * (1 - _GAP)
        middle = left + width / 2
        if value is not None:
            y = _level(value, top)
            parts.append(
                f'<rect x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_floor() - y:.1f}" fill="#4a7fb5"/>'
            )
            parts.append(_text(middle, y - 3, f"{value:.3f}"))
        if marks:
            y = _level(marks[index], top)
            parts.append(f'<path d="M{left:.1f} {y:.1f}h{width:.1f}" stroke="#c33" stroke-width="2"/>')
        parts += [_text(middle, _floor() + 15, name), _text(middle, _floor() + 29, note, "#777")]
    parts.append(_text((_LEFT + _WIDTH) / 2, _HEIGHT - 12, horizontal))
    parts.append(f'<g transform="translate(14 {(_TOP + _floor()) / 2:.0f}) rotate(-90)">{_text(0, 0, vertical)}</g>')
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img">{"".join(parts)}</svg>'


def _grid(top: float) -> str:
    lines = []
    for number in range(_LINES + 1):
        value = top * number / _LINES
        y = _level(value, top)
        lines.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH}" stroke="#ddd"/>')
        lines.append(_text(_LEFT - 6, y + 4, f"{value:.2f}", anchor="end"))
    return "".join(lines)


def _ceiling(value: float) -> float:
    """Round up to a value that the grid divides well."""
    return next((top for top in (0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0) if value <= top), value)


def _level(value: float, top: float) -> float:
    return _floor() - value / top * (_floor() - _TOP)


def _floor() -> float:
    return _HEIGHT - _BOTTOM


def _text(x: float, y: float, text: str, colour: str = "#333", anchor: str = "middle") -> str:
    attributes = f'x="{x:.1f}" y="{y:.1f}" font-size="11" fill="{colour}" text-anchor="{anchor}"'
    return f"<text {attributes}>{html.escape(text)}</text>"
