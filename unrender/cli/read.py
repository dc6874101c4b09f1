"""The verb `read`: files in, results out, in the order and the notation that were asked for."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unrender.cli.console import Engine, Model, Task, complain, say, show_pages, show_progress
from unrender.errors import UnrenderError

if TYPE_CHECKING:
    from unrender.cli.delivery import Delivery
    from unrender.documents import Check, Document
    from unrender.reading.reader import Reader
    from unrender.reading.systems import Input, Options

_POLL_SECONDS = 1.0
_FORMULA, _PAGE, _MIXED = "formula", "page", "markdown"  # tasks; what formulas and pages together are written in
_NAMED = 3  # files of the rarer kinds that a note names
_MISREAD = 0.2  # confidence below which one should look
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
    no_text_layer: Annotated[
        bool, typer.Option("--no-text-layer", help="Read a PDF's pixels only, not the text it carries.")
    ] = False,
    engine: Engine = None,
    fast: Annotated[bool, typer.Option("--fast", help="Words and lines only: read without the decoder.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Formulas only: typeset what was read and compare it with the picture.")
    ] = False,
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
    options = Options(
        beams=beam,
        n_best=n_best,
        max_tokens=max_tokens,
        question=question,
        words=words,
        text_layer=not no_text_layer,
        fast=fast,
        verify=verify,
    )
    watched = None if watch is None else sources.WatchedFolder(watch)
    several = len(inputs) + len(errors) > 1 or watched is not None
    folders = any(Path(name).is_dir() for name in files or [])
    chosen_out = delivery.choose_output(out, several=several or folders)
    groups = _by_task(inputs) if task is None and model is None else {task: inputs}
    readers = {each: Reader.open(model, task=each, engine=engine) for each in groups}
    reader = max(readers.values(), key=lambda reader: reader.dpi)
    usual = reader.task.notation if len(readers) == 1 else _MIXED
    chosen = delivery.DOCUMENT if as_json else delivery.choose_notation(notation, chosen_out, usual)
    target = delivery.Delivery(
        chosen, chosen_out, inputs=inputs, several=several, overlay=overlay, overwrite=overwrite, dpi=reader.dpi
    )
    for error in errors:
        complain(str(error))
    if len(inputs) == 1 and watched is None and reader.task.name == _PAGE:
        complete = _read_pages(reader, inputs[0], options, target) and not errors
    else:
        documents = chain.from_iterable(
            readers[each].read_many(group, batch=batch, options=options, in_order=False)
            for each, group in groups.items()
        )
        complete = _deliver(in_order(inputs, show_progress(documents, len(inputs))), target) and not errors
    with suppress(KeyboardInterrupt):  # the way to end watching
        while watched is not None:
            inputs = watched.poll()
            _deliver(zip(inputs, reader.read_many(inputs, batch=batch, options=options), strict=True), target)
            time.sleep(_POLL_SECONDS)
    if not complete:
        raise typer.Exit(1)


def _by_task(inputs: "Sequence[Input]") -> "dict[str | None, list[Input]]":
    """Find out what each input shows, and say so."""
    from unrender.reading.choice import look_at

    groups: dict[str | None, list[Input]] = {}
    seen: dict[str, list[str]] = {}
    for entry in show_progress(inputs, len(inputs), "looking"):
        task = look_at(entry)
        groups.setdefault(task or _FORMULA, []).append(entry)
        if task is not None:  # what cannot be opened is said when it is read
            seen.setdefault(task, []).append(entry.name)
    if seen:
        say(f"Note: {_say_tasks(seen)}; -t reads otherwise.")
    return groups or {None: []}


def _say_tasks(seen: dict[str, list[str]]) -> str:
    """Say in one sentence what files look like: how many of each kind, and which the rarer ones are."""
    kinds = sorted(seen.items(), key=lambda kind: -len(kind[1]))
    (task, names), *others = kinds
    if len(names) == 1 and not others:
        return f"{names[0]} is read as a {task}"
    counted = f"{len(names)} file{'s' * (len(names) > 1)}" if others else f"all {len(names)} files"
    parts = [f"{counted} {'are' if len(names) > 1 else 'is'} read as {_count(task, names)}"]
    for other, rarer in others:
        shown = ", ".join(rarer[:_NAMED]) + ", ..." * (len(rarer) > _NAMED)
        parts.append(f"{len(rarer)} as {_count(other, rarer)} ({shown})")
    return ", ".join(parts)


def _count(task: str, names: list[str]) -> str:
    return f"a {task}" if len(names) == 1 else f"{task}s"


def _read_pages(reader: "Reader", source: "Input", options: "Options", target: "Delivery") -> bool:
    """Read one document page by page; print its pages as they come, or deliver it whole."""
    from unrender.documents import Document, Page
    from unrender.formats.blocks import flow

    kept: list[Page] = []

    def pages() -> Iterator[Page]:
        for page in show_pages(reader.read_pages(source, options)):
            kept.append(page)
            yield page

    def whole() -> Document:
        return Document(pages=tuple(kept), source=source.name, model=reader.name, task=reader.task.name)

    if not target.streams:
        deque(pages(), maxlen=0)
        return _deliver([(source, whole())], target)
    for page in flow(pages(), source.name):
        target.print_page(page)
    return _tell(whole())


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


def _tell_check(name: str, check: "Check") -> None:
    """Say where a reading, typeset, looks different from the picture, and what was read before."""
    if check.instead_of:
        say(f"Note: {name}: another reading than the likeliest fits the picture; that was {check.instead_of}")
    for place in check.differences:
        box = ", ".join(f"{side:.0f}" for side in (place.box.x0, place.box.y0, place.box.x1, place.box.y1))
        say(f"Note: {name}: typeset, {place.text or 'something'} looks different from the picture at {box}.")


def _deliver(results: Iterable[tuple["Input", "Document"]], target: "Delivery") -> bool:
    """Write results as they come; say what is wrong with the others. Return whether all was read."""
    try:
        return _deliver_each(results, target)
    finally:  # also of what was read before an interruption
        target.finish()


def _deliver_each(results: Iterable[tuple["Input", "Document"]], target: "Delivery") -> bool:
    complete = True
    for source, document in results:
        complete = _tell(document) and complete
        try:
            if any(page.status.kind != "failed" for page in document.pages):
                target.deliver(document, source)
        except UnrenderError as error:  # what one result cannot be written as does not concern the next
            complete = False
            complain(f"{document.source}: {error}")
    return complete


def _tell(document: "Document") -> bool:
    """Say what is wrong with the pages of a document; return whether all could be read."""
    complete = True
    for page in document.pages:
        name = document.source if len(document.pages) == 1 else f"{document.source}, page {page.number}"
        if page.status.kind == "failed":
            complete = False
            reason = page.status.reason
            start = f"{document.source}: "
            complain(f"{name}: {reason.removeprefix(start)}" if reason.startswith(start) else reason)
        elif page.status.kind == "unlikely":
            complete = False
            complain(f"{name}: {page.status.reason}")
        elif page.status.kind != "complete":
            say(f"Note: {name}: {_NOTES[page.status.kind]}")
        elif [block.kind for block in page.blocks] == ["formula"]:
            confidence = page.blocks[0].confidence
            if confidence is not None and confidence < _MISREAD:
                say(f"Note: {name}: this is probably misread (confidence {confidence:.2f}).")
        for block in page.blocks:
            if block.check is not None:
                _tell_check(name, block.check)
    return complete
