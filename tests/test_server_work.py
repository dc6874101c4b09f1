"""The work behind the HTTP API: queue, batches, time limits, and clients that go away."""

import asyncio
import io
import socket
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import httpx
import pytest
import slow_desk
from drawn_pages import draw_page
from drawn_pages import open_reader as page_reader
from serving import (
    NUMBERS,
    CountingEngine,
    JoinedCountingEngine,
    SlowLabelEngine,
    bar,
    counting_reader,
    events_of,
    labelling_reader,
    running,
)

from unrender.reading.systems import Options
from unrender.server import Limits, Shelf, conversions, create_app, events, pool, work
from unrender.server.counters import Counters
from unrender.server.limits import Memory
from unrender.server.pool import Pool
from unrender.server.problems import HttpError
from unrender.tokens import LatexTokenizer

FOUR = bar(4)


class Gated:
    """A server whose one worker waits at a gate, and threads that ask it."""

    def __init__(self, limits: Limits) -> None:
        self.gate = threading.Event()
        self.engine = CountingEngine(gate=self.gate)
        self.app = create_app(Shelf(counting_reader(self.engine)), limits)
        self.answers: dict[int, httpx.Response] = {}
        self._threads: list[threading.Thread] = []

    def ask(self, address: str, columns: int, **parameters: str) -> None:
        def post() -> None:
            self.answers[columns] = httpx.post(
                f"{address}/v1/read", content=bar(columns), params=parameters, timeout=30
            )

        self._threads.append(threading.Thread(target=post))
        self._threads[-1].start()

    def finish(self) -> None:
        self.gate.set()
        for thread in self._threads:
            thread.join(30)


def waiting_for(address: str, count: int) -> None:
    """Wait until so many requests are in the queue."""
    deadline = time.monotonic() + 20
    while httpx.get(f"{address}/health").json()["waiting"] != count:
        assert time.monotonic() < deadline, "the queue never got there"
        time.sleep(0.02)


def test_requests_that_wait_are_read_in_one_batch_and_each_gets_its_own_answer():
    gated = Gated(Limits(workers=1, batch=8))
    with running(gated.app) as address:
        gated.ask(address, 1)
        assert gated.engine.reached.wait(20)
        for columns in range(2, 7):
            gated.ask(address, columns)
        waiting_for(address, 5)
        gated.finish()
    assert gated.engine.batches == [1, 5]
    assert {columns: answer.json()["text"] for columns, answer in gated.answers.items()} == {
        columns: f"n{columns}" for columns in range(1, 7)
    }


def test_requests_with_other_options_are_not_mixed():
    gated = Gated(Limits(workers=1, batch=8))
    with running(gated.app) as address:
        gated.ask(address, 1)
        assert gated.engine.reached.wait(20)
        gated.ask(address, 2, beam="2")
        gated.ask(address, 3)
        waiting_for(address, 2)
        gated.finish()
    assert gated.engine.batches == [1, 1, 1]
    assert sorted(answer.json()["text"] for answer in gated.answers.values()) == ["n1", "n2", "n3"]


def test_a_long_document_does_not_hold_up_the_small_ones(make_pdf):
    gated = Gated(Limits(workers=1, batch=1))
    with running(gated.app) as address, httpx.Client(base_url=address, timeout=30) as client:
        first = threading.Thread(target=lambda: client.post("/v1/read", content=make_pdf(pages=6)))
        first.start()
        assert gated.engine.reached.wait(20)
        gated.ask(address, 5)
        waiting_for(address, 2)
        gated.finish()
        first.join(30)
        metrics = client.get("/metrics").text
    assert gated.answers[5].json()["text"] == "n5"
    assert "unrender_pages_total 7" in metrics


def test_a_full_queue_says_when_to_come_back():
    gated = Gated(Limits(workers=1, waiting=2))
    with running(gated.app) as address:
        gated.ask(address, 1)
        assert gated.engine.reached.wait(20)
        gated.ask(address, 2)
        gated.ask(address, 3)
        waiting_for(address, 2)
        refused = httpx.post(f"{address}/v1/read", content=bar(4))
        gated.finish()
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"] == "2 requests are waiting already; try again later."
    assert [gated.answers[columns].status_code for columns in (1, 2, 3)] == [200, 200, 200]


FULL = "The requests under way hold almost {:,} bytes, the limit of this server; try again shortly."


