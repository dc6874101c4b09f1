"""Bytes to upright RGB pages, with Pillow and PDFium: runs in a child process for whatever may be hostile (`guard`).

Large pictures are converted in strips, so that a page never needs much more memory than its own pixels.
NumPy is imported only where it is needed, because the child should start fast.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

from PIL import Image

from unrender.errors import ImageError
from unrender.images.page_text import PageText, collect_text

if TYPE_CHECKING:
    import pypdfium2

MAX_PIXELS = 80_000_000  # 10,000 x 8,000; an A3 page at 600 dpi has 70 million
MIN_SIDE = 4
FORMATS = ("PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP", "PPM", "JPEG2000", "MPO", "ICO", "TGA")

_POINTS_PER_INCH = 72
KNOWN_STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"RIFF", b"BM")  # of damaged images
_PDF_HEADER_REACH = 1024  # bytes within which "%PDF-" must stand
_INK, _INK_REACH = re.compile(rb"<(?:\w+:)?ink[\s>]"), 2048  # the outermost element of InkML, near the beginning
_STRIP_PIXELS = 2_000_000
_ORIENTATION = 0x0112  # the EXIF tag, and what undoes its values
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_BLANK_CONTRAST = 10  # grey levels

Result = TypeVar("Result")


class OpenFile(Protocol):
    """A file that was opened once and whose pages are drawn one at a time."""

    @property
    def count(self) -> int: ...

    def page(self, index: int, dpi: int, name: str) -> Image.Image: ...
    def text(self, index: int, name: str) -> PageText: ...


def is_pdf(data: bytes) -> bool:
    """Tell whether bytes are a PDF, by the header alone."""
    return b"%PDF-" in data[:_PDF_HEADER_REACH]


def open_file(data: bytes, name: str) -> OpenFile:
    """Open an image, a PDF or pen strokes; errors call it `name`."""
    if is_pdf(data):
        return _Pdf(data, name)
    if not is_inkml(data):
        return _Raster(data, name)
    from unrender.images.pen_strokes import Drawing, parse_ink

    return Drawing(parse_ink(data, name))


def is_inkml(data: bytes) -> bool:
    """Tell whether bytes are InkML, pen strokes, by their beginning alone."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and _INK.search(data[:_INK_REACH]) is not None


def upright(image: Image.Image, name: str) -> Image.Image:
    """Turn by the EXIF orientation and convert any mode to RGB."""
    with _decoding(name):
        check_size(image.size, name)
        image.load()
        turn = _TURNS.get(image.getexif().get(_ORIENTATION, 1))
        if image.mode.startswith(("I", "F")):
            converted = _eight_bits(image).convert("RGB")
        elif image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info:
            converted = _over_paper(image)
        else:
            converted = image if image.mode == "RGB" else image.convert("RGB")
        return converted if turn is None else converted.transpose(turn)


def check_size(size: tuple[float, float], name: str) -> None:
    """Refuse pages that are too large to draw, or too small to show anything."""
    width, height = int(size[0]), int(size[1])
    if width * height > MAX_PIXELS:
        raise ImageError(f"{name}: {width} x {height} pixels exceed the limit of {MAX_PIXELS:,}; shrink the image.")
    if min(width, height) < MIN_SIDE:
        raise ImageError(f"{name}: {width} x {height} pixels are too few to read; each side needs at least {MIN_SIDE}.")


def is_blank(image: Image.Image) -> bool:
    """Tell whether an image shows nothing: all its greys are within a few levels."""
    darkest, lightest = image.convert("L").getextrema()
    assert isinstance(darkest, int | float)
    assert isinstance(lightest, int | float)
    return lightest - darkest < _BLANK_CONTRAST


def open_raster(data: bytes, name: str) -> Image.Image:
    """Read the header of an image; nothing is unpacked."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # our own limit follows
            image = Image.open(io.BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise ImageError(f"{name}: the image exceeds the limit of {MAX_PIXELS:,} pixels; shrink it.") from error
    except Exception as error:  # decoders raise anything on hostile bytes
        if data.startswith(KNOWN_STARTS):
            raise ImageError(f"{name}: the image is damaged or incomplete.") from error
        formats = ", ".join(FORMATS[:6])
        raise ImageError(f"{name}: this is neither a PDF nor an image in a known format ({formats}...).") from error
    check_size(image.size, name)
    return image


class _Raster:
    """An image; TIFFs have several pages, animations one."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._image: Image.Image | None = open_raster(data, name)
        with _decoding(name):
            self.count = getattr(self._image, "n_frames", 1) if self._image.format == "TIFF" else 1

    def page(self, index: int, dpi: int, name: str) -> Image.Image:
        image, self._image = self._image or open_raster(self._data, name), None
        with _decoding(name):
            image.seek(index)
            page = upright(image, name)
        if self.count > 1:
            self._image = image  # knows where its pages begin
        return page

    def text(self, index: int, name: str) -> PageText:
        raise ImageError(f"{name}: an image has no text of its own.")


