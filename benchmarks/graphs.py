"""Time the graphs that are built by hand beside those that torch.onnx.export makes of the same modules.

    python benchmarks/graphs.py                   every system, about eight minutes
    python benchmarks/graphs.py trocr-small       some of them

One thread and the processor's own time, both graphs in turn in one process, so that a busy machine changes neither
side. Sizes are the published ones, weights are random. Prints the table of docs/performance.md.
"""

import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from unrender.engines.export.pages import add_pages

from unrender.bench.measure import interleave
from unrender.engines.export.encoders import build_encoder
from unrender.engines.export.graph import Graph
from unrender.engines.sessions import open_session
from unrender.layers.seq2seq import VisionText
from unrender.layers.spatial import PageInputs, PageModel
from unrender.models import PRESETS
from unrender.models.config import CnnConfig, ModelConfig
from unrender.models.formula import formula
from unrender.models.layoutlmv2 import COORDINATES, LAYOUTLMV2_MINI, with_labels

_FORMULA_VOCABULARY = 500
_LINE = (64, 320)  # height and width of a formula in one line
_WORD = (32, 128)
_LONG_SECONDS = 5.0  # a run that takes longer is timed once, not five times
_REPEAT = 5
_TOLERANCE = 1e-3
_WINDOW = 400  # tokens
_DYNAMIC = torch.export.Dim.DYNAMIC
Array = NDArray[np.generic]


class Memory(nn.Module):
    """What encoder.onnx computes: the pixels of an image to keys and values for every layer of the decoder."""

    def __init__(self, module: VisionText) -> None:
        super().__init__()
        self.module = module

    def forward(self, pixels: Tensor) -> list[Tensor]:
        memory, _ = self.module.encode(pixels)
        return [part for pair in self.module.decoder.start(memory).memory for part in pair]


class Labels(nn.Module):
    """What labels.onnx computes: the tokens, boxes and picture of one window to scores for every token."""

    def __init__(self, module: PageModel) -> None:
        super().__init__()
        self.module = module

    def forward(self, tokens: Tensor, boxes: Tensor, pixels: Tensor) -> Tensor:
        scores: Tensor = self.module(PageInputs(tokens[None], boxes[None], torch.ones_like(tokens[None]) > 0, pixels))
        return scores[0]


def main() -> None:
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    systems = {**PRESETS, "formula": formula(_FORMULA_VOCABULARY)}
    print("| encoder of | pixels | by hand | torch.onnx.export | by hand is faster by |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or [*systems, LAYOUTLMV2_MINI.name]:
        with tempfile.TemporaryDirectory() as folder:
            if name == LAYOUTLMV2_MINI.name:
                print(_measure_labels(Path(folder)), flush=True)
            else:
                print(_measure_encoder(systems[name], Path(folder)), flush=True)


def _measure_encoder(config: ModelConfig, folder: Path) -> str:
    module = VisionText(config).eval()
    module.init_weights(torch.Generator().manual_seed(0))
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    height, width = _size(config)
    pixels = np.random.default_rng(0).standard_normal((1, config.encoder.channels, height, width), dtype=np.float32)
    build_encoder(config, weights).save(folder / "hand.onnx")
    free = {2: _DYNAMIC, 3: _DYNAMIC} if isinstance(config.encoder, CnnConfig) else {}
    _export(Memory(module), {"pixels": pixels}, folder / "torch.onnx", [free])
    return _compare(config.name, f"{height} x {width}", folder, {"pixels": pixels})


def _measure_labels(folder: Path) -> str:
    config = with_labels(LAYOUTLMV2_MINI, LAYOUTLMV2_MINI.name, "labels", tuple("abcdefghi"))
    module = PageModel(config).eval()
    module.init_weights(torch.Generator().manual_seed(0))
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    graph = Graph(config.name)
    graph.output(add_pages(graph, config, weights), "scores", ["L", len(config.labels)])
    graph.save(folder / "hand.onnx")
    rng = np.random.default_rng(0)
    corners = np.sort(rng.integers(0, COORDINATES, (_WINDOW, 2, 2)), axis=1).reshape(_WINDOW, 4)
    pixels = rng.standard_normal((1, 1, config.image.height, config.image.width), dtype=np.float32)
    inputs = {"tokens": rng.integers(0, config.layout.vocabulary, _WINDOW), "boxes": corners, "pixels": pixels}
    _export(Labels(module), inputs, folder / "torch.onnx", [{0: _DYNAMIC}, {0: _DYNAMIC}, {}])
    return _compare(config.name, f"{_WINDOW} tokens", folder, inputs)


def _compare(name: str, size: str, folder: Path, inputs: Mapping[str, Array]) -> str:
    runs = {side: _runner(folder / f"{side}.onnx", inputs) for side in ("hand", "torch")}
    begin = time.process_time()
    results = [run() for run in runs.values()]
    apart = max(float(np.abs(left - right).max()) for left, right in zip(*results, strict=True))
    if apart > _TOLERANCE:
        sys.exit(f"{name}: the graphs differ by {apart:.1e}")
    repeat = 1 if time.process_time() - begin > 2 * _LONG_SECONDS else _REPEAT
    found = interleave({side: lambda run=run: _seconds(run) for side, run in runs.items()}, repeat, warm=False)
    hand, other = found["hand"].median, found["torch"].median
    return f"| {name} | {size} | {hand:.4f} s | {other:.4f} s | {other / hand - 1:.0%} |"


def _size(config: ModelConfig) -> tuple[int, int]:
    if not isinstance(config.encoder, CnnConfig):
        return config.image.height, config.image.width
    return _WORD if config.image.line_height else _LINE


def _export(
    module: nn.Module, inputs: Mapping[str, Array], path: Path, dynamic: Sequence[Mapping[int, object]]
) -> None:
    tensors = tuple(torch.from_numpy(array) for array in inputs.values())
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(), tensors, path, input_names=list(inputs), dynamic_shapes=tuple(dynamic), verbose=False
        )


def _runner(path: Path, inputs: Mapping[str, Array]) -> Callable[[], list[NDArray[np.float32]]]:
    session = open_session(path, 1)

    def run() -> list[NDArray[np.float32]]:
        outputs: list[NDArray[np.float32]] = session.run(None, dict(inputs))
        return outputs

    return run


def _seconds(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


if __name__ == "__main__":
    main()
