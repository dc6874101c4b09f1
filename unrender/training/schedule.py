"""Learning rates as functions of the update."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Linear warm-up, then one rate, a stepwise decay with a floor (Nougat), rates by epoch (TrOCR), or a cosine."""

    peak: float
    warm_up: int = 0
    decay: float = 1.0  # factor every `decay_every` updates
    decay_every: int = 1
    floor: float = 0.0
    by_epoch: tuple[tuple[float, float], ...] = ()  # (from this epoch on, this rate), in order
    cosine: tuple[int, int] | None = None  # from the first update to the second the rate falls to `floor`

    def __call__(self, update: int, epoch: float = 0.0) -> float:
        """Return the learning rate of update `update`, counted from 0."""
        if update < self.warm_up:
            return self.peak * (update + 1) / self.warm_up
        peak = next((rate for start, rate in reversed(self.by_epoch) if epoch >= start), self.peak)
        rate = max(self.floor, peak * self.decay ** ((update - self.warm_up) // self.decay_every))
        if self.cosine is not None and update >= self.cosine[0]:
            along = min(1.0, (update - self.cosine[0]) / max(1, self.cosine[1] - self.cosine[0]))
            rate = self.floor + (rate - self.floor) * (1 + math.cos(math.pi * along)) / 2
        return rate
