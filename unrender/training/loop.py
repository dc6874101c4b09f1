"""The training loop: updates, weight averages, checkpoints that resume exactly, a log that a person can read.

Under `torchrun` every process takes its part of each batch and the gradients are averaged, so that any number of
processes makes the same updates (networks with batch norm excepted: each process norms its own part).
"""

import contextlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Generic

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from unrender.errors import DataError
from unrender.training import distributed
from unrender.training.batches import AnyBatch, Stream
from unrender.training.objectives import Losses, Objective
from unrender.training.recipe import Recipe

# Kernels are compiled for every shape of a batch; the thousand that are kept by default are those of a dozen shapes.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "60000")
_KEPT_LOSSES = 100  # the logged loss is the mean of so many batches
_SEED_STRIDE = 1_000_003

Validate = Callable[[], Mapping[str, float]]  # metrics by name; "score" is the one to make small
RateOf = Callable[[str], float]  # by which factor a parameter learns faster than the recipe says
LAST, BEST, METRICS = "last.pt", "best.pt", "metrics.jsonl"


@dataclass
class Progress:
    """Where a run is; all of it is in the checkpoint."""

    update: int = 0
    batch: int = 0  # batches seen, several to an update
    seen: int = 0
    block: int = 0
    index: int = 0  # of the next batch in the block
    block_seen: int = 0  # samples seen when the block began: it decides the curriculum's stage
    seconds: float = 0.0
    best: float = math.inf


