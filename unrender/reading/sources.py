"""What the user points at, as inputs for a Reader: files, folders, standard input, the clipboard, a watched folder."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from unrender.errors import ConfigError, ImageError, UnrenderError
from unrender.reading.systems import Input

STANDARD_INPUT = "-"
SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".jpe", ".gif", ".tif", ".tiff", ".webp", ".bmp", ".ppm", ".pgm", ".pbm"),
    *(".jp2", ".j2k", ".ico", ".tga", ".pdf", ".inkml"),
)
_PAGE_DIGITS = 6
_LONGEST_QUOTE = 40

_State = tuple[int, int]  # bytes, and when they were written


def gather(names: Iterable[str], pages: tuple[int, ...] = ()) -> tuple[list[Input], list[ImageError]]:
    """Turn arguments into inputs; a folder stands for the images and PDFs anywhere in it, `-` for standard input."""
    inputs, errors = list[Input](), list[ImageError]()
    for name in names:
        if name == STANDARD_INPUT:
            inputs.append(Input(sys.stdin.buffer.read(), "standard input", pages))
        elif Path(name).is_dir():
            found = [path for path in sorted(Path(name).rglob("*")) if _is_picture(path)]
            inputs.extend(Input(path, shown(path), pages, place=str(path.relative_to(name))) for path in found)
            if not found:
                errors.append(ImageError(f"{name}: there is no image or PDF in this folder."))
        else:
            inputs.append(Input(name, shown(name), pages, place=Path(name).name))
    return inputs, errors


def shown(path: str | Path) -> str:
    """Return a file's name as it can be printed, whatever bytes it has."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def parse_pages(text: str) -> tuple[int, ...]:
    """Read page numbers such as `1-4,7`."""
    numbers = list[int]()
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        first, _, last = part.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()) or part.endswith("-"):
            raise ConfigError(f"{text!r} does not name pages; write for example 1-4,7")
        if len(first) > _PAGE_DIGITS or len(last) > _PAGE_DIGITS:
            raise ConfigError(f"{part[:_LONGEST_QUOTE]}: no document has so many pages; write for example 1-4,7")
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


class WatchedFolder:
    """Notice pictures that appear in a folder or change there, each time they have stopped changing."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise ImageError(f"{folder}: this is not a folder that can be watched.")
        self._folder = folder
        self._known = self._states()
        self._changing: dict[Path, _State] = {}

    def poll(self) -> list[Input]:
        """Return what has appeared, in order of name, and is as it was at the poll before.

        What pauses while it is written may be returned too soon; when it goes on, it is returned again.
        """
        states = self._states()
        news = {path: state for path, state in states.items() if self._known.get(path) != state and state[0]}
        ready = sorted(path for path, state in news.items() if self._changing.get(path) == state)
        self._known = {path: state for path, state in self._known.items() if path in states}
        self._known.update((path, news.pop(path)) for path in ready)
        self._changing = news
        return [Input(path, shown(path), place=path.name) for path in ready]

    def _states(self) -> "dict[Path, _State]":
        found = dict[Path, _State]()
        try:
            paths = [path for path in self._folder.iterdir() if _is_picture(path)]
        except OSError as error:
            raise ImageError(f"{self._folder}: this folder cannot be watched any more ({error.strerror}).") from error
        for path in paths:
            with suppress(OSError):  # it has gone already
                about = path.stat()
                found[path] = (about.st_size, about.st_mtime_ns)
        return found


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file()
