"""What is fuzzed: each target takes any bytes and may raise nothing but our own errors."""

import contextlib
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import httpx
from serving import running, saying_reader

from unrender import formats, latex
from unrender.checkpoints.files import read_json
from unrender.errors import UnrenderError
from unrender.evaluation.datasets.folders import read_ink
from unrender.formats.formulas.linear import formula_to_text
from unrender.formats.formulas.mathml import formula_to_mathml
from unrender.formats.formulas.sympy import formula_to_sympy
from unrender.formats.formulas.typst import formula_to_typst
from unrender.images import opening
from unrender.images.guard import Guard, Limits
from unrender.images.opening import open_pages
from unrender.images.pen_strokes import draw
from unrender.models.codec import from_values
from unrender.server import Limits as ServerLimits
from unrender.server import Shelf, create_app
from unrender.words import parse_given

CORPUS = Path(__file__).parent / "corpus"

_FORMULA_WRITERS = (formula_to_mathml, formula_to_text, formula_to_typst, formula_to_sympy)
_MOST_PAGES = 4
_BODIES = (
    ("/v1/read", "application/octet-stream"),
    ("/v1/read", "multipart/form-data; boundary=X"),
    ("/v1/preview", "application/octet-stream"),
    ("/v1/convert", "application/json"),
)
_OPEN = contextlib.ExitStack()


def open_file(data: bytes) -> None:
    """Open and draw as the server does: in a child."""
    with contextlib.suppress(UnrenderError):
        pages = open_pages(data)
        for index in range(min(len(pages), _MOST_PAGES)):
            with contextlib.suppress(UnrenderError):
                pages[index]
            with contextlib.suppress(UnrenderError):
                pages.text(index)


def open_image_here(data: bytes) -> None:
    """Open as a plain image on disk is opened: in this process."""
    with contextlib.suppress(UnrenderError), tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(data)
        list(open_pages(file.name)[:_MOST_PAGES])


def read_latex(data: bytes) -> None:
    """Parse, normalise and check LaTeX, and write it in every formula notation."""
    text = _text(data)
    for read in (latex.parse, latex.normalise, latex.check, *_FORMULA_WRITERS):
        with contextlib.suppress(UnrenderError):
            read(text)


def read_notations(data: bytes) -> None:
    """Parse every notation of documents, and write what was parsed in every other."""
    text = _text(data)
    for notation in formats.PARSED_NOTATIONS:
        with contextlib.suppress(UnrenderError):
            document = formats.parse(text, notation)
            for other in formats.NOTATIONS:
                with contextlib.suppress(UnrenderError):
                    formats.write(document, other)


def read_words(data: bytes) -> None:
    """Read words and boxes given as JSON, hOCR or ALTO."""
    with contextlib.suppress(UnrenderError):
        parse_given(_text(data), 800, 600)


def read_strokes(data: bytes) -> None:
    """Read InkML and draw it."""
    with contextlib.suppress(UnrenderError), tempfile.NamedTemporaryFile(suffix=".inkml") as file:
        Path(file.name).write_bytes(data)
        draw(read_ink(Path(file.name)).strokes)


def read_config(data: bytes) -> None:
    """Read the config.json of a model folder."""
    with contextlib.suppress(UnrenderError), tempfile.NamedTemporaryFile(suffix=".json") as file:
        Path(file.name).write_bytes(data)
        from_values(read_json(Path(file.name)))


def send_body(data: bytes) -> None:
    """Post bytes to a server as an image, a form or JSON, as the first byte says; no answer may be its own fault."""
    address, kind = _server(), data[:1]
    path, content_type = _BODIES[kind[0] % len(_BODIES)] if kind else _BODIES[0]
    answer = httpx.post(f"{address}{path}", content=data[1:], headers={"content-type": content_type}, timeout=60)
    assert answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR, answer.text


@cache
def _server() -> str:
    """Start the server once; it ends with the process."""
    app = create_app(Shelf(saying_reader()), ServerLimits(workers=1, read_seconds=20))
    return _OPEN.enter_context(running(app))


TARGETS: dict[str, Callable[[bytes], None]] = {
    "files": open_file,
    "images": open_image_here,
    "latex": read_latex,
    "notations": read_notations,
    "words": read_words,
    "strokes": read_strokes,
    "config": read_config,
    "bodies": send_body,
}


def limit_children() -> Guard:
    """Let files cost less than they may in earnest, so that fuzzing gets on."""
    opening.GUARD = Guard(Limits(seconds=5.0))
    return opening.GUARD


def stop_server() -> None:
    """End the server that `send_body` has started, if it has."""
    _OPEN.close()
    _server.cache_clear()


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
