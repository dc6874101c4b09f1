"""Where models are: a folder, an embedded model, one of the seeds' published systems, or a name on the Hub."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from unrender import checkpoints
from unrender.checkpoints.files import CONFIG
from unrender.errors import MissingExtraError, ModelError, suggest
from unrender.models import PRESETS, ModelConfig

_EMBEDDED = Path(__file__).parent.parent / "embedded"
_HUB_NAME = re.compile(r"^[\w.-]+/[\w.-]+(@[\w./-]+)?$")
_COMMIT = re.compile(r"^[0-9a-f]{40}$")
_SMALL_FILES = ["*.json", "*.txt", "*.model"]
JOINED = " + "  # between the Hub names of a system that is put together from two
_BYTES_PER_PARAMETER = 4
_WEIGHT_ENDINGS = (".onnx", ".safetensors", ".data")


@dataclass(frozen=True)
class Location:
    """A model folder and, if it is from the Hub, its name and revision there: ORG/NAME@COMMIT."""

    folder: Path
    origin: str = ""


def resolve(name: str | Path) -> Path:
    """Return the folder of a model given by path, embedded name, system name or Hub name."""
    return locate(name).folder


def locate(name: str | Path) -> Location:
    """Find a model given by path, embedded name, system name or Hub name."""
    path, text = Path(name).expanduser(), str(name)
    if is_folder(name):
        return Location(path)
    if text in embedded_names():
        return Location(_EMBEDDED / text)
    if text in PRESETS:
        return _published(text)
    if path.exists():
        raise ModelError(f"{name} is a file; give the model folder that holds {CONFIG} and the weights")
    if isinstance(name, str) and _HUB_NAME.match(text) and not text.startswith((".", "~")):
        return download(text)
    if os.sep in text or text.startswith("."):
        raise ModelError(f"there is no folder {text}; a model folder holds {CONFIG} and the weights")
    raise ModelError(f"there is no model named {text!r}; {suggest(text, [*embedded_names(), *PRESETS], most=3)}")


def is_folder(name: str | Path) -> bool:
    """Return whether a model is given by path; a folder that only happens to have a model's name is not the model."""
    path, text = Path(name).expanduser(), str(name)
    return (path / CONFIG).is_file() if text in PRESETS or text in embedded_names() else path.is_dir()


def embedded_names() -> list[str]:
    """List the models that are part of the installed package."""
    return sorted(path.parent.name for path in _EMBEDDED.glob(f"*/{CONFIG}"))


def published_parts(name: str) -> list[str]:
    """Return the Hub names that a system of the seeds is made from."""
    published = PRESETS[name].published
    return published.split(JOINED) if published else []


def cache_folder() -> Path:
    """Return where converted models are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unrender"


def download(name: str) -> Location:
    """Fetch a model from the Hub, or find it in the local copy.

    The first fetch settles the revision: ORG/NAME means that one from then on, until ORG/NAME@REVISION asks for
    another.
    """
    name, _, wanted = name.partition("@")
    pin = cache_folder() / "revisions" / name
    folder = _fetch(name, wanted or (pin.read_text(encoding="utf-8").strip() if pin.is_file() else None))
    if not _COMMIT.match(folder.name):
        return Location(folder, name)
    pin.parent.mkdir(parents=True, exist_ok=True)
    pin.write_text(folder.name, encoding="utf-8")
    return Location(folder, f"{name}@{folder.name}")


def _fetch(name: str, revision: str | None) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"getting {name} needs huggingface-hub: pip install 'unrender[train]'") from error
    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=[*_SMALL_FILES, "*.safetensors"]))
        if not any(folder.glob("*.safetensors")):
            folder = Path(snapshot_download(name, revision=revision, allow_patterns=[*_SMALL_FILES, "*.bin"]))
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{name} is neither a folder here nor could it be fetched from the Hub ({reason}); "
            "check the name and the connection, or download the folder elsewhere and give its path"
        ) from error
    return folder


def _published(name: str) -> Location:
    parts = published_parts(name)
    if not parts:
        raise ModelError(f"{name} has no published weights; train it with `unrender train`, then give its folder")
    if len(parts) > 1:
        raise ModelError(f"{name} is put together from {' and '.join(parts)}; load it by name")
    return download(parts[0])


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
