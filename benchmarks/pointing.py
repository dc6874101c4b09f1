"""How well a formula reader points: on typeset formulas whose true boxes TeX tells.

    python benchmarks/pointing.py MODEL [COUNT]

Sets formulas of papers that no model is trained on (the prepared set `typeset-held` of `unrender data formula`) and
reads them. The true box of a symbol is that of its ink: TeX says where each glyph stands, its font's outlines how far
its ink reaches. A symbol that was read right counts as found when the middle of the place given for it lies in its true
box, enlarged by a third of its size; `overlap` is the share of symbols whose box covers half of what it and the true
one cover together, and `overlap_pixel` the same where all edges may be a pixel off.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.dviread import Dvi
from matplotlib.ft2font import FT2Font, GlyphIndexType
from numpy.typing import NDArray
from PIL import Image, ImageOps
from rapidfuzz.distance import Levenshtein

from unrender.checkpoints import cache_folder
from unrender.documents import Box
from unrender.reading.reader import Reader
from unrender.reading.systems import Options
from unrender.training.data import Cache
from unrender.training.formula.pointing import Mark, mark, token_boxes
from unrender.training.validation import draw_subset
from unrender.typesetting import Style, each_compiled
from unrender.typesetting.dvi import Box as Sides
from unrender.typesetting.dvi import read_dvi, union
from unrender.typesetting.pictures import typeset

_ENLARGED = 1 / 3
_HALF = 0.5
_EDGE = 0.5  # pixels: where ink ends is known no better
_WHOLE = 1.0
_MARGIN = 10  # pixels of paper around a picture, as on a page
_STYLE = Style()
_EM, _UNITS = 1000, 64  # points at which outlines are measured, and FreeType's units to a point
_LARGE = "cmex"
Boxes = NDArray[np.float64]


def measure(model: str, count: int) -> dict[str, float | int]:
    """Read `count` formulas and count the symbols that were pointed at."""
    cache, reader = Cache(cache_folder() / "formula" / "typeset-held"), Reader.open(model)
    labels = [cache.text(number).split() for number in draw_subset(len(cache), count)]
    pictures = typeset([" ".join(label) for label in labels], _STYLE)
    formulas = symbols = found = overlapping = nearly = 0
    for label, picture, page in zip(labels, pictures, lay_out(labels), strict=True):
        if picture is None or page is None:
            continue
        formulas += 1
        boxes = ink_boxes(label, page, picture.shape)
        framed = ImageOps.expand(Image.fromarray(picture), _MARGIN, 255)
        blocks = reader.read(framed, Options(beams=1)).pages[0].blocks
        tokens = blocks[0].tokens if blocks else ()
        for step in Levenshtein.opcodes([token.text.strip() for token in tokens], label):
            if step.tag != "equal":
                continue
            for ours, true in zip(
                range(step.src_start, step.src_end), range(step.dest_start, step.dest_end), strict=True
            ):
                if not np.isnan(boxes[true, 0]):
                    place, ink = tokens[ours].box, (boxes[true] + _MARGIN).tolist()
                    symbols += 1
                    found += place is not None and _inside(place, ink)
                    overlapping += place is not None and _overlap(place, ink, _EDGE) > _HALF
                    nearly += place is not None and _overlap(place, ink, _WHOLE) > _HALF
    counts = {"pointed_at": found, "overlap": overlapping, "overlap_pixel": nearly}
    shares = {name: round(number / max(1, symbols), 4) for name, number in counts.items()}
    return {"formulas": formulas, "symbols": symbols, **shares}


Page = tuple[list[Mark], list[Sides], list[Sides], list[bool]]  # marks, ink of the glyphs, rules, which are large


def lay_out(labels: Sequence[Sequence[str]]) -> list[Page | None]:
    """Say where TeX puts the ink of each label, its tokens marked; None stands for one that does not compile so."""
    plain, marked = [" ".join(tokens) for tokens in labels], [mark(tokens) for tokens in labels]
    return each_compiled(plain, _STYLE, _read_ink, written=marked)


def ink_boxes(tokens: Sequence[str], page: Page, picture: tuple[int, ...]) -> Boxes:
    """Return where the ink of each token stands (tokens, 4) in a picture (height, width) of it; NaN: it has none.

    The ink's middle is the picture's, which is cut in whole pixels; no ink is thinner than a pixel there.
    """
    marks, glyphs, rules, large = page
    left, top, right, bottom = union([*glyphs, *rules])
    off = np.array([picture[1] - (left + right), picture[0] - (top + bottom)]) / 2
    boxes = token_boxes(tokens, marks, glyphs, rules, large) + np.tile(off, 2)
    middles, sides = (boxes[:, :2] + boxes[:, 2:]) / 2, np.maximum(boxes[:, 2:] - boxes[:, :2], 1)
    return np.concatenate([middles - sides / 2, middles + sides / 2], axis=1)


def _read_ink(path: Path) -> Iterator[Page]:
    with Dvi(str(path), _STYLE.dpi) as dvi:
        for layout, page in zip(read_dvi(path, _STYLE.dpi), dvi, strict=True):
            glyphs = list[Sides]()
            for glyph, text in zip(layout.glyphs, page.text, strict=True):
                left, top, right, bottom = (side * glyph.size for side in _outline(str(text.font_path), text.index))
                glyphs.append((glyph.x + left, glyph.y + top, glyph.x + right, glyph.y + bottom))
            marks = [(int(one.text), one.glyphs, one.rules) for one in layout.marks]
            yield marks, glyphs, [rule.box for rule in layout.rules], [g.key[0] == _LARGE for g in layout.glyphs]


@cache
def _outline(path: str, index: GlyphIndexType) -> Sides:
    """Return the box of a glyph's outline, in units of the font's size, from its origin; y goes down."""
    font = FT2Font(path)
    font.set_size(_EM, 72)
    left, bottom, right, top = (side / (_EM * _UNITS) for side in font.load_glyph(index).bbox)
    return left, -top, right, -bottom


def _inside(place: Box, true: list[float]) -> bool:
    left, top, right, bottom = true
    across, down = (right - left) * _ENLARGED / 2, (bottom - top) * _ENLARGED / 2
    x, y = (place.x0 + place.x1) / 2, (place.y0 + place.y1) / 2
    return left - across <= x <= right + across and top - down <= y <= bottom + down


def _overlap(place: Box, true: list[float], edge: float) -> float:
    """Return the area that two boxes share over the area that they cover together, both `edge` pixels larger."""
    left, top, right, bottom = true[0] - edge, true[1] - edge, true[2] + edge, true[3] + edge
    place = Box(place.x0 - edge, place.y0 - edge, place.x1 + edge, place.y1 + edge)
    across = max(0.0, min(place.x1, right) - max(place.x0, left))
    down = max(0.0, min(place.y1, bottom) - max(place.y0, top))
    both = place.width * place.height + (right - left) * (bottom - top)
    return across * down / max(1e-9, both - across * down)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500)))
