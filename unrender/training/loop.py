"""The training loop: updates, weight averages, checkpoints that resume exactly, a log that a person can read.

Under `torchrun` every process takes its part of each batch and the gradients are averaged, so that any number of
processes makes the same updates (networks with batch norm excepted: each process norms its own part).
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from unrender.errors import DataError
from unrender.layers.seq2seq import VisionText
from unrender.training import distributed
from unrender.training.arithmetic import fast_arithmetic
from unrender.training.batches import IGNORED, Batch
from unrender.training.objectives import Objective
from unrender.training.schedule import Schedule

_KEPT_LOSSES = 100  # the logged loss is the mean of so many batches
_SEED_STRIDE = 1_000_003

Validate = Callable[[], dict[str, float]]  # metrics by name; "score" is the one to make small
LAST, BEST, METRICS = "last.pt", "best.pt", "metrics.jsonl"


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
    average: float = 0.0  # of the moving average of the weights; 0: none
    samples: int = 0  # stop after so many; 0: after `epochs`
    epochs: float = 0.0
    seed: int = 0
    threads: int = 2
    checkpoint_seconds: float = 180
    validate_seconds: float = 900


@dataclass
class Progress:
    """Where a run is; all of it is in the checkpoint."""

    update: int = 0
    batch: int = 0  # batches seen, several to an update
    seen: int = 0
    block: int = 0
    place: int = 0
    block_seen: int = 0  # samples seen when the block began: it decides the curriculum's stage
    seconds: float = 0.0
    best: float = math.inf


class Stream(Protocol):
    """Endless batches; the same numbers give the same batches."""

    @property
    def epoch_samples(self) -> int:
        """How many samples one epoch has."""
        ...

    def batches(self, number: int, place: int, seen: int, part: int = 0, parts: int = 1) -> Iterator[Batch]:
        """Yield this part of each batch of block `number`, from the batch `place` on."""
        ...

    def rate(self, seen: int) -> float:
        """Return the curriculum's factor for the learning rate."""
        ...


