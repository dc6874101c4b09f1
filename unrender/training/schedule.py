"""Learning rates as functions of the update."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Linear warm-up, then constant, stepwise decay with a floor (Nougat), or a cosine to zero at the end."""

    peak: float
    warm_up: int = 0
    decay: float = 1.0  # factor every `decay_every` updates
    decay_every: int = 1
    floor: float = 0.0
    cosine_from: int = 0  # with `cosine_to`: the last stretch falls to `floor`
    cosine_to: int = 0

    def __call__(self, update: int) -> float:
        """Return the learning rate of update `update`, counted from 0."""
        if update < self.warm_up:
            return self.peak * (update + 1) / self.warm_up
        rate = max(self.floor, self.peak * self.decay ** ((update - self.warm_up) // self.decay_every))
        if self.cosine_to and update >= self.cosine_from:
            along = min(1.0, (update - self.cosine_from) / max(1, self.cosine_to - self.cosine_from))
            rate = self.floor + (rate - self.floor) * (1 + math.cos(math.pi * along)) / 2
        return rate


NOUGAT = Schedule(peak=5e-5, decay=0.9996, decay_every=15, floor=7.5e-6)  # seed 001, 3.1
