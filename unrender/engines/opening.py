"""Which engine a model folder is read with."""

import numpy as np
from numpy.typing import NDArray

from unrender.checkpoints import Loaded
from unrender.decoding.search import DecoderRun, Engine, Ids
from unrender.errors import ConfigError, MissingExtraError, ModelError

_WATCHED_LAYERS = 1  # decoder layers, from the last, whose attention tells where a token was seen


def open_engine(loaded: Loaded, wanted: str | None, threads: int | None = None) -> Engine:
    """Take ONNX where the folder has its graphs, torch otherwise, unless one is asked for."""
    if wanted not in (None, "onnx", "torch"):
        raise ConfigError(f"There is no engine called {wanted}; choose onnx or torch.")
    if wanted == "onnx" and not loaded.exported:
        raise ModelError(
            f"{loaded.folder} has no ONNX graphs; make them with `unrender export`, or take --engine torch."
        )
    if loaded.exported and wanted != "torch":
        from unrender.engines.onnx_engine import OnnxEngine

        return OnnxEngine(loaded.folder, threads=threads)
    try:
        from unrender.engines import torch_engine
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{loaded.config.name} has no ONNX graphs, so reading it needs torch: pip install 'unrender[train]'"
        ) from error
    return torch_engine.open_engine(loaded, watch=_WATCHED_LAYERS)


class NoDecoder:
    """Stands where an engine would: a model that labels words writes no text."""

    def __init__(self, name: str) -> None:
        self._name = name

    def start(self, pixels: NDArray[np.float32], sizes: Ids | None = None) -> DecoderRun:
        raise ModelError(f"{self._name} labels words and writes no text")
