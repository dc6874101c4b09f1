"""Where results go: standard output or files, in the notation that was asked for or that the file's ending implies."""

import json
import sys
from pathlib import Path

from unrender import formats
from unrender.documents import Document, to_dict
from unrender.errors import NotationError, UnrenderError
from unrender.formats.overlay import draw
from unrender.images.opening import open_pages
from unrender.reading.options import Input

DOCUMENT = "document"  # the whole Document as one line of JSON, not a notation
ENDINGS = {
    ".tex": "latex",
    ".txt": "text",
    ".md": "markdown",
    ".json": "json",
    ".jsonl": DOCUMENT,
    ".xml": "doctags",
    ".doctags": "doctags",
    ".mml": "mathml",
    ".html": "html",
    ".typ": "typst",
    ".py": "sympy",
    ".csv": "csv",
    ".docx": "docx",
}

_PICTURES = (".png", ".jpg", ".webp")


class Delivery:
    """Write documents one after the other; with several, each result names its file."""

    def __init__(
        self,
        notation: str,
        out: Path | None = None,
        *,
        several: bool = False,
        overlay: Path | None = None,
        dpi: int = 96,
    ) -> None:
        self._notation = notation
        self._out = out
        self._named = several
        self._overlay = overlay
        self._dpi = dpi
        self._begun = False

    def deliver(self, document: Document, source: Input) -> None:
        """Write one result, and its overlay picture if one is wanted."""
        if self._overlay is not None:
            self._save_overlay(document, source, self._overlay)
        if self._out is not None and (self._out.is_dir() or not self._named):
            name = Path(document.source).stem + ending_of(self._notation)
            path = self._out / name if self._out.is_dir() else self._out
            _save(path, render_file(document, self._notation), append=False)
            return
        text = render(document, self._notation)
        line = self._label(document.source, text) + "\n" if self._named and self._notation != DOCUMENT else text + "\n"
        if self._out is None:
            sys.stdout.write(line)
            sys.stdout.flush()
        else:
            _save(self._out, line.encode(), append=self._begun)
        self._begun = True

    def _save_overlay(self, document: Document, source: Input, path: Path) -> None:
        """Write one picture a page: to `path` itself when there is only one, beside it with names added otherwise."""
        images = open_pages(source.source, self._dpi, document.source)
        if path.suffix.lower() not in _PICTURES:
            raise NotationError(f"{path}: an overlay is a picture; its name must end in {' or '.join(_PICTURES)}.")
        for page in (page for page in document.pages if page.status.kind != "failed"):
            parts = [path.stem]
            parts += [Path(document.source).stem] if self._named else []
            parts += [str(page.number)] if len(images) > 1 else []
            try:
                draw(images[page.number - 1], page).save(path.with_stem("-".join(parts)))
            except OSError as error:
                raise UnrenderError(f"{path} cannot be written ({error}).") from error

    def _label(self, source: str, text: str) -> str:
        return f"{source}: {text}" if "\n" not in text else f"{source}:\n{text}\n"


def render(document: Document, notation: str) -> str:
    """Write a document in a notation, or as one line of JSON that holds all of it."""
    if notation == DOCUMENT:
        return json.dumps(to_dict(document), ensure_ascii=False)
    readings = [reading for block in document.blocks for reading in block.readings]
    if readings:
        return "\n".join(f"{reading.confidence:.4f}  {reading.text}" for reading in readings)
    return formats.write(document, notation).rstrip("\n")


def render_file(document: Document, notation: str) -> bytes:
    """Write what the file of one document holds; it opens, or compiles, as it is."""
    if notation == DOCUMENT or any(block.readings for block in document.blocks):
        return (render(document, notation) + "\n").encode()
    return formats.write_file(document, notation)


def choose_notation(asked: str | None, out: Path | None, default: str) -> str:
    """Take the notation asked for, else the one that the ending of `out` implies, else the task's own."""
    if asked is not None:
        return formats.check_notation(asked)
    if out is None or out.is_dir() or not out.suffix:
        return default
    if out.suffix not in ENDINGS:
        known = " ".join(ENDINGS)
        raise NotationError(f"{out}: no notation goes with the ending {out.suffix}; give --format, or one of {known}")
    return ENDINGS[out.suffix]


def ending_of(notation: str) -> str:
    """Return the file ending of a notation."""
    return next((ending for ending, name in ENDINGS.items() if name == notation), ".txt")


def _save(path: Path, content: bytes, *, append: bool) -> None:
    try:
        with path.open("ab" if append else "wb") as file:
            file.write(content)
    except OSError as error:
        raise UnrenderError(f"{path} cannot be written ({error.strerror}).") from error
