"""The verbs that study models: train, evaluate, calibrate, export, data, bench."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from unrender.cli.console import AsJson, Engine, Workers, needs, say, show_progress
from unrender.errors import ConfigError, UnrenderError, suggest


def train(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe: formula, donut, nougat, swimnet, trocr-small, ...")],
    data: Annotated[Path | None, typer.Option(help="Folder of pictures with labels.tsv, or prepared arrays.")] = None,
    out: Annotated[Path | None, typer.Option("-o", help="Folder of the run; by default runs/NAME.")] = None,
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
    corrections: Annotated[
        bool, typer.Option("--corrections", help="Learn from what was corrected on the web page and kept here.")
    ] = False,
) -> None:
    """Train a model by a recipe and write its model folder.

    Examples:
    unrender train formula --hours 8;
    unrender train formula --corrections -o tuned
    """
    if corrections:
        recipe, data = f"{recipe}-corrections", data or _kept_corrections(recipe)
    with needs("train"):
        from unrender.training import recipes

    folder = recipes.train(recipe, data=data, out=out, resume=resume, hours=hours, start=start, scratch=scratch)
    typer.echo(str(folder))


def _kept_corrections(task: str) -> Path:
    """Return the folder where the server keeps the corrections of a task."""
    from unrender.checkpoints import cache_folder

    folder = cache_folder() / "corrections" / task
    if not folder.is_dir():
        raise UnrenderError(
            f"{folder}: no corrections of {task} are kept here; switch that on at the bottom of the web page "
            "(unrender serve), or give an exported folder with --data."
        )
    return folder


def evaluate(
    model: Annotated[str, typer.Argument(help="Name or folder of a model.")],
    folder: Annotated[Path, typer.Argument(help="Folder of pictures with their truth, or the file that lists them.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Read only this many, drawn at random.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of that draw and of the intervals.")] = 0,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy.")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Words and lines only: read without the decoder.")] = False,
    engine: Engine = None,
    workers: Workers = None,
    column: Annotated[str | None, typer.Option(help="Column of metadata.jsonl that holds the truth.")] = None,
    compare: Annotated[
        str | None, typer.Option(help="tokens, unified, symbols, tree or record; by default what the format calls for.")
    ] = None,
    seen: Annotated[
        bool, typer.Option("--seen", help="Formulas only: also typeset reading and truth and compare the glyphs.")
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Folder for report.html: plots, worst and random cases.")] = None,
    words: Annotated[str, typer.Option(help="Receipts only: given (the set's own words) or ocr.")] = "given",
    held_out: Annotated[bool, typer.Option(help="Receipts only: the fifth that is never trained on.")] = False,
    no_text_layer: Annotated[
        bool, typer.Option("--no-text-layer", help="Pages only: read a PDF's pixels, not the text it carries.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure a model on a dataset: read every picture and compare with its truth.

    Example: unrender evaluate formula im2latex-printed-validate --limit 1000 --report out
    """
    import numpy as np

    from unrender.evaluation import describe, evaluate, find_words, open_readers
    from unrender.evaluation.datasets import open_dataset
    from unrender.evaluation.report import write_report
    from unrender.evaluation.scoring import find_comparison
    from unrender.reading.systems import Options

    kind, comparison = find_words(words), None if compare is None else find_comparison(compare)
    dataset = open_dataset(folder, column=column, held_out=held_out)
    if limit is not None:
        dataset = dataset.sample(limit, np.random.default_rng(seed))
    for note in dataset.notes:
        say(f"Note: {note}")
    with open_readers(model, engine=engine, workers=workers, pictures=len(dataset)) as reader:
        result = evaluate(
            reader,
            dataset,
            options=Options(beams=beam, text_layer=not no_text_layer, fast=fast),
            comparison=comparison,
            words=kind,
            seen=seen,
            progress=show_progress,
        )
    if seen and (refused := len(dataset) - result.measures["cdm"].samples):
        say(f"Note: TeX refuses {refused:,} of the truths; they are left out of cdm and exp_rate_cdm.")
    failed = result.statuses()["failed"]
    if failed:
        say(f"Note: {failed:,} pictures could not be read; they count as empty readings.")
    rng = np.random.default_rng(seed)
    intervals = {} if as_json and report is None else result.intervals(rng)
    typer.echo(json.dumps(result.summary()) if as_json else describe(result, intervals))
    if report is not None:
        say(f"Note: the report is {write_report(result, intervals, report, rng)}.")


