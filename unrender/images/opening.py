"""Files to upright RGB images, whatever their format, mode and orientation; `pixels` takes over from there.

What may be hostile is opened in a child process (`guard`): everything that comes as bytes, as the server gets it,
and of the files on disk those whose decoding has no bound: PDFs, TIFFs, large images and odd formats. A plain image
file is opened here: its pixels are counted before they are unpacked, and unpacking so many is quick. What all large
pages hold that are open at the same time is bounded.
"""

import os
import stat
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.errors import ImageError
from unrender.images.drawing import (
    FORMATS,
    MAX_PIXELS,
    check_size,
    is_blank,
    is_inkml,
    is_pdf,
    open_raster,
    upright,
)
from unrender.images.guard import GUARD, TooMuchError
from unrender.images.page_text import PageText
from unrender.images.pixels import Placement, place, prepare, stack

__all__ = [
    "FORMATS",
    "MAX_PIXELS",
    "PageText",
    "Pages",
    "Placement",
    "Source",
    "is_blank",
    "open_pages",
    "place",
    "prepare",
    "stack",
]

Grey = NDArray[np.uint8]
Source: TypeAlias = str | os.PathLike[str] | bytes | Image.Image | Grey

_PLAIN = ("PNG", "JPEG", "BMP", "PPM", "WEBP", "GIF")
_PLAIN_PIXELS = 25_000_000
_PLAIN_BYTES = 100_000_000
_JPEG_SCAN, _MOST_SCANS = b"\xff\xda", 64  # each scan of a progressive JPEG costs as much as the whole picture
_STRIKES = 3  # pages over the limit, after which a document is not tried any more
BYTES_PER_PIXEL = 4  # of an RGB image in Pillow
_LARGE = 8_000_000  # pixels


