"""The server under load, as a process of its own: nobody is lost, nobody hangs, memory stays flat."""

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from serving import bar

HERE = Path(__file__).parent
CLIENTS = 200
SECONDS = 60  # in which everything here must be over
GROWTH = 60_000  # kilobytes that memory may grow under load: what waits, and what the allocator keeps

# A client that is refused while it connects leaves its socket to the garbage collector; that is the client's library.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]


@dataclass
class Server:
    """A server process."""

    process: "subprocess.Popen[str]"
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def memory(self) -> int:
        """Kilobytes in use."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def stop(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=SECONDS)
        return errors


def start(port: int = 0) -> Server:
    command = [sys.executable, str(HERE / "serving.py"), str(port)]
    environment = {"PYTHONPATH": f"{HERE.parent}:{HERE}", "OMP_NUM_THREADS": "1", "PATH": ""}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=HERE
    )
    assert process.stdout is not None
    return Server(process, int(process.stdout.readline()))


@contextmanager
def serving() -> Iterator[Server]:
    server = start()
    try:
        yield server
    finally:
        if server.process.poll() is None:
            assert "Traceback" not in server.stop()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def values_of(server: Server) -> dict[str, str]:
    lines = httpx.get(f"{server.address}/metrics").text.splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


async def ask(client: httpx.AsyncClient, content: bytes, **parameters: str) -> httpx.Response:
    """Ask until the server has room; come back when it says so, or when it is there again."""
    while True:
        try:
            answer = await client.post("/v1/read", content=content, params=parameters)
        except httpx.TransportError:
            await asyncio.sleep(0.1)
            continue
        if answer.status_code != 503:
            return answer
        await asyncio.sleep(min(float(answer.headers["retry-after"]), 1.0))


GOOD = [(bar(columns), {}, 200, f"n{columns}") for columns in range(1, 10)]
STREAMED = [(bar(columns), {"stream": "true"}, 200, f"n{columns}") for columns in range(1, 4)]
BAD = [
    (b"", {}, 400, "empty"),
    (b"not a picture at all", {}, 415, "neither a PDF"),
    (bar(3)[:60], {}, 422, "damaged"),
    (bar(3), {"task": "nonsense"}, 422, "no task"),
    (bar(3), {"beam": "99"}, 422, "beam"),
    (b"%PDF-1.4 broken", {}, 422, "PDF"),
]
MIXED = [*GOOD, *STREAMED, *BAD]


async def crowd(server: Server, rounds: int) -> Counter[int]:
    """Let every client ask some times, each with another body, and check that each gets its own answer."""
    seen: Counter[int] = Counter()
    limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)

    async def one(client: httpx.AsyncClient, number: int) -> None:
        for turn in range(rounds):
            content, parameters, status, text = MIXED[(number + 7 * turn) % len(MIXED)]
            answer = await ask(client, content, **parameters)
            assert answer.status_code == status
            assert text in answer.text
            seen[status] += 1

    async with (
        httpx.AsyncClient(base_url=server.address, limits=limits, timeout=SECONDS) as client,
        asyncio.timeout(SECONDS),
        asyncio.TaskGroup() as group,
    ):
        for number in range(CLIENTS):
            group.create_task(one(client, number))
    return seen


def test_two_hundred_clients_with_good_and_bad_bodies_all_get_their_own_answers(server):
    asyncio.run(crowd(server, rounds=1))
    before = server.memory
    seen = asyncio.run(crowd(server, rounds=2))
    assert sum(seen.values()) == 2 * CLIENTS
    assert set(seen) == {200, 400, 415, 422}
    values = values_of(server)
    assert (values["unrender_waiting"], values["unrender_body_bytes"]) == ("0", "0")
    assert int(values["unrender_batches_total"]) < int(values["unrender_pages_total"]), "pages were read together"
    assert server.memory - before < GROWTH


def test_slow_bodies_hold_nobody_up(server):
    async def slow_client() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST /v1/read HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n")
        answer = asyncio.create_task(reader.read(100))
        while not answer.done():
            writer.write(b"x")
            await asyncio.sleep(0.2)
        writer.close()
        return answer.result()

    async def scene() -> list[bytes]:
        slow = [asyncio.create_task(slow_client()) for _ in range(50)]
        await asyncio.sleep(0.3)
        async with httpx.AsyncClient(base_url=server.address, timeout=SECONDS) as client, asyncio.timeout(4):
            answers = await asyncio.gather(*(ask(client, bar(columns)) for columns in range(1, 10)))
        assert [answer.json()["text"][:2] for answer in answers] == [f"n{columns}" for columns in range(1, 10)]
        assert not any(task.done() for task in slow), (
            "the good ones were answered while the slow ones were still sending"
        )
        async with asyncio.timeout(SECONDS):
            return await asyncio.gather(*slow)

    answers = asyncio.run(scene())
    assert all(answer.startswith(b"HTTP/1.1 408") for answer in answers)
    assert values_of(server)["unrender_body_bytes"] == "0"


def test_clients_that_leave_leave_nothing_behind(server):
    async def leave(client: httpx.AsyncClient, number: int) -> None:
        content, parameters, *_ = [*GOOD, *STREAMED][number % 12]
        try:
            async with asyncio.timeout(0.005 * (number % 10)):
                await client.post("/v1/read", content=content, params=parameters)
        except TimeoutError:
            pass

    async def scene() -> None:
        limits = httpx.Limits(max_connections=CLIENTS)
        async with httpx.AsyncClient(base_url=server.address, limits=limits, timeout=SECONDS) as client:
            await asyncio.gather(*(leave(client, number) for number in range(CLIENTS)))
            async with asyncio.timeout(SECONDS):
                while True:
                    health = (await client.get("/health")).json()
                    if health["waiting"] == health["reading"] == 0:
                        break
                    await asyncio.sleep(0.05)
            assert (await ask(client, bar(5))).json()["text"][:2] == "n5"

    asyncio.run(scene())
    assert values_of(server)["unrender_body_bytes"] == "0"


def test_a_restart_under_load_loses_nobody(server):
    async def scene() -> Server:
        crowded = asyncio.create_task(crowd(server, rounds=3))
        await asyncio.sleep(1.0)
        assert not crowded.done()
        assert "Traceback" not in await asyncio.to_thread(server.stop)
        again = await asyncio.to_thread(start, server.port)
        try:
            seen = await crowded
            assert sum(seen.values()) == 3 * CLIENTS
        finally:
            await asyncio.to_thread(again.stop)
        return again

    asyncio.run(scene())
