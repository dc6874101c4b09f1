"""The layout network with ONNX Runtime: from the ink of a page to what stands in every cell."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unrender.engines.sessions import check_session, count_cores, open_session
from unrender.models.page import BEGINS, KINDS, MULTIPLE

GRAPH = "layout.onnx"


@dataclass(frozen=True)
class Cells:
    """What stands in each cell of a page: how likely each kind (K, H, W), and a block's first line (H, W)."""

    kinds: NDArray[np.float32]
    begins: NDArray[np.float32]


class OnnxSegmenter:
    """A layout network that was exported."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self._session = open_session(folder / GRAPH, threads or count_cores())
        check_session(self._session, folder / GRAPH, {"ink": (1, 1, "rows", "columns")})

    def __call__(self, ink: NDArray[np.float32]) -> Cells:
        """Look at the ink (H, W) of a page, from 0 to 1."""
        rows, columns = ink.shape
        [scores] = self._session.run(None, {"ink": pad_ink(ink)})
        scores = np.asarray(scores)[0, :, :rows, :columns]
        shares = np.exp(scores[: len(KINDS)] - scores[: len(KINDS)].max(axis=0))
        begins = 1 / (1 + np.exp(-scores[BEGINS]))
        return Cells(shares / shares.sum(axis=0), np.asarray(begins, dtype=np.float32))


def pad_ink(ink: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (1, 1, H, W) with paper at right and bottom, of sides that the network halves evenly."""
    down, across = (-side % MULTIPLE for side in ink.shape)
    return np.pad(ink, ((0, down), (0, across)))[None, None]
