"""Where results go: a folder on this machine, or one in an object store through pyarrow."""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from unrender.errors import DataError, MissingExtraError, UnrenderError

if TYPE_CHECKING:
    from pyarrow.fs import FileSelector, FileSystem

_UNFINISHED = ".unfinished-"
_BUCKETS = ("s3", "gs", "gcs")
_OBJECT_STORES = ("s3", "gcs", "abfs")  # an object appears when it is complete; elsewhere it has to be moved


class StorageError(UnrenderError):
    """A place where results cannot be kept: a full disk, a missing permission."""


class Storage:
    """One folder in which a file is there whole or not at all."""

    def __init__(self, address: str) -> None:
        self.address = absolute(address)
        self._remote: FileSystem | None = None
        self._folder = self.address
        if is_remote(address):
            self._remote, self._folder = connect(address)

    def names(self) -> set[str]:
        """Return the names of all finished files."""
        try:
            if self._remote is None:
                found = os.listdir(self._folder)
            else:
                found = [info.base_name for info in self._remote.get_file_info(selector(self._folder, deep=False))]
        except FileNotFoundError:
            found = []
        except OSError as error:
            raise StorageError(f"{self.address} cannot be listed ({error.strerror or error}).") from error
        return {name for name in found if not name.startswith(_UNFINISHED)}

    def shows(self, name: str) -> bool:
        """Say whether a file that a worker has written can be seen from here."""
        return self._remote is not None or Path(self._folder, name).exists()

    def read(self, name: str) -> bytes:
        """Return what a file holds."""
        if self._remote is None:
            return Path(self._folder, name).read_bytes()
        return read_remote(self._remote, f"{self._folder}/{name}")

    def write(self, name: str, content: bytes) -> None:
        """Put a file in place in one step; a StorageError leaves what was there before."""
        try:
            self._write_here(name, content) if self._remote is None else self._write_there(self._remote, name, content)
        except OSError as error:
            raise StorageError(f"{self.address}/{name} cannot be written ({error.strerror or error}).") from error

    def sweep(self) -> None:
        """Remove what killed processes left unfinished."""
        for path in [] if self._remote else Path(self._folder).glob(f"{_UNFINISHED}*"):
            path.unlink(missing_ok=True)

    def _write_here(self, name: str, content: bytes) -> None:
        folder = Path(self._folder)
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f"{_UNFINISHED}{uuid4().hex}"
        try:
            with unfinished.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(folder / name)
        except OSError:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise
        if os.name == "posix":
            opened = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)

    def _write_there(self, remote: "FileSystem", name: str, content: bytes) -> None:
        direct = remote.type_name in _OBJECT_STORES
        if not direct:
            remote.create_dir(self._folder, recursive=True)
        path = f"{self._folder}/{name if direct else _UNFINISHED + uuid4().hex}"
        with remote.open_output_stream(path) as stream:
            stream.write(content)
        if not direct:
            remote.move(path, f"{self._folder}/{name}")


def absolute(name: str) -> str:
    """Return a name that means the same in every process and folder."""
    return name if is_remote(name) else os.path.abspath(name)


def is_remote(name: str) -> bool:
    """Say whether a name is an address such as s3://bucket/scans."""
    return "://" in name


def connect(address: str) -> "tuple[FileSystem, str]":
    """Return the file system of an address, and the path in it."""
    plain, _, query = address.partition("?")
    scheme, _, path = plain.partition("://")
    if scheme in _BUCKETS:  # one connection serves a bucket, and keys may hold signs that addresses may not
        return _connect(f"{scheme}://{path.partition('/')[0]}{query and '?'}{query}")[0], path
    return _connect(address)


@cache
def _connect(address: str) -> "tuple[FileSystem, str]":
    try:
        from pyarrow.fs import FileSystem
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{address} needs pyarrow; install it with: pip install 'unrender[ray]'") from error
    try:
        system, path = FileSystem.from_uri(address)
    except (OSError, ValueError) as error:
        raise DataError(f"{address} is no address that can be opened ({error}).") from error
    return system, path


def read_remote(system: "FileSystem", path: str) -> bytes:
    """Return what a file in an object store holds."""
    with system.open_input_stream(path) as stream:
        content: bytes = stream.read()
    return content


def selector(path: str, *, deep: bool) -> "FileSelector":
    """Choose the files of a folder, or of all folders in it."""
    from pyarrow.fs import FileSelector

    return FileSelector(path, recursive=deep, allow_not_found=not deep)
