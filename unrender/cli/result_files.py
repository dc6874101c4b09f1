"""Files that results go to: which name each one gets, and that it is written whole or not at all."""

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from unrender.errors import UnrenderError
from unrender.reading.systems import Input


class Files:
    """Writes results, never over what is being read and, unless told to, never over anything that would change."""

    def __init__(self, inputs: Iterable[object], *, overwrite: bool = False) -> None:
        self._overwrite = overwrite
        self._read = {mark for source in inputs if (mark := _identity(source)) is not None}
        self._written: dict[Path, str] = {}  # and of which source

    def reading(self, source: object) -> None:
        """Add one more file that must not be written over."""
        mark = _identity(source)
        if mark is not None:
            self._read.add(mark)

    def check(self, path: Path, source: str = "") -> None:
        """Refuse a name that would cost somebody else's content, as far as the name tells."""
        if _identity(path) in self._read:
            raise UnrenderError(f"{path} is being read, so the result cannot be written there; choose another name.")
        if self._written.get(path, source) != source:
            raise UnrenderError(f"{path} holds the result of {self._written[path]} already; give -o a folder.")

    def refuse_existing(self, path: Path) -> None:
        """Refuse, before anything is read, a file that is there; for results that are only known at the end."""
        self.check(path)
        if path.is_file() and not self._overwrite:
            raise UnrenderError(f"{path} exists already; --overwrite writes over it.")

    def save(self, path: Path, content: bytes, source: str = "") -> None:
        """Write a result; what is there already stays unless it is the same, or ours of this run, or may go."""
        self.check(path, source)
        try:
            if path not in self._written and not self._overwrite and path.is_file():
                if path.read_bytes() != content:
                    raise UnrenderError(f"{path} exists and holds something else; --overwrite writes over it.")
            else:
                write_whole(path, content)
        except OSError as error:
            raise UnrenderError(f"{path} cannot be written ({error.strerror}).") from error
        self._written[path] = source


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that at every moment it has its old content or all of the new one."""
    path = Path(os.path.realpath(path))  # a link stays a link
    if path.exists() and not path.is_file():  # a pipe or a device
        path.write_bytes(content)
        return
    partial = path.with_name(f".unrender-{secrets.token_hex(6)}.part")
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, partial)
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    _settle(path.parent)


def arrange(inputs: Sequence[Input]) -> dict[str, Path]:
    """Say where the result of each input belongs below a folder, without its ending: no two share a place.

    A folder keeps its structure; files that were named one by one do if they share a name; and those that differ
    only in their ending keep it.
    """
    places = {entry.name: Path(entry.place or Path(entry.name).name) for entry in inputs}
    if len(set(places.values())) < len(places):
        whole = {entry.name: Path(os.path.abspath(os.fsdecode(_path_of(entry)))) for entry in inputs}
        root = os.path.commonpath([path.parent for path in whole.values()])
        places = {name: path.relative_to(root) for name, path in whole.items()}
    shared = Counter(place.with_suffix("") for place in places.values())
    return {name: place if shared[bare := place.with_suffix("")] > 1 else bare for name, place in places.items()}


def _path_of(entry: Input) -> str | os.PathLike[str]:
    return entry.source if isinstance(entry.source, str | os.PathLike) else entry.name


def _identity(source: object) -> tuple[int, int] | None:
    """Return what tells a file from all others, whatever it is called."""
    if not isinstance(source, str | os.PathLike):
        return None
    try:
        found = os.stat(source)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino)


def _settle(folder: Path) -> None:
    """Let the new name reach the disk; where folders cannot be synchronised, it does so later."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