class _Pdf:
    """A PDF, parsed once; PDFium must not be called from two threads."""

    def __init__(self, data: bytes, name: str) -> None:
        import pypdfium2

        try:
            self._document = pypdfium2.PdfDocument(data)
            self.count = len(self._document)
        except pypdfium2.PdfiumError as error:
            raise ImageError(f"{name}: {_why_closed(data)}") from error
        if not self.count:
            raise ImageError(f"{name}: the PDF has no page.")

    def page(self, index: int, dpi: int, name: str) -> Image.Image:
        scale = dpi / _POINTS_PER_INCH

        def draw(page: "pypdfium2.PdfPage") -> Image.Image:
            width, height = page.get_size()
            check_size((width * scale, height * scale), name)
            image = page.render(scale=scale).to_pil()
            assert isinstance(image, Image.Image)
            return image if image.mode == "RGB" else image.convert("RGB")

        return self._with_page(index, draw, f"{name}: the page is damaged and cannot be drawn.")

    def text(self, index: int, name: str) -> PageText:
        def collect(page: "pypdfium2.PdfPage") -> PageText:
            return collect_text(page.get_textpage(), *page.get_size())

        return self._with_page(index, collect, f"{name}: the page is damaged and its text cannot be read.")

    def _with_page(self, index: int, use: "Callable[[pypdfium2.PdfPage], Result]", sentence: str) -> Result:
        import pypdfium2

        try:
            page = self._document[index]
            try:
                return use(page)
            finally:
                page.close()  # drawn pages stay in memory otherwise
        except pypdfium2.PdfiumError as error:
            raise ImageError(sentence) from error


def _why_closed(data: bytes) -> str:
    """Ask PDFium itself: the wrapper takes a document without pages for one that failed to open."""
    from pypdfium2 import raw

    document = raw.FPDF_LoadMemDocument64(data, len(data), None)
    if document:
        raw.FPDF_CloseDocument(document)
        return "the PDF has no page."
    if raw.FPDF_GetLastError() == raw.FPDF_ERR_PASSWORD:
        return "the PDF is encrypted; remove its password first."
    return "the PDF is damaged and cannot be opened."


@contextmanager
def _decoding(name: str) -> Iterator[None]:
    """Turn whatever a decoder raises on hostile bytes into our error, and hush its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except (ImageError, MemoryError):
            raise
        except Exception as error:
            raise ImageError(f"{name}: the image is damaged or incomplete ({error}).") from error


def _eight_bits(image: Image.Image) -> Image.Image:
    """Scale 16- and 32-bit greys to 0..255 by the range their values imply."""
    import numpy as np

    highest = 0.0
    for _, strip in _strips(image):
        values = np.nan_to_num(np.asarray(strip, dtype=np.float32), posinf=0.0, neginf=0.0)
        highest = max(highest, float(values.max()))
    ranges = (1.0, 255.0, 65535.0) if image.mode == "F" else (255.0, 65535.0)
    limit = next((limit for limit in ranges if highest <= limit), highest)
    scaled = Image.new("L", image.size)
    for top, strip in _strips(image):
        values = np.nan_to_num(np.asarray(strip, dtype=np.float64), posinf=0.0, neginf=0.0)
        levels = (np.clip(values / limit, 0, 1) * 255).round().astype(np.uint8)
        scaled.paste(Image.fromarray(levels), (0, top))
    return scaled


def _over_paper(image: Image.Image) -> Image.Image:
    """Lay a transparent image over white; over black when white would hide all of it (light ink)."""
    on_white = _composed(image, "white")
    if not is_blank(on_white):
        return on_white
    on_black = _composed(image, "black")
    return on_white if is_blank(on_black) else on_black


def _composed(image: Image.Image, paper: str) -> Image.Image:
    result = Image.new("RGB", image.size)
    for top, strip in _strips(image):
        ink = strip.convert("RGBA")
        result.paste(Image.alpha_composite(Image.new("RGBA", ink.size, paper), ink).convert("RGB"), (0, top))
    return result


def _strips(image: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """Cut an image into pieces of full width, each with the row where it begins."""
    rows = max(1, _STRIP_PIXELS // image.width)
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))
