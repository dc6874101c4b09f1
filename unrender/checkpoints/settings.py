"""Settings read from JSON files, each checked to be of the kind that is needed."""

import json
from collections.abc import Mapping
from pathlib import Path

from unrender.errors import ModelError
from unrender.models.codec import show

Values = Mapping[str, object]


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
