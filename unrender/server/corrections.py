"""Corrections that people let the server keep: pictures with their true texts, in folders that training reads."""

import io
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import IO

from unrender import tasks
from unrender.images.opening import open_pages
from unrender.server.problems import HttpError
from unrender.server.shapes import Correction, Kept

LABELS = "labels.tsv"
_CHUNK = 1 << 16


class Corrections:
    """A folder for each task, with `labels.tsv` in it (picture, tab, text) and the pictures beside."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder, self._most_bytes = folder, most_bytes
        self._lock = threading.Lock()

    def keep(self, correction: Correction, picture: bytes) -> Kept:
        """Keep a corrected picture, in place of one of the same id; errors say what is wrong with text or picture."""
        task = tasks.find(correction.task)
        text = " ".join(task.label(correction.text).split())
        if not text:
            raise HttpError(HTTPStatus.UNPROCESSABLE_ENTITY, "text: a correction cannot be empty.")
        buffer = io.BytesIO()
        open_pages(picture, name="file")[0].save(buffer, "PNG")
        with self._lock:
            if self._size() + len(buffer.getvalue()) > self._most_bytes:
                sentence = f"Corrections take up the {self._most_bytes:,} bytes they may; export and delete them."
                raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)
            folder = self.folder / task.name
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{correction.id}.png"
            (folder / name).write_bytes(buffer.getvalue())
            _write_labels(folder / LABELS, {**_labels(folder / LABELS), name: text})
        return self.tell()

    def tell(self) -> Kept:
        """Say how many corrections are kept, and where."""
        shown, home = str(self.folder), str(Path.home())
        count = sum(len(_labels(path)) for path in self.folder.glob(f"*/{LABELS}"))
        return Kept(count=count, folder=f"~{shown.removeprefix(home)}" if shown.startswith(home) else shown)

    def erase(self) -> Kept:
        """Delete every correction."""
        with self._lock:
            shutil.rmtree(self.folder, ignore_errors=True)
        return self.tell()

    def export(self) -> Iterator[bytes]:
        """Give the folder as the pieces of a zip archive."""
        archive = tempfile.TemporaryFile()  # noqa: SIM115 - the pieces are read from it later
        with self._lock, zipfile.ZipFile(archive, "w") as packed:
            for path in self._files():
                packed.write(path, path.relative_to(self.folder))
        archive.seek(0)
        return _pieces(archive)

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("*/*") if path.is_file())

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self._files())


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_CHUNK):
            yield piece


def _labels(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return dict(line.split("\t", 1) for line in lines)


def _write_labels(path: Path, labels: dict[str, str]) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(f"{name}\t{text}\n" for name, text in labels.items()), encoding="utf-8")
    fresh.replace(path)
