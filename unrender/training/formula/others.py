"""The prepared set `others`: pictures that show no formula. Their label is empty, so the model learns to end at once.

Words of scenes, lines of receipts, typewriters and hands, several lines of a receipt, lines and tables in fonts,
charts, shapes, signs that are no mathematics, scribbles, and grey pictures like photographs.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from unrender.evaluation.datasets.folders import is_held_out
from unrender.images.paper import clean
from unrender.images.pen_strokes import PEN, draw, vary
from unrender.models.config import ImagePrep
from unrender.training.data import CacheWriter, Gray, Sample
from unrender.training.formula.expressions import Rng
from unrender.training.formula.pens import as_read, fits
from unrender.training.word.corpora import SETS, real_crops
from unrender.training.word.lettering import Font, find_fonts
from unrender.typesetting.pictures import crop_to_ink

_CROPS = {"scene": 6_000, "receipt": 3_000, "typed": 1_200, "hand": 2_400}  # at most
_PIECES, _WRITTEN = 1_500, 3_000  # several lines of receipts; lines and tables in fonts
_DRAWN, _PHOTOGRAPHS = 600, 1_600  # drawings of each kind
_WORDS = re.compile(r"[^\W\d_]{3}")  # what is no number and no symbols side by side
_LINES = (2, 6)  # of a piece
_NARROWEST = 28  # pixels: what is narrower may pass for a single symbol
_SIDES = (40, 260)  # pixels of what is drawn
_SIGNS = "☀☁☂☃☄☇☈☎☏☑☒☔☕☘☙☛☞☠☢☣☤☭☮☯☹☺☻☼☽☾♔♕♖♗♘♙♚♛♜♝♞♟♨♻♿⚐⚑⚒⚓⚔⚖⚗⚙⚛⚠⚡✁✂✆✇✈✉✌✍✎✏✐✒❀❁❂❃❄❅❆"
_FACE = "DejaVuSans.ttf"


def make_others(folder: Path, source: Path, vocabulary: Sequence[str], prep: ImagePrep, seed: int) -> None:
    """Write the set; the raw sets of words, lines and receipts are under `source`, as far as they are at hand."""
    if (folder / "index.npy").exists():
        return
    writer, rng = CacheWriter(folder, vocabulary), np.random.default_rng([6, seed])
    words, fonts = _words(source), find_fonts()
    written = (_write(words, fonts, rng) for _ in range(_WRITTEN if words else 0))
    cleaned = map(clean, (*_crops(source, rng), *_pieces(source / "sroie-train", rng), *written, *_drawings(rng)))
    for image in (*(as_read(image, prep) for image in cleaned), *map(clean, _photographs(rng))):
        gray = crop_to_ink(np.asarray(image))
        if fits(gray) and gray.shape[1] >= _NARROWEST:
            writer.add(Sample(gray, ()))
    writer.close()


def _crops(source: Path, rng: Rng) -> Iterator[Image.Image]:
    for name, most in _CROPS.items():
        if _at_hand(source, SETS[name]):
            shown = [crop.image for crop in real_crops(name, source) if not crop.held and _WORDS.search(crop.text)]
            yield from (shown[index] for index in rng.permutation(len(shown))[:most])


def _pieces(folder: Path, rng: Rng) -> Iterator[Image.Image]:
    """Cut several lines out of receipts."""
    paths = [path for path in sorted(folder.glob("*.json")) if not is_held_out(path.stem)]
    for index in rng.integers(len(paths), size=_PIECES) if paths else ():
        lines = json.loads(paths[index].read_text(encoding="utf-8"))["lines"]
        first = int(rng.integers(max(1, len(lines) - _LINES[0])))
        chosen = lines[first : first + int(rng.integers(*_LINES))]
        if not any(_WORDS.search(line["text"]) for line in chosen):
            continue
        boxes = np.array([line["box"] for line in chosen])
        with Image.open(paths[index].with_suffix(".jpg")) as picture:
            (left, top), (right, bottom) = boxes[:, :2].min(axis=0).tolist(), boxes[:, 2:].max(axis=0).tolist()
            yield picture.convert("L").crop((left - 4, top - 4, right + 4, bottom + 4))


def _words(source: Path) -> list[str]:
    """Return the words of the raw sets whose pictures may be trained on."""
    crops = (crop for name, folders in SETS.items() if _at_hand(source, folders) for crop in real_crops(name, source))
    return sorted({word for crop in crops if not crop.held for word in crop.text.split()})


def _at_hand(source: Path, folders: Sequence[str]) -> bool:
    return all((source / folder).exists() for folder in folders)


def _write(words: Sequence[str], fonts: Sequence[Font], rng: Rng) -> Image.Image:
    """Write some lines of words, or a small table of words and numbers."""
    font = fonts[int(rng.integers(len(fonts)))].sized(int(rng.integers(12, 30)))
    rows, columns = int(rng.integers(1, 5)), int(rng.integers(2, 5))
    table, ruled = rng.random() < 0.5, rng.random() < 0.5
    cells = [[words[int(index)] for index in rng.integers(len(words), size=columns)] for _ in range(rows)]
    if table:
        cells = [[*row[:-1], f"{rng.uniform(0, 10.0 ** rng.integers(1, 5)):.2f}"] for row in cells]
    pitch = round(font.size * rng.uniform(1.2, 1.9))
    space = round(font.size * (rng.uniform(0.6, 1.5) if table else 0.3))
    wide = [max(font.getlength(row[column]) for row in cells) + space for column in range(columns)]
    image = Image.new("L", (round(sum(wide)) * (1 if table else 2) + 20, pitch * rows + 20), 255)
    brush = ImageDraw.Draw(image)
    for number, row in enumerate(cells):
        left, top = 10.0, 8 + number * pitch
        for column, word in enumerate(row):
            brush.text((left, top), word, font=font, fill=0)
            left += wide[column] if table else font.getlength(word) + space
        if table and ruled:
            brush.line((4, top + pitch, image.width - 4, top + pitch), fill=0)
    return image


def _drawings(rng: Rng) -> Iterator[Image.Image]:
    kinds: tuple[Callable[[Rng, int, int], Image.Image], ...] = (_chart, _shapes, _sign, _scribble)
    for kind in kinds:
        for _ in range(_DRAWN):
            yield kind(rng, int(rng.integers(*_SIDES)), int(rng.integers(*_SIDES)))


def _photographs(rng: Rng) -> Iterator[Image.Image]:
    """Draw photographs as large as they are read: their finest grain makes the reader enlarge them."""
    for _ in range(_PHOTOGRAPHS):
        yield _photograph(rng, int(rng.integers(60, 220)), int(rng.integers(40, 200)))


def _chart(rng: Rng, width: int, height: int) -> Image.Image:
    """Draw axes and a line, bars or points."""
    image = Image.new("L", (width, height), 255)
    brush, line = ImageDraw.Draw(image), int(rng.integers(1, 3))
    left, bottom = width // 8, height - height // 8
    brush.line((left, 4, left, bottom, width - 4, bottom), fill=0, width=line)
    count = int(rng.integers(4, 16))
    x = np.linspace(left + 6, width - 8, count)
    y = bottom - np.abs(np.cumsum(rng.normal(0, 1, count)) / count + rng.random()) * (bottom - 8) * 0.6
    kind, tone = int(rng.integers(3)), int(rng.integers(0, 120))
    if kind == 0:
        brush.line(list(zip(x.tolist(), y.tolist(), strict=True)), fill=tone, width=line)
    for across, up in zip(x.tolist(), np.clip(y, 4, bottom).tolist(), strict=True):
        if kind == 1:
            brush.rectangle((across - 3, up, across + 3, bottom), fill=tone)
        elif kind == 2:
            brush.ellipse((across - 2, up - 2, across + 2, up + 2), fill=tone)
        if rng.random() < 0.5:
            brush.line((across, bottom, across, bottom + 3), fill=0)
    return image


def _shapes(rng: Rng, width: int, height: int) -> Image.Image:
    """Draw a few boxes, ellipses and lines, as in a diagram."""
    image = Image.new("L", (width, height), 255)
    brush = ImageDraw.Draw(image)
    for _ in range(int(rng.integers(4, 12))):
        left, right = sorted(rng.integers(width, size=2).tolist())
        top, bottom = sorted(rng.integers(height, size=2).tolist())
        tone, line = int(rng.integers(0, 160)), int(rng.integers(1, 4))
        filled = tone if rng.random() < 0.3 else None
        kind = int(rng.integers(3))
        if kind == 0:
            brush.rectangle((left, top, right, bottom), outline=tone, fill=filled, width=line)
        elif kind == 1:
            brush.ellipse((left, top, right, bottom), outline=tone, fill=filled, width=line)
        else:
            brush.line((left, top, right, bottom), fill=tone, width=line)
    return image


def _sign(rng: Rng, width: int, height: int) -> Image.Image:
    """Draw one to three signs that are no mathematics."""
    image = Image.new("L", (3 * height, height + 20), 255)
    font = ImageFont.truetype(_face(), height * 3 // 4)
    signs = "".join(_SIGNS[int(rng.integers(len(_SIGNS)))] for _ in range(int(rng.integers(1, 4))))
    ImageDraw.Draw(image).text((6, 6), signs, font=font, fill=int(rng.integers(0, 100)))
    return image


def _face() -> str:
    import matplotlib

    return str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / _FACE)


def _scribble(rng: Rng, width: int, height: int) -> Image.Image:
    """Scribble without lifting the pen much."""
    strokes = []
    for _ in range(int(rng.integers(1, 5))):
        count = int(rng.integers(12, 60))
        way: NDArray[np.float64] = np.cumsum(np.cumsum(rng.normal(0, 1, (count, 2)), axis=0), axis=0)
        size = np.maximum(np.ptp(way, axis=0), 1e-6)
        strokes.append((way - way.min(axis=0)) / size * (width, height) * rng.uniform(0.3, 1, 2))
    return draw(strokes, vary(PEN, rng))


def _photograph(rng: Rng, width: int, height: int) -> Image.Image:
    """Draw patches of grey with texture, coarse and fine, as what is photographed has it; cleaned as photos are."""
    values: NDArray[np.float32] = np.full((height, width), rng.uniform(60, 220), dtype=np.float32)
    for _ in range(int(rng.integers(2, 16))):
        centre = int(rng.integers(width)), int(rng.integers(height))
        axes = int(rng.integers(3, width // 2)), int(rng.integers(3, height // 2))
        angle, tone = float(rng.uniform(0, 180)), float(rng.uniform(0, 255))
        cv2.ellipse(values, centre, axes, angle, 0, 360, tone, int(rng.choice([-1, -1, 1, 3])))
    for finer in range(int(rng.integers(1, 7))):
        grain = rng.normal(0, rng.uniform(0, 60), (height // 2**finer + 2, width // 2**finer + 2)).astype(np.float32)
        values = values + np.asarray(cv2.resize(grain, (width, height), interpolation=cv2.INTER_CUBIC))
    if rng.random() < 0.5:
        values = np.asarray(cv2.GaussianBlur(values, (0, 0), float(rng.uniform(0.5, 3))), dtype=np.float32)
    seen: Gray = np.clip(values, 0, 255).astype(np.uint8)
    return Image.fromarray(seen)
