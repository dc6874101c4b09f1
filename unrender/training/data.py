"""Training pictures and labels as flat arrays on disk, with an index of sizes and lengths.

A cache folder holds pixels.u8 (gray pictures end to end), tokens.i2 (label ids end to end), index.npy (where each
sample lies) and vocabulary.json (what the ids mean); boxes.i2, where there is one, says where in the picture each
token stands. It is written once and read through memory maps, so any number
of samples costs no memory.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from unrender.errors import DataError

Gray = NDArray[np.uint8]
Item = TypeVar("Item")
BOXES = "boxes.i2"
_INDEX_FILE, _NOTES = "index.npy", "notes.txt"
_INDEX = np.dtype(
    [("pixel", "i8"), ("height", "i4"), ("width", "i4"), ("token", "i8"), ("length", "i4"), ("group", "i4")]
)


@dataclass(frozen=True)
class Sample:
    """One picture and its label; `group` keeps together what must not be split (a paper, a writer).

    `boxes` (tokens, 4), where it is known, says where each token stands; all samples of a set have it, or none.
    """

    gray: Gray
    tokens: tuple[int, ...]
    group: int = 0
    boxes: NDArray[np.int16] | None = None


class CacheWriter:
    """Write samples one after the other; `close` makes the cache readable."""

    def __init__(self, folder: Path, vocabulary: Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._vocabulary = list(vocabulary)
        self._pixels = (folder / "pixels.u8").open("wb")
        self._tokens = (folder / "tokens.i2").open("wb")
        self._boxes: BinaryIO | None = None
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        self._pixel, self._token = 0, 0

    def add(self, sample: Sample) -> None:
        height, width = sample.gray.shape
        self._rows.append((self._pixel, height, width, self._token, len(sample.tokens), sample.group))
        self._pixels.write(sample.gray.tobytes())
        self._tokens.write(np.asarray(sample.tokens, dtype="<i2").tobytes())
        if sample.boxes is not None:
            self._boxes = self._boxes or (self._folder / BOXES).open("wb")
            self._boxes.write(sample.boxes.astype("<i2").tobytes())
        self._pixel += height * width
        self._token += len(sample.tokens)

    def __len__(self) -> int:
        return len(self._rows)

    def close(self) -> None:
        self._pixels.close()
        self._tokens.close()
        if self._boxes is not None:
            self._boxes.close()
        (self._folder / "vocabulary.json").write_text(json.dumps(self._vocabulary))
        np.save(self._folder / _INDEX_FILE, np.array(self._rows, dtype=_INDEX))


class Cache:
    """Read what `CacheWriter` wrote."""

    def __init__(self, folder: Path) -> None:
        try:
            self.index = np.load(folder / _INDEX_FILE)
            self.vocabulary: list[str] = json.loads((folder / "vocabulary.json").read_text())
            self._pixels = _map(folder / "pixels.u8", "u1")
            self._tokens = _map(folder / "tokens.i2", "<i2")  # none, where all labels are empty
            places = folder / BOXES
            self._boxes = _map(places, "<i2").reshape(-1, 4) if places.exists() else None
        except (OSError, ValueError) as error:
            raise DataError(f"{folder} is not a prepared dataset: {error}; make it with `unrender data`") from error

    def __len__(self) -> int:
        return len(self.index)

    def gray(self, number: int) -> Gray:
        row = self.index[number]
        height, width = int(row["height"]), int(row["width"])
        start = int(row["pixel"])
        return np.asarray(self._pixels[start : start + height * width]).reshape(height, width)

    def tokens(self, number: int) -> NDArray[np.int64]:
        row = self.index[number]
        start = int(row["token"])
        return np.asarray(self._tokens[start : start + int(row["length"])], dtype=np.int64)

    def boxes(self, number: int) -> NDArray[np.int16]:
        """Return left, top, right, bottom of each token in its picture, -1 where that is not known: (length, 4)."""
        row = self.index[number]
        start, end = int(row["token"]), int(row["token"]) + int(row["length"])
        if self._boxes is None:
            return np.full((end - start, 4), -1, dtype=np.int16)
        return np.asarray(self._boxes[start:end], dtype=np.int16)

    def text(self, number: int) -> str:
        return " ".join(self.vocabulary[token] for token in self.tokens(number))


def _map(path: Path, kind: str) -> NDArray[np.generic]:
    """Map a file of numbers into memory; an empty one cannot be."""
    return np.memmap(path, dtype=kind, mode="r") if path.stat().st_size else np.zeros(0, dtype=kind)


def write_cache(folder: Path, vocabulary: Sequence[str], samples: Iterable[Sample]) -> int:
    """Write all samples; return how many there were."""
    writer = CacheWriter(folder, vocabulary)
    for sample in samples:
        writer.add(sample)
    writer.close()
    return len(writer)


def write_part(whole: Path, part: Path, wanted: Sequence[str]) -> int:
    """Make a set of the samples of another whose labels hold one of these tokens; their pictures are not copied."""
    cache = Cache(whole)
    ids = [number for number, token in enumerate(cache.vocabulary) if token in wanted]
    holding = np.array([bool(np.isin(cache.tokens(number), ids).any()) for number in range(len(cache))], dtype=bool)
    part.mkdir(parents=True, exist_ok=True)
    for path in whole.iterdir():
        if path.name not in (_INDEX_FILE, _NOTES):
            (part / path.name).unlink(missing_ok=True)
            (part / path.name).symlink_to(path.resolve())
    np.save(part / _INDEX_FILE, cache.index[holding])
    return int(holding.sum())


def watched(items: Iterable[Item], what: str, total: int | None = None) -> Iterator[Item]:
    """Show on stderr how far a step of making data is."""
    size = len(items) if total is None and isinstance(items, Sequence) else total
    with Progress(console=Console(stderr=True)) as bar:
        yield from bar.track(items, total=size, description=what)
