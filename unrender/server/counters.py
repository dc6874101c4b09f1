"""Counters that /metrics shows, in the text format that Prometheus reads."""

import threading
from collections import Counter
from collections.abc import Mapping

_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)

_Labels = tuple[tuple[str, str], ...]


class Counters:
    """Counts what happens; any thread may add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, _Labels]] = Counter()
        self._buckets: Counter[float] = Counter()
        self._seconds = 0.0
        self._reads = 0

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add to the counter `unrender_<name>_total`."""
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += amount

    def read(self, seconds: float) -> None:
        """Note how long one reading took, waiting included."""
        with self._lock:
            self._seconds += seconds
            self._reads += 1
            self._buckets.update(bound for bound in _BUCKETS if seconds <= bound)

    def total(self, name: str) -> int:
        """Return a counter's value, whatever its labels."""
        with self._lock:
            return sum(amount for (other, _), amount in self._counts.items() if other == name)

    def text(self, gauges: Mapping[str, int]) -> str:
        """Write all counters, and gauges with their present values."""
        with self._lock:
            counts, buckets = dict(self._counts), dict(self._buckets)
            seconds, reads = self._seconds, self._reads
        lines = []
        for name in sorted({name for name, _ in counts}):
            lines.append(f"# TYPE unrender_{name}_total counter")
            for (other, labels), amount in sorted(counts.items()):
                if other == name:
                    lines.append(f"unrender_{name}_total{_braced(labels)} {amount}")
        for name, value in gauges.items():
            lines += [f"# TYPE unrender_{name} gauge", f"unrender_{name} {value}"]
        lines.append("# TYPE unrender_read_seconds histogram")
        lines += [f'unrender_read_seconds_bucket{{le="{bound:g}"}} {buckets.get(bound, 0)}' for bound in _BUCKETS]
        lines += [f'unrender_read_seconds_bucket{{le="+Inf"}} {reads}', f"unrender_read_seconds_sum {seconds:.6f}"]
        return "\n".join([*lines, f"unrender_read_seconds_count {reads}", ""])


def _braced(labels: _Labels) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""
