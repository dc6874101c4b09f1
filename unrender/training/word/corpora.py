"""`unrender data word`: from fonts, texts and raw sets to prepared arrays, once.

| prepared set | what it holds |
|---|---|
| words, phrases, lines | made: one word, up to 32 characters, up to 100 |
| scene-train, receipt-train, typed-train, hand-train | real crops, without the held-out part |
| scene-held, receipt-held, typed-held, hand-held | the held-out part |
| fonts-held | made words and lines in fonts that are never trained on |

Real pictures are brought to the height that the word reader looks at.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
from PIL import Image

from unrender.checkpoints import cache_folder
from unrender.evaluation.datasets.folders import is_held_out
from unrender.models.word import ALPHABET, HEIGHT, MAX_CHARACTERS, MAX_WIDTH
from unrender.tokens import CharacterTokenizer
from unrender.training.data import CacheWriter, Gray, Sample, watched
from unrender.training.word.lettering import Font, draw_text, find_fonts
from unrender.training.word.wording import Texts, clean, read_texts

_MADE = {"words": (120_000, 0), "phrases": (50_000, 32), "lines": (16_000, 100)}  # how many, how long at most
_HELD = 1_000
_HAND = ("lines-handwritten-fr", "lines-handwritten-fr-2")
SETS = {
    "scene": ("words-train",),
    "receipt": ("sroie-train",),
    "typed": ("lines-typewritten-en",),
    "hand": _HAND,
}
_TRIES = 20  # other fonts for a text that a font cannot write
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


def make(source: Path, out: Path | None = None) -> Path:
    """Prepare every set from the raw sets under `source`; what is there already stays."""
    folder = out or cache_folder() / "word"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = CharacterTokenizer(ALPHABET)
    seen = {name: _make_real(folder, name, source, tokenizer) for name in SETS}
    texts = read_texts(source, seen["receipt"], [*seen["hand"], *seen["typed"]])
    fonts = find_fonts()
    for number, (name, (count, most)) in enumerate(_MADE.items()):
        _make_drawn(folder / name, count, most, fonts, texts, tokenizer, seed=number)
    _make_drawn(folder / "fonts-held", _HELD, 40, find_fonts(held_out=True), texts, tokenizer, seed=99)
    return folder


def _make_real(folder: Path, name: str, source: Path, tokenizer: CharacterTokenizer) -> list[str]:
    """Write the two parts of a real set; return the texts of what may be trained on."""
    train, held = folder / f"{name}-train", folder / f"{name}-held"
    notes = folder / f"{name}.txt"
    if not notes.exists():
        writers = (CacheWriter(train, tokenizer.tokens), CacheWriter(held, tokenizer.tokens))
        texts: list[str] = []
        for crop in watched(real_crops(name, source), name):
            if crop.text and len(crop.text) <= MAX_CHARACTERS:
                writers[crop.held].add(Sample(crop.gray, tuple(tokenizer.encode(crop.text))))
                if not crop.held:
                    texts.append(crop.text)
        for writer in writers:
            writer.close()
        notes.write_text("\n".join(texts), encoding="utf-8")
    return notes.read_text(encoding="utf-8").split("\n")


def real_crops(name: str, source: Path) -> Iterator[Crop]:
    """Give the crops of a real set (scene, receipt, typed, hand) as they were cut."""
    read = {"scene": scene_words, "receipt": receipt_lines}.get(name, written_lines)
    for folder in SETS[name]:
        yield from read(source / folder)


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


def _make_drawn(
    folder: Path,
    count: int,
    most: int,
    fonts: Sequence[Font],
    texts: Texts,
    tokenizer: CharacterTokenizer,
    *,
    seed: int,
) -> None:
    """Draw `count` texts; `most` characters to a line, 0 for single words."""
    if (folder / "index.npy").exists():
        return
    rng = np.random.default_rng([5, seed])
    writer = CacheWriter(folder, tokenizer.tokens)
    for _ in watched(range(count), folder.name):
        text = texts.line(rng, most) if most else texts.word(rng)
        font = next((font for font in _draw_fonts(fonts, rng) if font.writes(text)), None)
        drawn = None if font is None or not text else draw_text(text, font, rng)
        if drawn is not None:
            writer.add(Sample(drawn.gray, tuple(tokenizer.encode(text)), 0, drawn.boxes))
    writer.close()


def _draw_fonts(fonts: Sequence[Font], rng: np.random.Generator) -> Iterator[Font]:
    for index in rng.integers(len(fonts), size=_TRIES):
        yield fonts[index]


def _labels(folder: Path) -> Iterator[tuple[str, str]]:
    for line in (folder / "labels.tsv").read_text(encoding="utf-8").splitlines():
        name, text = line.split("\t", 1)
        yield name, clean(text)


def _open(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        return picture.convert("L")


def _tenth(name: str) -> bool:
    return crc32(name.encode()) % _TENTH == 0