def test_bodies_beyond_the_memory_are_refused():
    with running(create_app(Shelf(counting_reader()), Limits(memory_bytes=100))) as address:
        answer = httpx.post(f"{address}/v1/read", content=bar(4) + b"0" * 100)
        after = httpx.get(f"{address}/metrics").text
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["error"] == FULL.format(100)
    assert "unrender_held_bytes 0" in after


@pytest.mark.parametrize("path", ["/v1/read", "/v1/preview"])
def test_open_pictures_count_as_memory_like_bodies(path):
    picture = bar(4)  # 64 x 32 pixels of four bytes
    with running(create_app(Shelf(counting_reader()), Limits(memory_bytes=len(picture) + 64 * 32 * 4 - 1))) as address:
        refused = httpx.post(f"{address}{path}", content=picture)
        after = httpx.get(f"{address}/metrics").text
    with running(create_app(Shelf(counting_reader()), Limits(memory_bytes=len(picture) + 64 * 32 * 4))) as address:
        answer = httpx.post(f"{address}{path}", content=picture)
        until(lambda: "unrender_held_bytes 0" in httpx.get(f"{address}/metrics").text)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["error"] == FULL.format(len(picture) + 64 * 32 * 4 - 1)
    assert "unrender_held_bytes 0" in after
    assert answer.status_code == 200


def test_what_is_being_read_is_held_and_keeps_others_out():
    gated = Gated(Limits(workers=1, memory_bytes=2 * len(bar(1)) + 64 * 32 * 4))
    with running(gated.app) as address:
        gated.ask(address, 1)
        assert gated.engine.reached.wait(20)
        refused = httpx.post(f"{address}/v1/preview", content=bar(2))
        gated.finish()
        until(lambda: "unrender_held_bytes 0" in httpx.get(f"{address}/metrics").text)
        later = httpx.post(f"{address}/v1/preview", content=bar(2))
    assert (gated.answers[1].status_code, refused.status_code, later.status_code) == (200, 503, 200)


def test_a_slow_conversion_is_ended_and_holds_up_nobody(monkeypatch):
    monkeypatch.setattr(conversions, "_DESK", slow_desk.__name__)
    sentence = "The conversion exceeds the limit of 1 seconds; send a shorter text."
    answers: list[httpx.Response] = []
    with running(create_app(Shelf(counting_reader()), Limits(workers=1, convert_seconds=1.0))) as address:

        def convert(text: str) -> httpx.Response:
            return httpx.post(f"{address}/v1/convert", json={"text": text}, timeout=60)

        assert convert("warm").status_code == 200
        slow = [threading.Thread(target=lambda: answers.append(convert(slow_desk.SLOW))) for _ in range(2)]
        for thread in slow:
            thread.start()
        read = httpx.post(f"{address}/v1/read", content=bar(4), timeout=20)
        for thread in slow:
            thread.join(60)
        later = convert("x")
    assert [(answer.status_code, answer.json()["error"]) for answer in answers] == [(422, sentence)] * 2
    assert (read.json()["text"], later.json()["text"]) == ("n4", "x")


def test_conversions_that_wait_too_long_are_told_to_come_back(monkeypatch):
    monkeypatch.setattr(conversions, "_DESK", slow_desk.__name__)
    app = create_app(Shelf(counting_reader()), Limits(workers=1, convert_seconds=0.5))
    with running(app) as address, ThreadPoolExecutor(20) as threads:
        post = partial(httpx.post, f"{address}/v1/convert", json={"text": slow_desk.SLOW}, timeout=60)
        answers = list(threads.map(lambda _: post(), range(20)))
    assert {answer.status_code for answer in answers} == {422, 503}
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert refused.json()["error"] == "The server is busy with other conversions; try again shortly."
    assert refused.headers["retry-after"] == "1"


@pytest.mark.parametrize("text", ["{" * 2000 + "}" * 2000, "\\left(" * 200 + "x" + "\\right)" * 200, "[" * 49_000])
@pytest.mark.parametrize("target", ["sympy", "mathml", "typst", "docx"])
def test_every_conversion_ends(address_of_counting, text, target):
    answer = httpx.post(f"{address_of_counting}/v1/convert", json={"text": text, "target": target}, timeout=60)
    assert answer.status_code in (200, 422), answer.text


@pytest.fixture(scope="module")
def address_of_counting():
    with running(create_app(Shelf(counting_reader()), Limits(workers=1))) as address:
        yield address


