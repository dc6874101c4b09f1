"""How well a formula reader reads other fonts.

    python benchmarks/fonts.py MODEL [COUNT]

Sets the same held-out formulas (the prepared set `printed-held` of `unrender data formula`) in each font and reads
them with beam 4. Prints the share of wrong visible tokens, and how many formulas could be set in the font.
"""

import json
import sys

from PIL import Image, ImageOps
from rich.progress import track

from unrender.checkpoints import cache_folder
from unrender.metrics import wer_visible
from unrender.reading.reader import Reader
from unrender.reading.systems import Input, Options
from unrender.training.data import Cache
from unrender.training.validation import draw_subset
from unrender.typesetting import FONTS, Style
from unrender.typesetting.pictures import typeset

_MARGIN = 10  # pixels of paper around a formula, as on a page


def measure(model: str, count: int) -> dict[str, dict[str, float | int]]:
    """Read `count` formulas in each font."""
    cache, reader = Cache(cache_folder() / "formula" / "printed-held"), Reader.open(model)
    labels = [cache.text(number) for number in draw_subset(len(cache), count)]
    return {font: _read(reader, labels, font) for font in track(FONTS, "fonts")}


def _read(reader: Reader, labels: list[str], font: str) -> dict[str, float | int]:
    drawn = zip(labels, typeset(labels, Style(font=font)), strict=True)
    pairs = [(label, Image.fromarray(gray)) for label, gray in drawn if gray is not None]
    inputs = [Input(ImageOps.expand(picture, _MARGIN, 255), label) for label, picture in pairs]
    texts = [document.written for document in reader.read_many(inputs, options=Options(beams=4))]
    wrong = wer_visible([label for label, _ in pairs], texts)
    return {"wrong": round(wrong.value, 4), "formulas": len(pairs)}


if __name__ == "__main__":
    found = measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60)
    print(json.dumps(found, indent=2))
