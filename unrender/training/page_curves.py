"""A picture of pre-training: the loss of each task over the updates."""

import json
from pathlib import Path

_TASKS = {"mvlm": "masked words (MVLM)", "tia": "covered lines (TIA)", "tim": "picture matches (TIM)"}


def draw_losses(metrics: Path, picture: Path) -> None:
    """Draw the losses in metrics.jsonl as a PNG, one panel for each task that was trained."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    tasks = [name for name in _TASKS if any(name in line for line in lines)]
    if not tasks:
        return
    figure, panels = pyplot.subplots(
        1, len(tasks), figsize=(3.2 * len(tasks), 2.6), layout="constrained", squeeze=False
    )
    for panel, name in zip(panels[0], tasks, strict=True):
        points = [(line["update"], line[name]) for line in lines if name in line]
        panel.plot(*zip(*points, strict=True))
        panel.set(title=_TASKS[name], xlabel="updates", ylim=(0, None))
    figure.savefig(picture, dpi=90)
    pyplot.close(figure)
