"""Where results go: standard output or files, in the notation that was asked for or that the file's ending implies."""

import io
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from PIL import Image, ImageDraw

from unrender import formats
from unrender.cli.result_files import Files, arrange
from unrender.documents import Block, Document, Json, Page, to_dict
from unrender.errors import NotationError, UnrenderError
from unrender.formats.json import dump
from unrender.images.opening import open_pages
from unrender.reading.systems import Input

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
    ".xlsx": "xlsx",
}

_STREAMED = ("markdown", "text")  # what the pages of a document may be printed in one by one
_OF_THE_WHOLE = ("source", "model", "task", "status", "confidence")  # what is said of a document besides its fields
_PICTURES = (".png", ".jpg", ".webp")
_OPACITY = 90  # of 255
_SURE, _UNSURE = (30, 140, 60), (220, 60, 20)
_INK = (20, 60, 160)
_NAMED = ("company", "date", "address", "total")  # fields whose name is written beside their box


class Delivery:
    """Write documents one after the other: to standard output, to a file each, or all to one file."""

    def __init__(
        self,
        notation: str,
        out: Path | None = None,
        *,
        inputs: Sequence[Input] = (),
        several: bool = False,
        overlay: Path | None = None,
        overwrite: bool = False,
        dpi: int = 96,
    ) -> None:
        self._notation = notation
        self._out = out
        self._named = several
        self._overlay = overlay
        self._dpi = dpi
        self._together: list[Document] = []  # what one file of all results holds so far
        self._unsaved = False
        self._printed = False
        self._files = Files([entry.source for entry in inputs], overwrite=overwrite)
        self._places = arrange(inputs)
        self._check_names()

    def deliver(self, document: Document, source: Input) -> None:
        """Write one result, and its overlay picture if one is wanted."""
        self._files.reading(source.source)
        if self._overlay is not None:
            self._save_overlay(document, source, self._overlay)
        if self._out is None:
            self._print(document)
        elif self._out.is_dir():
            document = self._cut_figures(document, source, self._out / self._place(source))
            path = self._out / f"{self._place(source)}{ending_of(self._notation)}"
            content = render_file(document, self._notation)
            _make_folder(path.parent)
            self._files.save(path, content, document.source)
        elif self._named:
            render_file(document, self._notation)  # what cannot be written is said now, and is not among the rest
            self._together.append(document)
            self._unsaved = True
        else:
            self._files.save(self._out, render_file(document, self._notation), document.source)

    @property
    def streams(self) -> bool:
        """Whether pages may be printed one by one as they are read."""
        return self._out is None and not self._named and self._overlay is None and self._notation in _STREAMED

    def print_page(self, page: Page) -> None:
        """Print one page of a document."""
        text = formats.write(Document(pages=(page,)), self._notation).rstrip("\n")
        sys.stdout.write(("\n" if self._printed and text else "") + (text + "\n" if text else ""))
        self._printed = self._printed or bool(text)
        sys.stdout.flush()

    def _cut_figures(self, document: Document, source: Input, path: Path) -> Document:
        """Save the figures of pages beside the result, and let their blocks name the files."""
        if not any(block.kind == "picture" and block.box is not None for block in document.blocks):
            return document
        images = open_pages(source.source, self._dpi, document.source)
        number, pages = 0, list[Page]()
        for page in document.pages:
            blocks = list[Block]()
            for block in page.blocks:
                if block.kind == "picture" and block.box is not None:
                    number += 1
                    name = f"{path.name}-figure-{number}.png"
                    picture = io.BytesIO()
                    box = block.box
                    corners = (int(box.x0), int(box.y0), int(box.x1) + 1, int(box.y1) + 1)
                    _as_read(images[page.number - 1], page).crop(corners).save(picture, "PNG")
                    _make_folder(path.parent)
                    self._files.save(path.with_name(name), picture.getvalue(), document.source)
                    block = replace(block, fields={"file": name})
                blocks.append(block)
            pages.append(replace(page, blocks=tuple(blocks)))
        return replace(document, pages=tuple(pages))

    def finish(self) -> None:
        """Write the one file that holds all results so far."""
        if self._unsaved and self._out is not None:
            self._unsaved = False
            self._files.save(self._out, render_together(self._together, self._notation))

    def _check_names(self) -> None:
        """Refuse, before anything is read, what could not be written anyway."""
        if self._out is not None and not self._out.is_dir():
            self._files.check(self._out)
            if self._named:
                self._files.refuse_existing(self._out)
        if self._overlay is not None:
            if self._overlay.suffix.lower() not in _PICTURES:
                known = " or ".join(_PICTURES)
                raise NotationError(f"{self._overlay}: an overlay is a picture; its name must end in {known}.")
            self._files.check(self._overlay)

    def _print(self, document: Document) -> None:
        text = render(document, self._notation)
        named = self._named and self._notation != DOCUMENT
        sys.stdout.write((_label(document.source, text) if named else text) + "\n")
        sys.stdout.flush()

    def _place(self, source: Input) -> Path:
        if source.name not in self._places:  # it has appeared in a watched folder
            whole = Path(source.place or Path(source.name).name)
            taken = whole.with_suffix("") in self._places.values()
            self._places[source.name] = whole if taken else whole.with_suffix("")
        return self._places[source.name]

    def _save_overlay(self, document: Document, source: Input, path: Path) -> None:
        """Write one picture a page: to `path` itself when there is only one, beside it with names added otherwise."""
        images = open_pages(source.source, self._dpi, document.source)
        for page in (page for page in document.pages if page.status.kind != "failed"):
            parts = [path.stem]
            parts += self._place(source).parts if self._named else []
            parts += [str(page.number)] if len(images) > 1 else []
            picture = io.BytesIO()
            name = path.with_name("-".join(parts) + path.suffix)
            try:
                draw_overlay(_as_read(images[page.number - 1], page), page).save(picture, _picture_format(path))
            except OSError as error:
                raise UnrenderError(f"{name} cannot be written ({error}).") from error
            self._files.save(name, picture.getvalue(), document.source)


