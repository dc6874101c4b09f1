"""JSON: extracted fields by themselves, or the whole document; and Donut's tags, which are JSON in disguise."""

import json
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Literal, get_args, get_origin, get_type_hints

from unrender.documents import Block, Document, Json, to_dict
from unrender.errors import NotationError
from unrender.formats.blocks import has_fields, one_page
from unrender.formats.donut import parse_tags, write_tags

_JSON_TYPES = {str: str, bool: bool, int: int | float, float: int | float}
_MAX_DEPTH = 100
_TOO_DEEP = f"The JSON is nested more than {_MAX_DEPTH} deep."


def write_json(document: Document) -> str:
    """Write the fields where that is all there is (a list of them for several blocks), else the whole document."""
    fields = _fields_alone(document)
    return json.dumps(to_dict(document) if fields is None else fields, ensure_ascii=False, indent=2)


def parse_json(text: str) -> Document:
    """Parse what `write_json` wrote; any other JSON value becomes a document of these fields."""
    try:
        value = json.loads(text)
        _check_depth(value)
        json.dumps(value, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
        if isinstance(value, dict) and "pages" in value and "status" in value:
            document = _read(Document, value)
            assert isinstance(document, Document)
            return document
    except RecursionError as error:
        raise NotationError(_TOO_DEEP) from error
    except (ValueError, OverflowError) as error:
        raise NotationError(f"The text is not JSON: {error}.") from error
    except (KeyError, TypeError) as error:
        raise NotationError(f"The JSON is not a document that unrender wrote: {error!r}.") from error
    return one_page(Block(kind="fields", fields=value))


def write_donut(document: Document) -> str:
    """Write the fields of a document as Donut's tags; a document without fields as its text."""
    fields = _fields_alone(document)
    return write_tags({"text_sequence": document.text} if fields is None else fields)


def parse_donut(text: str) -> Document:
    """Parse Donut's tags into one block of fields."""
    return one_page(Block(kind="fields", text=text.strip(), fields=parse_tags(text)))


def _check_depth(value: object) -> None:
    level, depth = [value], 0
    while level:
        if depth > _MAX_DEPTH:
            raise NotationError(_TOO_DEEP)
        inner = [list(one.values()) if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level, depth = [one for items in inner for one in items], depth + 1


def _fields_alone(document: Document) -> Json:
    blocks = document.blocks
    if not blocks or not all(has_fields(block) for block in blocks):
        return None
    values = [block.fields for block in blocks]
    return values[0] if len(values) == 1 else values


def _read(kind: type, value: object) -> object:
    """Read an object as one of the dataclasses of `documents`: what was left out has its default, a text is empty."""
    if not isinstance(value, dict):
        raise TypeError(f"an object was expected, not {type(value).__name__}")
    hints = _hints(kind)
    known = {name: one for name, one in value.items() if name in hints}
    found = {name: one if name == "fields" else _fit(hints[name], one) for name, one in known.items()}
    return kind(**({"text": ""} if "text" in hints else {}) | found)


@cache
def _hints(kind: type) -> dict[str, object]:
    return get_type_hints(kind)


def _fit(hint: object, value: object) -> object:
    """Return a value as the type that `hint` names: lists become tuples, objects dataclasses."""
    inner = get_args(hint)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise TypeError(f"a list was expected, not {type(value).__name__}")
        return tuple(_fit(inner[0], item) for item in value)
    if get_origin(hint) is Literal:
        if value not in inner:
            raise TypeError(f"one of {', '.join(inner)} was expected")
        return value
    if isinstance(hint, UnionType):  # with None, which is written by leaving it out
        return _fit(inner[0], value)
    assert isinstance(hint, type)
    if is_dataclass(hint):
        return _read(hint, value)
    if not isinstance(value, _JSON_TYPES[hint]) or isinstance(value, bool) != (hint is bool):
        raise TypeError(f"{hint.__name__} was expected, not {type(value).__name__}")
    return hint(value)