def calibrate(
    model: Annotated[str, typer.Argument(help="Name or folder of a model.")],
    folder: Annotated[Path, typer.Argument(help="Folder of pictures with their truth, none of them trained on.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Read only this many, drawn at random.")] = None,
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

    from unrender.evaluation import find_words, open_readers
    from unrender.evaluation.calibrate import calibrate, store
    from unrender.evaluation.datasets import open_dataset
    from unrender.reading.systems import Options

    kinds = [find_words(kind) for kind in (("given", "ocr") if words == "both" else (words,))]
    dataset = open_dataset(folder, held_out=held_out)
    if limit is not None:
        dataset = dataset.sample(limit, np.random.default_rng(seed))
    with open_readers(model, workers=workers, pictures=len(dataset)) as reader:
        found = calibrate(reader, dataset, options=Options(beams=beam), words=kinds, progress=show_progress)
    store(model, found.lines)
    typer.echo(
        f"expected calibration error {found.before:.4f} before, {found.after:.4f} after, on {found.n:,} pictures"
    )


def export(
    model: Annotated[str, typer.Argument(help="Name or folder of a model.")],
    out: Annotated[Path, typer.Argument(help="Model folder to write.")],
    int8: Annotated[bool, typer.Option(help="Store weights in 8 bits: a quarter of the size.")] = False,
) -> None:
    """Write a model's ONNX graphs, after comparing them with torch step by step."""
    with needs("train"):
        from unrender.engines import export as exporting

    typer.echo(str(exporting.export(model, out, int8=int8)))


def data(
    name: Annotated[str, typer.Argument(help="Which data to prepare: formula, page, word, donut.")],
    source: Annotated[Path, typer.Argument(help="Folder that holds the raw sets.")],
    out: Annotated[Path | None, typer.Option("-o", help="Folder to write; by default in the cache.")] = None,
    limit: Annotated[int | None, typer.Option(help="For page: how many excerpts of papers to set.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="For formula: other formulas and pictures for another seed.")] = 0,
) -> None:
    """Prepare training data once: normalise, typeset, write by hand, and store as arrays with an index."""
    with needs("train"):
        from unrender.training.formula import corpora as formula
        from unrender.training.page import corpora as page
        from unrender.training.receipt import reading_sets
        from unrender.training.word import corpora as word

    makers: dict[str, Callable[[Path, Path | None], Path]] = {
        "formula": lambda source, out: formula.make(source, out, seed),
        "page": lambda source, out: page.make(source, out, limit),
        "word": word.make,
        "donut": reading_sets.make,
    }
    if name not in makers:
        raise ConfigError(f"There is no data called {name}; {suggest(name, makers)}")
    typer.echo(str(makers[name](source, out)))


def bench(
    model: Annotated[str, typer.Argument(help="Name or folder of a model.")] = "formula",
    repeat: Annotated[int, typer.Option(min=1, help="How often everything is measured.")] = 5,
    tokens: Annotated[int, typer.Option(min=1, help="How many tokens each measurement decodes.")] = 32,
    threads: Annotated[int, typer.Option(min=0, help="Threads of the engine; 0 is one for each core.")] = 0,
) -> None:
    """Measure how fast a model runs on this machine and how much memory it needs.

    Examples:
    unrender bench formula;
    unrender bench receipt --threads 1
    """
    from unrender.bench import bench as measure

    typer.echo(str(measure(model, repeat=repeat, tokens=tokens, threads=threads)))
