"""The HTTP API: what it answers, to good requests and to bad ones."""

import dataclasses
import io
import json
import logging
import re
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import get_type_hints

import httpx
import pytest
from PIL import Image, ImageDraw, ImageFont
from serving import (
    QUADRATIC,
    SlowLabelEngine,
    bar,
    counting_reader,
    events_of,
    labelling_reader,
    running,
    saying_reader,
)

from unrender import documents
from unrender.errors import ConfigError, ModelError
from unrender.evaluation.datasets import open_dataset
from unrender.server import Limits, Shelf, create_app, serve, shapes
from unrender.server.shapes import DocumentShape, ProblemShape
from unrender.server.shelf import Offer

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "unrender" / "server" / "web"
PAGE_BUDGET = 50_000  # bytes of the whole page, as they go over the wire
TEXT = " ".join(said.text for said in QUADRATIC)
TIDY = r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}"
FORMULA = (ROOT / "examples" / "quadratic.png").read_bytes()
SMALL = Limits(body_bytes=50_000, pixels=300_000, pages=3, waiting=2, workers=1, body_seconds=1, read_seconds=10)


@pytest.fixture(scope="module")
def client():
    with running(create_app(Shelf(saying_reader()), SMALL)) as address, httpx.Client(base_url=address) as client:
        yield client


def read(client: httpx.Client, content: bytes = FORMULA, **options: object) -> httpx.Response:
    return client.post("/v1/read", content=content, params={name: str(value) for name, value in options.items()})


def test_a_picture_as_the_body_is_read(client):
    answer = read(client)
    assert answer.status_code == 200
    document = answer.json()
    assert (document["text"], document["status"], document["model"]) == (TIDY, {"kind": "complete"}, "formula")
    assert document["pages"][0]["blocks"][0]["written"] == TEXT
    tokens = document["pages"][0]["blocks"][0]["tokens"]
    assert [token["text"] for token in tokens] == [said.text for said in QUADRATIC]
    doubtful = tokens[9]
    assert doubtful["probability"] == pytest.approx(0.55, abs=0.02)
    assert [other["text"] for other in doubtful["alternatives"]] == ["6", "h", "\\delta"]
    assert doubtful["box"]["x0"] <= 155 < 164 <= doubtful["box"]["x1"]


def test_a_form_with_a_file_and_options_is_read(client):
    files = {"file": ("some/where/quadratic.png", FORMULA, "image/png")}
    answer = client.post("/v1/read", files=files, data={"format": "mathml", "n_best": "1"})
    document = answer.json()
    assert (answer.status_code, document["source"]) == (200, "quadratic.png")
    assert document["output"]["format"] == "mathml"
    assert document["output"]["text"].startswith("<math")


def test_answers_have_the_shape_that_is_described(client):
    DocumentShape.model_validate(read(client, n_best=2).json(), extra="forbid")
    ProblemShape.model_validate(read(client, b"").json(), extra="forbid")


@pytest.mark.parametrize("name", ["Status", "Alternative", "Token", "Reading", "Difference", "Check", "Block", "Page"])
def test_the_described_shapes_are_those_of_documents(name):
    fields = {field.name for field in dataclasses.fields(getattr(documents, name))}
    described = set(get_type_hints(getattr(shapes, f"{name}Shape"))) - {"model_config"}
    assert {field for field in described if not field.startswith("_") and field.islower()} - {"text"} == fields - {
        "text"
    }


def test_a_stream_tells_the_text_as_it_grows_and_then_the_document():
    with running(create_app(Shelf(saying_reader(step_seconds=0.01)))) as address:
        answer = httpx.post(f"{address}/v1/read", params={"stream": "true", "format": "latex"}, content=FORMULA)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *texts, (last, document) = events_of(answer)
    assert len(texts) > 2
    assert all(name == "text" and TEXT.startswith(str(data["text"])) for name, data in texts)
    lengths = [len(str(data["text"])) for _, data in texts]
    assert lengths == sorted(lengths)
    assert (last, document["text"], document["output"]["text"]) == ("document", TIDY, TIDY)


