"""Weight files: safetensors in one piece or in shards, read tensor by tensor; pickles only to convert them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unrender.errors import MissingExtraError, ModelError
from unrender.models.codec import show

Array = NDArray[np.generic]
Weights = dict[str, Array]
Shape = tuple[int, ...]
CONFIG = "config.json"
WEIGHTS = "weights.safetensors"
_SAFE = (WEIGHTS, "model.safetensors", "model.safetensors.index.json")
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
_PICKLE_STARTS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_WRAPPERS = ("state_dict", "model")
_HALF = 2  # bytes of a float16, or of a bfloat16 where some library teaches NumPy the type
Values = Mapping[str, object]


class WeightFiles:
    """The tensors of one or more safetensors files, by name."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths: dict[str, Path] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        for path in paths:
            header = _header(path)
            self._paths.update(dict.fromkeys(header, path))
            self.shapes.update(header)

    def read(self, name: str) -> Array:
        from safetensors import safe_open

        with safe_open(self._paths[name], framework="np") as file:
            try:
                array: Array = file.get_tensor(name)
            except TypeError:  # NumPy has no bfloat16
                return _read_bfloat16(self._paths[name], name)
        return array.astype(np.float32) if array.dtype.itemsize == _HALF else array


def find_safetensors(folder: Path) -> list[Path]:
    """Return the safetensors files that hold a folder's weights; none if it has no such weights."""
    return _find(folder, _SAFE)


def find_pickles(folder: Path) -> list[Path]:
    """Return the pickled weight files of a published folder."""
    return _find(folder, _PICKLED)


def _find(folder: Path, names: Sequence[str]) -> list[Path]:
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        return []
    return _shards(path) if path.suffix == ".json" else [path]


def read_pickles(paths: list[Path]) -> Weights:
    """Read pickled tensors without running any code they may carry."""
    return {name: array for path in paths for name, array in _unpickle(path).items()}


def write(path: Path, weights: Mapping[str, Array]) -> None:
    """Write a safetensors file; nothing half-written is left under its name."""
    try:
        from safetensors.numpy import save_file
    except ModuleNotFoundError as error:
        raise MissingExtraError("writing weights needs safetensors: pip install 'unrender[train]'") from error
    partial = path.with_name(path.name + ".partial")
    whole = {name: array if array.flags.c_contiguous else array.copy(order="C") for name, array in weights.items()}
    save_file(whole, partial)
    partial.replace(path)


def _shards(index: Path) -> list[Path]:
    listed = read_json(index).get("weight_map")
    files = list(listed.values()) if isinstance(listed, dict) else []
    names = sorted({name for name in files if isinstance(name, str)})
    if not names or not all(isinstance(name, str) for name in files):
        raise ModelError(f"{index} is not an index of weight files")
    for name in names:
        if Path(name).name != name or "\\" in name or "\0" in name or name in (".", ".."):
            raise ModelError(f"{index} names {show(name)}, but weight files lie beside it; get the model again")
    missing = [name for name in names if not (index.parent / name).is_file()]
    if missing:
        raise ModelError(f"{index.parent} has no {', '.join(missing)}, which {index.name} lists; copy the whole model")
    return [index.parent / name for name in names]


def _header(path: Path) -> dict[str, tuple[int, ...]]:
    try:
        from safetensors import SafetensorError, safe_open
    except ModuleNotFoundError as error:
        raise MissingExtraError("reading weights needs safetensors: pip install 'unrender[train]'") from error
    try:
        with safe_open(path, framework="np") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        with path.open("rb") as file:
            start = file.read(4)
        if start.startswith(_PICKLE_STARTS):
            raise ModelError(
                f"{path} is a pickle, not safetensors, and pickles can run code when opened; "
                "save the weights again as safetensors"
            ) from error
        raise ModelError(f"{path} is not a safetensors file or is damaged: {error}") from error


def _read_bfloat16(path: Path, name: str) -> Array:
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        array: Array = file.get_tensor(name).float().numpy()
    return array


def _unpickle(path: Path) -> Weights:
    from pickle import UnpicklingError

    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"converting {path.name} needs torch: pip install 'unrender[train]'") from error
    try:
        values = torch.load(path, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as plain weights; it is damaged or holds more than tensors") from error
    for wrapper in _WRAPPERS:
        if isinstance(values, dict) and isinstance(values.get(wrapper), dict):
            values = values[wrapper]
    if not isinstance(values, dict) or not all(isinstance(value, torch.Tensor) for value in values.values()):
        raise ModelError(f"{path} does not hold named tensors")
    return {name: (tensor.float() if tensor.is_floating_point() else tensor).numpy() for name, tensor in values.items()}


def read_json(path: Path) -> dict[str, object]:
    """Read a JSON object; a ModelError if it is not one."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"{path.parent} has no {path.name}; a model folder needs one") from error
    except RecursionError as error:
        raise ModelError(f"{path} cannot be read as JSON: it is nested too deeply") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(values, dict):
        raise ModelError(f"{path} must hold a JSON object")
    return values


def as_object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"{show(value)} is not an object")
    return value


def as_pair(value: object) -> tuple[int, int]:
    """Read a size as height and width: one number for both, a list, or an object."""
    if isinstance(value, dict):
        return as_integer(value["height"]), as_integer(value["width"])
    if isinstance(value, list | tuple):
        return as_integer(value[0]), as_integer(value[1])
    return as_integer(value), as_integer(value)


def as_integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{show(value)} is not a whole number")
    return value


def as_number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"{show(value)} is not a number")
    return float(value)


def as_integers(values: object) -> tuple[int, ...]:
    if not isinstance(values, list | tuple):
        raise TypeError(f"{show(values)} is not a list")
    return tuple(as_integer(value) for value in values)


def as_numbers(values: object) -> tuple[float, ...]:
    if not isinstance(values, list | tuple):
        raise TypeError(f"{show(values)} is not a list")
    return tuple(as_number(value) for value in values)
