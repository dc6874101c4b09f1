"""Real pictures of words and lines, as high as the word reader looks; one part of each set is held out."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.evaluation.datasets.folders import is_held_out
from unrender.models.word import HEIGHT, MAX_WIDTH
from unrender.training.word.texts import clean

Gray = NDArray[np.uint8]
_TENTH = 10
_NEIGHBOURS = 20  # words of ICDAR 2015 with neighbouring numbers may be from one picture
_PAGE = re.compile(r"_\d+\.\w+$")  # what follows the name of a page in the name of a line
_STRUCK = re.compile(r"[<>^{}_=]")  # struck out or marked by the transcriber: not what stands there
_AIR = 0.06  # of a line's height, around its box


@dataclass(frozen=True)
class Crop:
    """One gray picture as it was cut, and its text; `held` is never trained on."""

    image: Image.Image
    text: str
    held: bool
    name: str

    @property
    def gray(self) -> Gray:
        """The picture at the reader's height."""
        width = min(MAX_WIDTH, max(8, round(self.image.width * HEIGHT / max(1, self.image.height))))
        return np.asarray(self.image.resize((width, HEIGHT), Image.Resampling.BILINEAR))


def scene_words(folder: Path) -> Iterator[Crop]:
    """Words of photographed scenes and screens; a tenth of the pictures that they were cut from."""
    for name, text in _labels(folder):
        first, _, number = Path(name).stem.rpartition("_")
        picture = first if name.startswith("iiit5k") else f"{first}-{int(number) // _NEIGHBOURS}"
        yield Crop(_open(folder / name), text, _tenth(picture), name)


def written_lines(folder: Path) -> Iterator[Crop]:
    """Typewritten or handwritten lines; a tenth of the pages."""
    for name, text in _labels(folder):
        if not _STRUCK.search(text):
            yield Crop(_open(folder / name), text, _tenth(_PAGE.sub("", name)), name)


def receipt_lines(folder: Path) -> Iterator[Crop]:
    """Lines of receipts, cut by their boxes; the fifth that the receipt reader holds out too."""
    for path in sorted(folder.glob("*.json")):
        picture = _open(path.with_suffix(".jpg"))
        for number, line in enumerate(json.loads(path.read_text(encoding="utf-8"))["lines"]):
            left, top, right, bottom = line["box"]
            air = _AIR * (bottom - top)
            if right - left > 2 and bottom - top > 2:
                cut = picture.crop((round(left - air), round(top - air), round(right + air), round(bottom + air)))
                yield Crop(cut, clean(line["text"]), is_held_out(path.stem), f"{path.stem}-{number:03}")


def _labels(folder: Path) -> Iterator[tuple[str, str]]:
    for line in (folder / "labels.tsv").read_text(encoding="utf-8").splitlines():
        name, text = line.split("\t", 1)
        yield name, clean(text)


def _open(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        return picture.convert("L")


def _tenth(name: str) -> bool:
    return crc32(name.encode()) % _TENTH == 0
