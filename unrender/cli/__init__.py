"""The command line: one function a verb, each a thin skin on the library.

Nothing heavy is imported at the top, so that `unrender --help` answers at once.
"""

import errno
import gc
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated

import typer

from unrender import __version__
from unrender.cli.bulk import bulk
from unrender.cli.console import AsJson, Model, complain, needs
from unrender.cli.read import read
from unrender.cli.study import bench, calibrate, data, evaluate, export, train
from unrender.errors import UnrenderError

__all__ = ["main"]
_LIVING = 20_000  # objects more than before, after which garbage is sought; 700 finds none while modules load
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)

app = typer.Typer(
    name="unrender",
    help="Read pictures of formulas, words, receipts and pages: LaTeX, text, JSON or Markdown comes out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; the one place that turns an UnrenderError into `Error: ...` and exit code 1."""
    gc.set_threshold(_LIVING)
    try:
        app(arguments)
    except UnrenderError as error:
        complain(str(error))
        sys.exit(1)
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        complain(f"Standard output cannot be written ({error.strerror}).")
        _forget_output()
        sys.exit(1)


def _forget_output() -> None:
    """Let what could not be written go, or Python tries once more at the end and complains itself."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@app.callback(invoke_without_command=True)
def _start(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def models(as_json: AsJson = False) -> None:
    """List the models: name, task, parameters, size, licence and where each one is."""
    from unrender.checkpoints.locations import list_models

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


def get(name: Annotated[str, typer.Argument(help="Name of a model, or ORG/NAME of published weights.")]) -> None:
    """Fetch a model, convert it if need be, and print its folder."""
    from unrender.checkpoints import load

    loaded = load(name)
    typer.echo(str(loaded.folder))
    if loaded.config.published:
        typer.echo(f"from {loaded.config.published}", err=True)


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; by default only this machine can connect.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    model: Model = None,
    token: Annotated[str, typer.Option(envvar="UNRENDER_TOKEN", help="Ask every request for this token.")] = "",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another name to answer to, also in pages of that name; * is any.")
    ] = None,
) -> None:
    """Serve the web page and the HTTP API."""
    with needs("serve"):
        from unrender.server import serve as listen

    listen(host=host, port=port, model=model, token=token, allowed_hosts=allow_host or [])


for verb in (read, bulk, models, train, evaluate, calibrate, export, get, data, bench, serve):
    app.command()(verb)
