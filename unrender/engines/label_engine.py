"""The two engines of LayoutLMv2: ONNX Runtime on labels.onnx, or torch on the weights; NumPy in and out."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unrender.checkpoints import GRAPHS, Loaded
from unrender.engines.labelling import Ids, Pixels, Scores
from unrender.engines.sessions import count_cores, open_session

if TYPE_CHECKING:
    from unrender.layers.spatial import LabelModel


class OnnxLabelEngine:
    """Labels windows one at a time with the exported graph; needs no torch."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self._session = open_session(folder / GRAPHS["labels"][0], threads or count_cores())
        self._looks = any(value.name == "pixels" for value in self._session.get_inputs())

    def label(self, tokens: Ids, boxes: Ids, mask: NDArray[np.bool_], pixels: Pixels | None) -> Scores:
        found = []
        for row, length in enumerate(mask.sum(axis=1)):
            feeds: dict[str, NDArray[np.generic]] = {"tokens": tokens[row, :length], "boxes": boxes[row, :length]}
            if self._looks:
                assert pixels is not None, "this model looks at the picture too"
                feeds["pixels"] = pixels[row : row + 1]
            found.append(self._session.run(["scores"], feeds)[0])
        scores = np.zeros((*tokens.shape, found[0].shape[-1]), dtype=np.float32)
        for row, values in enumerate(found):
            scores[row, : len(values)] = values
        return scores


class TorchLabelEngine:
    """Labels a batch of windows with a LabelModel."""

    def __init__(self, module: "LabelModel") -> None:
        self.module = module.eval()

    def label(self, tokens: Ids, boxes: Ids, mask: NDArray[np.bool_], pixels: Pixels | None) -> Scores:
        import torch

        from unrender.layers.spatial import LabelInputs

        picture = None if pixels is None else torch.from_numpy(pixels)
        inputs = LabelInputs(torch.from_numpy(tokens), torch.from_numpy(boxes), torch.from_numpy(mask), picture)
        with torch.inference_mode():
            scores: Scores = self.module(inputs).numpy()
        return scores


def open_torch_engine(loaded: Loaded) -> "TorchLabelEngine":
    """Build the module of a loaded model and fill it with its weights."""
    import torch

    from unrender.layers.spatial import LabelModel

    module = LabelModel(loaded.label_config)
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in loaded.weights().items()})
    return TorchLabelEngine(module)
