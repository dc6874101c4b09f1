"""config.json: the one way in which every kind of model is written and read, checked against the dataclasses' types."""

import json
import sys
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from unrender.errors import ConfigError
from unrender.models.config import TextConfig, Within
from unrender.models.layoutlmv2 import LabelConfig

ModelConfig = TextConfig | LabelConfig

FORMAT = 6
_VERSION, _KIND = "unrender", "kind"
_SHOWN = 40  # characters of a wrong value
_NAMES: dict[object, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def to_json(config: ModelConfig) -> str:
    """Write a config as the text of config.json."""
    return json.dumps({_VERSION: FORMAT, **asdict(config)}, indent=2) + "\n"


def from_values(values: Mapping[str, object]) -> ModelConfig:
    """Read the JSON object that `to_json` wrote; a ConfigError names the first thing that does not fit.

    A file of this format has every key. One of an older format may lack those that have a default.
    """
    version = values.get(_VERSION)
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise ConfigError(
            f"config.json: {_VERSION} must be 1 to {FORMAT}, got {show(version)}; a newer file needs a newer unrender"
        )
    rest = {key: value for key, value in values.items() if key != _VERSION}
    if version == 1:  # before every config had a kind
        rest[_KIND] = "labels" if rest.pop("system", "") == "layoutlmv2" else "text"
    config = _Reading(strict=version == FORMAT).fit(ModelConfig, rest, "")
    assert isinstance(config, TextConfig | LabelConfig)
    return config


def show(value: object) -> str:
    """Describe a value from a file in a few words."""
    match value:
        case dict():
            return "an object"
        case list() | tuple():
            return f"a list of {len(value)}"
        case str() | int() | float() | None:
            text = json.dumps(value, ensure_ascii=False)
            return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return type(value).__name__


@dataclass(frozen=True)
class _Reading:
    """One reading of a config.json; `strict` wants every key."""

    strict: bool

    def fit(self, hint: object, value: object, at: str) -> object:
        """Return the value as the type that `hint` names; lists become tuples, objects dataclasses."""
        origin, inner = get_origin(hint), get_args(hint)
        if origin is Annotated:
            return _within(inner[1], self.fit(inner[0], value, at), at)
        if origin is Literal:
            if not isinstance(value, str) or value not in inner:
                raise _wrong(at, f"one of {', '.join(inner)}", value)
            return value
        if origin in (Union, UnionType):
            return self._choose(inner, value, at)
        if origin is tuple:
            return self._tuple(inner, value, at)
        if isinstance(hint, type) and is_dataclass(hint):
            return self._object(hint, value, at)
        return _plain(hint, value, at)

    def _choose(self, choices: tuple[object, ...], value: object, at: str) -> object:
        """Take the dataclass whose kind the object says, or None where that is allowed."""
        if value is None and NoneType in choices:
            return None
        kinds = {get_args(_hints(choice)[_KIND])[0]: choice for choice in choices if isinstance(choice, type)
                 and choice is not NoneType}  # fmt: skip
        kind = value.get(_KIND) if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in kinds:
            raise _wrong(_join(at, _KIND), f"one of {', '.join(kinds)}", kind)
        return self.fit(kinds[kind], value, at)

    def _tuple(self, inner: tuple[object, ...], value: object, at: str) -> object:
        if not isinstance(value, list | tuple):
            raise _wrong(at, "a list", value)
        hints = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        if len(hints) != len(value):
            raise _wrong(at, f"a list of {len(hints)}", value)
        pairs = enumerate(zip(hints, value, strict=True))
        return tuple(self.fit(hint, item, f"{at}[{index}]") for index, (hint, item) in pairs)

    def _object(self, kind: type, value: object, at: str) -> object:
        if not isinstance(value, dict):
            raise _wrong(at, "an object", value)
        hints, known = _hints(kind), {field.name: field for field in fields(kind)}
        for key in value:
            if key not in known:
                raise ConfigError(f"config.json: {_join(at, show(key)[1:-1])} is not a setting of this version")
        for name, field in known.items():
            if name not in value and (self.strict or (field.default is MISSING and field.default_factory is MISSING)):
                raise ConfigError(f"config.json: {_join(at, name)} is missing")
        found = {name: self.fit(hints[name], value[name], _join(at, name)) for name in known if name in value}
        try:
            return kind(**found)
        except ConfigError as error:
            raise ConfigError(f"config.json: {error}") from error


@cache
def _hints(kind: type) -> dict[str, object]:
    return get_type_hints(kind, include_extras=True)


def _plain(hint: object, value: object, at: str) -> object:
    if hint is float and type(value) in (int, float):
        assert isinstance(value, int | float)
        if abs(value) <= sys.float_info.max:  # which NaN is not
            return float(value)
    elif type(value) is hint:
        return value
    raise _wrong(at, _NAMES[hint], value)


def _within(limits: Within, value: object, at: str) -> object:
    assert isinstance(value, int | float)
    if not limits.least <= value <= limits.most:
        raise _wrong(at, f"from {limits.least:g} to {limits.most:g}", value)
    return value


def _wrong(at: str, wanted: str, value: object) -> ConfigError:
    return ConfigError(f"config.json: {at or 'the whole'} must be {wanted}, got {show(value)}")


def _join(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name
