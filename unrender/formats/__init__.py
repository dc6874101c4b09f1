"""Notations: how a Document is written down, and how text in a notation becomes a Document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from unrender.documents import Document
from unrender.errors import LatexError, NotationError, UnrenderError, suggest
from unrender.formats.blocks import flow
from unrender.formats.doctags import GRID, parse_doctags, write_doctags
from unrender.formats.html import write_html
from unrender.formats.json import parse_donut, parse_json, write_donut, write_json
from unrender.formats.markdown import parse_markdown, write_markdown
from unrender.formats.tex import parse_latex, write_latex, write_latex_file
from unrender.formats.text import parse_text, write_csv, write_csv_together, write_text


def _write_mathematics(notation: str, document: Document) -> str:
    from unrender.formats import mathematics  # seldom asked for, and slow to load

    writers = {
        "mathml": mathematics.write_mathml,
        "typst": mathematics.write_typst,
        "sympy": mathematics.write_sympy,
    }
    return writers[notation](document)


def _write_docx(document: Document) -> bytes:
    from unrender.formats.docx import write_docx  # likewise

    return write_docx(document)


def _write_xlsx(document: Document) -> bytes:
    from unrender.formats.xlsx import write_xlsx  # likewise

    return write_xlsx([document])


_WRITERS: dict[str, Callable[[Document], str]] = {
    "latex": write_latex,
    "text": write_text,
    "markdown": write_markdown,
    "json": write_json,
    "donut": write_donut,
    "doctags": write_doctags,
    "html": write_html,
    "mathml": partial(_write_mathematics, "mathml"),
    "typst": partial(_write_mathematics, "typst"),
    "sympy": partial(_write_mathematics, "sympy"),
    "csv": write_csv,
}
# What a file holds where that is more than the text.
_FILES: dict[str, Callable[[Document], bytes]] = {
    "docx": _write_docx,
    "xlsx": _write_xlsx,
    "latex": lambda document: write_latex_file(document).encode(),
}
_PARSERS: dict[str, Callable[[str], Document]] = {
    "latex": parse_latex,
    "text": parse_text,
    "markdown": parse_markdown,
    "json": parse_json,
    "donut": parse_donut,
}
_PAGED = frozenset({"json", "donut", "doctags"})
TABLES = frozenset({"csv", "xlsx"})
NOTATIONS = tuple(_WRITERS)
FILE_NOTATIONS = tuple(dict.fromkeys([*_WRITERS, *_FILES]))
PARSED_NOTATIONS = (*_PARSERS, "doctags")


def check_notation(notation: str) -> str:
    """Return the name of a notation that can be written; a NotationError suggests a near one otherwise."""
    if notation not in FILE_NOTATIONS:
        raise NotationError(f"There is no notation called {notation}; {suggest(notation, FILE_NOTATIONS)}")
    return notation


def write(document: Document, notation: str) -> str:
    """Write a document in a notation; a NotationError says what the notation cannot express."""
    if check_notation(notation) not in _WRITERS:
        raise NotationError(
            f"{notation} cannot be printed; write it to a file: -o NAME.{notation}, or -f {notation} -o FOLDER."
        )
    return _WRITERS[notation](_flowing(document, notation))


def write_file(document: Document, notation: str) -> bytes:
    """Write what a file in a notation holds: it opens, or compiles, as it is."""
    if check_notation(notation) in _FILES:
        return _FILES[notation](_flowing(document, notation))
    return (write(document, notation).rstrip("\n") + "\n").encode()


def write_table(documents: Sequence[Document], notation: str) -> bytes:
    """Write one table of several documents, as CSV or an Excel file; each row of fields names its file."""
    if notation == "csv":
        return (write_csv_together(documents).rstrip("\n") + "\n").encode()
    from unrender.formats.xlsx import write_xlsx

    return write_xlsx(documents)


def _flowing(document: Document, notation: str) -> Document:
    """Join paragraphs over pages where the notation does not keep pages apart."""
    return document if notation in _PAGED else replace(document, pages=tuple(flow(document.pages, document.source)))


def parse(text: str, notation: str, *, width: int = GRID, height: int = GRID) -> Document:
    """Parse text in a notation; boxes, where the notation has them, are on a page of the given size in pixels."""
    check_notation(notation)
    if notation == "doctags":
        return parse_doctags(text, width=width, height=height)
    if notation not in _PARSERS:
        raise NotationError(f"{notation} can be written but not parsed; parsed are {', '.join(PARSED_NOTATIONS)}.")
    return _PARSERS[notation](text)


@dataclass(frozen=True)
class Desk:
    """Converts for strangers: what a child process does that is killed when a conversion takes too long."""

    def answer(self, header: Mapping[str, object], data: bytes) -> tuple[dict[str, str | int], None]:
        """Return the text in the notation wanted, or what is wrong and where."""
        try:
            document = parse(data.decode(errors="surrogatepass"), str(header["source"]))
            return {"text": write(document, str(header["target"]))}, None
        except RecursionError:
            return {"refusal": "The text is nested too deeply."}, None
        except UnrenderError as error:
            found: dict[str, str | int] = {"refusal": str(error)}
            for part in (error.__cause__, error):
                if isinstance(part, LatexError):
                    found["position"] = part.position
            return found, None
