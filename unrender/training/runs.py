"""Runs: what a course has prepared is trained, with a progress bar, and becomes a model folder."""

import contextlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Generic, Protocol

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from unrender.checkpoints import Weights
from unrender.training import distributed
from unrender.training.batches import AnyBatch, Stream
from unrender.training.loop import BEST, METRICS, RateOf, Trainer, Validate, reading
from unrender.training.objectives import Objective
from unrender.training.recipe import Recipe

MODEL = "model"  # the folder of the model, in that of the run
_NOT_CURVES = {"event", "update", "seen", "hours", "loss", "losses", "rate", "samples_per_second", "score"}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a caller asks of a course: where to write, what to learn from, what to begin with."""

    folder: Path
    data: Path | None = None
    start: str | Path | None = None  # a model; otherwise what the course begins with
    scratch: bool = False  # new weights


@dataclass(frozen=True, kw_only=True)
class Prepared(Generic[AnyBatch]):
    """Everything a run needs."""

    objective: Objective[AnyBatch]
    stream: Stream[AnyBatch]
    validate: Validate | None
    write: Callable[[Path, Weights, str], object]  # a model folder of these weights; the text is that of train.json
    rate_of: RateOf = lambda name: 1.0


class Course(Protocol[AnyBatch]):
    """What is trained on which data, and by which recipe."""

    @property
    def recipe(self) -> Recipe: ...

    def prepare(self, request: Request) -> Prepared[AnyBatch]:
        """Open the data and make the model."""
        ...


def train(course: Course[AnyBatch], request: Request, *, resume: bool = False, hours: float | None = None) -> Path:
    """Follow a course to its end, or for some hours, and return the model folder it wrote."""
    distributed.join()
    _train(course, request, resume, math.inf if hours is None else hours * 3600)
    distributed.leave()  # the trainer must be gone when the processes part
    return request.folder / MODEL


def _train(course: Course[AnyBatch], request: Request, resume: bool, seconds: float) -> None:
    run = course.prepare(request)
    trainer = Trainer(run.objective, run.stream, course.recipe, request.folder, rate_of=run.rate_of)
    if resume:
        trainer.resume()
    with _progress_bar(trainer) as report:
        trainer.run(run.validate, seconds=seconds, report=report)
    if distributed.rank() == 0:
        weights, progress = best_weights(trainer)
        training = json.dumps({"course": asdict(course), "progress": progress}, indent=2, default=str) + "\n"  # type: ignore[call-overload]
        run.write(request.folder / MODEL, weights, training)
        draw_curves(request.folder / METRICS, request.folder / "curves.png")


def best_weights(trainer: Trainer[AnyBatch]) -> tuple[Weights, dict[str, float]]:
    """Return the weights that validated best, and when that was; without validation, the last ones."""
    path = trainer.folder / BEST
    if path.exists():
        with reading(path):
            best = torch.load(path, weights_only=True)
            state, progress = best["state"], best["progress"]
    else:
        state, progress = trainer.final_state(), asdict(trainer.progress)
    return {name: tensor.numpy() for name, tensor in state.items()}, progress


@contextlib.contextmanager
def _progress_bar(trainer: Trainer[AnyBatch]) -> Iterator[Callable[[Trainer[AnyBatch]], None]]:
    """Show loss, samples a second and the time left on stderr, from the first process only."""
    unit = "updates" if trainer.recipe.updates else "samples"
    columns = (
        TextColumn(f"{{task.completed}}/{{task.total}} {unit}"),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.3f}  {task.fields[speed]:.1f}/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    quiet = distributed.rank() > 0
    with Progress(*columns, console=Console(stderr=True, quiet=quiet), transient=False) as bar:
        line = bar.add_task("", total=trainer.total, completed=trainer.done, loss=0.0, speed=0.0)

        def report(trainer: Trainer[AnyBatch]) -> None:
            speed = trainer.progress.seen / max(1e-9, trainer.progress.seconds)
            bar.update(line, completed=trainer.done, loss=trainer.recent["loss"][-1], speed=speed)

        yield report


def draw_curves(metrics: Path, picture: Path) -> None:
    """Draw metrics.jsonl as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    training = [line for line in lines if line["event"] == "train"]
    validation = [line for line in lines if line["event"] == "validate"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    parts = sorted({part for line in training for part in line["losses"]})
    for part in parts:
        points = [(line["hours"], line["losses"][part]) for line in training if part in line["losses"]]
        left.plot(*zip(*points, strict=True), label=part)
    left.set(xlabel="hours of training", ylabel="loss", yscale="log")
    if parts:
        left.legend()
    for name in sorted({name for line in validation for name in line} - _NOT_CURVES):
        points = [(line["hours"], line[name]) for line in validation if name in line]
        right.plot(*zip(*points, strict=True), marker=".", label=name)
    right.set(xlabel="hours of training", ylabel="held-out data", ylim=(0, None))
    if validation:
        right.legend()
    figure.savefig(picture, dpi=120)
    pyplot.close(figure)
