"""Time the Swin encoders that are built by hand beside what torch.onnx.export makes of the same modules.

    python benchmarks/graphs.py                   every system with a Swin encoder
    python benchmarks/graphs.py nougat-small      some of them

One thread and the processor's own time, both graphs in turn in one process, so that a busy machine changes neither
side. Sizes are the published ones, weights are random. The other encoders were measured by this script's first
version, one commit before their graphs by hand were deleted (docs/performance.md).
"""

import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from measuring.measure import interleave
from numpy.typing import NDArray
from torch import Tensor, nn

from unrender.engines.export.encoders import build_encoder
from unrender.engines.sessions import open_session
from unrender.layers.seq2seq import VisionText
from unrender.models import PRESETS
from unrender.models.config import SwinConfig, TextConfig

_LONG_SECONDS = 5.0  # a run that takes longer is timed once, not five times
_REPEAT = 5
_TOLERANCE = 1e-3
Array = NDArray[np.generic]


class Memory(nn.Module):
    """What encoder.onnx computes: the pixels of an image to keys and values for every layer of the decoder."""

    def __init__(self, module: VisionText) -> None:
        super().__init__()
        self.module = module

    def forward(self, pixels: Tensor) -> list[Tensor]:
        memory, _ = self.module.encode(pixels)
        return [part for pair in self.module.decoder.start(memory).memory for part in pair]


def main() -> None:
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    systems = {
        name: config
        for name, config in PRESETS.items()
        if isinstance(config, TextConfig) and isinstance(config.encoder, SwinConfig)
    }
    print("| encoder of | pixels | by hand | torch.onnx.export | by hand is faster by |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or systems:
        with tempfile.TemporaryDirectory() as folder:
            print(_measure(systems[name], Path(folder)), flush=True)


def _measure(config: TextConfig, folder: Path) -> str:
    module = VisionText(config).eval()
    module.init_weights(torch.Generator().manual_seed(0))
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    height, width = config.image.height, config.image.width
    pixels = np.random.default_rng(0).standard_normal((1, config.encoder.channels, height, width), dtype=np.float32)
    onnx.save(build_encoder(config, weights), folder / "hand.onnx")
    _export(Memory(module), {"pixels": pixels}, folder / "torch.onnx", [{}])
    return _compare(config.name, f"{height} x {width}", folder, {"pixels": pixels})


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
