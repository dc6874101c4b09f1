"""Pictures with their truths, and folders of them: the truths stand in a list or beside each, one function a format."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from unrender import latex
from unrender.documents import Box, Json
from unrender.errors import DataError, ImageError, LatexError, NotationError
from unrender.formats.json import has_tags, parse_tags, write_tags
from unrender.images.pen_strokes import InkFile, parse_ink
from unrender.words import Line, WordPage, order_lines, split_lines

INKML = ".inkml"  # files of pen strokes
Kind = Literal["labels", "imagefolder", "im2latex", "inkml", "sroie", "pages"]
LABELS = "labels.tsv"
METADATA = "metadata.jsonl"
_FILE = "file_name"
_TEXT = "text"
_GROUND_TRUTH = "ground_truth"  # Donut's column: JSON in a string, with the fields under gt_parse
_MARKDOWN = ".md"
_SOURCES = (".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
_HELD_OUT = 5  # one receipt in so many is kept for selection
_GLUED = re.compile(r"\\([lg]t)(?=[a-zA-Z])(?!e|eq)")  # \ltN stands for \lt N in some truths
_PICTURES = (".jpg", ".jpeg", ".png")


@dataclass(frozen=True)
class Example:
    """A picture on disk, what is known of it, and the name it goes by in its dataset.

    `target` is what a model should write: the text or, where fields are known, these as Donut's tags.
    """

    path: Path
    target: str
    name: str
    words: WordPage | None = None  # with their boxes

    @property
    def text(self) -> str | None:
        """The text in the picture; None where only fields are known."""
        if self.words is not None:
            return self.words.text
        return None if has_tags(self.target) else self.target

    @property
    def fields(self) -> Json:
        """The fields; None where only text is known."""
        return parse_tags(self.target) if has_tags(self.target) else None

    @property
    def record(self) -> dict[str, str]:
        """The fields that have one text each, by name."""
        return as_record(self.fields)

    @property
    def image(self) -> Path:
        """The picture as a Reader takes it: the file itself, also of pen strokes, which it draws."""
        return self.path


def as_record(fields: Json) -> dict[str, str]:
    """Keep the fields that have one text each."""
    values = fields if isinstance(fields, Mapping) else {}
    return {name: str(value) for name, value in values.items() if isinstance(value, str | int | float)}


@dataclass(frozen=True)
class Dataset:
    """Examples of one format; `notes` are sentences about what was left out."""

    path: Path
    kind: Kind
    examples: tuple[Example, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.examples)

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)

    def sample(self, limit: int, rng: np.random.Generator) -> "Dataset":
        """Draw a random subset without replacement, in the order of the whole (seed 004, 5.2)."""
        if limit >= len(self.examples):
            return self
        picked = np.sort(rng.choice(len(self.examples), size=limit, replace=False))
        return replace(self, examples=tuple(self.examples[index] for index in picked))


def read_ink(path: Path) -> InkFile:
    """Read the strokes of a file, its truth and its symbols."""
    try:
        return parse_ink(path.read_bytes(), str(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from error
    except ImageError as error:
        raise DataError(str(error)) from error


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


def has_pages(folder: Path) -> bool:
    """Say whether a folder holds a page with its Markdown."""
    return any(_source(path) is not None for path in folder.glob(f"*{_MARKDOWN}"))


def open_pages(folder: Path) -> Dataset:
    """Open a folder of pages; Markdown without a picture or PDF of its name is left alone."""
    examples = []
    for path in sorted(folder.glob(f"*{_MARKDOWN}")):
        source = _source(path)
        if source is not None:
            try:
                examples.append(Example(source, path.read_text(encoding="utf-8").strip(), source.name))
            except (OSError, UnicodeDecodeError) as error:
                raise DataError(f"{path} cannot be read as text ({error}).") from error
    if not examples:
        raise DataError(f"{folder} has no pages; it needs a picture or PDF beside each NAME.md.")
    return Dataset(folder, "pages", tuple(examples))


def _source(markdown: Path) -> Path | None:
    return next((path for ending in _SOURCES if (path := markdown.with_suffix(ending)).is_file()), None)


def is_sroie(folder: Path) -> bool:
    """Say whether a folder holds receipts."""
    first = next(iter(sorted(folder.glob("*.json"))), None) if folder.is_dir() else None
    return first is not None and '"fields"' in first.read_text(encoding="utf-8", errors="replace")[:200]


def open_sroie(folder: Path, held_out: bool | None = None) -> Dataset:
    """Open a folder of receipts: all of them, the held-out fifth, or the rest."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise DataError(f"{folder} has no receipts; it needs NAME.json beside NAME.jpg, as SROIE gives them")
    kept = [path for path in paths if held_out is None or is_held_out(path.stem) == held_out]
    return Dataset(folder, "sroie", tuple(_read_receipt(path) for path in kept))


def is_held_out(name: str) -> bool:
    """Say whether a receipt belongs to the fifth that is never trained on; it depends on the name alone."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % _HELD_OUT == 0


def _read_receipt(path: Path) -> Example:
    """Read one receipt with its given lines."""
    image = next((path.with_suffix(end) for end in _PICTURES if path.with_suffix(end).is_file()), None)
    if image is None:
        raise DataError(f"{path} has no picture beside it ({path.stem}.jpg or .png)")
    with Image.open(image) as picture:
        width, height = picture.size
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        given = values.get("lines")
        lines = [Line(str(line["text"]), Box(*map(float, line["box"]))) for line in given or ()]
        target = write_tags({str(name): str(text or "") for name, text in values["fields"].items()})
    except (ValueError, KeyError, TypeError, AttributeError, NotationError) as error:
        raise DataError(f"{path} is not a receipt with fields and lines: {error}") from error
    kept = [line for line in lines if line.text.strip()]
    page = None if given is None else WordPage(width, height, tuple(split_lines(order_lines(kept))))
    return Example(image, target, path.stem, page)


def open_inkml(path: Path) -> Dataset:
    """Open one file, or all those under a folder; what has no truth or cannot be read is left out, and noted."""
    files = [path] if path.is_file() else sorted(path.rglob(f"*{INKML}"))
    base = path.parent if path.is_file() else path
    examples: list[Example] = []
    unreadable: list[DataError] = []
    for file in files:
        try:
            truth = read_ink(file).truth
            if truth:
                examples.append(Example(file, _canonical(truth, file), str(file.relative_to(base))))
        except DataError as error:
            unreadable.append(error)
    if not examples:
        raise unreadable[0] if unreadable else DataError(f"{path}: there is no InkML file with a truth in it.")
    without = len(files) - len(examples) - len(unreadable)
    notes = [f"{without:,} of {len(files):,} files have no truth and are left out."] if without else []
    notes += [f"{len(unreadable):,} of {len(files):,} files are left out: {unreadable[0]}"] if unreadable else []
    return Dataset(path, "inkml", tuple(examples), tuple(notes))


def _canonical(truth: str, path: Path) -> str:
    try:
        return latex.normalise(_GLUED.sub(r"\\\1 ", truth), unify=True)
    except LatexError as error:
        raise DataError(f"{path}: the truth {truth!r} is not LaTeX that can be parsed: {error}.") from error
