"""The verb `read`: files in, results out, in the order and the notation that were asked for."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unrender.cli.console import Engine, Model, Task, complain, say, show_progress
from unrender.errors import UnrenderError

if TYPE_CHECKING:
    from unrender.cli.delivery import Delivery
    from unrender.documents import Document
    from unrender.reading.systems import Input

_POLL_SECONDS = 1.0
_NOTES = {
    "partial": "a part of the picture was not read.",
    "limit": "the text was cut when it reached the limit of tokens.",
    "repetition": "the model began to repeat itself and the text was cut there.",
    "empty": "there is nothing to read on it.",
}


def read(
    files: Annotated[list[str] | None, typer.Argument(help="Images, PDFs or folders; - is standard input.")] = None,
    task: Task = None,
    model: Model = None,
    notation: Annotated[str | None, typer.Option("--format", "-f", help="latex, text, markdown, json ...")] = None,
    out: Annotated[
        str | None, typer.Option("-o", help="File or folder (out/) to write; its ending gives the format.")
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy.")] = None,
    n_best: Annotated[int, typer.Option(min=1, help="Print this many readings, each with its confidence.")] = 1,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Stop a page after this many tokens.")] = None,
    pages: Annotated[str, typer.Option(help="Pages of a PDF or TIFF, such as 1-4,7; by default all.")] = "",
    question: Annotated[str, typer.Option(help="What to ask, for the task `question`.")] = "",
    words: Annotated[
        Path | None, typer.Option(help="File with the words and boxes (JSON, hOCR, ALTO), for models that label them.")
    ] = None,
    engine: Engine = None,
    batch: Annotated[int, typer.Option(min=1, help="Pages read together.")] = 8,
    overlay: Annotated[Path | None, typer.Option(help="Save a picture of where each token was seen.")] = None,
    clipboard: Annotated[bool, typer.Option("--clipboard", help="Read the picture that was copied last.")] = False,
    watch: Annotated[Path | None, typer.Option(help="Read every picture that appears in this folder.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over files that hold something else.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print each whole document as one line of JSON.")] = False,
) -> None:
    """Read images or PDFs and print what is written there.

    Results go to standard output, everything else to standard error.
    The exit code is 0 when all was read and 1 when something could not be.

    Examples:
    unrender read formula.png;
    unrender read scans/ -t receipt -o out/;
    unrender read paper.pdf -m nougat-small -o paper.md
    """
    if not files and not clipboard and watch is None:
        raise typer.BadParameter("give at least one file, a folder, or - for standard input")
    from unrender.cli import delivery
    from unrender.reading import sources
    from unrender.reading.reader import Reader
    from unrender.reading.systems import Options

    if notation is not None:
        delivery.choose_notation(notation, None, "")
    inputs, errors = sources.gather(files or [], sources.parse_pages(pages))
    if clipboard:
        inputs.append(sources.clipboard())
    options = Options(beams=beam, n_best=n_best, max_tokens=max_tokens, question=question, words=words)
    watched = None if watch is None else sources.Watch(watch)
    several = len(inputs) + len(errors) > 1 or watched is not None
    folders = any(Path(name).is_dir() for name in files or [])
    chosen_out = delivery.choose_output(out, several=several or folders)
    reader = Reader.open(model, task=task, engine=engine)
    chosen = delivery.DOCUMENT if as_json else delivery.choose_notation(notation, chosen_out, reader.task.notation)
    target = delivery.Delivery(
        chosen, chosen_out, inputs=inputs, several=several, overlay=overlay, overwrite=overwrite, dpi=reader.dpi
    )
    for error in errors:
        complain(str(error))
    documents = reader.read_many(inputs, batch=batch, options=options, in_order=False)
    complete = _deliver(in_order(inputs, show_progress(documents, len(inputs))), target) and not errors
    with suppress(KeyboardInterrupt):  # the way to end watching
        while watched is not None:
            inputs = watched.poll()
            _deliver(zip(inputs, reader.read_many(inputs, batch=batch, options=options), strict=True), target)
            time.sleep(_POLL_SECONDS)
    if not complete:
        raise typer.Exit(1)


def in_order(inputs: "Sequence[Input]", documents: "Iterable[Document]") -> "Iterator[tuple[Input, Document]]":
    """Give documents with their inputs, in the inputs' order, from documents that come as they are completed."""
    waiting: dict[str, deque[int]] = {}
    for index, entry in enumerate(inputs):
        waiting.setdefault(entry.name, deque()).append(index)
    done: dict[int, Document] = {}
    following = 0
    for document in documents:
        done[waiting[document.source].popleft()] = document
        while following in done:
            yield inputs[following], done.pop(following)
            following += 1


def _deliver(results: Iterable[tuple["Input", "Document"]], target: "Delivery") -> bool:
    """Write results as they come; say what is wrong with the others. Return whether all was read."""
    try:
        return _deliver_each(results, target)
    finally:  # also of what was read before an interruption
        target.finish()


def _deliver_each(results: Iterable[tuple["Input", "Document"]], target: "Delivery") -> bool:
    complete = True
    for source, document in results:
        for page in document.pages:
            name = document.source if len(document.pages) == 1 else f"{document.source}, page {page.number}"
            if page.status.kind == "failed":
                complete = False
                complain(page.status.reason)
            elif page.status.kind == "unlikely":
                complete = False
                complain(f"{name}: {page.status.reason}")
            elif page.status.kind != "complete":
                say(f"Note: {name}: {_NOTES[page.status.kind]}")
        try:
            if any(page.status.kind != "failed" for page in document.pages):
                target.deliver(document, source)
        except UnrenderError as error:  # what one result cannot be written as does not concern the next
            complete = False
            complain(f"{document.source}: {error}")
    return complete
