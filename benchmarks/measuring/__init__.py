"""Measure how fast and how large models run on this machine, beside torch or transformers with the same weights."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from measuring.report import Report
from measuring.systems import Plan, Reference, measure_folder, measure_weights
from measuring.twins import build_twin, take_weights
from unrender import checkpoints
from unrender.checkpoints.files import find_safetensors
from unrender.errors import ConfigError
from unrender.models import ModelConfig, preset
from unrender.models.config import TextConfig

__all__ = ["Plan", "Report", "bench"]


def bench(
    model: str, *, against: str = "", plan: Plan | None = None, progress: Callable[[str], None] = lambda sentence: None
) -> Report:
    """Measure a model in torch, ONNX and 8-bit ONNX or, random weights will do, beside transformers."""
    plan = plan or Plan()
    if against not in ("", "transformers"):
        raise ConfigError(f"there is nothing called {against!r} to compare with; choose transformers")
    with tempfile.TemporaryDirectory() as folder:
        if against:
            config = _text(preset(model))
            twin = build_twin(config)
            reference = Reference(twin=twin)
            return measure_weights(config, take_weights(config, twin), reference, plan, Path(folder), progress)
        loaded = checkpoints.load(model)
        if not find_safetensors(loaded.folder):
            return measure_folder(loaded.text_config, loaded.folder, plan, progress)
        return measure_weights(loaded.text_config, loaded.weights(), Reference(), plan, Path(folder), progress)


def _text(config: ModelConfig) -> TextConfig:
    if not isinstance(config, TextConfig):
        raise ConfigError(f"{config.name} has no counterpart that writes text")
    return config
