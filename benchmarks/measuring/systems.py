"""Run one model in every way there is and measure it: first token, greedy, beam, cold start, memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from measuring.measure import Spread, clock, interleave
from measuring.processes import OURS, OURS_WITH_TORCH, TRANSFORMERS, Started, start_fresh
from measuring.report import Report, Row
from measuring.subjects import EngineSubject, Pixels, Subject, TransformersSubject
from unrender import checkpoints
from unrender.checkpoints import Weights
from unrender.engines.onnx_engine import OnnxEngine
from unrender.engines.sessions import count_cores
from unrender.errors import ConfigError, MissingExtraError
from unrender.models.codec import to_json
from unrender.models.config import CnnConfig, TextConfig

if TYPE_CHECKING:
    from transformers import VisionEncoderDecoderModel

_FREE_HEIGHT, _FREE_WIDTH = 64, 320  # of a formula in one line
_BEAMS = 4
_COLD_TOKENS = 16
Progress = Callable[[str], None]
Script = tuple[str, Path]  # what a fresh process runs, and the model it loads


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to measure, and how often."""

    repeat: int = 5
    tokens: int = 32
    batches: tuple[int, ...] = (1, 4, 16)
    threads: int = 0  # 0: one for each core
    cpu_time: bool = False  # count the processor's time, not the clock's: for a busy machine, and one thread
    cold: bool = True  # also start fresh processes

    def __post_init__(self) -> None:
        if self.repeat < 1 or self.tokens < 1 or min(self.batches, default=0) < 1 or self.threads < 0:
            raise ConfigError("repeat, tokens and batches must be at least 1, threads at least 0")

    @property
    def workers(self) -> int:
        return self.threads or count_cores()


@dataclass(frozen=True)
class Reference:
    """What ONNX is compared with: transformers, or our own torch engine."""

    twin: "VisionEncoderDecoderModel | None" = None

    @property
    def name(self) -> str:
        return "torch" if self.twin is None else "transformers"


def measure_weights(
    config: TextConfig, weights: Weights, reference: Reference, plan: Plan, folder: Path, progress: Progress
) -> Report:
    """Export the weights, whole and in 8 bits, into `folder`, and measure both beside the reference."""
    progress("exporting")
    exported = _export(config, weights, folder)
    ticks = clock(plan.cpu_time)
    subjects: dict[str, Subject] = {reference.name: _reference(config, weights, reference, plan)}
    for name, graphs in exported.items():
        subjects[name] = EngineSubject(config, OnnxEngine(graphs, threads=plan.workers), ticks)
    rows = _measure_steps(config, subjects, plan, progress)
    if plan.cold:
        progress("fresh processes")
        rows += _measure_cold(config, _scripts(config, weights, reference, folder, exported), plan, folder)
    return Report(config.name, plan.workers, tuple(rows))


def measure_folder(config: TextConfig, folder: Path, plan: Plan, progress: Progress) -> Report:
    """Measure an exported folder as it is; without weights there is nothing to compare it with."""
    engine = OnnxEngine(folder, threads=plan.workers)
    subjects: dict[str, Subject] = {"onnx": EngineSubject(config, engine, clock(plan.cpu_time))}
    return Report(config.name, plan.workers, tuple(_measure_steps(config, subjects, plan, progress)))


def make_pixels(config: TextConfig, images: int) -> Pixels:
    """Make up images of the size that a model reads."""
    height, width = config.image.height, config.image.width
    if isinstance(config.encoder, CnnConfig):
        height, width = min(height, _FREE_HEIGHT), min(width, _FREE_WIDTH)
    rng = np.random.default_rng(0)
    return rng.standard_normal((images, config.encoder.channels, height, width), dtype=np.float32)


def _measure_steps(config: TextConfig, subjects: Mapping[str, Subject], plan: Plan, progress: Progress) -> list[Row]:
    """Measure the way to the first token, greedy search at every batch size, and beam search."""
    one = make_pixels(config, 1)
    progress("first token")
    cases = {name: partial(subject.time_start, one) for name, subject in subjects.items()}
    rows = [Row("image to first token", "s", interleave(cases, plan.repeat))]
    for batch in plan.batches:
        progress(f"greedy search, batch {batch}")
        pixels = make_pixels(config, batch)
        cases = {name: partial(subject.time_decoding, pixels, plan.tokens, 1) for name, subject in subjects.items()}
        rows.append(Row(f"greedy step, batch {batch}", "s", interleave(cases, plan.repeat)))
    progress("beam search")
    cases = {name: partial(subject.time_decoding, one, plan.tokens, _BEAMS) for name, subject in subjects.items()}
    rows.append(Row(f"beam {_BEAMS} step", "s", interleave(cases, plan.repeat)))
    return rows


def _measure_cold(config: TextConfig, scripts: Mapping[str, Script], plan: Plan, folder: Path) -> list[Row]:
    pixels = folder / "pixels.npy"
    np.save(pixels, make_pixels(config, 1))
    started: dict[str, list[Started]] = {name: [] for name in scripts}
    for _ in range(plan.repeat):
        for name, (script, model) in scripts.items():
            started[name].append(
                start_fresh(script, model, pixels, threads=plan.workers, tokens=_COLD_TOKENS, cpu_time=plan.cpu_time)
            )
    seconds = {name: Spread.of([one.seconds for one in all_]) for name, all_ in started.items()}
    memory = {name: Spread.of([one.megabytes for one in all_]) for name, all_ in started.items()}
    return [Row("cold start to result", "s", seconds), Row("peak memory", "MB", memory)]


def _export(config: TextConfig, weights: Weights, folder: Path) -> dict[str, Path]:
    try:
        from unrender.engines.export import write_decoder, write_graphs
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"comparing engines needs {error.name}: pip install 'unrender[train]'") from error
    folders = {"onnx": folder / "onnx", "onnx int8": folder / "int8"}
    for name, graphs in folders.items():
        graphs.mkdir()
        write_graphs(config, weights, graphs)
        if name.endswith("int8"):
            write_decoder(config, weights, graphs, int8=True)
        (graphs / "config.json").write_text(to_json(config), encoding="utf-8")
    return folders


def _reference(config: TextConfig, weights: Weights, reference: Reference, plan: Plan) -> Subject:
    import torch

    from unrender.engines.torch_engine import TorchEngine
    from unrender.layers.seq2seq import VisionText

    torch.set_num_threads(plan.workers)
    ticks = clock(plan.cpu_time)
    if reference.twin is not None:
        return TransformersSubject(config, reference.twin, ticks)
    module = VisionText(config)
    module.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return EngineSubject(config, TorchEngine(config, module, watch=1), ticks)


def _scripts(
    config: TextConfig, weights: Weights, reference: Reference, folder: Path, exported: Mapping[str, Path]
) -> dict[str, Script]:
    """Write the reference to disk and say what each fresh process runs."""
    if reference.twin is None:
        own = OURS_WITH_TORCH, checkpoints.save(folder / "torch", config, weights)
    else:
        reference.twin.save_pretrained(folder / "transformers")
        own = TRANSFORMERS, folder / "transformers"
    return {reference.name: own} | {name: (OURS, path) for name, path in exported.items()}
