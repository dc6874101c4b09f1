"""Which models there are: those in the package and the seeds' systems."""

from dataclasses import dataclass
from pathlib import Path

from unrender import checkpoints
from unrender.models import PRESETS, ModelConfig

_BYTES_PER_PARAMETER = 4
_WEIGHT_ENDINGS = (".onnx", ".safetensors", ".data")


@dataclass(frozen=True, kw_only=True)
class ModelEntry:
    """One line of `unrender models`."""

    name: str
    task: str
    parameters: int
    bytes: int  # on disk; of 32-bit weights when they are not here
    licence: str
    where: str
    seed: str


def list_models() -> list[ModelEntry]:
    """List every model that can be named, those at hand first."""
    return [*map(_embedded, checkpoints.embedded_names()), *map(_preset, PRESETS.values())]


def _embedded(name: str) -> ModelEntry:
    loaded = checkpoints.load(name)
    return _entry(name, loaded.config, _weight_bytes(loaded.folder), str(loaded.folder))


def _preset(config: ModelConfig) -> ModelEntry:
    where = f"published as {config.published}" if config.published else "to be trained"
    return _entry(config.name, config, config.parameters * _BYTES_PER_PARAMETER, where)


def _entry(name: str, config: ModelConfig, size: int, where: str) -> ModelEntry:
    return ModelEntry(
        name=name,
        task=config.task,
        parameters=config.parameters,
        bytes=size,
        licence=config.licence,
        where=where,
        seed=config.seed,
    )


def _weight_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.suffix in _WEIGHT_ENDINGS)
