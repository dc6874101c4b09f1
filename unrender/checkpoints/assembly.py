"""From named tensors to the exact set of tensors a model needs: nothing missing, nothing left over, shapes right."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from unrender.checkpoints.files import Array, Weights
from unrender.checkpoints.names import Part, match
from unrender.errors import ModelError
from unrender.models.config import ModelConfig
from unrender.models.parameters import Shape, state

_SHOWN = 6  # names listed in an error
_PARTS = {"qkv": 3, "key_value": 2}


def assemble(
    shapes: Mapping[str, Shape],
    read: Callable[[str], Array],
    config: ModelConfig,
    source: str,
    *,
    published: bool,
    resize: bool = False,
    side: str = "",
) -> Weights:
    """Read the tensors of a model under our names; a ModelError says what does not fit.

    With `published`, names and parts are turned into ours. `resize` interpolates position tables made for another
    size instead of refusing them. `side` ("encoder" or "decoder") takes one half of the model only.
    """
    places = match(shapes, config) if published else {name: Part(name) for name in shapes}
    if side:
        places = {name: place for name, place in places.items() if place.name.startswith(f"{side}.")}
    wanted = {name: shape for name, shape in state(config).all.items() if name.startswith(side)}
    groups: dict[str, dict[int, str]] = {}
    for name, place in places.items():
        groups.setdefault(place.name, {})[place.part or 0] = name
    whole = {place.name for place in places.values() if place.part is None}
    missing = [name for name in wanted if name not in groups] + list(_missing_parts(groups, wanted, whole))
    over = [name for name, place in places.items() if place.name not in wanted]
    _refuse(missing, over, source)
    weights: Weights = {}
    for name, shape in wanted.items():
        tensors = [read(group) for _, group in sorted(groups[name].items())]
        joined = (
            tensors[0] if len(tensors) == 1 else np.concatenate(tensors, axis=1 if name.endswith("specials") else 0)
        )
        weights[name] = _fit(name, joined, shape, source, resize)
    return weights


def resize_bias_table(table: NDArray[np.float32], window: int) -> NDArray[np.float32]:
    """Interpolate a Swin bias table (n x n, heads) bicubically to another window, as Donut and Nougat were begun."""
    import torch

    side = round(len(table) ** 0.5)
    grid = torch.from_numpy(table).T.reshape(1, -1, side, side)
    wanted = 2 * window - 1
    resized = torch.nn.functional.interpolate(grid, size=(wanted, wanted), mode="bicubic", align_corners=False)
    return np.ascontiguousarray(resized[0].flatten(1).T.numpy())


def resize_positions(table: NDArray[np.float32], rows: int) -> NDArray[np.float32]:
    """Cut a decoder's position table to fewer rows, or interpolate it linearly to more."""
    import torch

    if rows <= len(table):
        return np.ascontiguousarray(table[:rows])
    line = torch.from_numpy(table).T[None]
    resized = torch.nn.functional.interpolate(line, size=rows, mode="linear", align_corners=False)
    return np.ascontiguousarray(resized[0].T.numpy())


def _missing_parts(
    groups: Mapping[str, Mapping[int, str]], wanted: Mapping[str, Shape], whole: set[str]
) -> Iterable[str]:
    for name, parts in groups.items():
        if name in whole or name not in wanted:
            continue
        owner = name.split(".")[-2]
        count = _PARTS.get(owner) or wanted[name][1]  # special tokens: one part each
        yield from (f"{name} (part {part + 1} of {count})" for part in range(count) if part not in parts)


def _refuse(missing: list[str], over: list[str], source: str) -> None:
    if not missing and not over:
        return
    said = []
    if missing:
        said.append(f"missing are {_some(missing)}")
    if over:
        said.append(f"left over are {_some(over)}")
    raise ModelError(f"{source}: the weights do not fit the config: {'; '.join(said)}")


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def _fit(name: str, array: Array, shape: Shape, source: str, resize: bool) -> Array:
    if resize and array.shape != shape and array.shape[1:] == shape[1:]:
        table = np.asarray(array, dtype=np.float32)
        if name.endswith(".bias_table"):
            array = resize_bias_table(table, (round(shape[0] ** 0.5) + 1) // 2)
        elif name == "decoder.positions.weight":
            array = resize_positions(table, shape[0])
    if array.shape != shape:
        raise ModelError(f"{source}: {name} has shape {_shape(array.shape)}, but the config asks for {_shape(shape)}")
    return array.astype(np.float32, copy=False) if array.dtype.kind == "f" else array


def _shape(shape: Shape) -> str:
    return " x ".join(map(str, shape)) or "of a single number"