def test_a_stream_with_beams_tells_a_text_too():
    with running(create_app(Shelf(saying_reader(step_seconds=0.01)))) as address:
        answer = httpx.post(f"{address}/v1/read", params={"stream": "true", "beam": "3"}, content=FORMULA)
    names = [name for name, _ in events_of(answer)]
    assert (names[0], names[-1]) == ("text", "document")


def test_what_goes_wrong_in_a_stream_is_an_event(client):
    [(name, problem)] = events_of(read(client, bar(3), stream="true", task="receipt"))
    assert (name, problem["status"]) == ("error", 422)
    assert "reads formula, not receipt" in str(problem["error"])


def test_chosen_pages_of_a_pdf_are_read(client, make_pdf):
    answer = read(client, make_pdf(pages=5), pages="2,4-5")
    assert [page["number"] for page in answer.json()["pages"]] == [2, 4, 5]


def test_a_preview_shows_a_page_and_counts_them(client, make_pdf):
    answer = client.post("/v1/preview", params={"page": 2}, content=make_pdf(pages=2, width_points=144))
    assert (answer.status_code, answer.headers["pages"], answer.headers["content-type"]) == (200, "2", "image/png")
    with Image.open(io.BytesIO(answer.content)) as image:
        assert (image.width, image.height) == (220, 110)


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("x ^ { 2 }", "mathml", "<msup><mi>x</mi><mn>2</mn></msup>"),
        ("x", "markdown", "$$"),
        ("\\frac { 1 } { 2 }", "typst", "frac"),
    ],
)
def test_formulas_are_converted(client, text, target, expected):
    answer = client.post("/v1/convert", json={"text": text, "target": target})
    assert (answer.status_code, expected in answer.json()["text"]) == (200, True)


def test_a_formula_that_is_wrong_says_where(client):
    answer = client.post("/v1/convert", json={"text": "\\frac { 1"})
    assert answer.status_code == 422
    assert answer.json()["position"] == 9


