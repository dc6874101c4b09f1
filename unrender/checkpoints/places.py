"""Where models are: a folder, an embedded model, one of the seeds' published systems, or a name on the Hub."""

import os
import re
from pathlib import Path

from unrender.errors import MissingExtraError, ModelError
from unrender.models import PAGE_PRESETS, PRESETS, suggest

_EMBEDDED = Path(__file__).parent.parent / "embedded"
_HUB_NAME = re.compile(r"^[\w.-]+/[\w.-]+$")
_SMALL_FILES = ["*.json", "*.txt", "*.model"]
JOINED = " + "  # between the Hub names of a system that is put together from two


def resolve(name: str | Path) -> Path:
    """Return the folder of a model given by path, embedded name, system name or Hub name."""
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise ModelError(f"{name} is a file; give the model folder that holds config.json and the weights")
    text = str(name)
    if text in embedded_names():
        return _EMBEDDED / text
    if text in PRESETS or text in PAGE_PRESETS:
        return _published(text)
    if isinstance(name, str) and _HUB_NAME.match(text) and not text.startswith((".", "~")):
        return download(text)
    if os.sep in text or text.startswith("."):
        raise ModelError(f"there is no folder {text}; a model folder holds config.json and the weights")
    raise ModelError(f"there is no model named {text!r}; {suggest(text, [*embedded_names(), *PRESETS, *PAGE_PRESETS])}")


def embedded_names() -> list[str]:
    """List the models that are part of the installed package."""
    return sorted(path.parent.name for path in _EMBEDDED.glob("*/config.json"))


def published_parts(name: str) -> list[str]:
    """Return the Hub names that a system of the seeds is made from."""
    published = PRESETS[name].published if name in PRESETS else PAGE_PRESETS[name].published
    return published.split(JOINED) if published else []


def cache_folder() -> Path:
    """Return where converted models are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "unrender"


def download(name: str) -> Path:
    """Fetch a model from the Hub, or find it in the local copy; return its folder."""
    try:
        from huggingface_hub import snapshot_download
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"getting {name} needs huggingface-hub: pip install 'unrender[train]'") from error
    try:
        folder = Path(snapshot_download(name, allow_patterns=[*_SMALL_FILES, "*.safetensors"]))
        if not any(folder.glob("*.safetensors")):
            folder = Path(snapshot_download(name, allow_patterns=[*_SMALL_FILES, "*.bin"]))
    except (OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{name} is neither a folder here nor could it be fetched from the Hub ({reason}); "
            "check the name and the connection, or download the folder elsewhere and give its path"
        ) from error
    return folder


def _published(name: str) -> Path:
    parts = published_parts(name)
    if not parts:
        raise ModelError(f"{name} has no published weights; train it with `unrender train`, then give its folder")
    if len(parts) > 1:
        raise ModelError(f"{name} is put together from {' and '.join(parts)}; load it by name")
    return download(parts[0])
