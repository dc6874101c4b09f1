"""What each system of the seeds is: frozen configurations, no torch."""

from difflib import get_close_matches

from unrender.errors import ModelError
from unrender.models.codec import ModelConfig
from unrender.models.donut import DONUT_BASE
from unrender.models.layoutlmv2 import LAYOUTLMV2_BASE, LAYOUTLMV2_MINI
from unrender.models.nougat import NOUGAT_BASE, NOUGAT_SMALL
from unrender.models.recognizer import RECOGNIZER
from unrender.models.swimnet import SWIMNET
from unrender.models.trocr import TROCR_BASE, TROCR_SMALL

__all__ = ["PRESETS", "ModelConfig", "preset", "suggest"]

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
        raise ModelError(f"there is no system named {name!r}; {suggest(name, list(PRESETS))}")
    return PRESETS[name]


def suggest(name: str, names: list[str]) -> str:
    """Say which known names come near, or list them all."""
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"known names: {', '.join(names)}"
