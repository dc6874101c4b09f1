"""The verb `bulk`: very many files in, shards out, and how far it has come."""

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from unrender.cli.console import Engine, Model, Task, say

if TYPE_CHECKING:
    from unrender.bulk import Progress

_LINE_SECONDS = 30.0  # between reports where nobody looks
_SILENT_SECONDS = 15.0  # after which a run is thought to have ended
_INTERRUPTED = 130
_REASONS = 5


def bulk(
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Folders, patterns, files, @LIST of paths, s3:// and such addresses.")
    ] = None,
    out: Annotated[str, typer.Option("-o", help="Folder or address of the shards; goes on where it was.")] = "",
    status: Annotated[str, typer.Option(help="Say how far the run in this folder is, and end.")] = "",
    task: Task = None,
    model: Model = None,
    notation: Annotated[str | None, typer.Option("--format", "-f", help="latex, text, markdown, json ...")] = None,
    engine: Engine = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam width; 1 is greedy.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Stop a page after this many tokens.")] = None,
    shards: Annotated[str | None, typer.Option(help="parquet or jsonl; by default Parquet where installed.")] = None,
    chunk: Annotated[int | None, typer.Option(min=1, help="Files in a shard; by default up to 256.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Readers; by default one for each core.")] = None,
    ray: Annotated[
        str, typer.Option(envvar="RAY_ADDRESS", help="Ray cluster to work on: address, auto, or local to start one.")
    ] = "",
) -> None:
    """Read very many files, each page once, on all cores or on a Ray cluster.

    One row a page goes to Parquet or JSON Lines shards. A run that was killed goes on when the same command is given
    again. A page that cannot be read is a row with status `failed` and the reason; it does not change the exit code.

    Examples:
    unrender bulk scans/ -o out/;
    unrender bulk --status out/;
    unrender bulk s3://bucket/papers -o s3://bucket/read -m nougat-small --ray auto
    """
    from unrender import bulk as library

    if status:
        _report(library.status(status), status)
        return
    if not inputs or not out:
        raise typer.BadParameter("give what to read and, with -o, where the shards go")
    command = library.Command(
        inputs=tuple(inputs),
        model=model,
        task=task,
        notation=notation,
        engine=engine,
        beams=beam,
        max_tokens=max_tokens,
        shards=shards,
        chunk=chunk,
    )
    plan = library.prepare(command, out, workers=workers)
    say(f"{plan.files:,} files in {plan.chunks:,} chunks, read by {plan.model} {plan.version}")
    try:
        progress = library.execute(plan, workers=workers, ray=ray, watch=_Display())
    except KeyboardInterrupt:
        say("Stopped; the same command goes on from here.")
        raise typer.Exit(_INTERRUPTED) from None
    _report(progress, out)


class _Display:
    """Show progress on standard error: one line that changes, or now and then a new one."""

    def __init__(self) -> None:
        self._shown = time.monotonic()

    def __call__(self, progress: "Progress") -> None:
        if sys.stderr.isatty():
            typer.echo(f"\r\033[K{_line(progress)}", err=True, nl=progress.finished)
        elif time.monotonic() - self._shown >= _LINE_SECONDS:
            self._shown = time.monotonic()
            say(_line(progress))


def _line(progress: "Progress") -> str:
    parts = [f"{progress.done:,} of {progress.chunks:,} chunks", f"{progress.pages:,} pages"]
    parts += [f"{progress.pages_per_second:.1f} pages/s", f"{sum(progress.failures.values()):,} failed"]
    left = progress.seconds_left
    return ", ".join(parts) + ("" if left is None or progress.finished else f", {_duration(left)} left")


def _report(progress: "Progress", out: str) -> None:
    """Sum up: to standard output, because it is what was asked for."""
    silent = time.time() - progress.clock > _SILENT_SECONDS
    state = "finished" if progress.finished else "not running" if silent else "running"
    typer.echo(f"{out}: {state}, {_line(progress)}")
    for reason, count in list(progress.failures.items())[:_REASONS]:
        typer.echo(f"  {count:,} failed: {reason}")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
