"""Where on the page a token was seen: from its attention over the image memory to cells, and to the strokes in them.

A token's box is that of its strokes, where they are looked for, and strokes that no token rests on were not read.
Shapes: N memory positions = special tokens, then rows x columns cells, row by row; S strokes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unrender.documents import Box
from unrender.images.measures import find_strokes, percentile
from unrender.images.opening import Placement
from unrender.models.config import CnnConfig, EncoderConfig, SwinConfig, ViTConfig

Attention = NDArray[np.float32]
Boxes = NDArray[np.int64]
_DARK = 0.8  # of the way from the darkest to the paper
_LOOKED = 0.3  # of the strongest cell: a weaker cell was not looked at
_SEEN = 0.05  # of a token's attention, on one of a stroke's cells: less, and no token read that stroke
LEFT_BEHIND = 2  # strokes: a single one may be the mark of a symbol that was read
_TALL = 75  # percentile: the height of a symbol
_SPECK = 0.3  # of a symbol's height: smaller strokes are dots, and may be dirt
_TOKENS_AT_LEAST, _TOKENS_PER_CELL = 24, 3  # more than any label of the training sets has for the cells it inks
_LONG, _ALL = 2, 0.9  # cells: a longer stroke may be one symbol around others, whoever looks at this share of it
_LEAST = 0.1  # affinity: a token and a stroke below have nothing to do with each other
_GAIN = 1e-6  # affinity: less is rounding
_PRESENT = 0.5  # of the strongest cell: weaker cells are not part of the place
_REACH = 2  # cells around the strongest one that may be


@dataclass(frozen=True)
class Grid:
    """How memory positions lie over the pixels of one batch."""

    rows: int
    columns: int
    cell_height: int
    cell_width: int
    special: int = 0  # leading positions that are no place

    @property
    def positions(self) -> int:
        return self.special + self.rows * self.columns

    def locate(self, attention: NDArray[np.float32], placement: Placement) -> Box | None:
        """Return the box of the cells that (N,) attention rests on; None when it rests nowhere."""
        if attention.shape != (self.positions,) or not attention.any():
            return None
        cells = attention[self.special :].reshape(self.rows, self.columns)
        row, column = divmod(int(cells.argmax()), self.columns)
        top, left = max(0, row - _REACH), max(0, column - _REACH)
        near = cells[top : row + _REACH + 1, left : column + _REACH + 1]
        rows, columns = np.nonzero(near >= _PRESENT * cells[row, column])
        x0, y0 = (left + columns.min()) * self.cell_width, (top + rows.min()) * self.cell_height
        x1, y1 = (left + columns.max() + 1) * self.cell_width, (top + rows.max() + 1) * self.cell_height
        return box_of(placement, float(x0), float(y0), float(x1), float(y1))


@dataclass(frozen=True)
class Ink:
    """The strokes of one view: their boxes (S, 4) in its pixels, and how much of each lies in each cell (S, N)."""

    boxes: Boxes
    amounts: NDArray[np.float32]
    grid: Grid
    numbers: NDArray[np.int64]  # (H, W): the stroke of each pixel, -1 for paper

    @classmethod
    def of(cls, pixels: NDArray[np.float32], grid: Grid) -> "Ink":
        """Find the strokes of (C, H, W) pixels, dark on light."""
        gray = pixels.mean(axis=0)
        boxes, numbers = find_strokes(gray < gray.min() + _DARK * (gray.max() - gray.min()))
        rows, columns = np.nonzero(numbers >= 0)
        cells = rows // grid.cell_height * grid.columns + columns // grid.cell_width
        amounts = np.zeros((len(boxes), grid.rows * grid.columns), dtype=np.float32)
        np.add.at(amounts, (numbers[rows, columns], cells), 1.0)
        return cls(boxes, amounts, grid, numbers)

    def trace(self, attentions: Sequence[Attention | None]) -> list[tuple[int, int, int, int] | None]:
        """Return the box of the symbol that each token rests on; None for a token that has no attention.

        Each stroke goes to the token that rests on it most; a token that gets none shares its best one. Symbols that
        touch are one stroke: those who share it have the ink that is nearest to where each of them looked.
        """
        affinities = np.array([self._affinities(attention) for attention in attentions])
        owned = self._in_order(attentions, affinities, pair(affinities))
        members = [[] if stroke is None else [stroke] for stroke in owned]
        free = sorted(set(range(len(self.boxes))).difference(*members))
        for stroke in (*free, *free[::-1]):  # the dot of an i, the other bar of an =, dots in a row from either side
            token = int(affinities[:, stroke].argmax()) if len(affinities) else 0
            mine = members[token] if members else []
            if stroke not in mine and affinities[token, stroke] > 0 and any(self._near(one, stroke) for one in mine):
                mine.append(stroke)
        shared = self._shared(attentions, affinities, members)
        boxes: list[tuple[int, int, int, int] | None] = []
        for token, (attention, row, strokes) in enumerate(zip(attentions, affinities, members, strict=True)):
            if attention is None or not row.size or row.max() <= 0:
                boxes.append(None)
            elif token in shared:
                corners = np.array([shared[token], *([self._bounds(strokes[1:])] if strokes[1:] else [])])
                (left, top), (right, bottom) = corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)
                boxes.append((int(left), int(top), int(right), int(bottom)))
            else:
                boxes.append(self._bounds(strokes) if strokes else self._part(int(row.argmax()), attention))
        return boxes

    def _in_order(
        self, attentions: Sequence[Attention | None], affinities: NDArray[np.float32], owned: list[int | None]
    ) -> list[int | None]:
        """Let neighbours exchange strokes that stand the wrong way round: without a brace between, text goes right."""
        ordered = list(owned)
        for token in range(1, len(ordered)):
            before, after = ordered[token - 1], ordered[token]
            if before is None or after is None or attentions[token - 1] is None or attentions[token] is None:
                continue
            middles = self.boxes[[before, after]][:, [0, 2]].sum(axis=1)
            exchanged = min(affinities[token - 1, after], affinities[token, before])
            if middles[0] > middles[1] and exchanged > 0:
                ordered[token - 1], ordered[token] = after, before
        return ordered

    def _shared(
        self,
        attentions: Sequence[Attention | None],
        affinities: NDArray[np.float32],
        members: Sequence[Sequence[int]],
    ) -> dict[int, tuple[int, int, int, int]]:
        """Return, by token, the box of its part of a stroke that several tokens rest on."""
        claims: dict[int, list[int]] = {}
        for token, (row, strokes) in enumerate(zip(affinities, members, strict=True)):
            attention = attentions[token]
            if attention is None or not row.size or row.max() <= 0:
                continue
            stroke = strokes[0] if strokes else int(row.argmax())
            if not self._spans(stroke, attention):
                claims.setdefault(stroke, []).append(token)
        boxes: dict[int, tuple[int, int, int, int]] = {}
        for stroke, tokens in claims.items():
            if len(tokens) > 1:
                rows, columns = np.nonzero(self.numbers == stroke)
                cells = rows // self.grid.cell_height * self.grid.columns + columns // self.grid.cell_width
                spots = np.stack([columns, rows], axis=1)
                looked = [attentions[token] for token in tokens]
                middles = [_middle(spots, one[self.grid.special :][cells]) for one in looked if one is not None]
                nearest = ((spots[:, None] - np.array(middles)) ** 2).sum(axis=2).argmin(axis=1)
                for index, token in enumerate(tokens):
                    mine = spots[nearest == index]
                    if len(mine):
                        (left, top), (right, bottom) = mine.min(axis=0).tolist(), (mine.max(axis=0) + 1).tolist()
                        boxes[token] = left, top, right, bottom
        return boxes

    def _spans(self, stroke: int, attention: Attention) -> bool:
        """Whether a token looked at all of a long stroke, as at a root or a bar that touches what it belongs to."""
        cells = attention[self.grid.special :]
        amounts = self.amounts[stroke]
        looked = float(amounts[cells >= _LOOKED * cells.max()].sum())
        long = int((self.boxes[stroke, 2:] - self.boxes[stroke, :2]).max()) > _LONG * self.grid.cell_width
        return long and looked > _ALL * float(amounts.sum())

    def unread(self, attentions: Sequence[Attention]) -> NDArray[np.bool_]:
        """Return which strokes (S,) no token looked at, specks left out."""
        if not len(self.boxes):
            return np.zeros(0, dtype=np.bool_)
        strongest = np.max([attention[self.grid.special :] for attention in attentions], axis=0)
        seen = np.where(self.amounts > 0, strongest, 0).max(axis=1) >= _SEEN
        return np.asarray(~seen & ~self.specks)

    @cached_property
    def specks(self) -> NDArray[np.bool_]:
        """Which strokes (S,) are dots, or may be dirt."""
        if not len(self.boxes):
            return np.zeros(0, dtype=np.bool_)
        sides = (self.boxes[:, 2:] - self.boxes[:, :2]).max(axis=1)
        return np.asarray(sides <= _SPECK * percentile(self.boxes[:, 3] - self.boxes[:, 1], _TALL))

    def _affinities(self, attention: Attention | None) -> NDArray[np.float32]:
        """Return how well a token and each stroke (S,) go together: how much of either falls on the other."""
        if attention is None or not len(self.boxes):
            return np.zeros(len(self.boxes), dtype=np.float32)
        cells = attention[self.grid.special :]
        ink = np.maximum(self.amounts.sum(axis=0), 1)
        looked = self.amounts @ (cells / ink) / max(1e-9, float(cells.sum()))
        covered = self.amounts @ (cells / max(1e-9, float(cells.max()))) / self.amounts.sum(axis=1)
        return np.asarray(np.sqrt(looked * covered), dtype=np.float32)

    def _near(self, one: int, other: int) -> bool:
        """Whether the gap between two strokes is smaller than the larger of them, or than a cell."""
        first, second = self.boxes[one], self.boxes[other]
        gap = max(0, int((np.maximum(first[:2], second[:2]) - np.minimum(first[2:], second[2:])).max()))
        return gap <= max(self.grid.cell_width, *(int((box[2:] - box[:2]).max()) for box in (first, second)))

    def _bounds(self, strokes: Sequence[int]) -> tuple[int, int, int, int]:
        boxes = self.boxes[list(strokes)]
        left, top = boxes[:, :2].min(axis=0)
        right, bottom = boxes[:, 2:].max(axis=0)
        return int(left), int(top), int(right), int(bottom)

    def _part(self, stroke: int, attention: Attention) -> tuple[int, int, int, int]:
        """Return the part of a stroke that a token looked at."""
        cells = attention[self.grid.special :].reshape(self.grid.rows, self.grid.columns)
        rows, columns = np.nonzero(cells >= _LOOKED * cells.max())
        left, top, right, bottom = self._bounds([stroke])
        return (
            max(left, int(columns.min()) * self.grid.cell_width),
            max(top, int(rows.min()) * self.grid.cell_height),
            min(right, int(columns.max() + 1) * self.grid.cell_width),
            min(bottom, int(rows.max() + 1) * self.grid.cell_height),
        )


def _middle(spots: NDArray[np.int64], attention: Attention) -> NDArray[np.float64]:
    """Return the middle of the pixels (P, 2) that were looked at most."""
    strongest = float(attention.max())
    weights = np.where(attention >= _LOOKED * strongest, attention, 0) if strongest > 0 else np.ones(len(spots))
    return np.asarray(np.average(spots, axis=0, weights=weights), dtype=np.float64)


def most_tokens(pixels: NDArray[np.float32], grid: Grid) -> int:
    """Return how many tokens the ink of (C, H, W) pixels can hold; a text that goes on beyond is in a loop."""
    gray = pixels.mean(axis=0)
    rows, columns = np.nonzero(gray < gray.min() + _DARK * (gray.max() - gray.min()))
    cells = np.bincount(rows // grid.cell_height * grid.columns + columns // grid.cell_width)
    return _TOKENS_AT_LEAST + _TOKENS_PER_CELL * int(np.count_nonzero(cells))


def pair(affinities: NDArray[np.float32]) -> list[int | None]:
    """Give tokens (T, S) one stroke each, the pairs that go together best first; None where none is left."""
    owned: list[int | None] = [None] * len(affinities)
    taken: set[int] = set()
    for flat in np.argsort(-affinities, axis=None):
        token, stroke = divmod(int(flat), affinities.shape[1])
        if affinities[token, stroke] < _LEAST:
            break
        if owned[token] is None and stroke not in taken:
            owned[token] = stroke
            taken.add(stroke)
    return _exchange(affinities, owned)


def _exchange(affinities: NDArray[np.float32], owned: list[int | None]) -> list[int | None]:
    """Let two tokens exchange their strokes wherever both together rest better on the other's."""
    tokens = [token for token, stroke in enumerate(owned) if stroke is not None]
    strokes = [stroke for stroke in owned if stroke is not None]
    for _ in tokens:
        mutual = affinities[np.ix_(tokens, strokes)]
        own = np.diagonal(mutual)
        gains = mutual + mutual.T - own[:, None] - own
        if gains.max(initial=0.0) <= _GAIN:
            break
        one, other = divmod(int(gains.argmax()), len(tokens))
        strokes[one], strokes[other] = strokes[other], strokes[one]
    given = dict(zip(tokens, strokes, strict=True))
    return [given.get(token) for token in range(len(owned))]


def box_of(placement: Placement, x0: float, y0: float, x1: float, y1: float) -> Box:
    """Return the box on the page of a box in the prepared pixels."""
    ends = [placement.to_image(x0, y0), placement.to_image(x1, y1)]
    across, down = sorted(x for x, _ in ends), sorted(y for _, y in ends)
    return Box(across[0], down[0], across[1], down[1])


def grid_of(encoder: EncoderConfig, height: int, width: int) -> Grid:
    """Return the grid that an encoder lays over pixels of this size."""
    if isinstance(encoder, ViTConfig):
        return _grid(height, width, encoder.patch, encoder.patch, special=2 if encoder.distilled else 1)
    if isinstance(encoder, SwinConfig):
        cell = encoder.patch << (len(encoder.depths) - 1)
        return _grid(height, width, cell, cell)
    return _grid(height, width, *_stride(encoder))


def _grid(height: int, width: int, cell_height: int, cell_width: int, special: int = 0) -> Grid:
    return Grid(-(-height // cell_height), -(-width // cell_width), cell_height, cell_width, special)


def _stride(encoder: CnnConfig) -> tuple[int, int]:
    down, across = 1, 1
    for height, width in encoder.strides:
        down, across = down * height, across * width
    return down, across
