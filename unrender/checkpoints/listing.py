"""Which models there are: those in the package, those kept in the cache, and the seeds' systems."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unrender import checkpoints
from unrender.models import PAGE_PRESETS, PRESETS, count_page_parameters, count_parameters
from unrender.models.config import ModelConfig
from unrender.models.layoutlmv2 import PageModelConfig

AnyConfig = ModelConfig | PageModelConfig

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
    systems: list[AnyConfig] = [*PRESETS.values(), *PAGE_PRESETS.values()]
    return [*_embedded(), *(_preset(config) for config in systems)]


def _embedded() -> Iterator[ModelEntry]:
    for name in checkpoints.embedded_names():
        loaded = checkpoints.find_pages(name) or checkpoints.load(name)
        yield _entry(name, loaded.config, _weight_bytes(loaded.folder), str(loaded.folder))


def _preset(config: AnyConfig) -> ModelEntry:
    where = f"published as {config.published}" if config.published else "to be trained"
    return _entry(config.name, config, _count(config) * _BYTES_PER_PARAMETER, where)


def _entry(name: str, config: AnyConfig, size: int, where: str) -> ModelEntry:
    return ModelEntry(
        name=name,
        task=config.task,
        parameters=_count(config),
        bytes=size,
        licence=config.licence,
        where=where,
        seed=config.seed,
    )


def _count(config: AnyConfig) -> int:
    return count_parameters(config) if isinstance(config, ModelConfig) else count_page_parameters(config)


def _weight_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.suffix in _WEIGHT_ENDINGS)
