"""Pages of documents: pictures or PDFs, each with its Markdown in NAME.md beside it."""

from pathlib import Path

from unrender.errors import DataError
from unrender.evaluation.datasets.example import Dataset, Example

MARKDOWN = ".md"
_SOURCES = (".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")


def has_pages(folder: Path) -> bool:
    """Say whether a folder holds a page with its Markdown."""
    return any(_source(path) is not None for path in folder.glob(f"*{MARKDOWN}"))


def open_pages(folder: Path) -> Dataset:
    """Open a folder of pages; Markdown without a picture or PDF of its name is left alone."""
    examples = []
    for path in sorted(folder.glob(f"*{MARKDOWN}")):
        source = _source(path)
        if source is not None:
            try:
                examples.append(Example(source, path.read_text(encoding="utf-8").strip(), source.name))
            except (OSError, UnicodeDecodeError) as error:
                raise DataError(f"{path} cannot be read as text ({error}).") from error
    if not examples:
        raise DataError(f"{folder} has no pages; it needs a picture or PDF beside each NAME.md.")
    return Dataset(folder, "pages", tuple(examples))


def _source(markdown: Path) -> Path | None:
    return next((path for ending in _SOURCES if (path := markdown.with_suffix(ending)).is_file()), None)
