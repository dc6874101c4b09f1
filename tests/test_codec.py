"""config.json: every kind of model comes back as it was, and whatever is wrong with a file is one sentence."""

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from unrender import checkpoints
from unrender.errors import ConfigError, UnrenderError
from unrender.models import PRESETS, preset
from unrender.models.codec import FORMAT, from_values, to_json

_EMBEDDED = checkpoints.embedded_names()
_WRONG = (None, "nonsense", "", True, -1, -7.5, math.nan, math.inf, 1e308, 10**400, [], [[]], [None], {}, {"a": 1})
Values = dict[str, object]


def _values(name: str) -> Values:
    config = checkpoints.load(name).config if name in _EMBEDDED else preset(name)
    found: Values = json.loads(to_json(config))
    return found


def _places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Give the path of every value in a JSON object."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*path, key))


def _changed(values: Values, path: tuple[str | int, ...], new: object) -> Values:
    changed = copy.deepcopy(values)
    target: object = changed
    for key in path[:-1]:
        target = target[key]  # type: ignore[index]
    target[path[-1]] = new  # type: ignore[index]
    return changed


def _is_refused(values: Values) -> bool:
    """Say whether a config.json is refused; that must be by one sentence of ours."""
    try:
        from_values(values)
    except ConfigError as error:
        said = str(error)
    else:
        return False
    assert said.startswith("config.json: ")
    assert "\n" not in said
    assert len(said) < 400
    return True


def _may_stand_for(kept: object, wrong: object, path: tuple[str | int, ...]) -> bool:
    """Say whether a value is of the type that belongs in this place."""
    if isinstance(kept, float):
        return type(wrong) in (int, float) and math.isfinite(wrong)  # type: ignore[arg-type]
    if isinstance(kept, list):
        return wrong == []
    if wrong is None:
        return path[-1] == "visual"  # a labelling model may do without a picture
    return type(kept) is type(wrong) and wrong != -1


@pytest.mark.parametrize("name", [*PRESETS, *_EMBEDDED])
def test_a_config_comes_back_from_its_file_as_it_was(name: str) -> None:
    values = _values(name)
    assert json.loads(to_json(from_values(values))) == values


@pytest.mark.parametrize("name", ["formula", "receipt", "donut-base", "trocr-small", "layoutlmv2-base"])
def test_a_value_of_a_wrong_type_never_loads(name: str) -> None:
    """Change every value of a config to every wrong one: whatever loads has the type that it had."""
    values, tried = _values(name), 0
    for path in _places(values):
        kept: object = values
        for key in path:
            kept = kept[key]  # type: ignore[index]
        for wrong in _WRONG:
            tried += 1
            assert _is_refused(_changed(values, path, wrong)) or _may_stand_for(kept, wrong, path), (path, wrong)
    assert tried > 1000


@pytest.mark.parametrize("name", ["formula", "receipt", "nougat-base"])
def test_a_missing_or_an_unknown_key_is_named(name: str) -> None:
    values = _values(name)
    for path in _places(values):
        if not isinstance(path[-1], str) or path == ("unrender",):
            continue
        without = copy.deepcopy(values)
        target: object = without
        for key in path[:-1]:
            target = target[key]  # type: ignore[index]
        del target[path[-1]]  # type: ignore[union-attr]
        wanted = "must be one of" if path[-1] == "kind" else "is missing"
        with pytest.raises(ConfigError, match=f"{path[-1]} {wanted}"):
            from_values(without)
        with pytest.raises(ConfigError, match="surprise is not a setting of this version"):
            from_values(_changed(values, (*path[:-1], "surprise"), 1))


def test_sizes_that_do_not_go_together_are_refused() -> None:
    values = _values("donut-base")
    with pytest.raises(ConfigError, match="Use 1600 or 1920"):
        from_values(_changed(values, ("image", "width"), 1900))
    with pytest.raises(ConfigError, match="7 heads do not divide the width 1024"):
        from_values(_changed(values, ("decoder", "heads"), 7))
    with pytest.raises(ConfigError, match="every Swin stage needs a depth and heads"):
        from_values(_changed(values, ("encoder", "depths"), [2, 2]))
    with pytest.raises(ConfigError, match="images of 1 channels do not fit an encoder of 3"):
        from_values(_changed(values, ("image",), values["image"] | {"channels": 1, "mean": [0.5], "std": [0.5]}))  # type: ignore[operator]


@pytest.mark.parametrize("version", [0, FORMAT + 1, "1", None, True, 1.5])
def test_a_file_of_another_format_is_refused(version: object) -> None:
    with pytest.raises(ConfigError, match=f"unrender must be 1 to {FORMAT}"):
        from_values(_values("formula") | {"unrender": version})


def test_files_of_the_first_format_are_still_read() -> None:
    """They had no kind, LayoutLMv2 was told by its system, and younger keys were left out."""
    for name, system in (("formula", {}), ("receipt", {"system": "layoutlmv2"})):
        values = {key: value for key, value in _values(name).items() if key not in ("kind", "parameters")}
        config = from_values(values | {"unrender": 1, **system})
        assert config == replace(checkpoints.load(name).config, parameters=0)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "null", "\x00", '{"a": 1}', "[" * 100_000, "[" * 600 + "]" * 600),
        '{"unrender": ' * 600 + "1" + "}" * 600,
        '{"unrender": 2, "name": ' + "[" * 900 + "]" * 900 + "}",
        '{"model_type": ' + "[" * 500 + "]" * 500 + "}",
    ],
    ids=lambda text: f"{text[:12]!r} {len(text)}",
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    (tmp_path / "weights.safetensors").write_bytes(b"")
    with pytest.raises(UnrenderError) as caught:
        checkpoints.load(tmp_path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "file", ["/etc/passwd", "../other/weights.safetensors", "a/b.safetensors", "..", "a\\b", "a\0b", 3, None, ["x"]]
)
def test_an_index_names_only_files_beside_it(tmp_path: Path, file: object) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "donut"}')
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": file}}))
    with pytest.raises(UnrenderError, match=r"weight files lie beside it|is not an index of weight files"):
        checkpoints.load(tmp_path)
