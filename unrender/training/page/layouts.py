"""Whole pages at low resolution, with a label for every cell, and the boxes of columns, blocks and lines.

A layout folder holds gray.u8 and labels.u8 (pages end to end), index.npy (where each lies) and blocks.jsonl: the
blocks of each page in reading order, with kind, column and boxes in cells.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from unrender.errors import DataError
from unrender.images.pixels import shrink
from unrender.models.page import CELLS_PER_INCH, KINDS
from unrender.training.data import Gray
from unrender.training.page.manuscript import Kind
from unrender.training.page.rasters import Warp
from unrender.training.page.recovery import Page
from unrender.typesetting.dvi import POINTS_PER_INCH, Box

_IN_CELLS = {Kind.ITEM: "text", Kind.TITLE: "heading", Kind.FORMULA: "display formula"}  # what `KINDS` calls otherwise
_WHOLE = frozenset(
    {Kind.TABLE, Kind.FIGURE, Kind.CODE, Kind.FORMULA}
)  # blocks that are labelled as one rectangle, not line by line
_INDEX = np.dtype([("start", "i8"), ("height", "i4"), ("width", "i4"), ("group", "i4")])


@dataclass(frozen=True)
class BlockPlace:
    """Where a block stands, in cells; the order of blocks is the reading order."""

    kind: str
    column: int
    box: Box
    lines: tuple[Box, ...]
    continued: bool
    continues: bool


@dataclass(frozen=True)
class Layout:
    """A page of (rows, columns) cells: how dark it is, and the number in `KINDS` of what stands there."""

    gray: Gray
    labels: Gray
    blocks: tuple[BlockPlace, ...]
    group: int = 0


def make_layout(page: Page, gray: Gray, warp: Warp) -> Layout:
    """Label the cells of a page whose picture was moved by `warp` (points to pixels of the picture)."""
    rows, columns = gray.shape
    size = (page.style.width / POINTS_PER_INCH * CELLS_PER_INCH, page.style.height / POINTS_PER_INCH * CELLS_PER_INCH)
    width, height = round(size[0]), round(size[1])
    small = shrink(gray, width, height)
    to_cells = warp.scaled(width / columns, height / rows)
    labels = np.zeros((height, width), dtype=np.uint8)
    places: list[BlockPlace] = []
    for piece in page.pieces:
        kind = _IN_CELLS.get(piece.block.kind, piece.block.kind)
        whole = piece.block.kind in _WHOLE or not piece.lines
        for box in [piece.box] if whole else [line.box for line in piece.lines]:
            corners = np.rint(to_cells.corners(box) - 0.5).astype(np.int32)
            cv2.fillConvexPoly(labels, corners, KINDS.index(kind))
        lines = tuple(to_cells.box(line.box) for line in piece.lines)
        place = to_cells.box(piece.box)
        places.append(BlockPlace(kind, piece.column, place, lines, piece.continued, piece.continues))
    return Layout(small, labels, tuple(places), page.group)


class LayoutWriter:
    """Write layouts one after the other; `close` makes the folder readable."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._gray, self._labels = (folder / "gray.u8").open("wb"), (folder / "labels.u8").open("wb")
        self._blocks = (folder / "blocks.jsonl").open("w", encoding="utf-8")
        self._rows: list[tuple[int, int, int, int]] = []
        self._start = 0

    def add(self, layout: Layout) -> None:
        height, width = layout.gray.shape
        self._rows.append((self._start, height, width, layout.group))
        self._gray.write(layout.gray.tobytes())
        self._labels.write(layout.labels.tobytes())
        self._blocks.write(json.dumps([_record(block) for block in layout.blocks]) + "\n")
        self._start += height * width

    def close(self) -> None:
        for file in (self._gray, self._labels, self._blocks):
            file.close()
        (self._folder / "kinds.json").write_text(json.dumps(KINDS))
        np.save(self._folder / "index.npy", np.array(self._rows, dtype=_INDEX))


class Layouts:
    """Read what `LayoutWriter` wrote."""

    def __init__(self, folder: Path) -> None:
        try:
            self.index = np.load(folder / "index.npy")
            self._gray = np.memmap(folder / "gray.u8", dtype=np.uint8, mode="r")
            self._labels = np.memmap(folder / "labels.u8", dtype=np.uint8, mode="r")
            self._blocks = (folder / "blocks.jsonl").read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise DataError(f"{folder} holds no layouts: {error}; make them with `unrender data page`") from error

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, number: int) -> Layout:
        gray, labels = self._part(self._gray, number), self._part(self._labels, number)
        return Layout(gray, labels, self.blocks(number), int(self.index[number]["group"]))

    def blocks(self, number: int) -> tuple[BlockPlace, ...]:
        """Return the blocks of a page in reading order."""
        return tuple(
            BlockPlace(
                str(record["kind"]), int(record["column"]), _box(record["box"]), tuple(map(_box, record["lines"])),
                bool(record["continued"]), bool(record["continues"]),
            )
            for record in json.loads(self._blocks[number])
        )  # fmt: skip

    def _part(self, array: NDArray[np.uint8], number: int) -> Gray:
        row = self.index[number]
        start, height, width = int(row["start"]), int(row["height"]), int(row["width"])
        return np.asarray(array[start : start + height * width]).reshape(height, width)


def _box(sides: Sequence[float]) -> Box:
    left, top, right, bottom = sides
    return left, top, right, bottom


def _record(block: BlockPlace) -> dict[str, object]:
    return {
        "kind": block.kind,
        "column": block.column,
        "box": [round(side, 1) for side in block.box],
        "lines": [[round(side, 1) for side in line] for line in block.lines],
        "continued": block.continued,
        "continues": block.continues,
    }
