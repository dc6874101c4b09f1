"""The two engines of LayoutLMv2: ONNX Runtime on labels.onnx, or torch on the weights; NumPy in and out."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unrender.checkpoints.pages import GRAPH, LoadedPages
from unrender.engines.labelling import Ids, LabelEngine, Pixels, Scores
from unrender.engines.sessions import count_cores, open_session
from unrender.errors import ConfigError, MissingExtraError, ModelError

if TYPE_CHECKING:
    from unrender.layers.spatial import PageModel


class OnnxPageEngine:
    """Labels windows one at a time with the exported graph; needs no torch."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self._session = open_session(folder / GRAPH, threads or count_cores())
        self._looks = any(found.name == "pixels" for found in self._session.get_inputs())

    def label(self, tokens: Ids, boxes: Ids, mask: NDArray[np.bool_], pixels: Pixels | None) -> Scores:
        rows = []
        for place, length in enumerate(mask.sum(axis=1)):
            feeds: dict[str, NDArray[np.generic]] = {"tokens": tokens[place, :length], "boxes": boxes[place, :length]}
            if self._looks:
                assert pixels is not None, "this model looks at the picture too"
                feeds["pixels"] = pixels[place : place + 1]
            rows.append(self._session.run(["scores"], feeds)[0])
        scores = np.zeros((*tokens.shape, rows[0].shape[-1]), dtype=np.float32)
        for place, row in enumerate(rows):
            scores[place, : len(row)] = row
        return scores


class TorchPageEngine:
    """Labels a batch of windows with a PageModel."""

    def __init__(self, module: "PageModel") -> None:
        self.module = module.eval()

    def label(self, tokens: Ids, boxes: Ids, mask: NDArray[np.bool_], pixels: Pixels | None) -> Scores:
        import torch

        from unrender.layers.spatial import PageInputs

        picture = None if pixels is None else torch.from_numpy(pixels)
        inputs = PageInputs(torch.from_numpy(tokens), torch.from_numpy(boxes), torch.from_numpy(mask), picture)
        with torch.inference_mode():
            scores: Scores = self.module(inputs).numpy()
        return scores


def open_page_engine(loaded: LoadedPages, wanted: str | None = None, threads: int | None = None) -> LabelEngine:
    """Take ONNX where the folder has the graph, torch otherwise, unless one is asked for."""
    if wanted not in (None, "onnx", "torch"):
        raise ConfigError(f"There is no engine called {wanted}; choose onnx or torch.")
    if wanted == "onnx" and not loaded.exported:
        raise ModelError(f"{loaded.folder} has no {GRAPH}; make it with `unrender export`, or take --engine torch.")
    if loaded.exported and wanted != "torch":
        return OnnxPageEngine(loaded.folder, threads)
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{loaded.config.name} has no {GRAPH}, so reading it needs torch: pip install 'unrender[train]'"
        ) from error
    from unrender.layers.spatial import PageModel

    module = PageModel(loaded.config)
    weights = {name: torch.from_numpy(np.array(array)) for name, array in loaded.weights().items()}
    module.load_state_dict(weights)
    return TorchPageEngine(module)
