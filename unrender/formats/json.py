"""JSON: extracted fields by themselves, or the whole document; and Donut's tags, which are JSON in disguise.

A value is `<s_key>value</s_key>`, list items are parted by `<sep/>`, categories are `<name/>` (seed 000). Tags are read
in one pass over the text, so hostile input costs no more than other input.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from types import UnionType
from typing import Literal, TypeGuard, get_args, get_origin, get_type_hints

from unrender.documents import Block, Document, Json, to_dict
from unrender.errors import NotationError
from unrender.formats.blocks import has_fields, one_page

_JSON_TYPES = {str: str, bool: bool, int: int | float, float: int | float}
# A list or an object of nothing but numbers; line ends within texts are escaped, so that no text looks like one
_ENTRY = r'(?:"\w+": )?-?\d[\d.e+-]*'
_NUMBERS = re.compile(rf"(?P<open>[\[{{]) *\n *(?P<inside>{_ENTRY}(?:,\n *{_ENTRY})*)\n *(?P<close>[\]}}])")
_MAX_DEPTH = 100
_TOO_DEEP = f"The JSON is nested more than {_MAX_DEPTH} deep."
SEPARATOR = "<sep/>"
PLAIN_TEXT_KEY = "text_sequence"  # the one key whose value is written without tags
MAX_DEPTH = 100  # tags nested deeper are left out

_TAG = re.compile(r"<(?P<close>/?)s_(?P<key>[^<>]+)>|<sep/>")
_CATEGORY = re.compile(r"<([^<>/\s]+)/>")


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


@dataclass
class _Open:
    """A tag that has not been closed yet: the list items before the present one, and the present one's parts."""

    key: str
    items: list[Json] = field(default_factory=list)
    fields: dict[str, list[Json]] = field(default_factory=dict)  # every value of each key
    text: list[str] = field(default_factory=list)

    @property
    def is_leaf(self) -> bool:
        """Whether the present item is text: then no tag belongs in it."""
        return bool(self.text) and not self.fields

    def hear(self, text: str) -> None:
        if text.strip():
            self.text.append(text)

    def part(self) -> None:
        """End the present list item."""
        self.items.append(self._present())
        self.fields, self.text = {}, []

    def value(self) -> Json:
        present = self._present()
        if not self.items:
            return present
        if present == "" and all(isinstance(item, Mapping) for item in self.items):
            return self.items[0] if len(self.items) == 1 else self.items
        return [*self.items, present]

    def _present(self) -> Json:
        if self.fields:
            return {key: values[0] if len(values) == 1 else _joined(values) for key, values in self.fields.items()}
        return _leaf("".join(self.text))


def parse_tags(text: str) -> Json:
    """Turn Donut's tags into JSON; text without any tag becomes {"text_sequence": text}.

    A tag may be nested in one of the same name, and a key that comes twice has a list of both. A leaf whose end is
    missing ends where the next tag begins; other tags without end last to the end of what encloses them. A list of
    one is its element.
    """
    stack = [_Open("")]
    position, found = 0, False
    for match in _TAG.finditer(text):
        stack[-1].hear(text[position : match.start()])
        position = match.end()
        if match["key"] is None:
            stack[-1].part()
        elif match["close"]:
            _close(stack, match["key"])
        else:
            found = True
            if stack[-1].is_leaf and len(stack) > 1:
                _pop(stack)
            if len(stack) <= MAX_DEPTH:
                stack.append(_Open(match["key"]))
    if not found:
        return {PLAIN_TEXT_KEY: text.strip()}
    if len(stack) > 1:
        stack[-1].hear(text[position:])
    while len(stack) > 1:
        _pop(stack)
    return stack[0].value()


def has_tags(text: str) -> bool:
    """Say whether a text holds any of Donut's tags."""
    return _TAG.search(text) is not None


def write_tags(value: Json) -> str:
    """Turn JSON into Donut's tags; a NotationError where they cannot express it.

    Numbers and truth values become their text, and nothing (None, {}, []) becomes empty text.
    """

    def write(inner: Json) -> str:
        if isinstance(inner, Mapping):
            return "".join(f"<s_{_key(key)}>{write(part)}</s_{key}>" for key, part in inner.items())
        if not _is_list(inner):
            return _scalar(inner)
        if any(_is_list(item) for item in inner):
            raise NotationError("Donut's tags cannot express a list directly inside a list; give the inner one a key.")
        return SEPARATOR.join(write(item) for item in inner)

    if isinstance(value, Mapping) and set(value) == {PLAIN_TEXT_KEY}:
        return write(value[PLAIN_TEXT_KEY])
    return write(value)


def _close(stack: list[_Open], key: str) -> None:
    """Close the nearest open tag of this name and all that was left open in it; without one, do nothing."""
    if any(opened.key == key for opened in stack[1:]):
        while _pop(stack) != key:
            pass


def _pop(stack: list[_Open]) -> str:
    closed = stack.pop()
    stack[-1].fields.setdefault(closed.key, []).append(closed.value())
    return closed.key


def _joined(values: list[Json]) -> list[Json]:
    return [item for value in values for item in (value if _is_list(value) else [value])]


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _leaf(text: str) -> str:
    stripped = text.strip()
    category = _CATEGORY.fullmatch(stripped)
    return category[1] if category else stripped


def _key(key: str) -> str:
    if not key or set(key) & set("<>"):
        raise NotationError(f"Donut's tags cannot express the key {key!r}; it must not be empty or contain < or >.")
    return key


def _scalar(value: Json) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)
    if _TAG.search(text) or _CATEGORY.fullmatch(text.strip()):
        raise NotationError(f"Donut's tags cannot express the value {text[:40]!r}, which holds a tag itself.")
    return text
