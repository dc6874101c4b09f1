"""Folders of pictures with a list of truths: labels.tsv, and the metadata.jsonl of Hugging Face's imagefolder."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from unrender.documents import Json
from unrender.errors import DataError, NotationError
from unrender.evaluation.datasets.example import Dataset, Example
from unrender.formats.donut import write_tags

LABELS = "labels.tsv"
METADATA = "metadata.jsonl"
_FILE = "file_name"
_TEXT = "text"
_GROUND_TRUTH = "ground_truth"  # Donut's column: JSON in a string, with the fields under gt_parse


def open_labels(listing: Path) -> Dataset:
    """Open a labels.tsv: picture, tab, truth, a line each."""
    examples = []
    for place, line in read_lines(listing):
        columns = line.split("\t")
        if len(columns) != 2:
            raise DataError(
                f"{place}: expected a picture and its truth with one tab between, found {len(columns)} columns."
            )
        examples.append(_example(listing.parent, columns[0], " ".join(columns[1].split()), place))
    return Dataset(listing, "labels", _some(examples, listing))


def open_imagefolder(listing: Path, column: str | None = None) -> Dataset:
    """Open a metadata.jsonl; the truth is in `column`, else in `text`, else in Donut's `ground_truth`."""
    examples = []
    for place, line in read_lines(listing):
        row = _parse(line, place)
        if not isinstance(row, Mapping):
            raise DataError(f"{place}: expected a JSON object, found {line[:40]!r}.")
        name = row.get(_FILE)
        if not isinstance(name, str):
            raise DataError(f"{place}: there is no column {_FILE!r}; there are {', '.join(row) or 'none'}.")
        examples.append(_example(listing.parent, name, _truth(row, column, place), place))
    return Dataset(listing, "imagefolder", _some(examples, listing))


def read_lines(path: Path, encoding: str = "utf-8") -> Iterator[tuple[str, str]]:
    """Yield the lines that are not empty, each with its place for errors."""
    try:
        with path.open(encoding=encoding, newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield f"{path}, line {number}", line.rstrip("\r\n")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not {encoding} text ({error.reason} at byte {error.start}).") from error


def _example(folder: Path, name: str, target: str, place: str) -> Example:
    path = folder / name
    if not path.is_file():
        raise DataError(f"{place}: the picture {path} is missing.")
    return Example(path, target, name)


def _some(examples: list[Example], listing: Path) -> tuple[Example, ...]:
    if not examples:
        raise DataError(f"{listing}: there is no example in it.")
    return tuple(examples)


def _truth(row: Mapping[str, Json], column: str | None, place: str) -> str:
    wanted = column or next((name for name in (_TEXT, _GROUND_TRUTH) if name in row), _TEXT)
    if wanted not in row:
        others = ", ".join(name for name in row if name != _FILE) or "none"
        raise DataError(f"{place}: there is no column {wanted!r} for the truth; there are {others}.")
    value = row[wanted]
    if wanted == _GROUND_TRUTH and isinstance(value, str):
        value = _donut(_parse(value, place), place)
    if isinstance(value, str):
        return value.strip()
    try:
        return write_tags(value)
    except NotationError as error:
        raise DataError(f"{place}: {error}") from error


def _donut(truth: Json, place: str) -> Json:
    """Return what Donut is to write; of several accepted answers the first."""
    if isinstance(truth, Mapping):
        if "gt_parse" in truth:
            return truth["gt_parse"]
        several = truth.get("gt_parses")
        if isinstance(several, list) and several:
            first: Json = several[0]
            return first
    raise DataError(f"{place}: the ground truth has neither gt_parse nor gt_parses.")


def _parse(text: str, place: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: this is not JSON ({error}).") from error
    return value
