"""A picture of pre-training: the loss of each task over the updates, and what knowing only its shares would give."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from unrender.training.receipt.pretraining import Tasks

_TASKS = {"mvlm": "masked words (MVLM)", "tia": "covered lines (TIA)", "tim": "picture matches (TIM)"}


def draw_losses(metrics: Path, picture: Path, tasks: Tasks, harder_at: Sequence[int] = ()) -> None:
    """Draw the losses in metrics.jsonl as a PNG, one panel for each task.

    Dashed is chance, dots are held-out pages, dotted lines the updates at which the pages become harder.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    trained = [name for name in _TASKS if any(name in line for line in lines)]
    if not trained:
        return
    size = 3.2 * len(trained), 2.6
    figure, panels = pyplot.subplots(1, len(trained), figsize=size, layout="constrained", squeeze=False)
    for panel, name in zip(panels[0], trained, strict=True):
        panel.plot(*_points(lines, name))
        panel.plot(*_points(lines, f"held_{name}"), "o", markersize=3)
        if name in chance(tasks):
            panel.axhline(chance(tasks)[name], linestyle="--", color="grey", linewidth=1)
        for update in harder_at:
            panel.axvline(update, linestyle=":", color="lightgrey", linewidth=1)
        panel.set(title=_TASKS[name], xlabel="updates", ylim=(0, None))
    figure.savefig(picture, dpi=90)
    pyplot.close(figure)


def _points(lines: Sequence[Mapping[str, float]], name: str) -> tuple[list[float], list[float]]:
    """Return the updates at which a value was written down, and the values."""
    known = [line for line in lines if name in line]
    return [line["update"] for line in known], [line[name] for line in known]


def chance(tasks: Tasks) -> dict[str, float]:
    """Return the losses of a model that knows how often each answer is right, and nothing else."""
    negative = tasks.replaced + tasks.dropped if tasks.matching else 0.0
    covered = negative + (1 - negative) * tasks.covered
    return {"tia": _entropy(covered), "tim": _entropy(negative)}


def _entropy(share: float) -> float:
    return -sum(part * math.log(part) for part in (share, 1 - share) if part)
