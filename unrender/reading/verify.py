"""Checking by rendering: a reading is typeset and laid over the picture, symbol by symbol.

Fonts differ in widths and weights, so pixels are not compared one by one. Both pictures are brought to the same
height; then their columns are paired from left to right, as sounds are in speech (dynamic time warping), so that
either may be stretched. What cannot be paired well is where they differ. Shapes: R rows, N and M columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from unrender.documents import Box, Difference, Token
from unrender.images.measures import find_runs, symbol_height
from unrender.typesetting.pictures import Draw, Gray

Columns = NDArray[np.float32]  # (R, N) from 0, paper, to 1, ink
MOST = 6  # readings that are typeset
_SYMBOL = 10.0  # rows of a symbol
_ROWS, _COLUMNS = (8, 90), 900  # at least and at most; at most
_INK = 0.4  # of the darkest: darker is part of the formula
_DARKEST = 99.9  # percentile
_BLUR, _FRAME = 0.9, 2
_WEIGHT = (0.4, 2.5)  # how much bolder or lighter another font may be
_BOLDNESS = 0.8  # the share of that, as a power, that is forgiven
_SHAPE, _AMOUNT = 1.5, 0.5  # what ink in other rows costs, and too much or too little of it
_BELIEF = 4.0  # what a nat of a reading's own log-probability is worth
_CHANGE, _CHANGE_SHARE = 4.0, 0.2  # what another reading must be better by: so much, and this share of the cost
_DIFFERENT, _UNLIKE = 0.3, 2.5  # of the ink around a column, and times the formula's own share: another symbol


@dataclass(frozen=True)
class Place:
    """A part of the picture: left, top, right, bottom."""

    left: float
    top: float
    right: float
    bottom: float

    def on(self, tokens: Sequence[Token], factor: float) -> Difference:
        """Return the place in a picture `factor` times as large, and the token that has the largest part of it."""
        box = Box(self.left * factor, self.top * factor, self.right * factor, self.bottom * factor)
        shares = [(_shared(box, token.box), token.text.strip()) for token in tokens if token.box is not None]
        share, text = max(shares, default=(0.0, ""))
        return Difference(text if share > 0 else "", box)


@dataclass(frozen=True)
class Verdict:
    """Which reading looks most like the picture; how much it does, from 0 to 1; and where it does not."""

    chosen: int
    likeness: float
    places: tuple[Place, ...] = ()


def verify(picture: Gray, readings: Sequence[tuple[str, float]], draws: Sequence[Draw]) -> Verdict | None:
    """Typeset readings, each with its log-probability, the first the one to be believed; None: it cannot be drawn.

    It is drawn in every way there is, the others in the way that suits the picture best. Another one is taken if it
    fits so much better that this outweighs how much less likely the model found it.
    """
    seen, rows, corner, scale = _columns_of(picture, None)

    def compare(draw: Draw, some: Sequence[tuple[str, float]]) -> list[Pairing | None]:
        drawings = draw([text for text, _ in some])
        return [None if one is None else Pairing.of(seen, _columns_of(one, rows)[0]) for one in drawings]

    tried = [(fit, draw) for draw in draws for fit in compare(draw, readings[:1]) if fit is not None]
    if not tried:
        return None
    first, suited = min(tried, key=lambda each: each[0].cost / each[0].ink)
    fits = {0: first}
    fits |= {number: fit for number, fit in enumerate(compare(suited, readings[1:MOST]), start=1) if fit is not None}
    reluctance = _CHANGE + _CHANGE_SHARE * first.cost
    costs = {
        number: fit.cost - _BELIEF * readings[number][1] + reluctance * (number > 0) for number, fit in fits.items()
    }
    chosen = min(costs, key=lambda number: costs[number])
    fit = fits[chosen]
    places = tuple(
        Place(
            corner[0] + place.left / scale,
            corner[1] + place.top / scale,
            corner[0] + place.right / scale,
            corner[1] + place.bottom / scale,
        )
        for place in fit.places()
    )
    return Verdict(chosen, max(0.0, 1.0 - fit.cost / fit.ink), places)


@dataclass(frozen=True)
class Pairing:
    """Columns of a picture and of a drawing, paired at the least cost."""

    seen: Columns
    drawn: Columns
    pairs: NDArray[np.int64]  # (P, 2): column of either
    costs: NDArray[np.float64]  # (P,)
    ink: float  # of both together

    @classmethod
    def of(cls, seen: Columns, drawn: Columns) -> "Pairing":
        """Pair (R, N) with (R, M)."""
        amounts, others = seen.sum(axis=0), drawn.sum(axis=0)
        others = others * float(np.clip(amounts.sum() / max(1e-6, others.sum()), *_WEIGHT)) ** _BOLDNESS
        unlike = 1 - _directions(seen).T @ _directions(drawn)
        costs = _SHAPE * np.minimum(amounts[:, None], others) * unlike + _AMOUNT * np.abs(amounts[:, None] - others)
        pairs, paid = _cheapest_path(costs)
        return cls(seen, drawn, pairs, paid, float(amounts.sum() + others.sum()))

    @property
    def cost(self) -> float:
        return float(self.costs.sum())

    def strangeness(self) -> NDArray[np.float64]:
        """Return for each column of the picture what share of the ink around it cannot be paired."""
        width = self.seen.shape[1]
        paid = np.bincount(self.pairs[:, 0], self.costs, width)
        drawn = np.bincount(self.pairs[:, 0], self.drawn.sum(axis=0)[self.pairs[:, 1]], width)
        window = np.ones(max(1, min(round(_SYMBOL), width)))
        ink = np.convolve(self.seen.sum(axis=0) + drawn, window, mode="same")
        return np.convolve(paid, window, mode="same") / np.maximum(ink, _SYMBOL / 2)

    def places(self) -> list[Place]:
        """Return where the drawing differs, as parts of the columns: left, top, right, bottom."""
        strange = self.strangeness() > max(_DIFFERENT, _UNLIKE * self.cost / self.ink)
        found = []
        for left, right in find_runs(strange):
            mine = self.pairs[(self.pairs[:, 0] >= left) & (self.pairs[:, 0] < right)]
            off = np.abs(self.seen[:, mine[:, 0]] - self.drawn[:, mine[:, 1]]).sum(axis=1)
            rows = np.flatnonzero(off > off.max() / 2)
            found.append(Place(left - _FRAME, int(rows[0]) - _FRAME, right - _FRAME, int(rows[-1]) + 1 - _FRAME))
        return found


def _directions(columns: Columns) -> Columns:
    lengths = np.linalg.norm(columns, axis=0)
    return np.asarray(columns / np.maximum(1e-6, lengths), dtype=np.float32)


def _cheapest_path(costs: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs (P, 2) of the cheapest way through (N, M) costs, and what each costs.

    A step in both counts twice, so that no way is cheaper for being shorter.
    """
    height, width = costs.shape
    total = np.full((height + 1, width + 1), np.inf)
    total[0, 0] = 0.0
    for diagonal in range(2, height + width + 1):
        row = np.arange(max(1, diagonal - width), min(height, diagonal - 1) + 1)
        column = diagonal - row
        cost = costs[row - 1, column - 1]
        aside = np.minimum(total[row - 1, column], total[row, column - 1]) + cost
        total[row, column] = np.minimum(total[row - 1, column - 1] + 2 * cost, aside)
    pairs, row, column = list[tuple[int, int]](), height, width
    paid = list[float]()
    while row and column:
        cost = float(costs[row - 1, column - 1])
        pairs.append((row - 1, column - 1))
        before = (
            (total[row - 1, column - 1] + 2 * cost, row - 1, column - 1),
            (total[row - 1, column] + cost, row - 1, column),
            (total[row, column - 1] + cost, row, column - 1),
        )
        here = total[row, column]
        _, row, column = min(before)
        paid.append(float(here - total[row, column]))
    return np.array(pairs[::-1], dtype=np.int64), np.array(paid[::-1])


