"""The process in which untrusted files are opened: answers one request at a time until its input ends.

A message is the length of a JSON header, the header, and as many bytes as it announces. Nothing that comes back is
ever unpickled: whoever takes over this process through a broken decoder can send pixels and sentences, no more.
"""

import contextlib
import faulthandler
import json
import math
import os
import signal
import struct
import sys
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from PIL import Image

from unrender.errors import ImageError
from unrender.images.drawing import OpenFile, open_file

LENGTH = struct.Struct("<Q")
Value = str | int | float | list[list[str | float]]
Header = dict[str, Value]

_STRIP_BYTES = 1 << 20


Reply = tuple[Header, Image.Image | None]


class Work(Protocol):
    """What a process does with its requests."""

    def answer(self, header: Header, data: bytes) -> Reply:
        """Return the answer, and the picture that follows it."""


@dataclass
class Desk:
    """Opens files and draws their pages; at most one file is open."""

    file: OpenFile | None = None

    def answer(self, header: Header, data: bytes) -> Reply:
        """Open a file, or give a page or the text of the one that is open."""
        name, index = str(header["name"]), int(str(header.get("index", 0)))
        if header["task"] == "open":
            self.file = None  # let go of the old one first
            self.file = open_file(data, name)
            return {"count": self.file.count}, None
        assert self.file is not None
        if header["task"] == "draw":
            image = self.file.page(index, int(str(header["dpi"])), name)
            return {"width": image.width, "height": image.height}, image
        text = self.file.text(index, name)
        characters: list[list[str | float]] = [
            [letter, *box, float(number in text.formulas)] for number, (letter, box) in enumerate(text.characters)
        ]
        return {"width": text.width, "height": text.height, "characters": characters}, None


def serve(work: Work) -> None:
    """Serve requests from standard input; leave when it ends or when a request takes too long."""
    requests, replies, nothing = _take_pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes the pipe
    _limit_memory(int(sys.argv[1]))
    with contextlib.suppress(BrokenPipeError):
        _send(replies, {"ready": 1}, None)
        while (request := _receive(requests)) is not None:
            header, data = request
            # a parent that was killed cannot stop a busy child: this watchdog needs neither parent nor GIL
            faulthandler.dump_traceback_later(float(str(header["seconds"])), exit=True, file=nothing)
            _limit_computing(float(str(header["computing"])))
            reply, image = _answer(work, header, data)
            faulthandler.cancel_dump_traceback_later()
            _send(replies, reply, image)


def _take_pipes() -> tuple[BinaryIO, BinaryIO, BinaryIO]:
    """Keep the pipes and point the standard streams at nothing: libraries write there."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = open(os.devnull, "r+b", buffering=0)  # noqa: SIM115 (open as long as the process)
    for stream in range(3):
        os.dup2(nothing.fileno(), stream)
    return requests, replies, nothing


def _limit_memory(size: int) -> None:
    """Bound memory, and forbid writing files, where the system knows such limits."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _limit_computing(seconds: float) -> None:
    """Let the system end this process once it has computed for so long, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = math.ceil(used.ru_utime + used.ru_stime + seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _receive(requests: BinaryIO) -> tuple[Header, bytes] | None:
    start = requests.read(LENGTH.size)
    if len(start) < LENGTH.size:
        return None
    header: Header = json.loads(requests.read(LENGTH.unpack(start)[0]))
    return header, requests.read(int(str(header.get("bytes", 0))))


def _answer(work: Work, header: Header, data: bytes) -> Reply:
    try:
        return work.answer(header, data)
    except ImageError as error:
        return {"error": str(error)}, None
    except MemoryError:
        return {"memory": 1}, None
    except Exception as error:  # noqa: BLE001 (a library's own bug must not end the process)
        return {"error": f"{header['name']}: the file cannot be opened ({error})."}, None


def _send(replies: BinaryIO, header: Header, image: Image.Image | None) -> None:
    encoded = json.dumps(header).encode()
    replies.write(LENGTH.pack(len(encoded)) + encoded)
    if image is not None:
        rows = max(1, _STRIP_BYTES // (3 * image.width))
        for top in range(0, image.height, rows):
            replies.write(image.crop((0, top, image.width, min(top + rows, image.height))).tobytes())
    replies.flush()
