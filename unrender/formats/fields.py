"""Extracted fields as lines of text, for notations that have no form for them."""

from collections.abc import Iterator, Mapping, Sequence

from unrender.documents import Json

_OF_A_VALUE = frozenset({"label", "text", "confidence", "box"})  # what is known of one value that was read


def as_lines(fields: Json) -> list[str]:
    """Return `key: value` lines; an inner key follows its outer one after a dot."""
    return [f"{path}: {value}" if path else value for path, value in flatten(fields)]


def flatten(fields: Json, path: str = "", *, absent: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield (path, value) of every leaf; the items of a list share their path.

    A value that carries its confidence and box counts as its text alone. What is null is left out, or is `absent`.
    """
    if isinstance(fields, Mapping) and "text" in fields and len(fields) > 1 and fields.keys() <= _OF_A_VALUE:
        yield str(fields.get("label", path)), str(fields["text"])
    elif isinstance(fields, Mapping):
        for key, value in fields.items():
            yield from flatten(value, f"{path}.{key}" if path else key, absent=absent)
    elif isinstance(fields, Sequence) and not isinstance(fields, str):
        for item in fields:
            yield from flatten(item, path, absent=absent)
    elif fields is not None:
        yield path, str(fields)
    elif absent is not None:
        yield path, absent
