"""The command line: one function a verb, each a thin skin on the library.

Nothing heavy is imported at the top, so that `unrender --help` answers at once.
"""

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from unrender import __version__
from unrender.errors import ConfigError, MissingExtraError, UnrenderError

if TYPE_CHECKING:
    from unrender.cli.delivery import Delivery
    from unrender.documents import Document
    from unrender.reading.options import Input

_POLL_SECONDS = 1.0
_T = TypeVar("_T")

app = typer.Typer(
    name="unrender",
    help="Read pictures of formulas, words, receipts and pages: LaTeX, text, JSON or Markdown comes out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Model = Annotated[str | None, typer.Option("--model", "-m", help="Name, folder, or ORG/NAME of published weights.")]
Task = Annotated[str | None, typer.Option("--task", "-t", help="What the picture shows: formula, word, receipt ...")]
Engine = Annotated[str | None, typer.Option(help="onnx or torch; by default whichever the model folder allows.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes that read; by default one for each core.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; the one place that turns an UnrenderError into `Error: ...` and exit code 1."""
    try:
        app(arguments)
    except UnrenderError as error:
        _complain(str(error))
        sys.exit(1)


@app.callback(invoke_without_command=True)
def _start(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def read(
    files: Annotated[list[str] | None, typer.Argument(help="Images, PDFs or folders; - is standard input.")] = None,
    task: Task = None,
    model: Model = None,
    notation: Annotated[str | None, typer.Option("--format", "-f", help="latex, text, markdown, json ...")] = None,
    out: Annotated[
        Path | None, typer.Option("-o", help="File or folder to write; its ending gives the format.")
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
    from unrender.reading.options import Options
    from unrender.reading.reader import Reader

    if notation is not None:
        delivery.choose_notation(notation, None, "")
    inputs, errors = sources.gather(files or [], sources.parse_pages(pages))
    if clipboard:
        inputs.append(sources.clipboard())
    options = Options(beams=beam, n_best=n_best, max_tokens=max_tokens, question=question, words=words)
    watched = None if watch is None else sources.Watch(watch)
    reader = Reader.open(model, task=task, engine=engine)
    chosen = delivery.DOCUMENT if as_json else delivery.choose_notation(notation, out, reader.task.notation)
    several = len(inputs) + len(errors) > 1 or watched is not None
    target = delivery.Delivery(chosen, out, several=several, overlay=overlay, dpi=reader.dpi)
    for error in errors:
        _complain(str(error))
    documents = reader.read_many(inputs, batch=batch, options=options)
    complete = _deliver(zip(inputs, _progress(documents, len(inputs)), strict=True), target) and not errors
    with suppress(KeyboardInterrupt):  # the way to end watching
        while watched is not None:
            inputs = watched.poll()
            _deliver(zip(inputs, reader.read_many(inputs, batch=batch, options=options), strict=True), target)
            time.sleep(_POLL_SECONDS)
    if not complete:
        raise typer.Exit(1)


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the models: name, task, parameters, size, licence and where each one is."""
    from unrender.checkpoints.listing import list_models

    entries = list_models()
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in entries], indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for title in ("name", "task", "seed"):
        table.add_column(title)
    for title in ("parameters", "megabytes"):
        table.add_column(title, justify="right")
    for title in ("licence", "where"):
        table.add_column(title, overflow="fold")
    for entry in entries:
        size = f"{entry.bytes / 1e6:,.1f}"
        table.add_row(entry.name, entry.task, entry.seed, f"{entry.parameters:,}", size, entry.licence, entry.where)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


@app.command()
def train(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe: formula, donut, nougat, swimnet, trocr-small, ...")],
    data: Annotated[Path | None, typer.Option(help="Folder of pictures with labels.tsv, or prepared arrays.")] = None,
    out: Annotated[Path | None, typer.Option("-o", help="Folder of the run; runs/NAME unless told otherwise.")] = None,
    resume: Annotated[bool, typer.Option(help="Go on where the folder's last checkpoint stopped.")] = False,
    hours: Annotated[
        float | None, typer.Option(min=0, help="Stop after so many hours; a later --resume goes on.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Model to start from; the recipe's published weights otherwise.")
    ] = None,
    scratch: Annotated[
        bool, typer.Option(help="Start from random weights and a vocabulary read off the labels.")
    ] = False,
) -> None:
    """Train a model by a recipe and write its model folder.

    Example: unrender train formula --hours 8
    """
    command = _find("unrender.training.recipes", "train", extra="train")
    typer.echo(
        str(command(recipe, data=data, out=out, resume=resume, hours=hours, start=start, scratch=scratch)),
    )


@app.command()
def evaluate(
    model: Annotated[str, typer.Argument(help="Name or folder of a model.")],
    folder: Annotated[Path, typer.Argument(help="Folder of pictures with their truth, or the file that lists them.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many, drawn at random without replacement.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of that draw and of the intervals.")] = 0,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy.")] = None,
    engine: Engine = None,
    workers: Workers = None,
    column: Annotated[str | None, typer.Option(help="Column of metadata.jsonl that holds the truth.")] = None,
    compare: Annotated[
        str | None, typer.Option(help="tokens, unified, symbols, tree or record; by default as the format asks.")
    ] = None,
    seen: Annotated[
        bool, typer.Option("--seen", help="Formulas only: also typeset reading and truth and compare the glyphs.")
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Folder for report.html: plots, worst and random cases.")] = None,
    words: Annotated[str, typer.Option(help="Receipts only: given (the set's own words) or ocr.")] = "given",
    held_out: Annotated[bool, typer.Option(help="Receipts only: the fifth that is never trained on.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure a model on a dataset: read every picture and compare with its truth.

    Example: unrender evaluate formula im2latex-printed-validate --limit 1000 --report out
    """
    import numpy as np

    from unrender.evaluation.datasets import open_dataset
    from unrender.evaluation.evaluate import describe, evaluate, find_words
    from unrender.evaluation.report import write_report
    from unrender.evaluation.scoring import find_comparison
    from unrender.evaluation.workers import open_readers
    from unrender.reading.options import Options

    kind, comparison = find_words(words), None if compare is None else find_comparison(compare)
    dataset = open_dataset(folder, column=column, held_out=held_out)
    if limit is not None:
        dataset = dataset.sample(limit, np.random.default_rng(seed))
    for note in dataset.notes:
        _say(f"Note: {note}")
    with open_readers(model, engine=engine, workers=workers, pictures=len(dataset)) as reader:
        result = evaluate(
            reader,
            dataset,
            options=Options(beams=beam),
            comparison=comparison,
            words=kind,
            seen=seen,
            progress=_progress,
        )
    if seen and (refused := len(dataset) - result.measures["cdm"].samples):
        _say(f"Note: TeX refuses {refused:,} of the truths; they are left out of cdm and exp_rate_cdm.")
    failed = result.statuses()["failed"]
    if failed:
        _say(f"Note: {failed:,} pictures could not be read and count as read empty.")
    rng = np.random.default_rng(seed)
    intervals = {} if as_json and report is None else result.intervals(rng)
    typer.echo(json.dumps(result.summary()) if as_json else describe(result, intervals))
    if report is not None:
        _say(f"Note: the report is {write_report(result, intervals, report, rng)}.")


@app.command()
def calibrate(
    model: Annotated[str, typer.Argument(help="Name or folder of a model.")],
    folder: Annotated[Path, typer.Argument(help="Folder of pictures with their truth, none of them trained on.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many, drawn at random without replacement.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of that draw.")] = 0,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy.")] = None,
    workers: Workers = None,
    words: Annotated[str, typer.Option(help="Receipts only: given, ocr, or both, one after the other.")] = "both",
    held_out: Annotated[bool, typer.Option(help="Receipts only: the fifth that is never trained on.")] = False,
) -> None:
    """Make a model's confidences true: fit them on pictures with known truth and store the fit in its config.json.

    Prints the expected calibration error as it was and, by five folds, as it is.
    """
    import numpy as np

    from unrender.evaluation.calibrate import calibrate, store
    from unrender.evaluation.datasets import open_dataset
    from unrender.evaluation.evaluate import find_words
    from unrender.evaluation.workers import open_readers
    from unrender.reading.options import Options

    kinds = [find_words(kind) for kind in (("given", "ocr") if words == "both" else (words,))]
    dataset = open_dataset(folder, held_out=held_out)
    if limit is not None:
        dataset = dataset.sample(limit, np.random.default_rng(seed))
    with open_readers(model, workers=workers, pictures=len(dataset)) as reader:
        found = calibrate(reader, dataset, options=Options(beams=beam), words=kinds, progress=_progress)
    store(model, found.lines)
    typer.echo(
        f"expected calibration error {found.before:.4f} before, {found.after:.4f} after, on {found.n:,} pictures"
    )


@app.command()
def export(
    model: Annotated[str, typer.Argument(help="Name or folder of a model.")],
    out: Annotated[Path, typer.Argument(help="Model folder to write.")],
    int8: Annotated[bool, typer.Option(help="Store weights in 8 bits: a quarter of the size.")] = False,
) -> None:
    """Write a model's ONNX graphs, after comparing them with torch step by step."""
    from unrender.checkpoints import find_pages

    pages = find_pages(model)
    if pages is not None:
        typer.echo(str(_find("unrender.engines.page_export", "export_pages", extra="train")(pages, out, int8=int8)))
        return
    typer.echo(str(_find("unrender.engines.export", "export", extra="train")(model, out, int8=int8)))


@app.command()
def get(name: Annotated[str, typer.Argument(help="Name of a model, or ORG/NAME of published weights.")]) -> None:
    """Fetch a model, convert it if need be, and print its folder."""
    from unrender.checkpoints import find_pages, load

    typer.echo(str((find_pages(name) or load(name)).folder))


@app.command()
def data(
    name: Annotated[str, typer.Argument(help="Which data to prepare: formula.")],
    source: Annotated[Path, typer.Argument(help="Folder that holds the raw sets.")],
    out: Annotated[Path | None, typer.Option("-o", help="Folder to write; the cache unless told otherwise.")] = None,
) -> None:
    """Prepare training data once: normalise, typeset, write by hand, and store as arrays with an index."""
    typer.echo(str(_find("unrender.training.formula.corpora", "make", extra="train")(name, source, out)))


@app.command()
def bench(
    model: Annotated[str, typer.Argument(help="Name or folder of a model.")] = "formula",
    against: Annotated[str, typer.Option(help="transformers: compare one of the seeds' systems, random weights.")] = "",
    repeat: Annotated[int, typer.Option(min=1, help="How often everything is measured.")] = 5,
    tokens: Annotated[int, typer.Option(min=1, help="How many tokens each measurement decodes.")] = 32,
    threads: Annotated[int, typer.Option(min=0, help="Threads of every engine; 0 is one for each core.")] = 0,
    cold: Annotated[bool, typer.Option(help="Also measure fresh processes: start and memory.")] = True,
    cpu_time: Annotated[bool, typer.Option(help="Count processor time: for a busy machine, with --threads 1.")] = False,
) -> None:
    """Measure how fast a model is on this machine, in torch, ONNX and 8-bit ONNX or beside transformers.

    Everything runs interleaved and each number is a median with the middle half of its spread.

    Examples:
    unrender bench formula;
    unrender bench trocr-small --against transformers
    """
    from unrender import bench as measuring

    plan = measuring.Plan(repeat=repeat, tokens=tokens, threads=threads, cold=cold, cpu_time=cpu_time)
    typer.echo(
        str(measuring.bench(model, against=against, plan=plan, progress=lambda stage: _say(f"measuring: {stage}")))
    )


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; only this machine unless told otherwise.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    model: Model = None,
    token: Annotated[str, typer.Option(envvar="UNRENDER_TOKEN", help="Ask every request for this token.")] = "",
) -> None:
    """Serve the web page and the HTTP API."""
    _find("unrender.server", "serve", extra="serve")(host=host, port=port, model=model, token=token)


def _deliver(results: Iterable[tuple["Input", "Document"]], target: "Delivery") -> bool:
    """Write results as they come; say what is wrong with the others. Return whether all was read."""
    complete = True
    for source, document in results:
        for page in document.pages:
            name = document.source if len(document.pages) == 1 else f"{document.source}, page {page.number}"
            if page.status.kind == "failed":
                complete = False
                _complain(page.status.reason)
            elif page.status.kind != "complete":
                _say(f"Note: {name}: {_NOTES[page.status.kind]}")
        try:
            if any(page.status.kind != "failed" for page in document.pages):
                target.deliver(document, source)
        except UnrenderError as error:  # what one result cannot be written as does not concern the next
            complete = False
            _complain(f"{document.source}: {error}")
    return complete


_NOTES = {
    "limit": "the text was cut when it reached the limit of tokens.",
    "repetition": "the model began to repeat itself and the text was cut there.",
    "empty": "there is nothing to read on it.",
}


def _progress(documents: Iterable[_T], total: int) -> Iterable[_T]:
    """Show a bar on standard error when there is much to do and somebody looks."""
    if total < 2 or not sys.stderr.isatty():
        return documents
    from rich.console import Console
    from rich.progress import track

    return track(documents, "reading", total=total, console=Console(stderr=True), transient=True)


def _find(module: str, name: str, extra: str = "") -> Callable[..., object]:
    """Import a verb's function; a library that is missing becomes a sentence."""
    try:
        found: Callable[..., object] = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if not extra or missing.partition(".")[0] == "unrender":
            raise ConfigError(f"This version of unrender cannot do that yet ({missing} is missing).") from error
        raise MissingExtraError(f"This needs {missing}; install it with: pip install 'unrender[{extra}]'") from error
    return found


def _complain(sentence: str) -> None:
    _say(f"Error: {sentence}")


def _say(sentence: str) -> None:
    typer.echo(sentence, err=True)
