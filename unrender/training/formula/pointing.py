"""Where each token of a label stands in its picture, told by TeX.

A mark in front of every visible token survives into the DVI file, so the glyphs and rules behind it are that token's.
Pictures of the same formula, typeset or written over TeX's layout, are a stretched copy of that page.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unrender.latex.commands import SILENT
from unrender.training.data import BOXES, Cache
from unrender.typesetting import Style, each_compiled
from unrender.typesetting.dvi import Box, Layout, read_dvi

Mark = tuple[int, int, int]  # token, glyphs before it, rules before it
Boxes = NDArray[np.int16]  # (tokens, 4): left, top, right, bottom in pixels; all -1 where a token has no place
NOWHERE = -1
_DPI = 100.0
_CHUNK = 400  # formulas to one run of TeX
_MISFIT, _MISFIT_SHARE = 4.0, 0.06  # by how much a picture's height may differ from the layout's
_LENGTHS = frozenset(r"\hspace \vspace \kern \raise \raisebox".split())  # their argument is no formula
_SIZES = frozenset(
    r"\big \Big \bigg \Bigg \bigl \Bigl \biggl \Biggl \bigr \Bigr \biggr \Biggr \not".split()
)  # what follows belongs to them
_LARGE = frozenset(
    r"\sum \prod \int \oint \iint \bigcap \bigcup \bigoplus \bigotimes \bigsqcup \bigvee \bigwedge".split()
)
_LARGE_FONT = "cmex"
_ARRAY = r"\begin{array}"
_RULED = frozenset(r"\frac \sqrt \overline".split())


def mark(tokens: Sequence[str], first: int = 0, *, tight: bool = False) -> str:
    """Put a mark in front of every visible token, and one where a fraction's bar will come; count from `first`.

    With `tight`, arrays have no space at their sides, like a pmatrix.
    """
    pieces: list[str] = []
    numerators: list[tuple[int, int]] = []  # depth at which a numerator ends, and whose it is
    depth, skipping, columns, attached = 0, 0, 0, False
    for index, token in enumerate(tokens):
        if token == "}":
            if numerators and numerators[-1][0] == depth:
                pieces.append(_mark(first + numerators.pop()[1]))
            if tight and columns == depth:
                pieces.append("@{}")
                columns = 0
            depth -= 1
            skipping = 0 if depth < skipping else skipping
        if token not in SILENT and not skipping and not attached:
            pieces.append(_mark(first + index))
        pieces.append(token)
        attached = token in _SIZES
        if token == "{":
            depth += 1
            if index and tokens[index - 1] == r"\frac":
                numerators.append((depth, index - 1))
            if index and (tokens[index - 1] in _LENGTHS or tokens[index - 1] == _ARRAY):
                skipping = skipping or depth
            if tight and index and tokens[index - 1] == _ARRAY:
                pieces.append("@{}")
                columns = depth
    return " ".join(pieces)


def _mark(index: int) -> str:
    return rf"\special{{unrender {index}}}"


@dataclass(frozen=True)
class Places:
    """The boxes of a formula's tokens, in a page of the given width and height."""

    boxes: NDArray[np.float64]  # (tokens, 4); NaN where a token has no place
    width: float
    height: float

    def misfit(self, picture: tuple[int, int]) -> float:
        """Return by how many pixels a picture (height, width), scaled to this width, differs in height."""
        return abs(self.height * picture[1] / self.width - picture[0])

    def on(self, picture: tuple[int, int]) -> Boxes:
        """Stretch the boxes over a picture (height, width)."""
        across, down = picture[1] / self.width, picture[0] / self.height
        stretched = self.boxes * np.array([across, down, across, down])
        return np.where(np.isnan(stretched), NOWHERE, np.rint(stretched)).astype(np.int16)


def find_places(labels: Sequence[Sequence[str]], style: Style, *, tight: bool = False) -> list[Places | None]:
    """Let TeX set the formulas; None stands for one that does not compile with its marks."""
    found = lay_out_marked(labels, style, tight=tight)
    return [None if page is None else _places(tokens, *page) for tokens, page in zip(labels, found, strict=True)]


def lay_out_marked(
    labels: Sequence[Sequence[str]], style: Style, *, tight: bool = False
) -> list[tuple[Layout, list[Mark]] | None]:
    """Let TeX set the formulas, every visible token marked; None stands for one that does not compile so."""
    formulas, marked = [" ".join(tokens) for tokens in labels], [mark(tokens, tight=tight) for tokens in labels]
    return each_compiled(formulas, style, lambda dvi: map(_marked, read_dvi(dvi, _DPI)), written=marked)


