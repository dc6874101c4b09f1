"""What every verb shares: its options, what it says on standard error, and how a missing library is named."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from unrender.errors import MissingExtraError

Model = Annotated[str | None, typer.Option("--model", "-m", help="Name, folder, or ORG/NAME of published weights.")]
Task = Annotated[str | None, typer.Option("--task", "-t", help="What the picture shows: formula, word, receipt ...")]
Engine = Annotated[str | None, typer.Option(help="onnx or torch; by default whichever the model folder allows.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes that read; by default one for each core.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

if TYPE_CHECKING:
    from rich.progress import Progress

_T = TypeVar("_T")


def say(sentence: str) -> None:
    """Write a line to standard error."""
    typer.echo(sentence, err=True)


def complain(sentence: str) -> None:
    """Say what is wrong."""
    say(f"Error: {sentence}")


def show_progress(items: Iterable[_T], total: int, doing: str = "reading") -> Iterable[_T]:
    """Show a bar on standard error when there is much to do and somebody looks."""
    if total < 2 or not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, doing, total=total, console=Console(stderr=True), transient=True)


def show_pages(pages: Iterable[_T]) -> Iterable[_T]:
    """Count pages on standard error as they are read, when somebody looks."""
    if not sys.stderr.isatty():
        return pages
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.completed:.0f} pages read"), TimeElapsedColumn()
    return _counted(pages, Progress(*columns, console=Console(stderr=True), transient=True))


def _counted(pages: Iterable[_T], bar: "Progress") -> Iterator[_T]:
    with bar:
        line = bar.add_task("", total=None)
        for page in pages:
            bar.advance(line)
            yield page


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Turn a library that is missing while something is imported into a sentence that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"This needs {error.name}; install it with: pip install 'unrender[{extra}]'") from error
