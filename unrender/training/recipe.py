"""How a model is trained: one recipe type for every model, and learning rates as functions of the update."""

import math
from dataclasses import dataclass
from typing import Literal

_WARM_UP = 0.1  # share of the updates


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
    line: tuple[int, int] | None = None  # the same, but evenly

    @classmethod
    def linear(cls, peak: float, updates: int) -> "Schedule":
        """Warm up for a tenth of the updates, then fall evenly to zero (seed 003)."""
        first = max(1, round(_WARM_UP * updates))
        return cls(peak=peak, warm_up=first, line=(first, max(updates, first + 1)))

    def __call__(self, update: int, epoch: float = 0.0) -> float:
        """Return the learning rate of update `update`, counted from 0."""
        if update < self.warm_up:
            return self.peak * (update + 1) / self.warm_up
        peak = next((rate for start, rate in reversed(self.by_epoch) if epoch >= start), self.peak)
        rate = max(self.floor, peak * self.decay ** ((update - self.warm_up) // self.decay_every))
        if self.cosine is not None:
            rate = self.floor + (rate - self.floor) * (1 + math.cos(math.pi * _along(update, self.cosine))) / 2
        if self.line is not None:
            rate = self.floor + (rate - self.floor) * (1 - _along(update, self.line))
        return rate


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model is trained: everything but the data and the model itself."""

    schedule: Schedule
    optimiser: Literal["adam", "adamw"] = "adamw"
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    clip: float = 1.0  # of the gradient's norm
    accumulate: int = 1  # batches to an update
    smoothing: float = 0.0  # of the labels
    pointing: float = 0.0  # weight of looking at the token that is being read, where the data says where it stands
    naming: float = 0.0  # weight of naming the token in each cell of the encoder's grid, where the data says that
    spelling: float = 0.0  # weight of reading without the decoder, by CTC; padding is then kept out of the encoder
    average: float = 0.0  # of the moving average of the weights; 0: none
    updates: int = 0  # stop after so many; 0: after `samples`
    samples: int = 0  # stop after so many; 0: after `epochs`
    epochs: float = 0.0
    seed: int = 0
    threads: int = 2
    half: bool = False  # multiply in bfloat16, where the processor does that faster; weights and losses stay float32
    checkpoint_seconds: float = 180
    validate_seconds: float = 900
    validate_updates: int = 0  # 0: by the clock
    log_updates: int = 0  # 0: when a checkpoint is written


def _along(update: int, span: tuple[int, int]) -> float:
    """Return how far an update lies between two others, from 0 to 1."""
    return min(1.0, max(0.0, (update - span[0]) / max(1, span[1] - span[0])))
