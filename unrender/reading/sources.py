"""What the user points at, as inputs for a Reader: files, folders, standard input, the clipboard, a watched folder."""

import sys
from collections.abc import Iterable
from pathlib import Path

from unrender.errors import ConfigError, ImageError, UnrenderError
from unrender.reading.options import Input

STANDARD_INPUT = "-"
SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".jpe", ".gif", ".tif", ".tiff", ".webp", ".bmp", ".ppm", ".pgm", ".pbm"),
    *(".jp2", ".j2k", ".ico", ".tga", ".pdf"),
)


def gather(names: Iterable[str], pages: tuple[int, ...] = ()) -> tuple[list[Input], list[ImageError]]:
    """Turn arguments into inputs; a folder stands for the images and PDFs anywhere in it, `-` for standard input."""
    inputs, errors = list[Input](), list[ImageError]()
    for name in names:
        if name == STANDARD_INPUT:
            inputs.append(Input(sys.stdin.buffer.read(), "standard input", pages))
        elif Path(name).is_dir():
            found = [path for path in sorted(Path(name).rglob("*")) if _is_picture(path)]
            inputs.extend(Input(path, str(path), pages) for path in found)
            if not found:
                errors.append(ImageError(f"{name}: there is no image or PDF in this folder."))
        else:
            inputs.append(Input(name, name, pages))
    return inputs, errors


def parse_pages(text: str) -> tuple[int, ...]:
    """Read page numbers such as `1-4,7`."""
    numbers = list[int]()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        first, _, last = part.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()) or part.endswith("-"):
            raise ConfigError(f"{text!r} does not name pages; write for example 1-4,7")
        numbers.extend(range(int(first), int(last or first) + 1))
    return tuple(numbers)


def clipboard() -> Input:
    """Take the picture that was copied last."""
    from PIL import Image, ImageGrab

    try:
        content = ImageGrab.grabclipboard()
    except (NotImplementedError, OSError, ValueError) as error:
        raise UnrenderError(f"The clipboard cannot be reached here: {error}.") from error
    if isinstance(content, Image.Image):
        return Input(content, "clipboard")
    if content:
        return Input(content[0], content[0])
    raise UnrenderError("There is no picture in the clipboard; copy one first.")


class Watch:
    """Notice pictures that appear in a folder, once each, when they have stopped growing."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise ImageError(f"{folder}: this is not a folder that can be watched.")
        self._folder = folder
        self._known = self._sizes()
        self._growing: dict[Path, int] = {}

    def poll(self) -> list[Input]:
        """Return what has appeared, in order of name, and is as large as it was at the poll before."""
        sizes = {path: size for path, size in self._sizes().items() if path not in self._known}
        ready = sorted(path for path, size in sizes.items() if self._growing.get(path) == size)
        self._known.update((path, sizes[path]) for path in ready)
        self._growing = {path: size for path, size in sizes.items() if path not in self._known}
        return [Input(path, str(path)) for path in ready]

    def _sizes(self) -> dict[Path, int]:
        return {path: path.stat().st_size for path in self._folder.iterdir() if _is_picture(path)}


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file()
