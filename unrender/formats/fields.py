"""Extracted fields as lines of text, for notations that have no form for them."""

from collections.abc import Iterator, Mapping, Sequence

from unrender.documents import Json


def as_lines(fields: Json) -> list[str]:
    """Return `key: value` lines; an inner key follows its outer one after a dot."""
    return [f"{path}: {value}" if path else value for path, value in flatten(fields)]


def flatten(fields: Json, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, value) of every leaf; the items of a list share their path."""
    if isinstance(fields, Mapping):
        for key, value in fields.items():
            yield from flatten(value, f"{path}.{key}" if path else key)
    elif isinstance(fields, Sequence) and not isinstance(fields, str):
        for item in fields:
            yield from flatten(item, path)
    elif fields is not None:
        yield path, str(fields)
