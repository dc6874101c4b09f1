"""What was measured, as a table."""

from collections.abc import Mapping
from dataclasses import dataclass

from measuring.measure import Spread


@dataclass(frozen=True)
class Row:
    """One quantity, measured for every subject; the first subject is what the others are compared with."""

    name: str
    unit: str  # "s" or "MB"
    values: Mapping[str, Spread]

    def ratio(self, subject: str) -> float:
        """Say how many times faster, or smaller, a subject is than the first."""
        first = next(iter(self.values.values()))
        return first.median / self.values[subject].median

    def cell(self, subject: str) -> str:
        value = self.values[subject]
        scale, unit, digits = _scale(value.median, self.unit)
        middle = f"{value.median * scale:,.{digits}f} {unit}"
        spread = f"({value.low * scale:,.{digits}f} to {value.high * scale:,.{digits}f})"
        first = subject == next(iter(self.values))
        return f"{middle} {spread}" if first else f"{middle} {spread} {self.ratio(subject):.2f}x"


@dataclass(frozen=True)
class Report:
    """All that was measured of one model."""

    model: str
    threads: int
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        """Write a line for every quantity and subject."""
        lines = [f"{self.model}: medians (and the middle half), {self.threads} thread(s)"]
        for row in self.rows:
            lines.append(f"{row.name}")
            lines += [f"  {subject:<14} {row.cell(subject)}" for subject in row.values]
        return "\n".join(lines)

    def markdown(self) -> str:
        """Write a table with a column for every subject."""
        subjects = list(self.rows[0].values)
        lines = [f"| {self.model} | " + " | ".join(subjects) + " |", "|---" * (len(subjects) + 1) + "|"]
        for row in self.rows:
            lines.append(f"| {row.name} | " + " | ".join(row.cell(subject) for subject in subjects) + " |")
        return "\n".join(lines)


def _scale(value: float, unit: str) -> tuple[float, str, int]:
    if unit != "s":
        return 1.0, unit, 0
    if value >= 1:
        return 1.0, "s", 2
    return 1e3, "ms", 1 if value >= 1e-2 else 2