class Trainer:
    """One run in one folder: last.pt (to resume), best.pt (best validation), metrics.jsonl."""

    def __init__(self, module: VisionText, stream: Stream, recipe: Recipe, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.module, self.stream, self.recipe, self.folder = module, stream, recipe, folder
        self.progress = Progress()
        self.losses: list[float] = []
        objective = Objective(module, smoothing=recipe.smoothing, pointing=recipe.pointing, naming=recipe.naming)
        self.optimiser = _optimiser(objective, recipe)
        self.averages = [tensor.detach().clone() for tensor in module.state_dict().values()]
        self.objective = objective
        self._parallel = DistributedDataParallel(objective) if distributed.processes() > 1 else objective

    @property
    def total(self) -> int:
        """How many samples the whole run takes."""
        return self.recipe.samples or round(self.recipe.epochs * self.stream.epoch_samples)

    def run(
        self,
        validate: Validate | None = None,
        *,
        seconds: float = math.inf,
        report: Callable[["Trainer"], None] | None = None,
    ) -> None:
        """Train until the recipe's samples or `seconds` of this call are used up."""
        with fast_arithmetic(self.recipe.threads):
            self._run(validate, seconds, report)

    def _run(self, validate: Validate | None, seconds: float, report: Callable[["Trainer"], None] | None) -> None:
        began = saved = validated = time.monotonic()
        before = self.progress.seconds
        self.module.train()
        while self.progress.seen < self.total and time.monotonic() - began <= seconds:
            self._learn(next(self._batches))
            now = time.monotonic()
            self.progress.seconds = before + now - began
            if report is not None:
                report(self)
            if validate is not None and now - validated > self.recipe.validate_seconds:
                self.validate(validate)
                validated = time.monotonic()
            if now - saved > self.recipe.checkpoint_seconds:
                self.save()
                saved = time.monotonic()
        if validate is not None:
            self.validate(validate)
        self.save()

    @property
    def _batches(self) -> Iterator[Batch]:
        if not hasattr(self, "_iterator"):
            self._iterator = self._endless()
        return self._iterator

    def _endless(self) -> Iterator[Batch]:
        progress, part, parts = self.progress, distributed.rank(), distributed.processes()
        while True:
            if progress.place == 0:
                progress.block_seen = progress.seen
            for batch in self.stream.batches(progress.block, progress.place, progress.block_seen, part, parts):
                progress.place += 1
                yield batch
            progress.block += 1
            progress.place = 0

    def _learn(self, batch: Batch) -> None:
        """Take one batch in; every `accumulate` batches, move the weights."""
        recipe, progress = self.recipe, self.progress
        torch.manual_seed(recipe.seed * _SEED_STRIDE + progress.batch)  # dropout, the same after a resume
        count = distributed.total(int((batch.targets != IGNORED).sum()))
        parts = [torch.from_numpy(array) for array in (batch.pixels, batch.inputs, batch.targets)]
        boxes = None if batch.boxes is None else torch.from_numpy(batch.boxes)
        loss = self._parallel(*parts, boxes) * (distributed.processes() / (count * recipe.accumulate))
        value = float(loss.detach()) * recipe.accumulate
        if not math.isfinite(value):
            raise DataError(
                f"the loss became {value} at update {progress.update}, in the batch that begins with {batch.name}; "
                f"the last good checkpoint is {self.folder / LAST}"
            )
        loss.backward()
        progress.batch += 1
        progress.seen += batch.whole
        self.losses = [*self.losses[-_KEPT_LOSSES + 1 :], value]
        if progress.batch % recipe.accumulate == 0:
            self._update()

    def _update(self) -> None:
        progress = self.progress
        epoch = progress.seen / max(1, self.stream.epoch_samples)
        rate = self.recipe.schedule(progress.update, epoch) * self.stream.rate(progress.seen)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
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
            "losses": self.losses,
        }
        _write(checkpoint, self.folder / LAST)
        self._log({"event": "train"})

    def resume(self) -> None:
        """Go on from the folder's last checkpoint."""
        path = self.folder / LAST
        if not path.exists():
            raise DataError(f"there is no {path} to resume from; start without --resume")
        saved = torch.load(path, weights_only=True)
        self.module.load_state_dict(saved["state"])
        self.objective.heads.load_state_dict(saved.get("heads", {}))
        self.optimiser.load_state_dict(saved["optimiser"])
        self.averages = saved["averages"]
        self.progress = Progress(**saved["progress"])
        self.losses = saved["losses"]

    def _log(self, values: dict[str, object]) -> None:
        progress = self.progress
        line = {
            "update": progress.update,
            "seen": progress.seen,
            "hours": round(progress.seconds / 3600, 3),
            "loss": round(sum(self.losses) / max(1, len(self.losses)), 4),
            "rate": self.optimiser.param_groups[0]["lr"],
            "samples_per_second": round(progress.seen / max(1e-9, progress.seconds), 1),
            **values,
        }
        with (self.folder / METRICS).open("a") as lines:
            lines.write(json.dumps(line) + "\n")


def _optimiser(module: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Decay matrices, not norms and biases."""
    matrices = [parameter for parameter in module.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in module.parameters() if parameter.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    kind = torch.optim.Adam if recipe.optimiser == "adam" else torch.optim.AdamW
    return kind(groups, lr=recipe.schedule.peak, betas=recipe.betas, fused=True)


def _write(values: Mapping[str, object], path: Path) -> None:
    temporary = path.with_suffix(".tmp")
    try:
        torch.save(dict(values), temporary)
    except (OSError, RuntimeError) as error:
        temporary.unlink(missing_ok=True)
        raise DataError(f"{path} could not be written ({error}); the checkpoint before it is kept") from error
    temporary.replace(path)
