"""A picture of a run: loss and validation errors over the hours."""

import json
from pathlib import Path

_NOT_CURVES = {"event", "update", "seen", "hours", "loss", "rate", "samples_per_second", "score"}


def draw_curves(metrics: Path, picture: Path) -> None:
    """Draw metrics.jsonl as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    training = [line for line in lines if line["event"] == "train"]
    validation = [line for line in lines if line["event"] == "validate"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    left.plot([line["hours"] for line in training], [line["loss"] for line in training])
    left.set(xlabel="hours of training", ylabel="loss", yscale="log")
    for name in sorted({name for line in validation for name in line} - _NOT_CURVES):
        points = [(line["hours"], line[name]) for line in validation if name in line]
        right.plot(*zip(*points, strict=True), marker=".", label=name)
    right.set(xlabel="hours of training", ylabel="word error rate", ylim=(0, 1))
    if validation:
        right.legend()
    figure.savefig(picture, dpi=120)
    pyplot.close(figure)
