"""A picture of a run: the parts of the loss and what validation measured over the hours."""

import json
from pathlib import Path

_NOT_CURVES = {"event", "update", "seen", "hours", "loss", "losses", "rate", "samples_per_second", "score"}


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
