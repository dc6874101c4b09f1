"""The loop that pre-trains and fine-tunes LayoutLMv2: numbered batches, exact resume, a log that a person can read."""

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from unrender.errors import DataError
from unrender.training.arithmetic import fast_arithmetic

Batch = TypeVar("Batch")
_KEPT_LOSSES = 50  # the logged loss is the mean of so many batches


@dataclass(frozen=True, kw_only=True)
class PageRecipe:
    """Seed 003's optimiser: Adam with decoupled decay, a tenth of the updates to warm up, then linearly to zero."""

    updates: int
    rate: float = 2e-5
    weight_decay: float = 1e-2
    betas: tuple[float, float] = (0.9, 0.999)
    warm_up: float = 0.1  # share of the updates
    clip: float = 1.0
    fresh_rate: float = 1.0  # times the rate, for what starts from nothing (heads, layout, picture)
    bias_rate: float = 1.0  # times that again, for the spatial biases: scores have farther to go than weights
    average: float = 0.0  # of the moving average of the weights; 0: none
    seed: int = 0
    threads: int = 1
    save_seconds: float = 240
    validate_every: int = 0  # updates; 0: at the end only
    log_every: int = 0  # updates; 0: when it saves only

    def rate_at(self, update: int) -> float:
        """Return the learning rate of update `update`, counted from 0."""
        first = max(1, round(self.warm_up * self.updates))
        if update < first:
            return self.rate * (update + 1) / first
        return self.rate * max(0.0, (self.updates - update) / max(1, self.updates - first))


class PageTrainer(Generic[Batch]):
    """One run in one folder: last.pt (to resume), best.pt, metrics.jsonl."""

    def __init__(
        self,
        module: nn.Module,
        batches: Callable[[int], Batch],
        losses: Callable[[Batch], Mapping[str, Tensor]],
        recipe: PageRecipe,
        folder: Path,
        *,
        fresh: Callable[[str], bool] = lambda name: False,
        score: str = "score",
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.module, self.recipe, self.folder = module, recipe, folder
        self._batches, self._losses, self._score = batches, losses, score
        self.optimiser = torch.optim.AdamW(
            _groups(module, recipe, fresh), lr=recipe.rate, betas=recipe.betas, fused=True
        )
        self.update, self.seconds, self.best = 0, 0.0, -math.inf
        self.recent: dict[str, list[float]] = {}
        self.averages = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}

    def run(self, validate: Callable[[], Mapping[str, float]] | None = None) -> None:
        """Train to the recipe's last update; the higher a validation's score, the better."""
        with fast_arithmetic(self.recipe.threads):
            self._run(validate)

    def _run(self, validate: Callable[[], Mapping[str, float]] | None) -> None:
        began = saved = time.monotonic()
        before = self.seconds
        self.module.train()
        while self.update < self.recipe.updates:
            self._learn()
            now = time.monotonic()
            self.seconds = before + now - began
            finished = self.update == self.recipe.updates
            every = self.recipe.validate_every
            if validate is not None and (finished or (every and self.update % every == 0)):
                self._validate(validate)
            if finished or now - saved > self.recipe.save_seconds:
                self.save()
                self._log({"event": "train"})
                saved = time.monotonic()
            elif self.recipe.log_every and self.update % self.recipe.log_every == 0:
                self._log({"event": "train"})

    def _learn(self) -> None:
        recipe = self.recipe
        rate = recipe.rate_at(self.update)
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["times"]
        torch.manual_seed(recipe.seed * 1_000_003 + self.update)  # dropout, the same after a resume
        parts = self._losses(self._batches(self.update))
        total = torch.stack(list(parts.values())).sum()
        if not math.isfinite(float(total.detach())):
            raise DataError(f"the loss became {float(total)} at update {self.update}; last.pt is good")
        torch.autograd.backward(total)
        nn.utils.clip_grad_norm_(self.module.parameters(), recipe.clip)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        for name, value in parts.items():
            self.recent[name] = [*self.recent.get(name, [])[-_KEPT_LOSSES + 1 :], float(value.detach())]
        self.update += 1
        self._average()

    @torch.no_grad()
    def _average(self) -> None:
        """Move the averages towards the weights; without averaging, make them the weights."""
        share = 1 - min(self.recipe.average, (1 + self.update) / (10 + self.update)) if self.recipe.average else 1.0
        for name, tensor in self.module.state_dict().items():
            if self.averages[name].is_floating_point():
                self.averages[name].lerp_(tensor, share)
            else:
                self.averages[name].copy_(tensor)

    def _validate(self, validate: Callable[[], Mapping[str, float]]) -> None:
        own = {name: tensor.clone() for name, tensor in self.module.state_dict().items()}
        self.module.load_state_dict(self.averages)
        self.module.eval()
        metrics = validate()
        self.module.load_state_dict(own)
        self.module.train()
        self._log({"event": "validate", **metrics})
        if metrics[self._score] > self.best:
            self.best = metrics[self._score]
            torch.save(self.averages, self.folder / "best.pt")

    def save(self) -> None:
        """Write everything a resume needs, then put it in place in one move."""
        temporary = self.folder / "last.tmp"
        torch.save(
            {
                "state": self.module.state_dict(),
                "averages": self.averages,
                "optimiser": self.optimiser.state_dict(),
                "update": self.update,
                "seconds": self.seconds,
                "best": self.best,
                "recent": self.recent,
            },
            temporary,
        )
        temporary.replace(self.folder / "last.pt")

    def resume(self) -> bool:
        """Go on from last.pt if there is one."""
        path = self.folder / "last.pt"
        if not path.is_file():
            return False
        saved = torch.load(path, weights_only=True)
        self.module.load_state_dict(saved["state"])
        self.optimiser.load_state_dict(saved["optimiser"])
        self.averages, self.update, self.best = saved["averages"], saved["update"], saved["best"]
        self.seconds, self.recent = saved["seconds"], saved["recent"]
        return True

    def _log(self, values: Mapping[str, object]) -> None:
        means = {name: round(sum(kept) / len(kept), 4) for name, kept in self.recent.items()}
        line = {
            "update": self.update,
            "of": self.recipe.updates,
            "minutes": round(self.seconds / 60, 1),
            "seconds_per_update": round(self.seconds / max(1, self.update), 2),
            **means,
            **values,
        }
        with (self.folder / "metrics.jsonl").open("a") as lines:
            lines.write(json.dumps(line) + "\n")


def _groups(module: nn.Module, recipe: PageRecipe, fresh: Callable[[str], bool]) -> list[dict[str, object]]:
    """Decay matrices, not norms and biases; let what is fresh learn faster, and the spatial biases faster still."""
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in module.named_parameters():
        times = recipe.fresh_rate if fresh(name) else 1.0
        times *= recipe.bias_rate if "encoder.bias." in name else 1.0
        groups.setdefault((times, parameter.dim() > 1), []).append(parameter)
    return [
        {"params": members, "weight_decay": recipe.weight_decay if matrix else 0.0, "times": times}
        for (times, matrix), members in groups.items()
    ]
