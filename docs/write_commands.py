"""Write docs/commands.md from the command line's own help: `python docs/write_commands.py`."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from unrender.cli import app

PAGE = Path(__file__).parent / "commands.md"
_HEAD = """# Commands

Written from the help of each command by `docs/write_commands.py`; a test compares the two.

"""
_TAIL = """
Results go to standard output, everything else to standard error. The exit code is 0 when all was read, 1 when something could not be (one sentence each on standard error), 2 for wrong usage. `unrender --install-completion` sets up completion for the shell in use.
"""  # noqa: E501 - one paragraph, one line
_KINDS = {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH"}


@dataclass(frozen=True)
class Parameter:
    """One argument or option as its function declares it."""

    name: str
    kind: type
    info: ArgumentInfo | OptionInfo
    default: object

    @property
    def spelling(self) -> str:
        plain = f"--{self.name.replace('_', '-')}"
        first = [self.info.default] if isinstance(self.info.default, str) else []  # where Typer keeps the first name
        names = [*first, *(self.info.param_decls or ())]
        names = names or [plain, *([f"--no-{plain[2:]}"] if self.kind is bool else [])]
        written = ", ".join(f"`{name}`" for name in names)
        return written if self.kind is bool else f"{written} {_KINDS[self.kind]}"

    @property
    def meaning(self) -> str:
        unsaid = any(self.default is value for value in (None, "", False, inspect.Parameter.empty))
        default = "" if unsaid else f" Default: {self.default}."
        envvar = f" Also from the environment: `{self.info.envvar}`." if self.info.envvar else ""
        return f"{self.info.help}{default}{envvar}"


def describe() -> str:
    """Return the page."""
    verbs = {info.callback.__name__: info.callback for info in app.registered_commands if info.callback}
    table = "\n".join(f"| [`{name}`](#unrender-{name}) | {_summary(verb)} |" for name, verb in verbs.items())
    sections = "\n".join(_section(name, verb) for name, verb in verbs.items())
    return f"{_HEAD}| command | what it does |\n|---|---|\n{table}\n\n{sections}{_TAIL}"


def _section(name: str, verb: Callable[..., object]) -> str:
    parameters = list(_parameters(verb))
    arguments = [item for item in parameters if isinstance(item.info, ArgumentInfo)]
    options = [item for item in parameters if isinstance(item.info, OptionInfo)]
    usage = " ".join(["unrender", name, *(_placeholder(item) for item in arguments), "[OPTIONS]"])
    rows = [f"| `{item.name.upper()}` | {item.meaning} |" for item in arguments]
    rows += [f"| {item.spelling} | {item.meaning} |" for item in options]
    return "\n".join(
        [f"## unrender {name}", "", "```", usage, "```", "", _help(verb), "", "| | |", "|---|---|", *rows, ""]
    )


def _parameters(verb: Callable[..., object]) -> Iterator[Parameter]:
    hints = get_type_hints(verb, include_extras=True)
    for name, parameter in inspect.signature(verb).parameters.items():
        hint = hints[name]
        assert get_origin(hint) is Annotated, f"{name} has no help"
        declared, info = get_args(hint)
        yield Parameter(name, _kind(declared), info, parameter.default)


def _kind(declared: object) -> type:
    """Return the one type that a value has, without None and without the list around it."""
    if isinstance(declared, UnionType):
        [declared] = [part for part in get_args(declared) if part is not type(None)]
    if get_origin(declared) is list:
        [declared] = get_args(declared)
    assert isinstance(declared, type)
    return declared


def _placeholder(argument: Parameter) -> str:
    name = argument.name.upper()
    return name if argument.default is inspect.Parameter.empty else f"[{name}]"


def _summary(verb: Callable[..., object]) -> str:
    return inspect.getdoc(verb).split("\n\n")[0].replace("\n", " ")


def _help(verb: Callable[..., object]) -> str:
    """Return the help with its examples as code."""
    text = inspect.getdoc(verb)
    marker = "Examples:\n" if "Examples:\n" in text else "Example: "
    body, found, examples = text.partition(marker)
    if not found:
        return text
    lines = [line.strip().rstrip(";") for line in examples.splitlines() if line.strip()]
    return "\n".join([body.rstrip(), "", "```", *lines, "```"])


if __name__ == "__main__":
    PAGE.write_text(describe(), encoding="utf-8")
