"""The OpenAPI description against the server: whatever the description allows is answered as it says."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from serving import bar, running, saying_reader

from unrender.server import Limits, Shelf, create_app

# What is random is hardly ever a picture, so that all valid data is accepted is not among the checks.
CHECKS = (
    not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)


BODIES = st.one_of(st.sampled_from([bar(columns) for columns in range(1, 9)]), st.binary(max_size=1000))
for kind in ("image/png", "image/jpeg", "image/webp", "image/tiff", "application/pdf", "application/octet-stream"):
    schemathesis.openapi.media_type(kind, BODIES)

KEPT = Path(tempfile.mkdtemp()) / "corrections"
APP = create_app(Shelf(saying_reader()), Limits(body_bytes=100_000), corrections=KEPT)
schema = schemathesis.openapi.from_dict(APP.openapi())


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(APP) as address:
        yield address


@pytest.mark.slow
@schema.parametrize()
@settings(
    max_examples=12, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
def test_every_answer_is_one_that_the_description_allows(case: schemathesis.Case, address: str) -> None:
    case.call_and_validate(base_url=address, checks=CHECKS)
