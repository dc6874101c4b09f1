"""How much a server takes on: every amount of work has a bound."""

import os
from dataclasses import dataclass, field

from unrender.errors import ConfigError
from unrender.server.problems import HttpError

_CORES_PER_WORKER = 2  # one reading keeps about two cores busy


def _workers() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // _CORES_PER_WORKER)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on one request, and on all of them together."""

    body_bytes: int = 20_000_000
    body_seconds: float = 30.0  # to send the whole body in
    pixels: int = 50_000_000  # of one image
    pages: int = 50  # in one request
    read_seconds: float = 120.0  # from the last byte of the body to the answer
    text_characters: int = 50_000  # of a text to convert
    waiting: int = 64  # requests in the queue
    connections: int = 1000  # requests at once, of any kind
    memory_bytes: int = 400_000_000  # of all bodies held at once
    workers: int = field(default_factory=_workers)
    batch: int = 8  # pages read together
    batch_pixels: int = 80_000_000  # of the pages read together

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise ConfigError(f"{name} must be more than 0, got {value}")


class Budget:
    """Counts what is in use and refuses what would exceed the limit; used from the event loop alone."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.used = 0

    def take(self, amount: int) -> None:
        """Count the amount, or raise the HttpError of a server that is full."""
        if self.used + amount > self._limit:
            raise HttpError.busy("The server is busy with other requests; try again shortly.")
        self.used += amount

    def give(self, amount: int) -> None:
        """Count the amount no longer."""
        self.used -= amount
