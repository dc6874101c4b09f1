"""Small pages that are drawn for the tests of the page reader, and networks that are played.

The layout network sees text everywhere, and the line reader reads `a` in every line.
"""

import numpy as np
from fakes import END, ScriptedRun
from PIL import Image, ImageDraw, ImageFont

from unrender import tasks
from unrender.engines import Cells
from unrender.models.config import CnnConfig, DecoderConfig, Generation, ImagePrep, TextConfig
from unrender.models.page import KINDS
from unrender.reading.page import PageSystem, _low_resolution
from unrender.reading.page.places import Kind
from unrender.reading.page.regions import find_regions
from unrender.reading.page.straight import straighten
from unrender.reading.reader import Reader
from unrender.reading.text import TextSystem
from unrender.tokens import LatexTokenizer

WORDS = "the quick brown fox jumps over a lazy dog and runs away from here"

TOKENIZER = LatexTokenizer([*"abcdefghijklmnopqrstuvwxyz.", "␣", "<m>", "</m>", "<h2>"])
CONFIG = TextConfig(
    name="page",
    seed="001",
    task="page",
    image=ImagePrep(
        height=64, width=1024, fit="free", channels=1, mean=(0.5,), std=(0.5,), crop_margin=True, margin=2,
        pad_value=1.0, multiple=4,
    ),
    encoder=CnnConfig(),
    decoder=DecoderConfig(vocabulary=TOKENIZER.size, max_positions=64),
    generation=Generation(start=(1,), end=END, pad=0, max_tokens=60),
    vocabulary="latex",
)  # fmt: skip


class CountingEngine:
    """Reads `a` in every line, then the end; the surer, the larger the margin is."""

    def __init__(self, margin: float = 10.0) -> None:
        self.lines, self.margin = 0, margin

    def start(self, pixels, sizes=None):
        self.lines += len(pixels)
        return ScriptedRun(*([TOKENIZER.encode("a")[0], END] for _ in pixels), margin=self.margin)


def open_reader(engine, tokenizer: LatexTokenizer = TOKENIZER) -> Reader:
    """Return a page reader whose networks are played."""
    lines = TextSystem(CONFIG, engine, tokenizer, tasks.find("page"))
    return Reader(PageSystem(lines, see_text))


def draw_page(columns: int = 1, lines: int = 14) -> Image.Image:
    image = Image.new("RGB", (850, 1100), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(14)
    for column in range(columns):
        for line in range(lines):
            words = WORDS.split()
            text = " ".join(words[line % 7 :] + words[: line % 7])[: 64 if columns == 1 else 40]
            pen.text((100 + column * 350, 100 + 24 * line), text, fill="black", font=font)
    return image


def see_text(ink) -> Cells:
    """Find text wherever there is ink."""
    kinds = np.full((len(KINDS), *ink.shape), 0.01, dtype=np.float32)
    kinds[Kind.TEXT] = np.where(ink > 0.02, 0.9, 0.01)
    kinds[0] = 1 - kinds[Kind.TEXT]
    return Cells(kinds, np.zeros(ink.shape, np.float32))


def take_apart(image):
    straight = straighten(image)
    ink, scale = _low_resolution(straight.gray, straight.letters)
    return straight, find_regions(straight, see_text(ink), scale)


def draw_contents() -> Image.Image:
    """Draw a table of contents: more dots than letters."""
    image = Image.new("RGB", (1000, 1000), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(28)
    for line in range(18):
        pen.text((80, 60 + 50 * line), f"{line + 1}. some words of a title", fill="black", font=font)
        for dot in range(410, 880, 10):
            pen.rectangle((dot, 86 + 50 * line, dot + 3, 89 + 50 * line), fill="black")
        pen.text((900, 60 + 50 * line), str(100 + line), fill="black", font=font)
    return image


def draw_margin(word: str) -> Image.Image:
    """Draw a page with something in its margin beside every line."""
    image = draw_page(lines=24)
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(10)
    for line in range(24):
        pen.text((80, 100 + 24 * line), word or str(line % 9 + 1), fill="black", font=font, anchor="ra")
    return image


def find_on(image: Image.Image, *areas: tuple[Kind, tuple[int, int, int, int]]):
    """Take a page apart where the network sees text but for some areas: left, top, right, bottom in pixels."""
    straight = straighten(image)
    ink, scale = _low_resolution(straight.gray, straight.letters)
    cells = see_text(ink)
    for kind, box in areas:
        left, top, right, bottom = (int(side * scale) for side in box)
        part = slice(top, bottom + 1), slice(left, right + 1)
        shown = 0.9 if kind in (Kind.FIGURE, Kind.TABLE) else cells.kinds[:, *part].max(axis=0)
        cells.kinds[:, *part], cells.kinds[kind, *part] = 0.01, shown
    return find_regions(straight, cells, scale)
