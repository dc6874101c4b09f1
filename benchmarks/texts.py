"""Pictures of several lines: our own line finder, RapidOCR's boxes, and the rule that chooses between them.

    python benchmarks/texts.py [PICTURES]

Pictures are made with a fixed seed, in fonts that the reader was never trained on: `screens` are plain, every other one
light on dark; `photos` are the same seen at an angle, on a table, in uneven light, blurred and noisy.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from unrender import metrics
from unrender.reading.considering import Strips
from unrender.reading.reader import Reader
from unrender.reading.strips import arrange, find_ways, strips_to_read
from unrender.reading.systems import Sheet
from unrender.reading.text import TextSystem
from unrender.training.word.lettering import Font, find_fonts
from unrender.words import open_finder

SEED, PICTURES = 5, 12
LINES = (
    "The meeting starts at 14:30 in room 205.", "Please bring the signed form with you.", "Total due: 1,284.50 EUR",
    "Order no. 77-4193 was sent on 12 March.", "Opening hours: Mon-Fri 9.00-18.00", "No entry without a ticket",
    "Return address: 18 Mill Lane, Bath", "All prices include tax and delivery.", "Error 404: page not found",
    "She sold sea shells by the shore.", "Room for 40 people, parking behind", "Call 0800 555 0199 for help",
    "Save changes before closing?", "Version 2.7.1, released in June", "Two coffees, one tea, three cakes",
)  # fmt: skip
Ways = Callable[[Image.Image, float], Strips]


@dataclass(frozen=True)
class Shown(TextSystem):
    """The reader of texts with its lines found in one way or the other."""

    ways: Ways = lambda image, longest: Strips(())

    def _strips(self, sheet: Sheet) -> Strips | None:
        return self.ways(sheet.image, self.config.image.width / self.config.image.line_height)


@cache
def usable_fonts() -> list[Font]:
    return [font for font in find_fonts(held_out=True) if font.writes("".join(LINES))]


def screen(rng: np.random.Generator, number: int) -> tuple[Image.Image, str]:
    """Draw four to eight lines below one another."""
    fonts = usable_fonts()
    size = int(rng.integers(18, 30))
    font = fonts[int(rng.integers(len(fonts)))].sized(size)
    chosen = [LINES[index] for index in rng.permutation(len(LINES))[: int(rng.integers(4, 9))]]
    paper, ink = (255, 20) if number % 2 else (30, 235)
    picture = Image.new("L", (int(max(map(font.getlength, chosen))) + 60, int(1.7 * size * len(chosen)) + 40), paper)
    for row, text in enumerate(chosen):
        ImageDraw.Draw(picture).text((30, 20 + int(1.7 * size * row)), text, fill=ink, font=font)
    return picture.convert("RGB"), " ".join(chosen)


def photo(rng: np.random.Generator, number: int) -> tuple[Image.Image, str]:
    """Draw the same as a sheet that lies on a table."""
    sheet, text = screen(rng, 1)
    width, height = sheet.size
    table = Image.fromarray(rng.normal(110, 12, (height + 160, width + 160)).clip(0, 255).astype(np.uint8))
    table = table.filter(ImageFilter.GaussianBlur(2))
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)]) + 80.0
    angle, middle = np.radians(rng.uniform(-9, 9)), corners.mean(axis=0)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    corners = (corners - middle) @ turn + middle + rng.uniform(-0.05, 0.05, (4, 2)) * (width, height)
    seen = sheet.convert("L").transform(table.size, Image.Transform.PERSPECTIVE, _coefficients(corners, sheet.size),
                                        Image.Resampling.BICUBIC, fillcolor=0)  # fmt: skip
    paper = Image.new("L", table.size, 0)
    ImageDraw.Draw(paper).polygon([tuple(corner) for corner in corners], fill=255)
    table.paste(seen, mask=paper)
    light = (
        np.linspace(rng.uniform(0.5, 0.8), 1, table.width)[None]
        * np.linspace(1, rng.uniform(0.7, 1), table.height)[:, None]
    )
    values = np.asarray(table.filter(ImageFilter.GaussianBlur(0.7)), dtype=np.float64) * light
    return Image.fromarray((values + rng.normal(0, 5, values.shape)).clip(0, 255).astype(np.uint8)).convert("RGB"), text


def _coefficients(corners: np.ndarray, size: tuple[int, int]) -> tuple[float, ...]:
    """Return what Pillow needs to draw a picture of this size between four corners."""
    goals = ((0, 0), (size[0], 0), size, (0, size[1]))
    rows, values = [], []
    for (x, y), (u, v) in zip(corners, goals, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return tuple(np.linalg.solve(np.array(rows), np.array(values)))


def main(count: int) -> None:
    system = Reader.open("word", task="text", threads=1).system
    assert isinstance(system, TextSystem)
    finder = open_finder(1)
    assert finder is not None, "RapidOCR is not installed"
    ways: dict[str, Ways] = {
        "our line finder": lambda image, longest: Strips(find_ways(image, longest)),
        "RapidOCR's boxes": lambda image, longest: Strips(arrange(finder(image), image, longest)),
        "the rule": lambda image, longest: strips_to_read(Sheet(image), system.config.image, several=True),
    }
    print(
        "| lines found by | pictures | character error rate | words found | seconds a picture |\n|---|---|---|---|---|"
    )
    for name, make in (("screens", screen), ("photos", photo)):
        made = [make(np.random.default_rng((SEED, number)), number) for number in range(count)]
        for found_by, find in ways.items():
            reader = Reader(Shown(system.config, system.engine, system.tokenizer, system.task, find))
            began = time.process_time()
            texts = [" ".join(reader.read(image).text.split()) for image, _ in made]
            seconds = (time.process_time() - began) / count
            truths = [text for _, text in made]
            figures = metrics.cer(truths, texts).value, metrics.word_set_f1(truths, texts).value
            print(f"| {found_by} | {count} {name} | {figures[0]:.3f} | {figures[1]:.3f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PICTURES)
