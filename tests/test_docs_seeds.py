"""docs/seeds.md: what it points at is there."""

import ast
import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent
_TEXT = (_ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
_CITED = re.findall(r"`(unrender/[\w/]+\.py)`((?:,? ?`\w+`)*)", _TEXT)


def _names(path: Path) -> set[str]:
    """Return what a file defines: classes, functions, settings and attributes."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return names


@pytest.mark.parametrize(("file", "names"), sorted(set(_CITED)), ids=lambda text: text.strip("` "))
def test_every_name_is_where_the_page_says(file: str, names: str) -> None:
    assert set(re.findall(r"`(\w+)`", names)) <= _names(_ROOT / file)


@pytest.mark.parametrize("seed", ["000", "001", "002", "003", "004"])
def test_every_seed_has_its_section(seed: str) -> None:
    section = _TEXT.split(f"## Seed {seed}:")[1].split("\n## ")[0]
    assert len(re.findall(r"`unrender/", section)) >= 4