BAD = {
    "empty body": (b"", {}, {}, 400, "The body is empty"),
    "not an image": (b"hello, this is text", {}, {}, 415, "neither a PDF nor an image"),
    "another type": (b"{}", {}, {"content-type": "application/json"}, 415, "cannot be read; send an image"),
    "cut image": (FORMULA[:200], {}, {}, 422, "damaged"),
    "too many bytes": (b"\x89PNG" + b"0" * 60_000, {}, {}, 413, "exceeds the limit of 50,000 bytes"),
    "unknown task": (FORMULA, {"task": "formul"}, {}, 422, "did you mean formula?"),
    "unknown model": (FORMULA, {"model": "formulae"}, {}, 422, "did you mean formula?"),
    "a path as model": (
        FORMULA,
        {"model": "/etc"},
        {},
        422,
        "model: give the name of one of the models at /v1/models, got '/etc'.",
    ),
    "a path upwards": (FORMULA, {"model": ".."}, {}, 422, "This server has no model called"),
    "unknown format": (FORMULA, {"format": "latx"}, {}, 422, "did you mean latex?"),
    "beam of none": (FORMULA, {"beam": "0"}, {}, 422, "beam: must be at least 1, got '0'."),
    "unknown parameter": (FORMULA, {"beams": "2"}, {}, 422, "beams: there is no such field."),
    "page beyond": (FORMULA, {"pages": "2"}, {}, 422, "There is no page 2"),
    "pages in words": (FORMULA, {"pages": "all"}, {}, 422, "pages: give page numbers such as 1-4,7, got 'all'."),
    "task of no model": (FORMULA, {"task": "receipt"}, {}, 422, "reads formula, not receipt"),
    "missing question": (FORMULA, {"task": "question"}, {}, 422, "give one with `question`"),
    "a format for files": (FORMULA, {"format": "docx"}, {}, 422, "format: docx is for files only; there are latex,"),
    "needless question": (FORMULA, {"question": "why"}, {}, 422, "takes no question"),
    "form without boundary": (b"x", {}, {"content-type": "multipart/form-data"}, 400, "The form cannot be read"),
    "form of nothing": (b"x", {}, {"content-type": "multipart/form-data; boundary=x"}, 400, "The form"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_request_is_answered_with_a_sentence_and_the_right_status(client, case):
    content, parameters, headers, status, sentence = BAD[case]
    answer = client.post("/v1/read", content=content, params=parameters, headers=headers)
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert sentence in answer.json()["error"]
    assert "Traceback" not in answer.text


def test_bytes_without_a_type_are_looked_at(client):
    as_curl_does = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/v1/read", content=FORMULA, headers=as_curl_does).json()["text"] == TIDY


def test_an_abandoned_stream_logs_nothing(caplog):
    with running(create_app(Shelf(saying_reader(step_seconds=0.05)), SMALL)) as address:
        with httpx.stream("POST", f"{address}/v1/read?stream=true", content=FORMULA) as answer:
            next(answer.iter_lines())
        metrics = ""
        while "abandoned_pages_total 1" not in metrics:
            metrics = httpx.get(f"{address}/metrics").text
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.fixture
def keeping(tmp_path):
    """A server that keeps corrections in a folder of its own."""
    folder = tmp_path / "corrections"
    app = create_app(Shelf(saying_reader()), Limits(workers=1, correction_bytes=20_000), corrections=folder)
    with running(app) as address, httpx.Client(base_url=address) as client:
        yield client, folder


def correct(client, text, name="one", task="formula"):
    return client.post("/v1/corrections", files={"file": FORMULA}, data={"id": name, "task": task, "text": text})


def test_corrections_are_kept_as_training_reads_them(keeping):
    client, folder = keeping
    assert client.get("/v1/corrections").json() == {"count": 0, "folder": str(folder)}
    assert correct(client, r"x=\frac12").json()["count"] == 1
    assert correct(client, r"x=\frac13").json()["count"] == 1, "the same picture again"
    assert correct(client, r"y^2", "two").json()["count"] == 2
    examples = list(open_dataset(folder / "formula"))
    assert [example.target for example in examples] == [r"x = \frac { 1 } { 3 }", "y ^ { 2 }"]
    with zipfile.ZipFile(io.BytesIO(client.get("/v1/corrections/export").content)) as archive:
        assert archive.namelist() == ["formula/labels.tsv", "formula/one.png", "formula/two.png"]
    assert client.delete("/v1/corrections").json()["count"] == 0
    assert not folder.exists()


def test_a_correction_that_cannot_be_kept_is_a_sentence(keeping):
    client, folder = keeping
    wrong = [
        correct(client, r"\frac{1"),
        correct(client, "x", "../up"),
        correct(client, "x", task="formla"),
        client.post("/v1/corrections", files={"file": b"no"}, data={"id": "one", "task": "formula", "text": "x"}),
    ]
    assert [answer.status_code for answer in wrong] == [422, 422, 422, 415]
    assert not folder.exists()
    answers = [correct(client, "x", f"n{number}").status_code for number in range(20)]
    assert set(answers) == {200, 413}, "there is a bound to what is kept"


def test_too_many_pixels_are_refused_before_they_are_unpacked(client, make_png_header):
    for width, height in ((1000, 1000), (10_000, 9_000), (100_000, 100_000)):
        answer = read(client, make_png_header(width, height))
        assert (answer.status_code, "pixels" in answer.json()["error"]) == (413, True)


def test_too_many_pages_are_refused(client, make_pdf):
    answer = read(client, make_pdf(pages=4))
    assert (answer.status_code, answer.json()["error"]) == (
        413,
        "4 pages are more than the limit of 3; choose some with `pages`.",
    )


def test_a_form_without_file_says_so(client):
    answer = client.post("/v1/read", files={"picture": ("a.png", FORMULA)})
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "The form has no file; send one in the field `file`.",
    )


def test_a_body_of_unknown_length_is_bounded_too(client):
    answer = client.post("/v1/read", content=(b"x" * 10_000 for _ in range(10)))
    assert answer.status_code == 413


@pytest.mark.parametrize(("path", "status"), [("/v1/read?beam=0", 422), ("/v1/models", 405), ("/nothing", 404)])
def test_an_early_answer_reaches_a_client_that_is_still_sending(client, path, status):
    assert client.post(path, content=(b"x" * 10_000 for _ in range(15))).status_code == status


def test_a_text_too_long_to_convert_is_refused():
    with running(create_app(Shelf(saying_reader()), Limits(text_characters=10))) as address:
        long = httpx.post(f"{address}/v1/convert", json={"text": "x" * 11})
        longer = httpx.post(f"{address}/v1/convert", json={"text": "x" * 1100})
    assert (long.status_code, longer.status_code) == (413, 413)


def test_unknown_paths_and_methods_are_answered_in_the_same_shape(client):
    lost, wrong = client.get("/v2/read"), client.get("/v1/read")
    assert (lost.status_code, wrong.status_code) == (404, 405)
    assert "There is nothing at /v2/read" in lost.json()["error"]
    assert wrong.headers["allow"] == "POST"


@pytest.mark.parametrize(
    "path", ["/..%2f..%2fetc%2fpasswd", "/%2e%2e/unrender/cli.py", "/server/__init__.py", "/etc/passwd"]
)
def test_no_path_leads_to_the_file_system(client, path):
    assert client.get(path).status_code == 404


def test_models_are_named_without_their_paths(client):
    listed = client.get("/v1/models").json()
    assert [(model["name"], model["default"]) for model in listed["models"]] == [("formula", True)]
    assert str(ROOT) not in json.dumps(listed)


def test_health_and_metrics_tell_how_busy_it_is(client):
    read(client)
    assert client.get("/health").json()["status"] == "ok"
    lines = client.get("/metrics").text.splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert int(values["unrender_pages_total"]) >= 1
    assert int(values['unrender_requests_total{route="/v1/read",status="200"}']) >= 1
    assert (values["unrender_waiting"], values["unrender_body_bytes"]) == ("0", "0")
    assert values['unrender_read_seconds_bucket{le="+Inf"}'] == values["unrender_read_seconds_count"]


def test_every_answer_forbids_other_origins(client):
    for path in ("/", "/docs", "/health", "/nothing"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "http" not in policy


def test_the_page_is_small_and_asks_nobody_else(client):
    files = list(PAGE.iterdir())
    names = ["" if path.name == "index.html" else path.name for path in files]
    answers = [client.get(f"/{name}") for name in names]
    assert sum(int(answer.headers["content-length"]) for answer in answers) < PAGE_BUDGET
    plain = [client.get(f"/{name}", headers={"Accept-Encoding": "identity"}) for name in names]
    assert [answer.content for answer in answers] == [answer.content for answer in plain]
    for path in files:
        addresses = re.findall(
            rb"https?://[\w.]+|//[\w-]+\.[\w.]+", path.read_bytes() if path.suffix != ".png" else b""
        )
        assert set(addresses) <= {b"http://www.w3.org"}, path


def test_the_docs_show_every_route_and_ask_nobody_else(client):
    page = client.get("/docs").text
    for path in client.get("/openapi.json").json()["paths"]:
        assert path in page
    assert "<script" not in page
    assert page.count("http") == page.count(str(client.base_url).rstrip("/"))


def test_a_token_is_asked_for():
    with running(create_app(Shelf(saying_reader()), token="säcret")) as address:  # codespell:ignore
        given = {"right": "säcret", "wrong": "secret", "prefix": "säcre"}
        answers = {
            name: httpx.get(f"{address}/v1/models", headers={b"Authorization": f"Bearer {token}".encode()}).status_code
            for name, token in given.items()
        }
        none = httpx.get(f"{address}/metrics")
        open_paths = [httpx.get(f"{address}{path}").status_code for path in ("/", "/health", "/docs")]
    assert answers == {"right": 200, "wrong": 401, "prefix": 401}
    assert (none.status_code, none.headers["www-authenticate"]) == (401, "Bearer")
    assert open_paths == [200, 200, 200]


class BrokenEngine:
    def start(self, pixels, sizes=None):
        raise ZeroDivisionError("/secret/path")


def test_a_mistake_of_ours_is_a_sentence_and_tells_nothing():
    with running(create_app(Shelf(counting_reader(BrokenEngine())))) as address:
        answer = httpx.post(f"{address}/v1/read", content=bar(3))
    assert answer.status_code == 500
    assert answer.json() == {"status": 500, "error": "The server made a mistake; its log says more."}


def test_limits_must_be_positive():
    with pytest.raises(ConfigError, match="waiting must be more than 0"):
        Limits(waiting=0)


def test_a_port_in_use_is_one_sentence(tiny_folder):
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError, match="Cannot listen on"):
        serve(port=taken.getsockname()[1], model=str(tiny_folder))


def test_a_model_that_is_not_there_is_one_sentence():
    with pytest.raises(ModelError, match="there is no model named"):
        Shelf.open("no-such-model")


def test_a_folder_is_known_by_its_name_and_not_by_its_path(tiny_folder):
    shelf = Shelf.open(str(tiny_folder))
    assert shelf.names[0] == "tiny"
    assert shelf.find("tiny", None) is shelf.find(None, "formula") is shelf.default


def test_a_model_that_labels_words_reads_its_own_task_only(tmp_path):
    reader = labelling_reader(SlowLabelEngine(0.0), tmp_path, words=1)
    with pytest.raises(ModelError, match="tiny reads receipt, not word"):
        Shelf(reader).find(None, "word")


@pytest.mark.slow
def test_the_command_serves_until_it_is_told_to_end(tiny_folder):
    command = [sys.executable, "-m", "unrender", "serve", "--port", "0", "-m", str(tiny_folder)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        address = line.split(" at ")[1].split(" ")[0]
        answer = httpx.post(f"{address}/v1/read", content=FORMULA, timeout=60)
        process.terminate()
        rest = process.stderr.read()
    assert address.startswith("http://127.0.0.1:")
    assert (answer.status_code, answer.json()["model"]) == (200, "tiny")
    assert rest == ""


def test_a_model_that_reads_by_default_is_offered_before_others_for_its_task():
    offers = [Offer(name, "receipt", "", "") for name in ("donut-receipt", "receipt")]
    assert Shelf(saying_reader(), offers).names[1:] == ("receipt", "donut-receipt")


def test_a_part_of_a_pdf_is_read_as_finely_as_the_model_wants_it(client, make_pdf):
    whole = read(client, make_pdf(2), pages=2).json()["pages"][0]
    part = read(client, make_pdf(2), pages=2, crop="0,0.5,0.5,1").json()["pages"][0]
    assert (whole["width"], whole["height"]) == (96, 96)  # an inch, at the model's 96 dpi
    assert (part["number"], part["width"], part["height"]) == (2, 48, 48)


@pytest.mark.parametrize("crop", ["0,0,1", "0,0,2,1", "-1,0,1,1", "0.5,0,0.5,1", "left,0,1,1"])
def test_a_part_that_is_none_is_a_sentence(client, crop):
    answer = read(client, crop=crop)
    assert answer.status_code == 422
    assert "crop" in answer.json()["error"]


def test_without_task_and_model_it_looks_what_a_picture_shows():
    picture = io.BytesIO()
    image = Image.new("L", (220, 60), 255)
    ImageDraw.Draw(image).text((12, 8), "breakfast", fill=0, font=ImageFont.load_default(40))
    image.save(picture, "PNG")
    looking = Shelf.open()
    with running(create_app(looking, SMALL)) as address, httpx.Client(base_url=address, timeout=60) as client:
        assert client.get("/v1/models").json()["chooses"]
        found = [read(client, content, **more).json() for content, more in
                 ((picture.getvalue(), {}), (FORMULA, {}), (picture.getvalue(), {"task": "formula"}))]  # fmt: skip
    assert [document["task"] for document in found] == ["word", "formula", "formula"]
    assert found[0]["text"].startswith("breakfast")
