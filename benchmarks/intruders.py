"""Pictures that show no formula: how many of them the formula reader says that of, and of how many formulas it does.

    python benchmarks/intruders.py make SOURCE PHOTOS FOLDER     50 pictures of each kind, with a fixed seed
    python benchmarks/intruders.py read FOLDER [MODEL]           by kind: said to be no formula, read as one, seconds
    python benchmarks/intruders.py spare FOLDER [MODEL]          formulas (`people.py make`) that are called none

SOURCE holds the raw sets that `unrender data` takes; used are the parts that no training sees. PHOTOS is any folder of
photographs: those in docs/formula.md are the ones inside the wheels of scikit-image and scikit-learn (`pip download
--no-deps`, unzipped). Letters and tables are set by Chromium, charts drawn by matplotlib.
"""

import io
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

import unrender
from unrender.training.word.corpora import real_crops

_EACH, _SEED = 50, 20261119
_NO_FORMULA = ("unlikely", "empty")
_CHROMIUM = "/usr/bin/chromium"
_NAMES = {
    "scene": "word of a scene",
    "receipt": "line of a receipt",
    "typed": "typewritten line",
    "hand": "line by hand",
}
_PROSE = (
    "Dear Ms Okafor, thank you for your letter of 12 March. We are sorry that the parcel came late and that two of "
    "the glasses were broken. A new set is on its way to you and should arrive on Thursday; please give the damaged "
    "one to the driver. If there is anything else that we can do, call us at any time. With kind regards, Jonas Weber"
).split()


def make(source: Path, photos: Path, folder: Path) -> None:
    """Draw and gather the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    rng, rows = np.random.default_rng(_SEED), []
    for kind, image in _pictures(source, photos, rng):
        name = f"{len(rows):04}.png"
        image.convert("RGB").save(folder / name)
        rows.append(f"{name}\t{kind}\n")
    (folder / "kinds.tsv").write_text("".join(rows))
    print(f"{len(rows)} pictures in {folder}")


def read(folder: Path, model: str = "formula") -> None:
    """Read every picture as a formula."""
    reader = unrender.open_reader(model)
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seconds: Counter[str] = Counter()
    for line in (folder / "kinds.tsv").read_text().splitlines():
        name, kind = line.split("\t")
        began = time.process_time()
        status = reader.read(folder / name).status.kind
        seconds[kind] += time.process_time() - began
        found[kind][status] += 1
        found["all"][status] += 1
    for kind, counts in found.items():
        none = sum(counts[one] for one in _NO_FORMULA)
        spent = seconds[kind] / counts.total() if kind in seconds else sum(seconds.values()) / counts.total()
        print(f"{kind:20} no formula {none:4d} of {counts.total():4d}  complete {counts['complete']:4d}  {spent:.2f} s")


def spare(folder: Path, model: str = "formula") -> None:
    """Count the formulas that are taken for none."""
    reader = unrender.open_reader(model)
    rows = [line.split("\t") for line in (folder / "labels.tsv").read_text().splitlines()]
    refused = [row for row in rows if reader.read(folder / row[0]).status.kind in _NO_FORMULA]
    print(f"{len(refused)} of {len(rows)} formulas are called none: {json.dumps(refused[:20], indent=1)}")


def _pictures(source: Path, photos: Path, rng: np.random.Generator) -> Iterator[tuple[str, Image.Image]]:
    for kind, name in _NAMES.items():
        held = [crop.image for crop in real_crops(kind, source) if crop.held and sum(map(str.isalpha, crop.text)) > 2]
        yield from ((name, held[index]) for index in rng.permutation(len(held))[:_EACH])
    files = sorted(path for path in photos.rglob("*") if path.suffix.lower() in (".png", ".jpg", ".jpeg"))
    for path in files[:_EACH]:
        yield "photograph", Image.open(path)
    yield from _set_by_browser(rng)
    for _ in range(_EACH):
        yield "chart", _chart(rng)


def _set_by_browser(rng: np.random.Generator) -> Iterator[tuple[str, Image.Image]]:
    """Give letters and tables as a browser shows them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 700, "height": 500})
        for number in range(2 * _EACH):
            font = str(rng.choice(["serif", "sans-serif", "monospace"]))
            style = f"display:inline-block;padding:14px;font:{int(rng.integers(12, 24))}px {font}"
            kind = "letter" if number < _EACH else "table"
            page.set_content(f"<div id=it style='{style}'>{_letter(rng) if kind == 'letter' else _table(rng)}</div>")
            yield kind, Image.open(io.BytesIO(page.locator("#it").screenshot()))
        browser.close()


def _letter(rng: np.random.Generator) -> str:
    first = int(rng.integers(len(_PROSE) - 6))
    return " ".join(_PROSE[first : first + int(rng.integers(4, 50))])


def _table(rng: np.random.Generator) -> str:
    rows = []
    for _ in range(int(rng.integers(2, 7))):
        words = (_PROSE[int(index)] for index in rng.integers(len(_PROSE), size=2))
        cells = (*words, f"{rng.uniform(1, 900):.2f}", str(int(rng.integers(1, 40))))
        rows.append("<tr>" + "".join(f"<td style='padding:3px 9px'>{cell}</td>" for cell in cells) + "</tr>")
    return f"<table border={int(rng.integers(2))} style='border-collapse:collapse'>{''.join(rows)}</table>"


def _chart(rng: np.random.Generator) -> Image.Image:
    """Draw a chart with its labels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=tuple(rng.uniform(2.5, 5, 2)), dpi=100, layout="constrained")
    canvas, axes = FigureCanvasAgg(figure), figure.subplots()
    values = np.abs(np.cumsum(rng.normal(size=int(rng.integers(5, 30)))))
    draw = [axes.plot, axes.bar, axes.scatter][int(rng.integers(3))]
    draw(np.arange(len(values)), values)
    axes.set_xlabel(_PROSE[int(rng.integers(len(_PROSE)))])
    canvas.draw()
    return Image.fromarray(np.asarray(canvas.buffer_rgba()))


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    if verb == "make":
        make(*map(Path, rest))
    else:
        {"read": read, "spare": spare}[verb](Path(rest[0]), *rest[1:])