def _as_read(image: Image.Image, page: Page) -> Image.Image:
    """Return the picture of a page as large as it was read: who reads pages draws PDFs finer than others."""
    size = (round(page.width), round(page.height))
    return image if image.size == size or not all(size) else image.resize(size)


def choose_output(name: str | None, *, several: bool) -> Path | None:
    """Return where results go; the folder is made when the name is that of one: `out/`, or `out` for several."""
    if name is None:
        return None
    path = Path(name)
    if name.endswith(("/", os.sep)) or (several and not path.suffix and not path.exists()):
        _make_folder(path)
    return path


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


def render_together(documents: Sequence[Document], notation: str) -> bytes:
    """Write what one file of several documents holds: lines, an array, or one document with the pages of all."""
    if notation == DOCUMENT:
        return "".join(render(document, DOCUMENT) + "\n" for document in documents).encode()
    if notation == "json":
        return (dump([_element(document) for document in documents]) + "\n").encode()
    if notation in formats.TABLES:
        return formats.write_table(documents, notation)
    all_pages = chain.from_iterable(document.pages for document in documents)
    pages = tuple(replace(page, number=number) for number, page in enumerate(all_pages, start=1))
    return render_file(replace(documents[0], pages=pages, source=""), notation)


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


def _element(document: Document) -> Json:
    """Return a document as JSON that names its source."""
    whole = to_dict(document)
    value = json.loads(formats.write(document, "json"))
    if value == whole:
        return whole
    return {**{name: whole[name] for name in _OF_THE_WHOLE if whole.get(name)}, "fields": value}


def _label(source: str, text: str) -> str:
    return f"{source}: {text}" if "\n" not in text else f"{source}:\n{text}\n"


def _picture_format(path: Path) -> str:
    return {".jpg": "JPEG"}.get(path.suffix.lower(), path.suffix[1:].upper())


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnrenderError(f"{folder} cannot be made a folder ({error.strerror}).") from error


def draw_overlay(image: Image.Image, page: Page) -> Image.Image:
    """Return a copy of the page image with a box for every token whose place is known."""
    layer = Image.new("RGBA", image.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(layer)
    for block in [one for outer in page.blocks for one in (outer, *outer.children)]:
        if block.box is not None:
            pen.rectangle((block.box.x0, block.box.y0, block.box.x1, block.box.y1), outline=(*_SURE, 255))
            if block.kind in _NAMED:
                pen.text((block.box.x0, block.box.y0), block.kind, fill=(*_INK, 255), anchor="lb")
        for token in block.tokens:
            if token.box is not None:
                box = (token.box.x0, token.box.y0, token.box.x1, token.box.y1)
                pen.rectangle(box, fill=(*_tint(token.probability), _OPACITY), outline=(*_tint(token.probability), 255))
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def _tint(probability: float) -> tuple[int, int, int]:
    red, green, blue = (
        round(unsure + probability * (sure - unsure)) for sure, unsure in zip(_SURE, _UNSURE, strict=True)
    )
    return red, green, blue