def test_reading_that_takes_too_long_is_given_up():
    engine = CountingEngine(step_seconds=0.2)
    with running(create_app(Shelf(counting_reader(engine)), Limits(read_seconds=0.5, workers=1))) as address:
        answer = httpx.post(f"{address}/v1/read", content=bar(4))
        [(name, problem)] = events_of(
            httpx.post(f"{address}/v1/read", params={"stream": "true"}, content=bar(4), timeout=20)
        )[-1:]
        until(lambda: "unrender_abandoned_pages_total 2" in httpx.get(f"{address}/metrics").text)
    assert (answer.status_code, "retry-after" in answer.headers) == (503, True)
    assert "exceeded the limit of 0.5 seconds" in answer.json()["error"]
    assert (name, problem["status"]) == ("error", 503)


def until(condition) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def leave(address: str, stream: str, reached: threading.Event, content: bytes = FOUR) -> None:
    """Ask, go away once the engine is at work, and give the server time to see it."""
    port = int(address.rpartition(":")[2])
    header = f"POST /v1/read?stream={stream} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(header.encode() + content)
        assert reached.wait(20)
    for _ in range(3):
        httpx.get(f"{address}/health", timeout=20)


@pytest.mark.parametrize("stream", ["false", "true"])
def test_work_ends_when_the_client_goes_away(stream):
    gate = threading.Event()
    engine = CountingEngine(step_seconds=0.2, gate=gate)
    with running(create_app(Shelf(counting_reader(engine)), Limits(workers=1))) as address:
        leave(address, stream, engine.reached)
        gate.set()
        until(lambda: "unrender_abandoned_pages_total 1" in httpx.get(f"{address}/metrics").text)
    assert engine.steps < 10


@pytest.mark.parametrize("stream", ["false", "true"])
def test_the_labelling_of_a_receipt_ends_when_the_client_goes_away(stream, tmp_path):
    engine = SlowLabelEngine(call_seconds=0.2)
    reader = labelling_reader(engine, tmp_path, words=2000)
    with running(create_app(Shelf(reader), Limits(workers=1))) as address:
        leave(address, stream, engine.reached)
        engine.gate.set()
        until(lambda: "unrender_abandoned_pages_total 1" in httpx.get(f"{address}/metrics").text)
    assert engine.calls < 10  # of 23 that so many words need


@pytest.mark.parametrize("stream", ["false", "true"])
def test_the_reading_of_a_page_ends_when_the_client_goes_away(stream):
    gate = threading.Event()
    engine = CountingEngine(step_seconds=0.2, gate=gate)
    page = io.BytesIO()
    draw_page().save(page, "PNG")
    with running(create_app(Shelf(page_reader(engine, LatexTokenizer(NUMBERS))), Limits(workers=1))) as address:
        leave(address, stream, engine.reached, page.getvalue())
        gate.set()
        until(lambda: "unrender_abandoned_pages_total 1" in httpx.get(f"{address}/metrics").text)
    assert engine.batches == [14]  # its lines
    assert engine.steps < 10


def test_a_client_that_leaves_a_shared_batch_leaves_the_others_in_it():
    engine = JoinedCountingEngine(step_seconds=0.1)
    with running(create_app(Shelf(counting_reader(engine)), Limits(workers=1))) as address:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{address}/v1/read", content=bar(4), timeout=0.3)
        answer = httpx.post(f"{address}/v1/read", content=bar(5), timeout=20)
        metrics = httpx.get(f"{address}/metrics").text
    assert answer.json()["text"] == "n5" * 10
    assert "unrender_abandoned_pages_total 1" in metrics


def test_a_request_joins_the_batch_that_is_being_read():
    engine = JoinedCountingEngine(step_seconds=0.1)
    first: list[httpx.Response] = []
    with running(create_app(Shelf(counting_reader(engine)), Limits(workers=1))) as address:

        def ask() -> None:
            first.append(httpx.post(f"{address}/v1/read", content=bar(1), timeout=20))

        thread = threading.Thread(target=ask)
        thread.start()
        assert engine.reached.wait(20)
        later = httpx.post(f"{address}/v1/read", content=bar(2), params={"stream": "true"}, timeout=20)
        thread.join(20)
        metrics = httpx.get(f"{address}/metrics").text
    assert first[0].json()["text"] == "n1" * 10
    assert events_of(later)[-1][1]["text"] == "n2" * 10
    assert engine.most_rows == 2
    assert engine.steps < 2 * 11
    assert "unrender_batches_total 1" in metrics
    assert "unrender_pages_total 2" in metrics


class OneBadPicture(CountingEngine):
    """Fails on pictures with nine columns, and with it the whole batch."""

    def start(self, pixels, sizes=None):
        run = super().start(pixels, sizes)
        if ((pixels[:, 0] < 0).any(axis=1).sum(axis=1) == 9).any():
            raise ZeroDivisionError
        return run