def _columns_of(gray: Gray, rows: int | None) -> tuple[Columns, int, tuple[int, int], float]:
    """Cut to the ink and bring to so many rows, by default to what the symbols need.

    Return also how many rows that is, the left and top of what was cut out, and by how much it was scaled.
    """
    dark = 255 - gray.astype(np.float32)
    dark = np.clip(dark / max(1.0, float(np.percentile(dark, _DARKEST))), 0, 1)
    down, across = np.flatnonzero((dark > _INK).any(axis=1)), np.flatnonzero((dark > _INK).any(axis=0))
    top, bottom, left, right = (
        (down[0], down[-1] + 1, across[0], across[-1] + 1) if down.size else (0, gray.shape[0], 0, gray.shape[1])
    )
    image = Image.fromarray((255 * dark[top:bottom, left:right]).astype(np.uint8))
    if rows is None:
        symbol = symbol_height(Image.eval(image, lambda level: 255 - level)) or image.height
        rows = int(np.clip(round(image.height / symbol * _SYMBOL), *_ROWS))
    width = max(1, min(_COLUMNS, round(image.width * rows / image.height)))
    small = image.resize((width, rows), Image.Resampling.BOX if rows < image.height else Image.Resampling.BICUBIC)
    framed = Image.fromarray(np.pad(np.asarray(small), _FRAME)).filter(ImageFilter.GaussianBlur(_BLUR))
    columns = np.asarray(np.asarray(framed) / 255, dtype=np.float32)
    return columns, rows, (int(left), int(top)), width / image.width


def _shared(one: Box, other: Box) -> float:
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    down = min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(0.0, across) * max(0.0, down)
