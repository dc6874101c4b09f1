"""How much a server takes on: every amount of work has a bound."""

import os
from dataclasses import dataclass, field

from unrender.errors import ConfigError
from unrender.images.opening import BYTES_PER_PIXEL, PageMemory
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
    convert_seconds: float = 5.0  # of computing, for one conversion
    waiting: int = 64  # requests in the queue
    connections: int = 1000  # requests at once, of any kind
    memory_bytes: int = 1_000_000_000  # of all bodies and open pictures held at once
    correction_bytes: int = 1_000_000_000  # of the corrections that people want kept
    workers: int = field(default_factory=_workers)
    batch: int = 8  # pages read together
    batch_pixels: int = 80_000_000  # of the pages read together

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise ConfigError(f"{name} must be more than 0, got {value}")


class Memory(PageMemory):
    """Counts the bytes of all bodies and open pictures together; what would exceed the limit is refused at once."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit, seconds=0.0, smallest=1)
        self.bodies = 0  # the bytes of bodies alone; changed by the event loop only

    def has_room(self, pixels: int) -> bool:
        """Say whether a picture may be opened now."""
        return self.held + pixels * BYTES_PER_PIXEL <= self.size

    def take_body(self, size: int) -> None:
        """Count a part of a body."""
        self.take(size, "body")
        self.bodies += size

    def give_body(self, size: int) -> None:
        """Count a body no longer."""
        self.give(size)
        self.bodies -= size

    def take(self, held: int, name: str) -> None:
        """Count so many bytes, or raise the HttpError of a server that is full."""
        if held > self.size - self.held:
            raise self.refusal(name)
        super().take(held, name)

    def refusal(self, name: str) -> Exception:
        """Return the error of a request for which there is no room."""
        return HttpError.busy(
            f"The requests under way hold almost {self.size:,} bytes, the limit of this server; try again shortly."
        )


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
