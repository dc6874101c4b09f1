"""Which task is chosen by looking, for pictures of every kind: a made set with a fixed seed, and the table of errors.

    python benchmarks/choice.py make FOLDER PEOPLE PAGES [DATA]
    python benchmarks/choice.py look FOLDER [tuned | measured]

PEOPLE is what `python benchmarks/people.py make PEOPLE` draws, PAGES a folder with PDFs of papers and manuals, DATA
holds the raw sets (~/.cache/unrender/data). No model is trained on these words, lines, receipts and pages. The numbers
of the choice were set on the half with even numbers (tuned); `look` prints the other half unless told otherwise.
"""

import lzma
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pypdfium2
from PIL import Image, ImageDraw

from unrender.checkpoints import cache_folder
from unrender.evaluation.datasets.folders import open_sroie, read_ink
from unrender.images.pen_strokes import draw
from unrender.reading.choice import choose_task
from unrender.reading.systems import Input
from unrender.training.receipt.made_documents import make_document
from unrender.training.word.corpora import Crop, scene_words, written_lines
from unrender.training.word.lettering import Font, find_fonts

SEED = 20261118
COLUMNS = ("formula", "word", "line", "text", "receipt", "page")
_T = TypeVar("_T")
Picture = tuple[str, str, Image.Image]  # the task it is for, its kind, what it shows


def make(folder: Path, people: Path, pages: Path, data: Path) -> None:
    """Draw or copy every picture: FOLDER/NUMBER-TASK-KIND.png."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    count = 0
    for task, kind, image in _pictures(rng, people, pages, data):
        image.save(folder / f"{count:04d}-{task}-{kind.replace(' ', '_')}.png")
        count += 1
    print(f"{count} pictures in {folder}")


def look(folder: Path, half: str = "measured") -> None:
    """Print what each kind of picture is taken for, and how long it takes to look."""
    wanted = {"tuned": 0, "measured": 1}[half]
    table: dict[tuple[str, str], Counter[str]] = {}
    began, count = time.process_time(), 0
    for path in sorted(folder.glob("*.png")):
        number, task, kind = path.stem.split("-", 2)
        if int(number) % 2 == wanted:
            table.setdefault((task, kind), Counter())[choose_task(Input(path, path.name))] += 1
            count += 1
    print(f"{'for':8} {'kind':26}" + "".join(f"{name:>9}" for name in COLUMNS))
    for (task, kind), found in table.items():
        print(f"{task:8} {kind:26}" + "".join(f"{found[name] or '':>9}" for name in COLUMNS))
    for task in dict.fromkeys(task for task, _ in table):
        found = sum((each for (one, _), each in table.items() if one == task), Counter[str]())
        print(f"{task:8} {'all':26}" + "".join(f"{found[name] or '':>9}" for name in COLUMNS))
    print(f"{count} pictures, {1000 * (time.process_time() - began) / count:.0f} ms of processor time each")


def _pictures(rng: np.random.Generator, people: Path, pages: Path, data: Path) -> Iterator[Picture]:
    yield from _formulas(rng, people, data)
    yield from _words(rng, data)
    for receipt in open_sroie(data / "sroie-train", held_out=True):
        yield "receipt", "sroie", _open(receipt.path)
    for kind, count in (("receipt", 30), ("letter", 20), ("form", 20)):
        for _ in range(count):
            yield "receipt" if kind == "receipt" else "page", f"made {kind}", make_document(rng, kind).image
    for kind, source in (
        ("old book", data / "oldbooks-part"),
        ("funsd", data / "funsd-train" / "images"),
    ):
        for path in _some(rng, sorted(source.glob("*.png")), 40):
            yield "page", kind, _open(path)
    for path in _some(rng, sorted(pages.rglob("*.pdf")), 60):
        document = pypdfium2.PdfDocument(path)
        page = document[int(rng.integers(len(document)))]
        yield "page", "pdf", page.render(scale=float(rng.choice([72, 100, 150])) / 72).to_pil().convert("RGB")


def _formulas(rng: np.random.Generator, people: Path, data: Path) -> Iterator[Picture]:
    for line in (people / "labels.tsv").read_text().splitlines():
        name, kind, _ = line.split("\t")
        yield "formula", f"people {kind.split()[0]}", _open(people / name)
    for kind in ("printed", "handwritten"):
        folder = data / f"im2latex-{kind}-validate"
        for path in _some(rng, sorted(folder.glob("*.png")), 80):
            yield "formula", f"im2latex {kind}", _open(path)
    for path in _some(rng, sorted((data / "crohme-2013").glob("*.inkml")), 80):
        yield "formula", "crohme", draw(read_ink(path).strokes)


def _words(rng: np.random.Generator, data: Path) -> Iterator[Picture]:
    sets = (
        ("word", "scene", scene_words(data / "words-train"), 120),
        ("line", "typewritten", written_lines(data / "lines-typewritten-en"), 50),
        ("line", "handwritten", written_lines(data / "lines-handwritten-fr"), 50),
    )
    for task, kind, crops, count in sets:
        held: list[Crop] = [crop for crop in crops if crop.held]
        for index in sorted(rng.choice(len(held), count, replace=False).tolist()):
            yield task, kind, held[index].image
    texts = _prose(data / "openstax-prose.tsv.xz", rng, 400)
    fonts = find_fonts(held_out=True)
    for text in texts[:60]:
        yield "word", "screenshot", _screenshot(rng, fonts, [_longest(text)])
    for text in texts[60:120]:
        yield "line", "screenshot", _screenshot(rng, fonts, [text[: int(rng.integers(15, 70))].strip()])
    for text in texts[120:220]:
        yield (
            "text",
            "screenshot",
            _screenshot(rng, fonts, _wrapped(text, int(rng.integers(25, 80)))[: int(rng.integers(2, 9))]),
        )


def _screenshot(rng: np.random.Generator, fonts: Sequence[Font], lines: Sequence[str]) -> Image.Image:
    """Draw lines of text as a screen shows them: any size, sometimes light on dark."""
    writing = [font for font in fonts if font.writes("".join(lines))] or list(fonts)
    size = int(rng.integers(13, 40))
    font = writing[int(rng.integers(len(writing)))].sized(size)
    step, pad = round(size * rng.uniform(1.2, 1.6)), int(rng.integers(4, 30))
    width = max(int(font.getlength(line)) for line in lines) + 2 * pad
    paper, ink = ((255, 30), (255, 0), (245, 60), (30, 220))[int(rng.integers(4))]
    image = Image.new("L", (width, step * len(lines) + 2 * pad), paper)
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        pen.text((pad, pad + number * step), line, fill=ink, font=font)
    return image


def _prose(path: Path, rng: np.random.Generator, count: int) -> list[str]:
    """Take paragraphs of plain prose, without formulas."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t")[-1] for line in file]
    plain = [row for row in rows if len(row) > 300 and row.isascii() and not set("$\\=^_{}<>") & set(row)]
    return _some(rng, plain, count)


def _some(rng: np.random.Generator, items: Sequence[_T], count: int) -> list[_T]:
    chosen = rng.choice(len(items), min(count, len(items)), replace=False)
    return [items[index] for index in sorted(chosen.tolist())]


def _longest(text: str) -> str:
    return max(text.split()[:6], key=len).strip(".,;:()\"'")


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _open(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        return picture.convert("RGB")


if __name__ == "__main__":
    verb, folder, *rest = sys.argv[1:]
    if verb == "make":
        make(Path(folder), *map(Path, rest[:2]), Path(rest[2]) if len(rest) > 2 else cache_folder() / "data")
    else:
        look(Path(folder), *rest)
