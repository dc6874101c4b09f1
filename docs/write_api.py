"""Write docs/api.md from the docstrings of the public Python API: `python docs/write_api.py`."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from textwrap import dedent

import unrender
from unrender import documents, errors, formats
from unrender.reading.reader import Reader
from unrender.reading.systems import Input, Options

PAGE = Path(__file__).parent / "api.md"
_HEAD = """# The Python API

Written from the docstrings by `docs/write_api.py`; a test compares the two. Everything else in the package may change without notice.

"""  # noqa: E501 - one paragraph, one line
_NOTATIONS = (formats.write, formats.write_file, formats.parse)
_RESULTS = (
    documents.Document,
    documents.Page,
    documents.Block,
    documents.Token,
    documents.Alternative,
    documents.Reading,
    documents.Check,
    documents.Difference,
    documents.Box,
    documents.Status,
)
_ERRORS = tuple(
    kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, errors.UnrenderError)
)


def describe() -> str:
    """Return the page."""
    sections = (
        _section("Read", "unrender", unrender.read, unrender.open_reader),
        _section("Readers", "unrender.reading.reader", Reader),
        _section("Options", "unrender.reading.systems", Options, Input),
        _section("Results", "unrender.documents", *_RESULTS, documents.to_dict),
        _section("Notations", "unrender.formats", *_NOTATIONS),
        f"Texts: {_listed(formats.NOTATIONS)}. Files: those, `docx` and `xlsx`. "
        f"Parsed: {_listed(formats.PARSED_NOTATIONS)}.\n",
        _errors(),
    )
    return _HEAD + "\n".join(sections)


def _section(title: str, module: str, *things: object) -> str:
    return "\n".join([f"## {title}", "", f"In `{module}`.", "", *(_thing(thing) for thing in things)])


def _thing(thing: object) -> str:
    name = getattr(thing, "__name__", "")
    node = ast.parse(dedent(inspect.getsource(thing))).body[0]
    if isinstance(node, ast.FunctionDef):
        return f"### {name}\n\n```\n{_signature(thing, node)}\n```\n\n{_words(thing)}\n"
    assert isinstance(node, ast.ClassDef)
    fields = f"```\n{_fields(thing)}\n```\n\n" if is_dataclass(thing) else ""
    members = "".join(_members(thing, node))
    return f"### {name}\n\n{_words(thing)}\n\n{fields}{members}".rstrip() + "\n"


def _fields(kind: object) -> str:
    """Return the fields of a dataclass as its source has them, with their comments."""
    source = dedent(inspect.getsource(kind))
    lines = source.splitlines()
    [node] = [item for item in ast.parse(source).body if isinstance(item, ast.ClassDef)]
    return "\n".join(
        line.strip()
        for item in node.body
        if isinstance(item, ast.AnnAssign)
        for line in lines[item.lineno - 1 : item.end_lineno]
    )


def _members(kind: object, node: ast.ClassDef) -> Iterator[str]:
    """Describe what is public: properties first, then methods."""
    public = [item for item in node.body if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")]
    methods = []
    for item in public:
        member = inspect.getattr_static(kind, item.name)
        if isinstance(member, property):
            told = f": {_words(member)}" if _words(member) else ""
            yield f"- `{item.name} -> {_plain(item.returns)}`{told}\n"
        else:
            methods.append((getattr(member, "__func__", member), item))
    for method, item in methods:
        yield f"\n#### {node.name}.{item.name}\n\n```\n{_signature(method, item)}\n```\n\n{_words(method)}\n"


def _signature(function: object, node: ast.FunctionDef) -> str:
    known = getattr(function, "__globals__", {})
    arguments = node.args
    plain = [argument for argument in arguments.args if argument.arg not in ("self", "cls")]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    parts = [_argument(one, default, known) for one, default in zip(plain, defaults, strict=True)]
    if arguments.kwonlyargs:
        named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        parts += ["*", *(_argument(one, default, known) for one, default in named)]
    line = f"{node.name}({', '.join(parts)}) -> {_plain(node.returns)}"
    return (
        line if len(line) <= 100 else f"{node.name}(\n    " + ",\n    ".join(parts) + f",\n) -> {_plain(node.returns)}"
    )


def _argument(argument: ast.arg, default: ast.expr | None, known: Mapping[str, object]) -> str:
    """Return an argument with its default; a number that has a name is written as a number."""
    value = "" if default is None else ast.unparse(default)
    number = known.get(value)
    value = str(number) if isinstance(number, int) else value
    return f"{argument.arg}: {_plain(argument.annotation)}" + (f" = {value}" if value else "")


def _plain(annotation: ast.expr | None) -> str:
    """Return a type as it is written, without the quotes of a forward reference."""
    assert annotation is not None
    return ast.unparse(annotation).replace("'", "")


def _errors() -> str:
    rows = "\n".join(f"| `{kind.__name__}` | {_words(kind)} |" for kind in _ERRORS)
    return (
        f"## Errors\n\nIn `unrender.errors`; all are kinds of `UnrenderError`.\n\n| error | when |\n|---|---|\n{rows}\n"
    )


def _words(thing: object) -> str:
    return inspect.getdoc(thing) or ""


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    PAGE.write_text(describe(), encoding="utf-8")
