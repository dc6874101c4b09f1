"""Model folders: save, load, get by name; published weights under whatever names they carry.

A folder of ours holds config.json, tokenizer.json, weights.safetensors, train.json and card.md and, exported, the
graphs of its kind. A published folder is read where it lies if it has safetensors and a tokenizer.json; otherwise it
is converted once, into a folder of ours in the cache.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from unrender.checkpoints.files import (
    CONFIG,
    WEIGHTS,
    Array,
    Values,
    WeightFiles,
    Weights,
    find_pickles,
    find_safetensors,
    read_json,
    read_pickles,
    write,
)
from unrender.checkpoints.fitting import Shapes, assemble, plan, state
from unrender.checkpoints.locations import (
    JOINED,
    Location,
    cache_folder,
    download,
    embedded_names,
    is_folder,
    locate,
    published_parts,
    resolve,
)
from unrender.checkpoints.published import describe
from unrender.checkpoints.vocabulary import TOKENIZER, make_tokenizer
from unrender.errors import ModelError
from unrender.models import PRESETS, ModelConfig
from unrender.models.codec import from_values, to_json
from unrender.models.config import TextConfig
from unrender.models.layoutlmv2 import LabelConfig

__all__ = [
    "CONFIG",
    "GRAPHS",
    "Loaded",
    "Weights",
    "cache_folder",
    "convert",
    "embedded_names",
    "is_folder",
    "load",
    "resolve",
    "save",
    "write_config",
]

GRAPHS = {"text": ("encoder.onnx", "decoder.onnx"), "labels": ("labels.onnx",)}  # of each kind of model
_PICKLE_ENDINGS = (".bin", ".pt", ".pth", ".ckpt")


@dataclass(frozen=True)
class Loaded:
    """A model found and understood; the weights are read when asked for."""

    config: ModelConfig
    folder: Path
    published: bool = False  # the tensors carry published names

    @property
    def text_config(self) -> TextConfig:
        """The config of a model that writes text; a ModelError if this one does not."""
        if not isinstance(self.config, TextConfig):
            raise ModelError(f"{self.config.name} labels the words of pages and writes no text")
        return self.config

    @property
    def label_config(self) -> LabelConfig:
        """The config of a model that labels words; a ModelError if this one does not."""
        if not isinstance(self.config, LabelConfig):
            raise ModelError(f"{self.config.name} writes text and does not label words")
        return self.config

    @property
    def tokenizer(self) -> Path | None:
        """The tokenizer.json, if the folder has one."""
        path = self.folder / TOKENIZER
        return path if path.is_file() else None

    @property
    def exported(self) -> bool:
        """Whether the folder holds the graphs that ONNX Runtime reads."""
        return all((self.folder / name).is_file() for name in GRAPHS[self.config.kind])

    def weights(self) -> Weights:
        """Read every tensor of the model under our names; a ModelError says what does not fit."""
        files = WeightFiles(find_safetensors(self.folder))
        if not files.shapes:
            raise ModelError(f"{self.folder} has no {WEIGHTS}; without it the torch engine cannot run")
        return assemble(plan(files.shapes, self.config, str(self.folder), published=self.published), files.read)


def load(source: str | Path) -> Loaded:
    """Find a model by name, folder or Hub name and read its settings."""
    system = None if is_folder(source) else PRESETS.get(str(source))
    if system is not None and len(published_parts(system.name)) > 1:
        return _put_together(system)
    location = locate(source)
    values = read_json(location.folder / CONFIG)
    if "unrender" in values:
        return _load_own(location.folder, values)
    return _load_published(location, values, Path(str(source).partition("@")[0]).name)


def save(
    folder: str | Path,
    config: ModelConfig,
    weights: Mapping[str, ArrayLike],
    tokenizer: str | Path | None = None,
    *,
    card: str = "",
    training: str = "",
) -> Path:
    """Write a model folder; `tokenizer` is a tokenizer.json or its text, `training` the text of train.json.

    The parameters are counted here, so that config.json tells their number without torch.
    """
    folder, tensors = Path(folder), state(config)
    arrays = {name: np.asarray(tensor) for name, tensor in weights.items()}
    plans = plan(_shapes(arrays), config, config.name, published=False, wanted=tensors.all)
    checked = assemble(plans, arrays.__getitem__)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / WEIGHTS, checked)
    if isinstance(tokenizer, Path):
        tokenizer = tokenizer.read_text(encoding="utf-8")
    for name, text in ((TOKENIZER, tokenizer), ("card.md", card), ("train.json", training)):
        if text:
            (folder / name).write_text(text, encoding="utf-8")
    write_config(folder, replace(config, parameters=tensors.count))  # last: a folder with it is complete
    return folder


def write_config(folder: Path, config: ModelConfig) -> None:
    """Write config.json; nothing half-written is left under its name."""
    partial = folder / f"{CONFIG}.partial"
    partial.write_text(to_json(config), encoding="utf-8")
    partial.replace(folder / CONFIG)


def convert(config: ModelConfig, weights: Mapping[str, Array], *, resize: bool = False, side: str = "") -> Weights:
    """Turn tensors with published names into ours, as a start for training too.

    With `resize`, position tables of another window or length are interpolated; `side` takes the encoder or the
    decoder alone.
    """
    plans = plan(_shapes(weights), config, config.name, published=True, resize=resize, side=side)
    return assemble(plans, weights.__getitem__)


def _load_own(folder: Path, values: Values) -> Loaded:
    loaded = Loaded(from_values(values), folder)
    if not find_safetensors(folder) and not loaded.exported:
        pickles = [path.name for path in sorted(folder.iterdir()) if path.suffix in _PICKLE_ENDINGS]
        hint = f"; {pickles[0]} is a pickle, which is never opened here" if pickles else ""
        raise ModelError(f"{folder} has neither {WEIGHTS} nor {' and '.join(GRAPHS[loaded.config.kind])}{hint}")
    return loaded


def _load_published(location: Location, values: Values, name: str) -> Loaded:
    folder = location.folder
    paths = find_safetensors(folder)

    def config_of(shapes: Shapes) -> ModelConfig:
        found = describe(folder, values, shapes)
        return replace(found, name=name or found.name, published=location.origin)

    if paths and ((folder / TOKENIZER).is_file() or make_tokenizer(folder) is None):
        return Loaded(config_of(WeightFiles(paths).shapes), folder, published=True)
    pickles = find_pickles(folder)
    if not paths and not pickles:
        raise ModelError(f"{folder} has no weights: neither model.safetensors nor pytorch_model.bin")
    kept = cache_folder() / "converted" / _fingerprint(folder, paths or pickles)
    if not (kept / CONFIG).is_file():
        weights = _read_all(paths) if paths else read_pickles(pickles)
        config = config_of(_shapes(weights))
        plans = plan(_shapes(weights), config, str(folder), published=True)
        save(kept, config, assemble(plans, weights.__getitem__), make_tokenizer(folder))
    return _load_own(kept, read_json(kept / CONFIG))


def _put_together(config: ModelConfig) -> Loaded:
    """Make a system from the encoder of one published model and the decoder of another (SwimNet)."""
    kept = cache_folder() / "converted" / config.name
    if not (kept / CONFIG).is_file():
        weights: Weights = {}
        first, second = (download(part) for part in published_parts(config.name))
        for side, part in (("encoder", first), ("decoder", second)):
            paths = find_safetensors(part.folder)
            tensors = _read_all(paths) if paths else read_pickles(find_pickles(part.folder))
            weights |= convert(config, tensors, side=side)
        config = replace(config, published=JOINED.join((first.origin, second.origin)))
        save(kept, config, weights, make_tokenizer(second.folder))
    return _load_own(kept, read_json(kept / CONFIG))


def _read_all(paths: list[Path]) -> Weights:
    files = WeightFiles(paths)
    return {name: files.read(name) for name in files.shapes}


def _shapes(weights: Mapping[str, Array]) -> Shapes:
    return {name: array.shape for name, array in weights.items()}


def _fingerprint(folder: Path, paths: list[Path]) -> str:
    """Name a conversion so that a changed file is converted anew."""
    facts = [str(folder.resolve()), *(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in paths)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
