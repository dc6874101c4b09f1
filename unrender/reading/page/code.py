"""Program code as it stands on a page."""

from collections.abc import Sequence
from statistics import median

from unrender.reading.page.places import Row

_QUOTES = str.maketrans("’‘“”", '\'`""')  # what code is written with


def write_code(texts: Sequence[str], rows: Sequence[Row]) -> str:
    """Write lines of code, each indented as far as it stands from the left; not at all if a line was not read."""
    lines = [text.strip().translate(_QUOTES) for text in texts]
    if len(rows) == len(lines):
        left = min(row.box[0] for row in rows)
        widths = [(row.box[2] - row.box[0]) / len(line) for row, line in zip(rows, lines, strict=True) if line]
        width = max(1.0, median(widths)) if widths else 1.0
        lines = [" " * round((row.box[0] - left) / width) + line for row, line in zip(rows, lines, strict=True)]
    return "\n".join(lines)
