"""What fuzzing starts from and what it has found is replayed: nothing raises but our own errors."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz_targets import CORPUS, TARGETS, limit_children, stop_server

CASES = sorted((path.parent.name, path) for path in CORPUS.glob("*/*"))
LARGEST_CORPUS = 2_000_000  # bytes


@pytest.fixture(scope="module", autouse=True)
def _children() -> Iterator[None]:
    from unrender.images import opening

    before, guard = opening.GUARD, limit_children()
    yield
    stop_server()
    guard.close()
    opening.GUARD = before


@pytest.mark.parametrize(("target", "path"), CASES, ids=lambda value: value.name if isinstance(value, Path) else value)
def test_a_case_raises_nothing_but_our_errors(target, path):
    TARGETS[target](path.read_bytes())


def test_every_target_has_cases_and_all_are_small():
    assert {target for target, _ in CASES} == set(TARGETS)
    assert sum(path.stat().st_size for _, path in CASES) < LARGEST_CORPUS
