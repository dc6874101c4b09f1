"""JSON: extracted fields by themselves, or the whole document; and Donut's tags, which are JSON in disguise."""

import json
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from unrender.documents import (
    Alternative,
    Block,
    Box,
    Check,
    Difference,
    Document,
    Json,
    Page,
    Reading,
    Status,
    StatusKind,
    Token,
    to_dict,
)
from unrender.errors import NotationError
from unrender.formats.blocks import has_fields, one_page
from unrender.formats.donut import parse_tags, write_tags

T = TypeVar("T")
_KINDS: dict[str, StatusKind] = {
    "complete": "complete",
    "partial": "partial",
    "unlikely": "unlikely",
    "limit": "limit",
    "repetition": "repetition",
    "empty": "empty",
    "failed": "failed",
}


# A list or an object of nothing but numbers; line ends within texts are escaped, so that no text looks like one
_ENTRY = r'(?:"\w+": )?-?\d[\d.e+-]*'
_NUMBERS = re.compile(rf"(?P<open>[\[{{]) *\n *(?P<inside>{_ENTRY}(?:,\n *{_ENTRY})*)\n *(?P<close>[\]}}])")
_MAX_DEPTH = 100
_TOO_DEEP = f"The JSON is nested more than {_MAX_DEPTH} deep."


def write_json(document: Document) -> str:
    """Write the fields where that is all there is (a list of them for several blocks), else the whole document."""
    fields = _fields_alone(document)
    return dump(to_dict(document) if fields is None else fields)


def dump(value: Json) -> str:
    """Write JSON for people: indented, but a box or a pair of numbers in one line."""
    return _NUMBERS.sub(_in_one_line, json.dumps(value, ensure_ascii=False, indent=2))


def _in_one_line(match: re.Match[str]) -> str:
    return re.sub(r",\n *", ", ", f"{match['open']}{match['inside']}{match['close']}")


def parse_json(text: str) -> Document:
    """Parse what `write_json` wrote; any other JSON value becomes a document of these fields."""
    try:
        value = json.loads(text)
        _check_depth(value)
        json.dumps(value, ensure_ascii=False).encode()  # half of a pair of surrogates is no text
        if isinstance(value, dict) and "pages" in value and "status" in value:
            return _document(value)
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


def _document(given: Mapping[str, object]) -> Document:
    return Document(
        pages=_all(_page, given["pages"]),
        source=_text(given.get("source", "")),
        model=_text(given.get("model", "")),
        task=_text(given.get("task", "")),
    )


def _page(value: object) -> Page:
    given = _object(value)
    return Page(
        number=int(_number(given["number"])),
        width=int(_number(given["width"])),
        height=int(_number(given["height"])),
        blocks=_all(_block, given.get("blocks", [])),
        status=_status(given["status"]),
    )


def _block(value: object) -> Block:
    given = _object(value)
    return Block(
        kind=_text(given["kind"]),
        text=_text(given.get("text", "")),
        written=_text(given.get("written", "")),
        box=_box(given["box"]) if "box" in given else None,
        tokens=_all(_token, given.get("tokens", [])),
        fields=given.get("fields"),  # type: ignore[arg-type]  # json.loads gives nothing but Json
        level=int(_number(given.get("level", 0))),
        confidence=_number(given["confidence"]) if "confidence" in given else None,
        children=_all(_block, given.get("children", [])),
        readings=_all(_reading, given.get("readings", [])),
        check=_check(given["check"]) if "check" in given else None,
    )


def _token(value: object) -> Token:
    given = _object(value)
    return Token(
        _text(given.get("text", "")),
        _number(given["probability"]),
        _all(_alternative, given.get("alternatives", [])),
        _box(given["box"]) if "box" in given else None,
    )


def _alternative(value: object) -> Alternative:
    given = _object(value)
    return Alternative(_text(given.get("text", "")), _number(given["probability"]))


def _reading(value: object) -> Reading:
    given = _object(value)
    written = _text(given.get("written", ""))
    return Reading(_text(given.get("text", "")), _number(given["confidence"]), written)


def _check(value: object) -> Check:
    given = _object(value)
    differences = _all(_difference, given.get("differences", []))
    return Check(_number(given["likeness"]), differences, _text(given.get("instead_of", "")))


def _difference(value: object) -> Difference:
    given = _object(value)
    return Difference(_text(given.get("text", "")), _box(given["box"]))


def _box(value: object) -> Box:
    given = _object(value)
    return Box(*(_number(given[name]) for name in ("x0", "y0", "x1", "y1")))


def _status(value: object) -> Status:
    given = _object(value)
    position = int(_number(given["position"])) if "position" in given else None
    return Status(_KINDS[_text(given["kind"])], position, _text(given.get("reason", "")))


def _all(parse: Callable[[object], T], values: object) -> tuple[T, ...]:
    if not isinstance(values, list):
        raise TypeError(f"a list was expected, not {type(values).__name__}")
    return tuple(parse(value) for value in values)


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"an object was expected, not {type(value).__name__}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, not {type(value).__name__}")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"a number was expected, not {type(value).__name__}")
    return value