def _marked(page: Layout) -> tuple[Layout, list[Mark]]:
    return page.at_origin(), [(int(mark.text), mark.glyphs, mark.rules) for mark in page.marks]


def locate(labels: Sequence[Sequence[str]], sizes: Sequence[tuple[int, int]]) -> list[Boxes]:
    """Return the boxes of each label's tokens in a picture of the given height and width.

    Display style is tried first, then inline; then, where there are arrays, both without space at their sides.
    """
    boxes = [nowhere(len(tokens)) for tokens in labels]
    waiting = list(range(len(labels)))
    for tight, display in product((False, True), (True, False)):
        waiting = [index for index in waiting if not tight or _ARRAY in labels[index]]
        found = find_places([labels[index] for index in waiting], Style(display=display), tight=tight)
        for index, places in zip(waiting, found, strict=True):
            if places is not None and places.misfit(sizes[index]) <= max(_MISFIT, _MISFIT_SHARE * sizes[index][0]):
                boxes[index] = places.on(sizes[index])
        waiting = [index for index in waiting if (boxes[index] == NOWHERE).all()]
    return boxes


def nowhere(count: int) -> Boxes:
    """Return boxes for tokens whose places are not known."""
    return np.full((count, 4), NOWHERE, dtype=np.int16)


def _places(tokens: Sequence[str], layout: Layout, marks: Sequence[Mark]) -> Places | None:
    if not layout.glyphs and not layout.rules:
        return None
    left, top, right, bottom = layout.bounds()
    boxes = token_boxes(
        tokens,
        marks,
        [glyph.box for glyph in layout.glyphs],
        [line.box for line in layout.rules],
        [glyph.key[0] == _LARGE_FONT for glyph in layout.glyphs],
    )
    boxes -= np.array([left, top, left, top])
    width, height = right - left, bottom - top
    return Places(boxes, width, height) if width > 0 and height > 0 else None


def token_boxes(
    tokens: Sequence[str],
    marks: Sequence[Mark],
    glyphs: Sequence[Box],
    rules: Sequence[Box],
    large: Sequence[bool],
) -> NDArray[np.float64]:
    """Give each token the glyphs and rules behind its marks (token, glyphs before, rules before); NaN: it has none.

    `large` says which glyphs may be operators, whose upper limits are set before them.
    """
    boxes = np.full((len(tokens), 4), np.nan)
    waiting: int | None = None  # a large operator whose upper limit is set before it
    for (index, glyph, rule), (_, next_glyph, next_rule) in pairwise([*marks, (-1, len(glyphs), len(rules))]):
        found = list(range(glyph, next_glyph))
        if tokens[index] in _LARGE and not found:
            waiting = index
        elif waiting is not None and len(found) > 1 and large[found[-1]]:
            _grow(boxes, waiting, glyphs[found.pop()])
            waiting = None
        for number in found:
            _grow(boxes, index, glyphs[number])
        if tokens[index] in _RULED:
            for line in rules[rule:next_rule]:
                _grow(boxes, index, line)
    return boxes


def _grow(boxes: NDArray[np.float64], index: int, box: Box) -> None:
    row = boxes[index]
    row[:2] = np.fmin(row[:2], box[:2])
    row[2:] = np.fmax(row[2:], box[2:])


def annotate(folder: Path, progress: Callable[[Sequence[int]], Iterable[int]] = lambda starts: starts) -> float:
    """Write where the tokens of a prepared set stand; return the share of samples for which that was found.

    `progress` may watch the runs of TeX go by; it must pass them on.
    """
    cache = Cache(folder)
    placed = 0
    temporary = folder / f"{BOXES}.tmp"
    with temporary.open("wb") as file:
        for start in progress(range(0, len(cache), _CHUNK)):
            numbers = range(start, min(start + _CHUNK, len(cache)))
            labels = [cache.text(number).split() for number in numbers]
            for boxes in locate(labels, [cache.gray(number).shape for number in numbers]):
                placed += bool((boxes != NOWHERE).any())
                file.write(boxes.astype("<i2").tobytes())
    temporary.replace(folder / BOXES)
    return placed / max(1, len(cache))
