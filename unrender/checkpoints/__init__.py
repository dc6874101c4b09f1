"""Model folders: save, load, get by name; published weights under whatever names they carry.

A folder of ours holds config.json, tokenizer.json, weights.safetensors, train.json and card.md and, exported,
encoder.onnx and decoder.onnx. A published folder is read where it lies if it has safetensors and a tokenizer.json;
otherwise it is converted once, into a folder of ours in the cache.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from unrender.checkpoints.assembly import assemble, plan, resize_bias_table, resize_positions
from unrender.checkpoints.files import (
    WEIGHTS,
    Array,
    WeightFiles,
    Weights,
    find_pickles,
    find_safetensors,
    read_pickles,
    write,
)
from unrender.checkpoints.pages import LoadedPages, is_page_folder, load_pages
from unrender.checkpoints.places import cache_folder, download, embedded_names, published_parts, resolve
from unrender.checkpoints.published import read_config
from unrender.checkpoints.settings import read_json
from unrender.checkpoints.vocabulary import TOKENIZER, make_tokenizer
from unrender.errors import ModelError
from unrender.models import PRESETS
from unrender.models.config import ModelConfig, from_json, to_json
from unrender.models.parameters import Shape

__all__ = [
    "Loaded",
    "LoadedPages",
    "Weights",
    "convert",
    "embedded_names",
    "find_pages",
    "load",
    "resize_bias_table",
    "resize_positions",
    "resolve",
    "save",
]

CONFIG = "config.json"
GRAPHS = ("encoder.onnx", "decoder.onnx")


@dataclass(frozen=True)
class Loaded:
    """A model found and understood; the weights are read when asked for."""

    config: ModelConfig
    folder: Path
    published: bool  # the tensors carry published names

    @property
    def tokenizer(self) -> Path | None:
        """The tokenizer.json, if the folder has one."""
        path = self.folder / TOKENIZER
        return path if path.is_file() else None

    @property
    def exported(self) -> bool:
        """Whether the folder holds the graphs that ONNX Runtime reads."""
        return _exported(self.folder)

    def weights(self) -> Weights:
        """Read every tensor of the model under our names; a ModelError says what does not fit."""
        files = WeightFiles(find_safetensors(self.folder))
        if not files.shapes:
            raise ModelError(f"{self.folder} has no {WEIGHTS}; without it the torch engine cannot run")
        return assemble(plan(files.shapes, self.config, str(self.folder), published=self.published), files.read)


def find_pages(source: str | Path) -> LoadedPages | None:
    """Load a LayoutLMv2 system by name, folder or Hub name; None if the name belongs to a model that writes text."""
    if str(source) in PRESETS and not Path(source).is_dir():
        return None
    folder = resolve(source)
    return load_pages(folder) if is_page_folder(folder) else None


def load(source: str | Path) -> Loaded:
    """Find a model by name, folder or Hub name and read its settings."""
    if str(source) in PRESETS and not Path(source).is_dir() and len(published_parts(str(source))) > 1:
        return _put_together(PRESETS[str(source)])
    folder = resolve(source)
    if is_page_folder(folder):
        raise ModelError(f"{source} labels the words of pages and writes no text; read with it, or load_pages(folder)")
    if "unrender" in read_json(folder / CONFIG):
        return _load_own(folder)
    return _load_published(folder, Path(source).name)


def save(
    folder: str | Path,
    config: ModelConfig,
    weights: Mapping[str, ArrayLike],
    tokenizer: str | Path | None = None,
    *,
    card: str = "",
    training: str = "",
) -> Path:
    """Write a model folder; `tokenizer` is a tokenizer.json or its text, `training` the text of train.json."""
    folder = Path(folder)
    arrays = {name: np.asarray(tensor) for name, tensor in weights.items()}
    checked = assemble(plan(_shapes(arrays), config, config.name, published=False), arrays.__getitem__)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / WEIGHTS, checked)
    if isinstance(tokenizer, Path):
        tokenizer = tokenizer.read_text(encoding="utf-8")
    for name, text in ((TOKENIZER, tokenizer), ("card.md", card), ("train.json", training)):
        if text:
            (folder / name).write_text(text, encoding="utf-8")
    (folder / CONFIG).write_text(to_json(config), encoding="utf-8")  # last: a folder with it is complete
    return folder


def convert(config: ModelConfig, weights: Mapping[str, Array], *, resize: bool = False, side: str = "") -> Weights:
    """Turn tensors with published names into ours, as a start for training too.

    With `resize`, position tables of another window or length are interpolated; `side` takes the encoder or the
    decoder alone.
    """
    recipes = plan(_shapes(weights), config, config.name, published=True, resize=resize, side=side)
    return assemble(recipes, weights.__getitem__)


def _load_own(folder: Path) -> Loaded:
    config = from_json((folder / CONFIG).read_text(encoding="utf-8"))
    if not find_safetensors(folder) and not _exported(folder):
        pickles = [path.name for path in sorted(folder.iterdir()) if path.suffix in (".bin", ".pt", ".pth", ".ckpt")]
        hint = f"; {pickles[0]} is a pickle, which is never opened here" if pickles else ""
        raise ModelError(f"{folder} has neither {WEIGHTS} nor {' and '.join(GRAPHS)}{hint}")
    return Loaded(config, folder, published=False)


def _load_published(folder: Path, name: str) -> Loaded:
    paths = find_safetensors(folder)
    if paths:
        shapes = WeightFiles(paths).shapes
        config = _named(read_config(folder, shapes), name)
        if (folder / TOKENIZER).is_file() or make_tokenizer(folder) is None:
            return Loaded(config, folder, published=True)
    pickles = find_pickles(folder)
    if not paths and not pickles:
        raise ModelError(f"{folder} has no weights: neither model.safetensors nor pytorch_model.bin")
    kept = cache_folder() / "converted" / _fingerprint(folder, paths or pickles)
    if not (kept / CONFIG).is_file():
        weights = _read_all(paths) if paths else read_pickles(pickles)
        config = _named(read_config(folder, _shapes(weights)), name)
        recipes = plan(_shapes(weights), config, str(folder), published=True)
        save(kept, config, assemble(recipes, weights.__getitem__), make_tokenizer(folder))
    return _load_own(kept)


def _put_together(config: ModelConfig) -> Loaded:
    """Make a system from the encoder of one published model and the decoder of another (SwimNet)."""
    kept = cache_folder() / "converted" / config.name
    if not (kept / CONFIG).is_file():
        weights: Weights = {}
        first, second = (download(part) for part in published_parts(config.name))
        for side, folder in (("encoder", first), ("decoder", second)):
            paths = find_safetensors(folder)
            tensors = _read_all(paths) if paths else read_pickles(find_pickles(folder))
            weights |= convert(config, tensors, side=side)
        save(kept, config, weights, make_tokenizer(second))
    return _load_own(kept)


def _named(config: ModelConfig, name: str) -> ModelConfig:
    return replace(config, name=name) if name else config


def _read_all(paths: list[Path]) -> Weights:
    files = WeightFiles(paths)
    return {name: files.read(name) for name in files.shapes}


def _shapes(weights: Mapping[str, Array]) -> dict[str, Shape]:
    return {name: array.shape for name, array in weights.items()}


def _fingerprint(folder: Path, paths: list[Path]) -> str:
    """Name a conversion so that a changed file is converted anew."""
    facts = [str(folder.resolve()), *(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in paths)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _exported(folder: Path) -> bool:
    return all((folder / name).is_file() for name in GRAPHS)