def test_if_one_page_breaks_the_batch_the_rest_are_still_read():
    gated = Gated(Limits(workers=1))
    gated.engine = OneBadPicture(gate=gated.gate)
    gated.app = create_app(Shelf(counting_reader(gated.engine)), Limits(workers=1))
    with running(gated.app) as address:
        gated.ask(address, 1)
        assert gated.engine.reached.wait(20)
        for columns in (2, 9, 3):
            gated.ask(address, columns)
        waiting_for(address, 3)
        gated.finish()
    assert {columns: answer.status_code for columns, answer in gated.answers.items()} == {
        1: 200,
        2: 200,
        9: 500,
        3: 200,
    }
    assert gated.answers[3].json()["text"] == "n3"


def test_a_client_that_leaves_while_it_waits_is_forgotten():
    gated = Gated(Limits(workers=1))
    with running(gated.app) as address:
        gated.ask(address, 1)
        assert gated.engine.reached.wait(20)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{address}/v1/read", content=bar(2), params={"beam": "2"}, timeout=0.5)
        waiting_for(address, 0)
        gated.finish()
    assert gated.engine.batches == [1]


def test_a_body_that_comes_too_slowly_is_refused():
    request = b"POST /v1/read HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc"
    with running(create_app(Shelf(counting_reader()), Limits(body_seconds=0.5))) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(request)
            answer = b"".join(iter(lambda: connection.recv(10_000), b""))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 0.5 seconds" in answer


def test_a_server_that_stops_finishes_the_answers_under_way():
    gated = Gated(Limits(workers=1))
    with running(gated.app) as address:
        gated.ask(address, 1)
        assert gated.engine.reached.wait(20)
        gated.ask(address, 2, beam="2")
        waiting_for(address, 1)
        gated.finish()  # the server waits for answers under way
    assert [gated.answers[columns].status_code for columns in (1, 2)] == [200, 200]


def test_a_page_that_takes_long_to_open_holds_up_nobody(monkeypatch):
    gate, first = threading.Event(), threading.Event()
    open_page = work.Work.open

    def open_slowly(self, number):
        if not first.is_set():
            first.set()
            assert gate.wait(30)
        return open_page(self, number)

    monkeypatch.setattr(work.Work, "open", open_slowly)
    app = create_app(Shelf(counting_reader(CountingEngine())), Limits(workers=1, batch=8))
    with running(app) as address, ThreadPoolExecutor(1) as threads:
        slow = threads.submit(httpx.post, f"{address}/v1/read", content=bar(1), timeout=30)
        assert first.wait(20)
        others = [httpx.post(f"{address}/v1/read", content=bar(columns), timeout=20) for columns in (2, 3)]
        assert [other.json()["text"] for other in others] == ["n2", "n3"]
        assert not slow.done()
        gate.set()
        assert slow.result(20).json()["text"] == "n1"


def test_a_server_that_stops_tells_those_whose_page_is_still_being_opened(monkeypatch):
    gate, reached = threading.Event(), threading.Event()

    def open_never(_self, _number):
        reached.set()
        gate.wait(30)
        raise AssertionError

    monkeypatch.setattr(work.Work, "open", open_never)
    monkeypatch.setattr(pool, "_PATIENCE_SECONDS", 0.05)
    waiting = Pool(Limits(workers=1), Counters(), Memory(1 << 30))
    waiting.start()
    request = work.Work(
        reader=counting_reader(CountingEngine()),
        options=Options(),
        source=bar(1),
        name="bar",
        pages=(1,),
        pixels=100,
        memory=Memory(1 << 30),
    )
    waiting.submit(request)
    assert reached.wait(20)
    until(lambda: waiting.busy == 0)
    waiting.close()
    gate.set()
    with pytest.raises(HttpError, match="being stopped"):
        request.result.result(5)


def test_a_stream_that_is_abandoned_while_it_waits_leaves_no_task_behind():
    async def leave() -> set[asyncio.Task[None]]:
        work, pool = SimpleNamespace(result=Future()), SimpleNamespace(abandon=lambda work: None)
        stream = events.tell(work, pool, events.Mailbox(), seconds=10, finish=lambda document: {})
        client = asyncio.ensure_future(anext(stream))
        while len(asyncio.all_tasks()) < 3:  # this one, the client, and the one that waits for news
            await asyncio.sleep(0)
        client.cancel()
        with suppress(asyncio.CancelledError):
            await client
        await asyncio.sleep(0)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(leave()) == set()
