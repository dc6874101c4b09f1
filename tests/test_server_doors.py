"""Who gets in: names, origins, and connections that only cost."""

import logging
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import httpx
import pytest
import uvicorn
from serving import bar, saying_reader
from starlette.datastructures import Headers

from unrender.server import Hosts, Limits, Quiet, Shelf, configure, create_app, socket_limit
from unrender.server.gate import names_of
from unrender.server.problems import HttpError

IDLE_SECONDS = 1.5
LIMITS = Limits(connections=60, body_bytes=20_000, body_seconds=3)


@contextmanager
def bounded(limits=LIMITS):
    """Serve as `unrender serve` does, in a thread, with less patience."""
    app = create_app(Shelf(saying_reader()), limits, hosts=Hosts(names_of("127.0.0.1"), ["app.example"]))
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    server = uvicorn.Server(configure(app, limits, IDLE_SECONDS))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def port():
    with bounded() as port:
        yield port


def ends(connection: socket.socket, seconds: float = 20) -> bytes:
    """Receive until the server closes the connection."""
    connection.settimeout(seconds)
    received = b""
    try:
        while data := connection.recv(65536):
            received += data
    except ConnectionResetError:
        pass
    return received


def status_of(method: str, names: Hosts, **headers: str) -> int:
    try:
        names.check(method, Headers({name.replace("_", "-"): value for name, value in headers.items()}))
    except HttpError as error:
        return error.status
    return 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost:8000", 200),
        ("LOCALHOST", 200),
        ("[::1]:8000", 200),
        ("192.168.0.7:8000", 200),
        ("app.example", 200),
        ("rebound.example:8000", 421),
        ("127.0.0.1.rebound.example", 421),
        ("localhost.rebound.example", 421),
    ],
)
def test_the_server_answers_to_its_names_only(host, status):
    assert status_of("GET", Hosts(names_of("127.0.0.1"), ["app.example"]), host=host) == status


def test_any_name_can_be_allowed():
    assert status_of("POST", Hosts(names_of("127.0.0.1"), ["*"]), host="x.example", origin="https://y.example") == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://localhost:8000"}, 200),
        ({"origin": "https://app.example"}, 200),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "http://localhost"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[broken"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "none"}, 200),
    ],
)
def test_pages_of_other_sites_cannot_post(headers, status):
    names = Hosts(names_of("127.0.0.1"), ["app.example"])
    assert status_of("POST", names, host="localhost:8000", **headers) == status
    assert status_of("GET", names, host="localhost:8000", **headers) == 200


def test_a_foreign_page_costs_no_work_and_gets_one_sentence(port):
    answer = httpx.post(
        f"http://127.0.0.1:{port}/v1/read", content=bar(5), headers={"Origin": "https://evil.example"}, timeout=30
    )
    assert answer.status_code == 403
    assert answer.json()["error"].startswith("The page of another site cannot use this server")
    answer = httpx.get(f"http://127.0.0.1:{port}/health", headers={"Host": "rebound.example"}, timeout=30)
    assert answer.status_code == 421


def test_the_description_shows_the_real_port(port):
    page = httpx.get(f"http://127.0.0.1:{port}/docs", timeout=30).text
    assert f"curl http://127.0.0.1:{port}/v1/models" in page
    assert ":8000" not in page


def test_hundreds_of_silent_sockets_keep_nobody_out(port, caplog):
    with ExitStack() as stack, caplog.at_level(logging.WARNING):
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)) for _ in range(300)]
        for connection in idle[::3]:
            connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        answer = httpx.get(f"http://127.0.0.1:{port}/health", timeout=20)
        assert answer.status_code == 200
        assert all(ends(connection) == b"" for connection in idle)  # in time, every one of them
    assert caplog.records == []


def test_a_second_header_that_never_ends_is_not_waited_for(port):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.send(b"GET /health HTTP/1.1\r\nHost: ")
        started = time.monotonic()
        ends(connection)
        assert time.monotonic() - started < 15


@pytest.mark.parametrize("path", ["/v1/read", "/v1/nothing", "/health"])
def test_an_endless_body_is_answered_and_the_connection_closed(port, path):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.send(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        sent = 0
        try:
            while sent < 50_000_000:
                sent += connection.send(b"2710\r\n" + b"x" * 10_000 + b"\r\n") and 10_000
        except OSError:
            pass
        assert sent < 50_000_000


def test_a_body_that_is_announced_as_too_large_is_refused_at_once(port):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        head = "POST /v1/read HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"
        connection.send(head.encode())
        answer = ends(connection).decode()
        assert answer.startswith("HTTP/1.1 413")
        assert "connection: close" in answer.lower()


def test_a_lack_of_open_files_is_said_once_and_without_a_traceback():
    quiet = Quiet()
    records = [
        logging.LogRecord("asyncio", logging.ERROR, "", 0, "socket.accept() out of system resource", (), None)
        for _ in range(100)
    ]
    assert sum(bool(quiet.filter(record)) for record in records) == 1
    assert quiet.filter(logging.LogRecord("asyncio", logging.ERROR, "", 0, "something else", (), None))


def test_there_are_never_more_sockets_than_open_files_allow():
    assert 16 <= socket_limit(1000) <= 1000
