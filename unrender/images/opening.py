"""Files to upright RGB images, whatever their format, mode and orientation; `pixels` takes over from there."""

import io
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from unrender.errors import ImageError
from unrender.images.pixels import Placement, is_blank, place, prepare, stack

__all__ = [
    "MAX_PIXELS",
    "PDFIUM_LOCK",
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

MAX_PIXELS = 80_000_000  # 10,000 x 8,000; an A3 page at 600 dpi has 70 million
MIN_SIDE = 4
FORMATS = ("PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP", "PPM", "JPEG2000", "MPO", "ICO", "TGA")
PDFIUM_LOCK = threading.Lock()  # PDFium serves one thread at a time

_POINTS_PER_INCH = 72
_KNOWN_STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"RIFF", b"BM")  # of damaged images
_PDF_HEADER_REACH = 1024  # bytes within which "%PDF-" must stand


class Pages(Sequence[Image.Image]):
    """The pages of one source, opened one at a time; a page that cannot be read raises ImageError alone."""

    def __init__(self, name: str, count: int, open_page: Callable[[int], Image.Image]) -> None:
        self.name = name
        self._count = count
        self._open_page = open_page

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Image.Image: ...
    @overload
    def __getitem__(self, index: slice) -> list[Image.Image]: ...
    def __getitem__(self, index: int | slice) -> Image.Image | list[Image.Image]:
        chosen = range(self._count)[index]
        return self._open_page(chosen) if isinstance(chosen, int) else [self._open_page(number) for number in chosen]


def open_pages(source: Source, dpi: int = 96, name: str = "") -> Pages:
    """Open an image or PDF as upright RGB pages; multi-page TIFFs have several, animations one.

    `dpi` is for PDF pages only. `name` is how errors call the source, the file name unless given.
    """
    if isinstance(source, np.ndarray):
        source = _from_array(source, name or "array")
    if isinstance(source, Image.Image):
        image = source
        return Pages(name or "image", 1, lambda index: _upright(image, name or "image"))
    if not isinstance(source, bytes):
        path = Path(source)
        source, name = _file_bytes(path), name or str(path)
    name = name or "image"
    if not source:
        raise ImageError(f"{name}: the file is empty; give an image or a PDF.")
    if b"%PDF-" in source[:_PDF_HEADER_REACH]:
        return _pdf_pages(source, dpi, name)
    return _image_pages(source, name)


def _file_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ImageError(f"{path}: there is no such file.") from None
    except IsADirectoryError:
        raise ImageError(f"{path}: this is a folder; give an image or a PDF.") from None
    except OSError as error:
        raise ImageError(f"{path}: the file cannot be opened ({error.strerror}).") from error


def _image_pages(data: bytes, name: str) -> Pages:
    with _pillow(data, name) as image, _decoding(name):
        count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
    return Pages(name, count, lambda index: _image_page(data, index, name))


def _image_page(data: bytes, index: int, name: str) -> Image.Image:
    with _pillow(data, name) as image, _decoding(name):
        image.seek(index)
        _check_size(image.size, name)
        image.load()
        return _upright(image, name)


@contextmanager
def _decoding(name: str) -> Iterator[None]:
    """Turn whatever a decoder raises on hostile bytes into our error, and hush its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except ImageError:
            raise
        except Exception as error:
            raise ImageError(f"{name}: the image is damaged or incomplete ({error}).") from error


def _pillow(data: bytes, name: str) -> Image.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # our own limit follows
            image = Image.open(io.BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise ImageError(f"{name}: the image has more than {MAX_PIXELS:,} pixels, the limit; shrink it.") from error
    except Exception as error:  # decoders raise anything on hostile bytes
        if data.startswith(_KNOWN_STARTS):
            raise ImageError(f"{name}: the image is damaged or incomplete.") from error
        formats = ", ".join(FORMATS[:6])
        raise ImageError(f"{name}: this is neither a PDF nor an image in a known format ({formats}...).") from error
    _check_size(image.size, name)
    return image


def _check_size(size: tuple[float, float], name: str) -> None:
    width, height = int(size[0]), int(size[1])
    if width * height > MAX_PIXELS:
        raise ImageError(f"{name}: {width} x {height} pixels exceed the limit of {MAX_PIXELS:,}; shrink the image.")
    if min(width, height) < MIN_SIDE:
        raise ImageError(f"{name}: {width} x {height} pixels show nothing; each side needs at least {MIN_SIDE}.")


def _upright(image: Image.Image, name: str) -> Image.Image:
    """Turn by the EXIF orientation and convert any mode to RGB."""
    _check_size(image.size, name)
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith(("I", "F")):
        image = _eight_bits(image)
    if image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info:
        return _over_paper(image.convert("RGBA"))
    return image.convert("RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    """Scale 16- and 32-bit greys to 0..255 by the range their values imply."""
    values = np.nan_to_num(np.asarray(image, dtype=np.float64), posinf=0.0, neginf=0.0)
    highest = float(values.max())
    ranges = (1.0, 255.0, 65535.0) if image.mode == "F" else (255.0, 65535.0)
    top = next((limit for limit in ranges if highest <= limit), highest)
    return Image.fromarray((np.clip(values / top, 0, 1) * 255).round().astype(np.uint8))


def _over_paper(image: Image.Image) -> Image.Image:
    """Lay a transparent image over white; over black when white would hide all of it (light ink)."""
    on_white, on_black = (
        Image.alpha_composite(Image.new("RGBA", image.size, paper), image).convert("RGB")
        for paper in ("white", "black")
    )
    return on_black if is_blank(on_white) and not is_blank(on_black) else on_white


def _from_array(array: Grey, name: str) -> Image.Image:
    try:
        return Image.fromarray(array)
    except (TypeError, ValueError) as error:
        shape, kind = array.shape, array.dtype
        raise ImageError(f"{name}: {kind} {shape} is no picture; give uint8 (H, W), (H, W, 3) or (H, W, 4).") from error


def _pdf_pages(data: bytes, dpi: int, name: str) -> Pages:
    count = _count_pdf_pages(data, name)
    if not count:
        raise ImageError(f"{name}: the PDF has no page.")
    return Pages(name, count, lambda index: _pdf_page(data, index, dpi, f"{name}, page {index + 1}"))


def _count_pdf_pages(data: bytes, name: str) -> int:
    """Ask PDFium itself: the wrapper takes a document without pages for one that failed to open."""
    from pypdfium2 import raw

    with PDFIUM_LOCK:
        document = raw.FPDF_LoadMemDocument64(data, len(data), None)
        if document:
            count = int(raw.FPDF_GetPageCount(document))
            raw.FPDF_CloseDocument(document)
            return count
        encrypted = raw.FPDF_GetLastError() == raw.FPDF_ERR_PASSWORD
    if encrypted:
        raise ImageError(f"{name}: the PDF is encrypted; remove its password first.")
    raise ImageError(f"{name}: the PDF is damaged and cannot be opened.")


def _pdf_page(data: bytes, index: int, dpi: int, name: str) -> Image.Image:
    import pypdfium2

    scale = dpi / _POINTS_PER_INCH
    with PDFIUM_LOCK:
        document = pypdfium2.PdfDocument(data)
        try:
            page = document[index]
            width, height = page.get_size()
            _check_size((width * scale, height * scale), name)
            image = page.render(scale=scale).to_pil()
            assert isinstance(image, Image.Image)
            return image.convert("RGB")
        except pypdfium2.PdfiumError as error:
            raise ImageError(f"{name}: the page is damaged and cannot be drawn.") from error
        finally:
            document.close()