class PageMemory:
    """A budget of bytes; a large page waits until those before it are let go."""

    def __init__(self, size: int, seconds: float, smallest: int = _LARGE) -> None:
        self.size, self.smallest = size, smallest  # bytes; pixels of a page that is counted
        self.held = 0
        self._seconds = seconds
        self._changed = threading.Condition()  # re-entrant: a finalizer may run while this thread holds it

    @contextmanager
    def room(self, name: str) -> Iterator["_Room"]:
        """Take room for one page; what was not kept is given back."""
        room = _Room(self, name)
        try:
            yield room
        except BaseException:
            self.give(room.held)
            raise

    def take(self, held: int, name: str) -> None:
        """Count so many bytes, once there is room for them."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.held + held <= self.size or not self.held, self._seconds):
                raise self.refusal(name)
            self.held += held

    def give(self, held: int) -> None:
        """Count so many bytes no longer."""
        with self._changed:
            self.held -= held
            self._changed.notify_all()

    def refusal(self, name: str) -> Exception:
        """Return the error of a page for which there is no room."""
        return ImageError(
            f"{name}: the large pages that are open hold {self.size / (1 << 30):.2g} GB, the limit; close some."
        )


class _Room:
    def __init__(self, memory: PageMemory, name: str) -> None:
        self._memory, self._name = memory, name
        self.held = 0

    def take(self, size: tuple[int, int]) -> None:
        pixels = size[0] * size[1]
        if pixels >= self._memory.smallest:
            self._memory.take(pixels * BYTES_PER_PIXEL, self._name)
            self.held = pixels * BYTES_PER_PIXEL

    def keep(self, image: Image.Image) -> Image.Image:
        """Hold the room for as long as the image lives."""
        if self.held:
            weakref.finalize(image, self._memory.give, self.held)
        return image


PAGE_MEMORY = PageMemory(size=1 << 30, seconds=60.0)


class Pages(Sequence[Image.Image]):
    """The pages of one source, opened one at a time; a page that cannot be read raises ImageError alone."""

    def __init__(
        self,
        name: str,
        count: int,
        open_page: Callable[[int], Image.Image],
        text_of: Callable[[int], PageText] | None = None,
        redraw: Callable[[int], Image.Image] | None = None,
    ) -> None:
        self.name = name
        self._count = count
        self._open_page = open_page
        self._text_of = text_of
        self.redraw = redraw  # draws pen strokes with another pen, counted from 1; None: there are no strokes

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Image.Image: ...
    @overload
    def __getitem__(self, index: slice) -> list[Image.Image]: ...
    def __getitem__(self, index: int | slice) -> Image.Image | list[Image.Image]:
        chosen = range(self._count)[index]
        return self._open_page(chosen) if isinstance(chosen, int) else [self._open_page(number) for number in chosen]

    def text(self, index: int) -> PageText | None:
        """Return the characters that a PDF page carries itself; None for a picture."""
        return None if self._text_of is None else self._text_of(range(self._count)[index])


def open_pages(source: Source, dpi: int = 96, name: str = "", memory: PageMemory = PAGE_MEMORY) -> Pages:
    """Open an image, a PDF or pen strokes (InkML) as upright RGB pages; multi-page TIFFs have several, animations one.

    `dpi` is for PDF pages only. `name` is how errors call the source, the file name unless given. `memory` bounds
    what open pages hold together.
    """
    if isinstance(source, np.ndarray):
        source = _from_array(source, name or "array")
    if isinstance(source, Image.Image):
        image = source
        return Pages(name or "image", 1, lambda index: _page_of_image(image, name or "image"))
    from_disk = not isinstance(source, bytes)
    if not isinstance(source, bytes):
        path = Path(source)
        source, name = _file_bytes(path), name or str(path)
    name = name or "image"
    if not source:
        raise ImageError(f"{name}: the file is empty; give an image or a PDF.")
    if from_disk and not is_pdf(source) and not is_inkml(source):
        plain = open_raster(source, name)
        if _is_plain(plain, source):
            data = source
            return Pages(name, 1, lambda index: _plain_page(data, name, memory))
    return _Guarded(source, dpi, name, memory).pages()


class _Guarded:
    """A file that is opened and drawn in a child process."""

    def __init__(self, data: bytes, dpi: int, name: str, memory: PageMemory) -> None:
        self._data, self._dpi, self._name, self._memory = data, dpi, name, memory
        self._pdf = is_pdf(data)
        self._strikes = 0

    def pages(self) -> Pages:
        count = GUARD.count(self._data, self._name)
        redraw = self._draw if is_inkml(self._data) else None
        return Pages(self._name, count, self._draw, self._text if self._pdf else None, redraw)

    def _draw(self, index: int) -> Image.Image:
        name = self._page_name(index)
        with self._memory.room(name) as room:
            try:
                return room.keep(GUARD.draw(self._data, index, self._dpi, name, room.take))
            except TooMuchError:
                self._strikes += 1
                raise

    def _text(self, index: int) -> PageText:
        return GUARD.text(self._data, index, self._page_name(index))

    def _page_name(self, index: int) -> str:
        name = f"{self._name}, page {index + 1}" if self._pdf else self._name
        if self._strikes >= _STRIKES:
            raise ImageError(
                f"{name}: {_STRIKES} pages of this file exceeded the limits, so the others were not tried."
            )
        return name


def _is_plain(image: Image.Image, data: bytes) -> bool:
    pixels = image.width * image.height
    bounded = image.format != "JPEG" or data.count(_JPEG_SCAN) <= _MOST_SCANS
    return bounded and image.format in _PLAIN and pixels <= _PLAIN_PIXELS and len(data) <= _PLAIN_BYTES


def _plain_page(data: bytes, name: str, memory: PageMemory) -> Image.Image:
    with open_raster(data, name) as image, memory.room(name) as room:
        room.take(image.size)
        return room.keep(upright(image, name))


def _page_of_image(image: Image.Image, name: str) -> Image.Image:
    page = upright(image, name)
    return page.copy() if page is image else page  # the caller's own image stays the caller's


def _file_bytes(path: Path) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ImageError(f"{path}: this is a pipe or a device; give a file, or its content with -.")
            return file.read()
    except FileNotFoundError:
        raise ImageError(f"{path}: there is no such file.") from None
    except (IsADirectoryError, PermissionError) as error:
        if path.is_dir():
            raise ImageError(f"{path}: this is a folder; give an image or a PDF.") from None
        raise ImageError(f"{path}: the file cannot be opened ({error.strerror}).") from error
    except OSError as error:
        raise ImageError(f"{path}: the file cannot be opened ({error.strerror}).") from error
    except ValueError as error:  # a NUL byte
        raise ImageError(f"{str(path)!r}: this cannot be the name of a file ({error}).") from error


def _from_array(array: Grey, name: str) -> Image.Image:
    try:
        image = Image.fromarray(array)
    except Exception as error:  # Pillow raises anything here: TypeError, ValueError, IndexError, AttributeError
        shape, kind = array.shape, array.dtype
        raise ImageError(
            f"{name}: {kind} {shape} is not a picture; give uint8 (H, W), (H, W, 3) or (H, W, 4)."
        ) from error
    check_size(image.size, name)
    return image
