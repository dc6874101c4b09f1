"""The documentation: every command and every line of Python in it is run."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from serving import running

from unrender import server
from unrender.checkpoints import embedded_names
from unrender.server import Shelf, create_app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = ("quickstart", "how-to-read", "serve", "how-to-train", "how-to-evaluate", "how-to-export", "scale")
WRITTEN = [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([\w./-]+)(?:#[\w-]+)?\)")
ADDRESS = "http://127.0.0.1:8000"  # of the server in the documentation


@dataclass(frozen=True)
class Block:
    """A piece of code in a page."""

    language: str
    code: str


def blocks_of(page: str) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))]


@pytest.fixture
def desk(tmp_path, tiny_folder, make_pdf, monkeypatch) -> Path:
    """A folder with the files that the documentation speaks of, as the working directory."""
    shutil.copy(ROOT / "examples" / "quadratic.png", tmp_path / "formula.png")
    (tmp_path / "scans").mkdir()
    shutil.copy(ROOT / "examples" / "zeta.png", tmp_path / "scans" / "one.png")
    shutil.copy(ROOT / "examples" / "gaussian.png", tmp_path / "scans" / "two.png")
    (tmp_path / "paper.pdf").write_bytes(make_pdf(pages=3))
    if "formula" not in embedded_names():  # a folder of that name stands in for the model of the package
        shutil.copytree(tiny_folder, tmp_path / "formula")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def address(desk) -> Iterator[str]:
    with running(create_app(Shelf.open("formula"), corrections=desk / "kept")) as address:
        yield address


def run_shell(line: str, address: str, run: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run one line of a shell block."""
    words = shlex.split(line)
    if words[:2] == ["pip", "install"]:
        check_installation(words[2:])
    elif words[:2] == ["unrender", "serve"]:
        called = []
        monkeypatch.setattr(server, "serve", lambda **options: called.append(options))
        assert run(*words[1:]).code == 0
        assert called
    elif words[0] == "unrender" and "<" not in words:
        ran = run(*words[1:])
        assert ran.code == 0, ran.err
    else:
        command = line.replace(ADDRESS, address).replace("unrender ", f"{shlex.quote(sys.executable)} -m unrender ", 1)
        subprocess.run(
            command, shell=True, check=True, capture_output=True, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
        )


def check_installation(words: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for word in words:
        found = re.fullmatch(r"unrender(?:\[([\w,]+)\])?", word)
        assert found, f"{word} is not ours"
        assert set(filter(None, (found[1] or "").split(","))) <= set(project["optional-dependencies"])


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code_runs(page, address, run, monkeypatch):
    names: dict[str, object] = {"__name__": "documentation"}
    blocks = blocks_of(page)
    assert {block.language for block in blocks} <= {"sh", "python"}
    for block in blocks:
        if block.language == "python":
            exec(compile(block.code.replace(ADDRESS, address), f"{page}.md", "exec"), names)
        else:
            for line in block.code.splitlines():
                run_shell(line, address, run, monkeypatch)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    text = path.read_text(encoding="utf-8")
    assert [link for link in LINK.findall(text) if not (path.parent / link).exists()] == []


def test_the_page_of_commands_says_what_the_help_says():
    sys.path.insert(0, str(DOCS))
    try:
        from write_commands import PAGE, describe
    finally:
        sys.path.pop(0)
    assert PAGE.read_text(encoding="utf-8") == describe(), "run `python docs/write_commands.py`"


def test_the_page_of_the_api_says_what_the_docstrings_say():
    sys.path.insert(0, str(DOCS))
    try:
        from write_api import PAGE, describe
    finally:
        sys.path.pop(0)
    assert PAGE.read_text(encoding="utf-8") == describe(), "run `python docs/write_api.py`"


def test_every_page_with_code_is_run():
    with_code = {path.stem for path in DOCS.glob("*.md") if any(block.language for block in blocks_of(path.stem))}
    assert with_code == set(PAGES)
