"""What each system of the seeds is: frozen configurations, no torch."""

from unrender.errors import ModelError, suggest
from unrender.models.codec import ModelConfig
from unrender.models.donut import DONUT_BASE
from unrender.models.layoutlmv2 import LAYOUTLMV2_BASE, LAYOUTLMV2_MINI
from unrender.models.nougat import NOUGAT_BASE, NOUGAT_SMALL
from unrender.models.recognizer import RECOGNIZER
from unrender.models.swimnet import SWIMNET
from unrender.models.trocr import TROCR_BASE, TROCR_SMALL

__all__ = ["PRESETS", "ModelConfig", "preset"]

_SYSTEMS: tuple[ModelConfig, ...] = (
    DONUT_BASE,
    NOUGAT_BASE,
    NOUGAT_SMALL,
    RECOGNIZER,
    SWIMNET,
    TROCR_BASE,
    TROCR_SMALL,
    LAYOUTLMV2_BASE,
    LAYOUTLMV2_MINI,
)
PRESETS: dict[str, ModelConfig] = {config.name: config for config in _SYSTEMS}


def preset(name: str) -> ModelConfig:
    """Return one of the seeds' systems at its published size."""
    if name not in PRESETS:
        raise ModelError(f"there is no system named {name!r}; {suggest(name, PRESETS, most=3)}")
    return PRESETS[name]
