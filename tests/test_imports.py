"""Who may import whom: the arrows of docs/architecture.md, checked in the source."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "unrender"
FILES = sorted(ROOT.rglob("*.py"))
EVERYTHING = frozenset(["*"])

# Every part may import `errors`; a package's files may import one another.
ARROWS: dict[str, frozenset[str]] = {
    part: frozenset(targets.split())
    for part, targets in {
        "errors": "",
        "documents": "",
        "metrics": "",
        "latex": "",
        "models": "",
        "tokens": "",
        "decoding": "",
        "images": "models",
        "words": "documents images",
        "typesetting": "",
        "formats": "documents latex",
        "tasks": "documents formats latex metrics",
        "layers": "models",
        "checkpoints": "layers models tokens",
        "engines": "checkpoints decoding layers models",
        "reading": "checkpoints decoding documents engines formats images latex metrics models tasks tokens "
        "typesetting words",
        "evaluation": "checkpoints decoding documents engines formats images latex metrics models reading tasks "
        "typesetting words",
        "bulk": "checkpoints documents engines formats reading",
        "bench": "checkpoints decoding engines models",
        "server": "checkpoints documents formats images reading tasks",
        "__init__": "documents images reading",
        "__main__": "cli",
    }.items()
} | {"cli": EVERYTHING, "training": EVERYTHING}
ONE_MEANING = {  # what modules of one name in several rooms have in common
    "blocks": "the blocks of a page or a document",
    "corpora": "`unrender data NAME`: from raw sets to what is trained on",
    "decoder": "the decoder: its layers, and its graph",
    "fields": "the fields of a receipt: found, and measured",
    "glyphs": "the glyphs of a font and what they show",
    "layoutlmv2": "one system: its config, and its published weights",
    "page": "one system: its config, and its module",
    "rows": "the rows of a page, as read",
    "text": "text: a notation, and the system that writes it",
}
TORCH_PLACES = ("layers/", "training/", "engines/torch_engine.py", "engines/export/")
TORCH_LIBRARIES = frozenset({"torch", "transformers", "albumentations", "onnx", "onnxscript", "ray"})


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(path: Path, *, top_level_only: bool = False) -> Iterator[str]:
    """Give the dotted name of everything a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parts_used(path: Path) -> set[str]:
    ours = [name.split(".") for name in imports_of(path) if name.partition(".")[0] == "unrender"]
    own = {part_of(file) for file in FILES}
    return {names[1] for names in ours if len(names) > 1 and names[1] in own}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_only_along_the_arrows(path):
    part = part_of(path)
    assert part in ARROWS, f"{part} has no arrows: add it here and to docs/architecture.md"
    if ARROWS[part] != EVERYTHING:
        assert parts_used(path) - {part, "errors"} <= ARROWS[part]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_line_imports_training_and_only_inside_functions(path):
    if part_of(path) not in ("cli", "training"):
        assert "training" not in parts_used(path)
    if part_of(path) == "cli":
        assert not [name for name in imports_of(path, top_level_only=True) if "training" in name]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_torch_is_imported_at_module_level_only_where_models_compute_or_train(path):
    if not str(path.relative_to(ROOT)).startswith(TORCH_PLACES):
        top = {name.partition(".")[0] for name in imports_of(path, top_level_only=True)}
        assert not top & TORCH_LIBRARIES


def test_modules_of_one_name_mean_the_same():
    counts = Counter(path.stem for path in FILES if path.stem not in ("__init__", "__main__"))
    assert {name for name, count in counts.items() if count > 1} <= ONE_MEANING.keys()


def test_the_page_on_architecture_has_the_same_arrows():
    page = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("## Who may import whom")[1].split("\n## ")[0]
    written = {}
    for parts, targets in re.findall(r"^\| (`.+?) \| (.+?) \|$", section, re.MULTILINE):
        arrows = EVERYTHING if targets == "anything" else frozenset(re.findall(r"`(\w+)`", targets))
        written |= dict.fromkeys(re.findall(r"`(\w+)`", parts), arrows)
    assert written == ARROWS


def test_every_part_is_on_the_page_on_architecture():
    page = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("## The parts")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)/?`", section))
    assert {part_of(path) for path in FILES} <= named
    assert [name for name in re.findall(r"`([\w/]+/)`", section) if not _is_room(name)] == []


def test_every_file_that_is_followed_is_there():
    page = (ROOT.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("## Follow one picture")[1].split("\n## ")[0]
    files = re.findall(r"^\| \d+ \| `([\w/]+\.py)`", section, re.MULTILINE)
    assert files
    assert [name for name in files if not (ROOT / name).exists()] == []


def _is_room(name: str) -> bool:
    return (ROOT / name).is_dir() or (ROOT / "training" / name).is_dir() or (ROOT / "engines" / name).is_dir()


def test_help_loads_nothing_heavy():
    script = "import sys, unrender, unrender.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "PIL", "onnxruntime", "torch", "tokenizers", "rapidfuzz", "pypdfium2"} & set(loaded)


def test_reading_loads_no_torch():
    script = "import sys, unrender.reading.reader, unrender.cli.delivery; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not TORCH_LIBRARIES & set(loaded)
