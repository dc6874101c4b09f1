"""What there is to read: the files that folders, patterns, lists and addresses stand for."""

import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from unrender.bulk.storage import absolute, connect, is_remote, selector
from unrender.errors import DataError
from unrender.reading.sources import SUFFIXES


def list_files(names: Sequence[str]) -> list[str]:
    """Return every file that folders, patterns, @lists and addresses stand for: absolute, sorted, each once."""
    found = {file for name in names for file in _expand(name)}
    if not found:
        raise DataError(f"{' '.join(names)}: there is no image or PDF there.")
    return sorted(found)


def _expand(name: str) -> Iterator[str]:
    if name.startswith("@"):
        yield from _listed(Path(name[1:]))
    elif is_remote(name):
        yield from _expand_remote(name)
    elif os.path.isdir(name):
        walked = (os.path.join(folder, file) for folder, _, files in os.walk(os.path.abspath(name)) for file in files)
        yield from (path for path in walked if _is_picture(path))
    elif glob.has_magic(name) and not os.path.lexists(name):
        yield from (os.path.abspath(path) for path in glob.iglob(name, recursive=True) if os.path.isfile(path))
    elif os.path.lexists(name):
        yield os.path.abspath(name)
    else:
        raise DataError(f"{name}: there is no such file or folder.")


def _listed(path: Path) -> Iterator[str]:
    """Take the lines of a file as they are, without a look at each of perhaps a billion files."""
    try:
        with path.open(encoding="utf-8", errors="surrogateescape") as lines:
            yield from (absolute(line.rstrip("\n")) for line in lines if line.strip())
    except OSError as error:
        raise DataError(f"{path}: this list cannot be read ({error.strerror}).") from error


def _expand_remote(address: str) -> Iterator[str]:
    name, sign, query = address.partition("?")
    folder = name[: name.index("*")].rpartition("/")[0] if "*" in name else name.rstrip("/")
    system, path = connect(folder + sign + query)
    before = folder.removesuffix(path.rstrip("/"))
    try:
        [info] = system.get_file_info([path])
        infos = [info] if info.is_file else system.get_file_info(selector(path, deep=True))
    except OSError as error:
        raise DataError(f"{address} cannot be listed ({error}).") from error
    for file in (before + info.path for info in infos if info.is_file):
        if file == name or (fnmatch.fnmatchcase(file, name) if "*" in name else _is_picture(file)):
            yield file + sign + query


def _is_picture(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)