class Trainer(Generic[AnyBatch]):
    """One run in one folder: last.pt (to resume), best.pt (best validation), metrics.jsonl."""

    def __init__(
        self,
        objective: Objective[AnyBatch],
        stream: Stream[AnyBatch],
        recipe: Recipe,
        folder: Path,
        *,
        rate_of: RateOf = lambda name: 1.0,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.objective, self.stream, self.recipe, self.folder = objective, stream, recipe, folder
        self.module = objective.module
        self.progress = Progress()
        self.recent: dict[str, list[float]] = {}
        self.optimiser, self._rates = _optimiser(objective, recipe, rate_of)
        self.averages = [tensor.detach().clone() for tensor in self.module.state_dict().values()]
        several = distributed.processes() > 1
        self._parallel = DistributedDataParallel(objective, find_unused_parameters=True) if several else objective

    @property
    def total(self) -> int:
        """How many updates the whole run takes, or else how many samples."""
        recipe = self.recipe
        return recipe.updates or recipe.samples or round(recipe.epochs * self.stream.epoch_samples)

    @property
    def done(self) -> int:
        """How many of them it has taken."""
        return self.progress.update if self.recipe.updates else self.progress.seen

    def run(
        self,
        validate: Validate | None = None,
        *,
        seconds: float = math.inf,
        report: Callable[["Trainer[AnyBatch]"], None] = lambda trainer: None,
    ) -> None:
        """Train until what the recipe asks for is done, or `seconds` of this call are used up."""
        with _fast_arithmetic(self.recipe.threads):
            self._run(validate, seconds, report)

    def _run(self, validate: Validate | None, seconds: float, report: Callable[["Trainer[AnyBatch]"], None]) -> None:
        recipe, before = self.recipe, self.progress.seconds
        began = saved = validated = time.monotonic()
        self.module.train()
        while self.done < self.total and time.monotonic() - began <= seconds:
            moved = self._learn(next(self._batches))
            now = time.monotonic()
            self.progress.seconds = before + now - began
            report(self)
            if self.done >= self.total:
                break
            every = recipe.validate_updates
            late = moved and self.progress.update % every == 0 if every else now - validated > recipe.validate_seconds
            if validate is not None and late:
                self.validate(validate)
                validated = time.monotonic()
            if now - saved > recipe.checkpoint_seconds:
                self.save()
                saved = time.monotonic()
            elif recipe.log_updates and moved and self.progress.update % recipe.log_updates == 0:
                self._log({"event": "train"})
        if validate is not None:
            self.validate(validate)
        self.save()

    @property
    def _batches(self) -> Iterator[AnyBatch]:
        if not hasattr(self, "_iterator"):
            self._iterator = self._endless()
        return self._iterator

    def _endless(self) -> Iterator[AnyBatch]:
        progress, part, parts = self.progress, distributed.rank(), distributed.processes()
        while True:
            if progress.index == 0:
                progress.block_seen = progress.seen
            for batch in self.stream.batches(progress.block, progress.index, progress.block_seen, part, parts):
                progress.index += 1
                yield batch
            progress.block += 1
            progress.index = 0

    def _learn(self, batch: AnyBatch) -> bool:
        """Take one batch in; every `accumulate` batches, move the weights, and say whether they moved."""
        recipe, progress = self.recipe, self.progress
        torch.manual_seed(recipe.seed * _SEED_STRIDE + progress.batch)  # dropout, the same after a resume
        with torch.autocast("cpu", torch.bfloat16, enabled=recipe.half):
            parts: Losses = self._parallel(batch)
        counts = [distributed.total(part.units) for part in parts.values()]
        means = [
            part.total * (distributed.processes() / max(1, count))
            for part, count in zip(parts.values(), counts, strict=True)
        ]
        loss = torch.stack([part.weight * mean for part, mean in zip(parts.values(), means, strict=True)]).sum()
        value = float(loss.detach())
        if not math.isfinite(value):
            raise DataError(
                f"the loss became {value} at update {progress.update}, in the batch that begins with {batch.name}; "
                f"the last good checkpoint is {self.folder / LAST}"
            )
        (loss / recipe.accumulate).backward()  # type: ignore[no-untyped-call]
        progress.batch += 1
        progress.seen += batch.whole
        told = {name: float(mean.detach()) for name, mean, count in zip(parts, means, counts, strict=True) if count}
        for name, one in {"loss": value, **told}.items():
            self.recent[name] = [*self.recent.get(name, [])[-_KEPT_LOSSES + 1 :], one]
        if progress.batch % recipe.accumulate:
            return False
        self._update()
        return True

    def _update(self) -> None:
        progress = self.progress
        epoch = progress.seen / max(1, self.stream.epoch_samples)
        rate = self.recipe.schedule(progress.update, epoch) * self.stream.rate(progress.seen)
        for group, times in zip(self.optimiser.param_groups, self._rates, strict=True):
            group["lr"] = rate * times
        nn.utils.clip_grad_norm_(self.objective.parameters(), self.recipe.clip)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        progress.update += 1
        if self.recipe.average:
            self._average()

    @torch.no_grad()
    def _average(self) -> None:
        """Move the averaged weights towards the present ones, faster at the beginning."""
        update = self.progress.update
        share = 1 - min(self.recipe.average, (1 + update) / (10 + update))
        for averaged, tensor in zip(self.averages, self.module.state_dict().values(), strict=True):
            if averaged.is_floating_point():
                averaged.lerp_(tensor, share)
            else:
                averaged.copy_(tensor)

    def final_state(self) -> dict[str, Tensor]:
        """Return the weights to keep: the averaged ones, if there is an average."""
        state = self.module.state_dict()
        return dict(zip(state, self.averages, strict=True)) if self.recipe.average else state

    def validate(self, validate: Validate) -> None:
        """Measure with the weights that would be kept; remember them if they are the best so far."""
        if distributed.rank() > 0:
            return
        own = {name: tensor.clone() for name, tensor in self.module.state_dict().items()}
        kept = {name: tensor.clone() for name, tensor in self.final_state().items()}
        self.module.load_state_dict(kept)
        self.module.eval()
        metrics = validate()
        self.module.load_state_dict(own)
        self.module.train()
        self._log({"event": "validate", **metrics})
        if metrics["score"] < self.progress.best:
            self.progress.best = metrics["score"]
            _write({"state": kept, "progress": asdict(self.progress)}, self.folder / BEST)

    def save(self) -> None:
        """Write everything a resume needs, then put it in place in one move."""
        if distributed.rank() > 0:
            return
        checkpoint = {
            "state": self.module.state_dict(),
            "heads": self.objective.heads.state_dict(),
            "averages": self.averages,
            "optimiser": self.optimiser.state_dict(),
            "progress": asdict(self.progress),
            "recent": self.recent,
        }
        _write(checkpoint, self.folder / LAST)
        self._log({"event": "train"})

    def resume(self) -> None:
        """Go on from the folder's last checkpoint."""
        path = self.folder / LAST
        if not path.exists():
            raise DataError(f"there is no {path} to resume from; start without --resume")
        with reading(path):
            saved = torch.load(path, weights_only=True)
            self.module.load_state_dict(saved["state"])
            self.objective.heads.load_state_dict(saved["heads"])
            self.optimiser.load_state_dict(saved["optimiser"])
            self.averages = saved["averages"]
            self.progress = Progress(**saved["progress"])
            self.recent = saved["recent"]

    def _log(self, values: dict[str, object]) -> None:
        progress = self.progress
        means = {name: round(sum(kept) / len(kept), 4) for name, kept in self.recent.items()}
        line = {
            "update": progress.update,
            "seen": progress.seen,
            "hours": round(progress.seconds / 3600, 3),
            "loss": means.pop("loss", 0.0),
            "losses": means,  # of each part
            "rate": self.optimiser.param_groups[0]["lr"],
            "samples_per_second": round(progress.seen / max(1e-9, progress.seconds), 1),
            **values,
        }
        with (self.folder / METRICS).open("a") as lines:
            lines.write(json.dumps(line) + "\n")


def _optimiser(
    objective: Objective[AnyBatch], recipe: Recipe, rate_of: RateOf
) -> tuple[torch.optim.Optimizer, list[float]]:
    """Decay matrices, not norms and biases; give the factor of each group's rate."""
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in objective.named_parameters():
        groups.setdefault((rate_of(name.removeprefix("module.")), parameter.dim() <= 1), []).append(parameter)
    keys = sorted(groups)
    kind = torch.optim.Adam if recipe.optimiser == "adam" else torch.optim.AdamW
    settings = [{"params": groups[key], "weight_decay": 0.0 if key[1] else recipe.weight_decay} for key in keys]
    return kind(settings, lr=recipe.schedule.peak, betas=recipe.betas, fused=True), [times for times, _ in keys]


@contextlib.contextmanager
def _fast_arithmetic(threads: int) -> Iterator[None]:
    """Set the number of threads and let denormal numbers, a hundred times slower, be zero; put both back."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say in one sentence that what a run has written cannot be read."""
    try:
        yield
    except Exception as error:  # torch raises anything here
        raise DataError(f"{path} is damaged or of another model; start without --resume") from error


def _write(values: Mapping[str, object], path: Path) -> None:
    temporary = path.with_suffix(".tmp")
    try:
        torch.save(dict(values), temporary)
    except (OSError, RuntimeError) as error:
        temporary.unlink(missing_ok=True)
        raise DataError(f"{path} could not be written ({error}); the checkpoint before it is kept") from error
    temporary.replace(path)
