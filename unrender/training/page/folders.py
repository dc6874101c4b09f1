"""Whole pages as files: a picture or PDF, the Markdown of what stands on it, and where everything is."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pypdfium2
from PIL import Image

from unrender.training.data import Gray
from unrender.training.page.assembly import Page
from unrender.training.page.drawing import POINTS_PER_INCH
from unrender.training.page.markdown import page_markdown

PAGES, SCANS = "pages-held", "scans-held"
_SECONDS = 120


@dataclass(frozen=True)
class PageFiles:
    """What is written of one page; `dpi` is the resolution of `gray`."""

    name: str
    page: Page
    gray: Gray
    scanned: Gray
    pdf: bytes | None
    dpi: int


def write_page(folder: Path, files: PageFiles) -> None:
    """Write NAME.png, NAME.md, NAME.json and, where there is one, NAME.pdf; the scan goes to a folder of its own."""
    markdown = page_markdown(files.page)
    for name, gray in ((PAGES, files.gray), (SCANS, files.scanned)):
        (folder / name).mkdir(exist_ok=True)
        Image.fromarray(gray).save(folder / name / f"{files.name}.png")
        (folder / name / f"{files.name}.md").write_text(markdown, encoding="utf-8")
    record = json.dumps(_places(files.page, files.dpi / POINTS_PER_INCH), ensure_ascii=False)
    (folder / PAGES / f"{files.name}.json").write_text(record + "\n", encoding="utf-8")
    if files.pdf is not None:
        (folder / PAGES / f"{files.name}.pdf").write_bytes(files.pdf)


def write_pdfs(dvi: Path) -> Sequence[bytes] | None:
    """Turn each page of a DVI file into a PDF with a text layer; None where dvipdfmx is not installed."""
    target = dvi.with_suffix(".pdf")
    try:
        command = ["dvipdfmx", "-q", "-o", target.name, dvi.name]
        subprocess.run(command, cwd=dvi.parent, check=True, capture_output=True, timeout=_SECONDS)
    except (FileNotFoundError, subprocess.SubprocessError):
        return None
    whole = pypdfium2.PdfDocument(target)
    singles: list[bytes] = []
    for number in range(len(whole)):
        single = pypdfium2.PdfDocument.new()
        single.import_pages(whole, [number])
        buffer = BytesIO()
        single.save(buffer)
        singles.append(buffer.getvalue())
        single.close()
    whole.close()
    return singles


def _places(page: Page, scale: float) -> dict[str, object]:
    """Say in pixels where blocks and lines stand, in reading order."""
    return {
        "paper": page.group,
        "columns": page.style.columns,
        "font": page.style.font,
        "points": page.style.points,
        "blocks": [
            {
                "kind": piece.block.kind,
                "column": piece.column,
                "box": [round(side * scale, 1) for side in piece.box],
                "continued": piece.continued,
                "continues": piece.continues,
                "lines": [[round(side * scale, 1) for side in line.box] for line in piece.lines],
            }
            for piece in page.pieces
        ],
    }
