"""The training loop: updates, weight averages, checkpoints that resume exactly, a log that a person can read."""

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from unrender.errors import DataError
from unrender.layers.seq2seq import VisionText
from unrender.training.batches import Batch, BatchStream
from unrender.training.schedule import Schedule

_KEPT_LOSSES = 100  # the logged loss is the mean of so many batches


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model is trained: everything but the data and the model itself."""

    schedule: Schedule
    samples: int  # stop after so many
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0
    accumulate: int = 1
    smoothing: float = 0.05
    average: float = 0.999  # of the moving average of the weights; 0: none
    token_noise: float = 0.0
    seed: int = 0
    threads: int = 2
    checkpoint_seconds: float = 180
    validate_seconds: float = 900


@dataclass
class Progress:
    """Where a run is; all of it is in the checkpoint."""

    update: int = 0
    seen: int = 0
    block: int = 0
    place: int = 0
    seconds: float = 0.0
    best: float = math.inf


class Trainer:
    """One run in one folder: last.pt (to resume), best.pt, metrics.jsonl."""

    def __init__(self, module: VisionText, stream: BatchStream, recipe: Recipe, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        torch.set_num_threads(recipe.threads)
        torch.set_flush_denormal(True)
        self.module, self.stream, self.recipe, self.folder = module, stream, recipe, folder
        self.progress = Progress()
        self.optimiser = torch.optim.AdamW(
            _parameter_groups(module, recipe.weight_decay), lr=recipe.schedule.peak, betas=recipe.betas, fused=True
        )
        self.averages = [tensor.detach().clone() for tensor in module.state_dict().values()]
        self.losses: list[float] = []

    def run(self, validate: Callable[[], dict[str, float]] | None = None, *, seconds: float = math.inf) -> None:
        """Train until the recipe's samples or `seconds` of this call are used up."""
        began = saved = validated = time.monotonic()
        start_seconds = self.progress.seconds
        self.module.train()
        for batch in self._batches():
            self._learn(batch)
            now = time.monotonic()
            self.progress.seconds = start_seconds + now - began
            finished = self.progress.seen >= self.recipe.samples or now - began > seconds
            if validate is not None and (now - validated > self.recipe.validate_seconds or finished):
                self._validate(validate)
                validated = time.monotonic()
            if now - saved > self.recipe.checkpoint_seconds or finished:
                self.save(self.folder / "last.pt")
                self._log({"event": "train"})
                saved = time.monotonic()
            if finished:
                return

    def _batches(self) -> Iterator[Batch]:
        progress = self.progress
        while True:
            seen_at_start = getattr(self, "_block_seen", progress.seen) if progress.place else progress.seen
            self._block_seen = seen_at_start
            for batch in self.stream.batches(progress.block, progress.place, seen_at_start):
                progress.place += 1
                yield batch
            progress.block += 1
            progress.place = 0

    def _learn(self, batch: Batch) -> None:
        recipe, progress = self.recipe, self.progress
        stage = self.stream.stage(progress.seen)
        rate = recipe.schedule(progress.update) * stage.learning_rate
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        torch.manual_seed(recipe.seed * 1_000_003 + progress.update)  # dropout, the same after a resume
        loss = self._loss(batch)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise DataError(f"the loss became {value} at update {progress.update}, batch of {batch.name}; last.pt is good")
        (loss / recipe.accumulate).backward()
        progress.update += 1
        progress.seen += len(batch.inputs)
        self.losses = [*self.losses[-_KEPT_LOSSES + 1 :], value]
        if progress.update % recipe.accumulate == 0:
            nn.utils.clip_grad_norm_(self.module.parameters(), recipe.clip)
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
            self._average()

    def _loss(self, batch: Batch) -> Tensor:
        pixels, inputs, targets = (torch.from_numpy(part) for part in (batch.pixels, batch.inputs, batch.targets))
        memory, mask = self.module.encode(pixels)
        hidden = self.module.decoder.hidden(inputs, memory, mask)
        wanted = targets >= 0
        scores = self.module.decoder.score(hidden[wanted])
        return cross_entropy(scores, targets[wanted], label_smoothing=self.recipe.smoothing)

    @torch.no_grad()
    def _average(self) -> None:
        """Move the averaged weights towards the present ones, faster at the beginning."""
        if not self.recipe.average:
            return
        updates = self.progress.update // self.recipe.accumulate
        share = 1 - min(self.recipe.average, (1 + updates) / (10 + updates))
        for averaged, tensor in zip(self.averages, self.module.state_dict().values(), strict=True):
            if averaged.is_floating_point():
                averaged.lerp_(tensor, share)
            else:
                averaged.copy_(tensor)

    def averaged_state(self) -> dict[str, Tensor]:
        """Return the averaged weights under the module's names."""
        return dict(zip(self.module.state_dict(), self.averages, strict=True))

    def _validate(self, validate: Callable[[], dict[str, float]]) -> None:
        own = {name: tensor.clone() for name, tensor in self.module.state_dict().items()}
        if self.recipe.average:
            self.module.load_state_dict(self.averaged_state())
        self.module.eval()
        metrics = validate()
        self.module.load_state_dict(own)
        self.module.train()
        self._log({"event": "validate", **metrics})
        if metrics["score"] < self.progress.best:
            self.progress.best = metrics["score"]
            torch.save({"state": self.averaged_state(), "progress": asdict(self.progress)}, self.folder / "best.pt")

    def save(self, path: Path) -> None:
        """Write everything a resume needs, then put it in place in one move."""
        temporary = path.with_suffix(".tmp")
        torch.save(
            {
                "state": self.module.state_dict(),
                "averages": self.averages,
                "optimiser": self.optimiser.state_dict(),
                "progress": asdict(self.progress),
                "block_seen": getattr(self, "_block_seen", 0),
                "losses": self.losses,
            },
            temporary,
        )
        temporary.replace(path)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint that `save` wrote."""
        saved = torch.load(path, weights_only=True)
        self.module.load_state_dict(saved["state"])
        self.optimiser.load_state_dict(saved["optimiser"])
        self.averages = saved["averages"]
        self.progress = Progress(**saved["progress"])
        self._block_seen = saved["block_seen"]
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
        with (self.folder / "metrics.jsonl").open("a") as lines:
            lines.write(json.dumps(line) + "\n")


def _parameter_groups(module: nn.Module, decay: float) -> list[dict[str, object]]:
    """Decay matrices, not norms and biases."""
    matrices = [parameter for parameter in module.parameters() if parameter.dim() > 1]
    vectors = [parameter for parameter in module.parameters() if parameter.dim() <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
