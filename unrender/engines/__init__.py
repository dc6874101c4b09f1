"""Who computes a model: torch or ONNX Runtime, behind the protocols in `decoding` and `labelling`."""

from unrender.checkpoints import GRAPHS, Loaded
from unrender.decoding import Engine
from unrender.engines.labelling import LabelEngine, OnnxLabelEngine, open_torch_engine
from unrender.errors import ConfigError, MissingExtraError, ModelError

WATCHED_LAYERS = 1  # decoder layers, from the last, whose attention tells where a token was seen


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
