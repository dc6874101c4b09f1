"""Pages beside other programs: unrender with and without the text layer, PDFium's text layer, Tesseract 5, RapidOCR.

    python benchmarks/pages.py ~/.cache/unrender/page --limit 20 [--model page]

The folder is what `unrender data page` makes: pages-held (pictures and PDFs) and scans-held. Every program reads the
same pages; what the others write is compared as text, for they write no formulas.
"""

import argparse
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import numpy as np
import pypdfium2
from PIL import Image

from unrender.errors import MissingExtraError
from unrender.formats import write
from unrender.reading.reader import Reader
from unrender.reading.systems import Options
from unrender.tasks import find
from unrender.words import RapidReader

Read = Callable[[Path], str]
MEASURES = (
    "normalised_distance",
    "text_normalised_distance",
    "math_normalised_distance",
    "tables_normalised_distance",
    "order_errors",
)


def main() -> None:
    arguments = _arguments()
    reader = Reader.open(arguments.model, task="page")
    pages, scans = arguments.folder / "pages-held", arguments.folder / "scans-held"
    names = _names(pages, arguments.limit, arguments.seed)
    programs: list[tuple[str, Path, str, Read]] = [
        ("unrender, picture at 100 dpi", pages, ".png", _unrender(reader, text_layer=False)),
        ("unrender, PDF's pixels", pages, ".pdf", _unrender(reader, text_layer=False)),
        ("unrender, PDF with text layer", pages, ".pdf", _unrender(reader, text_layer=True)),
        ("PDFium's text layer", pages, ".pdf", _text_layer),
        ("unrender, scan at 150 dpi", scans, ".png", _unrender(reader, text_layer=False)),
    ]
    if shutil.which("tesseract"):
        programs.append(("Tesseract, picture at 100 dpi", pages, ".png", _tesseract))
        programs.append(("Tesseract, scan at 150 dpi", scans, ".png", _tesseract))
    with suppress(MissingExtraError):
        rapid = RapidReader()
        programs.append(("RapidOCR, picture at 100 dpi", pages, ".png", _rapid(rapid)))
        programs.append(("RapidOCR, scan at 150 dpi", scans, ".png", _rapid(rapid)))
    for name, folder, ending, read in programs:
        print(json.dumps({"program": name, **_measure(folder, names, ending, read)}), flush=True)


def _measure(folder: Path, names: Sequence[str], ending: str, read: Read) -> dict[str, float]:
    sources = [folder / f"{name}{ending}" for name in names]
    began = time.perf_counter()
    predictions = [read(source) for source in sources]
    seconds = time.perf_counter() - began
    truths = [source.with_suffix(".md").read_text(encoding="utf-8") for source in sources]
    metrics = find("page").metrics
    measures = {name: metrics[name](truths, predictions) for name in MEASURES}
    found = {name: round(float(measure), 4) for name, measure in measures.items() if measure.samples}
    return {**found, "seconds_per_page": round(seconds / len(names), 2), "pages": len(names)}


def _unrender(reader: Reader, *, text_layer: bool) -> Read:
    return lambda source: write(reader.read(source, Options(text_layer=text_layer)), "markdown")


def _text_layer(source: Path) -> str:
    document = pypdfium2.PdfDocument(source)
    return "\n\n".join(page.get_textpage().get_text_range() for page in document)


def _tesseract(source: Path) -> str:
    command = ["tesseract", str(source), "-", "--psm", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"OMP_THREAD_LIMIT": "1"})
    return done.stdout


def _rapid(reader: RapidReader) -> Read:
    """Join the lines that RapidOCR finds, in the order of reading that the receipt reader takes them in."""

    def read(source: Path) -> str:
        page = reader(Image.open(source).convert("RGB"))
        lines = groupby(page.words, key=lambda word: word.line)
        return "\n".join(" ".join(word.text for word in words) for _, words in lines)

    return read


def _names(folder: Path, limit: int, seed: int) -> list[str]:
    names = sorted(path.stem for path in folder.glob("*.pdf"))
    chosen = np.random.default_rng(seed).permutation(len(names))[:limit]
    return [names[place] for place in sorted(chosen)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="page")
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
