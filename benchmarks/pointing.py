"""How well a formula reader points: on typeset formulas whose true boxes TeX tells.

    python benchmarks/pointing.py MODEL [COUNT]

Reads formulas of papers that no model is trained on (the prepared set `typeset-held` of `unrender data formula`). A
symbol that was read right counts as found when the middle of the place given for it lies in its true box, enlarged
by a third of its size; `overlap` is the share of symbols whose box covers half of what it and the true one cover.
TeX's boxes are kept in whole pixels and lie one beside the ink in many pictures, which decides about a fraction bar or
a comma; `overlap_pixel` is the same share where all edges may be a pixel off.
"""

import json
import sys

from PIL import Image, ImageOps
from rapidfuzz.distance import Levenshtein

from unrender.checkpoints import cache_folder
from unrender.documents import Box
from unrender.reading.reader import Reader
from unrender.reading.systems import Options
from unrender.training.data import Cache
from unrender.training.validation import draw_subset

_ENLARGED = 1 / 3
_HALF, _INK = 0.5, 204
_EDGE = 0.5  # pixels: where ink ends is known no better
_WHOLE = 1.0  # likewise, where TeX's boxes lie beside the ink
_MARGIN = 10  # pixels of paper around a prepared picture, as on a page


def measure(model: str, count: int) -> dict[str, float | int]:
    """Read `count` formulas and count the symbols that were pointed at."""
    cache, reader = Cache(cache_folder() / "formula" / "typeset-held"), Reader.open(model)
    symbols = found = overlapping = nearly = 0
    for number in draw_subset(len(cache), count):
        framed = ImageOps.expand(Image.fromarray(cache.gray(number)), _MARGIN, 255)
        blocks = reader.read(framed, Options(beams=1)).pages[0].blocks
        tokens = blocks[0].tokens if blocks else ()
        label, boxes = cache.text(number).split(), cache.boxes(number).astype(float) + _MARGIN
        for step in Levenshtein.opcodes([token.text.strip() for token in tokens], label):
            if step.tag != "equal":
                continue
            for ours, true in zip(
                range(step.src_start, step.src_end), range(step.dest_start, step.dest_end), strict=True
            ):
                if boxes[true, 0] >= _MARGIN:
                    place = tokens[ours].box
                    symbols += 1
                    found += place is not None and _inside(place, boxes[true].tolist())
                    tight = _tight(framed, boxes[true].tolist())
                    overlapping += place is not None and _overlap(place, tight, _EDGE) > _HALF
                    nearly += place is not None and _overlap(place, tight, _WHOLE) > _HALF
    counts = {"pointed_at": found, "overlap": overlapping, "overlap_pixel": nearly}
    shares = {name: round(number / max(1, symbols), 4) for name, number in counts.items()}
    return {"formulas": count, "symbols": symbols, **shares}


def _inside(place: Box, true: list[float]) -> bool:
    left, top, right, bottom = true
    across, down = (right - left) * _ENLARGED / 2, (bottom - top) * _ENLARGED / 2
    x, y = (place.x0 + place.x1) / 2, (place.y0 + place.y1) / 2
    return left - across <= x <= right + across and top - down <= y <= bottom + down


def _tight(picture: Image.Image, box: list[float]) -> list[float]:
    """Shrink a box of TeX's, which has room at its sides, to the ink in it."""
    left, top, right, bottom = (int(side) for side in box)
    found = picture.crop((left, top, right, bottom)).point(lambda level: 255 * (level < _INK)).getbbox()
    return box if found is None else [left + found[0], top + found[1], left + found[2], top + found[3]]


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
