"""Who computes a model: torch or ONNX Runtime, behind the protocols in `decoding` and `labelling`.

The layout network of pages is computed by ONNX Runtime alone.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unrender.checkpoints import GRAPHS, Loaded
from unrender.decoding import Engine
from unrender.engines.labelling import LabelEngine, OnnxLabelEngine, open_torch_engine
from unrender.engines.sessions import check_session, count_cores, open_session
from unrender.errors import ConfigError, MissingExtraError, ModelError
from unrender.models.page import BEGINS, KINDS, MULTIPLE

WATCHED_LAYERS = 1  # decoder layers, from the last, whose attention tells where a token was seen
LAYOUT_GRAPH = "layout.onnx"


def open_engine(loaded: Loaded, wanted: str | None = None, threads: int | None = None) -> Engine:
    """Open the engine of a model that writes text."""
    if _takes_onnx(loaded, wanted, "ONNX graphs"):
        from unrender.engines.onnx_engine import OnnxEngine

        return OnnxEngine(loaded.folder, config=loaded.text_config, threads=threads)
    from unrender.engines import torch_engine

    return torch_engine.open_engine(loaded, watch=WATCHED_LAYERS)


def open_label_engine(loaded: Loaded, wanted: str | None = None, threads: int | None = None) -> LabelEngine:
    """Open the engine of a model that labels words."""
    if _takes_onnx(loaded, wanted, GRAPHS["labels"][0]):
        return OnnxLabelEngine(loaded.folder, threads)
    return open_torch_engine(loaded)


def _takes_onnx(loaded: Loaded, wanted: str | None, graphs: str) -> bool:
    """Take ONNX where the folder has its graphs, torch otherwise, unless one is asked for."""
    if wanted not in (None, "onnx", "torch"):
        raise ConfigError(f"There is no engine called {wanted}; choose onnx or torch.")
    if wanted == "onnx" and not loaded.exported:
        raise ModelError(f"{loaded.folder} has no {graphs}; run `unrender export` first, or take --engine torch.")
    if loaded.exported and wanted != "torch":
        return True
    try:
        import torch  # noqa: F401 - only to say what is missing
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{loaded.config.name} has no {graphs}, so reading it needs torch: pip install 'unrender[train]'"
        ) from error
    return False


@dataclass(frozen=True)
class Cells:
    """What stands in each cell of a page: how likely each kind (K, H, W), and a block's first line (H, W)."""

    kinds: NDArray[np.float32]
    begins: NDArray[np.float32]


class OnnxSegmenter:
    """A layout network that was exported."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self._session = open_session(folder / LAYOUT_GRAPH, threads or count_cores())
        check_session(self._session, folder / LAYOUT_GRAPH, {"ink": (1, 1, "rows", "columns")})

    def __call__(self, ink: NDArray[np.float32]) -> Cells:
        """Look at the ink (H, W) of a page, from 0 to 1."""
        rows, columns = ink.shape
        [scores] = self._session.run(None, {"ink": pad_ink(ink)})
        scores = np.asarray(scores)[0, :, :rows, :columns]
        shares = np.exp(scores[: len(KINDS)] - scores[: len(KINDS)].max(axis=0))
        begins = 1 / (1 + np.exp(-scores[BEGINS]))
        return Cells(shares / shares.sum(axis=0), np.asarray(begins, dtype=np.float32))


def to_ink(gray: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return how much ink there is, from 0 for white to 1."""
    return np.asarray(1 - gray.astype(np.float32) / 255, dtype=np.float32)


def pad_ink(ink: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (1, 1, H, W) with paper at right and bottom, of sides that the network halves evenly."""
    down, across = (-side % MULTIPLE for side in ink.shape)
    return np.pad(ink, ((0, down), (0, across)))[None, None]
