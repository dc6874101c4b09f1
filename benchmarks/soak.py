"""What one server process holds: very many mixed requests, and a crowd of which some are hostile.

    python benchmarks/soak.py                 20,000 mixed requests, with memory before and after
    python benchmarks/soak.py --crowd         200 clients at once, 10 % of them with hostile bodies
    python benchmarks/bulk.py --kills 10      the third measurement of docs/reliability.md

Every answer is checked; one that is neither right nor the refusal that was due is counted as lost. A client that is
told to come back (503) does.
"""

import argparse
import asyncio
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from hostile import inflating_stream, many_directories, nested_forms, nested_patterns  # noqa: E402

EXAMPLES = sorted((HERE.parent / "examples").glob("*.png"))
FORMULA = (HERE.parent / "examples" / "quadratic.png").read_bytes()
AT_ONCE = 16  # clients of the long run
PART = 5000  # requests after which memory is told
WARM = 150  # requests before memory is measured
READS = 100  # one request in so many reads a formula: reading costs a hundred times as much as the others
CLIENTS, HOSTILE_SHARE = 200, 10
PATIENCE = 1800.0  # seconds for one request, with all its refusals


@dataclass(frozen=True)
class Ask:
    """One request, and how its answer must look."""

    name: str
    path: str
    status: tuple[int, ...]
    content: bytes | None = None  # None: GET
    says: str = ""


@dataclass
class Tally:
    """What came back."""

    answers: Counter[str] = field(default_factory=Counter)
    refused: int = 0  # told to come back
    lost: list[str] = field(default_factory=list)
    slowest: float = 0.0


def main() -> None:
    """Start a server and load it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowd", action="store_true", help="many clients at once, some of them hostile")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--reads", type=int, default=READS, help="one request in so many reads a formula")
    options = parser.parse_args()
    with serving() as (address, process):
        if options.crowd:
            crowd(address, process)
        else:
            soak(address, process, options.requests, options.reads)


@contextmanager
def serving() -> "Iterator[tuple[str, subprocess.Popen[str]]]":
    """Serve as a user would, in a process of its own."""
    command = [sys.executable, "-m", "unrender", "serve", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = re.search(r"http://\S+", process.stderr.readline())
    assert found is not None, "the server did not start"
    try:
        yield found.group(), process
    finally:
        began = time.perf_counter()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
        tracebacks = errors.count("Traceback")
        print(f"ended {time.perf_counter() - began:.1f} s after SIGTERM; {tracebacks} tracebacks in its log")


def soak(address: str, process: "subprocess.Popen[str]", requests: int, reads: int) -> None:
    """Send requests of every kind, a few at a time, and compare memory."""
    kinds, rng = ordinary(), random.Random(0)
    asks = [picture() if number % reads == 0 else rng.choice(kinds) for number in range(requests)]
    run(address, [picture(), *kinds] * (WARM // (len(kinds) + 1)), AT_ONCE)
    before, began = memory(process), time.perf_counter()
    for start in range(0, requests, PART):
        tell(run(address, asks[start : start + PART], AT_ONCE))
        print(f"{min(start + PART, requests):,} requests, {memory(process)} MB", flush=True)
    print(
        f"{requests:,} requests in {time.perf_counter() - began:.0f} s; {before} MB before, {memory(process)} MB after"
    )
    print(httpx.get(f"{address}/health", timeout=60).text)


def crowd(address: str, process: "subprocess.Popen[str]") -> None:
    """Let all clients ask at the same time; every tenth is hostile."""
    kinds, bad = [picture(), *ordinary()], hostile()
    run(address, kinds, AT_ONCE)
    before, began = memory(process), time.perf_counter()
    asks = [
        bad[number // HOSTILE_SHARE % len(bad)] if number % HOSTILE_SHARE == 0 else kinds[number % len(kinds)]
        for number in range(CLIENTS)
    ]
    tell(run(address, asks, CLIENTS))
    print(f"{CLIENTS} clients in {time.perf_counter() - began:.0f} s; {before} MB before, {memory(process)} MB after")
    print(httpx.get(f"{address}/health", timeout=60).text)


def picture() -> Ask:
    """A real formula, whose text is known."""
    return Ask("read a formula", "/v1/read", (200,), FORMULA, r"\\frac")


def ordinary() -> list[Ask]:
    """What costs little: conversions, previews, looks at the server, and bodies that are wrong."""
    convert = b'{"text": "\\\\frac { 1 } { 2 }", "target": "mathml"}'
    return [
        Ask("health", "/health", (200,), None, '"ok"'),
        Ask("models", "/v1/models", (200,), None, "formula"),
        Ask("metrics", "/metrics", (200,), None, "unrender_pages_total"),
        Ask("convert", "/v1/convert", (200,), convert, "<mfrac>"),
        Ask("preview", "/v1/preview", (200,), EXAMPLES[0].read_bytes()),
        Ask("convert what is wrong", "/v1/convert", (422,), b'{"text": "\\\\frac { 1"}', "position"),
        Ask("no picture", "/v1/read", (415,), b"not a picture at all", "neither a PDF"),
        Ask("nothing", "/v1/read", (400,), b"", "empty"),
        Ask("half a picture", "/v1/read", (422,), FORMULA[:300], "damaged"),
        Ask("half a PDF", "/v1/preview", (422,), b"%PDF-1.4 broken", "PDF"),
        Ask("an option that is wrong", "/v1/read?beam=99", (422,), FORMULA, "beam"),
        Ask("no such path", "/v1/nothing", (404,), None, "There is nothing"),
    ]


def hostile() -> list[Ask]:
    """Bodies made to cost much: each was found to stop a server once, or might."""
    deep = b'{"text": "' + b"[" * 600 + b"]" * 600 + b'", "source": "json", "target": "text"}'
    brackets = b'{"text": "' + b"(" * 300 + b"x" + b")^2" * 300 + b'", "target": "sympy"}'
    wide = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\1\0\0\0\1\0\0\x08\6\0\0\0"  # says 65,536 x 65,536
    return [
        Ask("nested patterns", "/v1/preview", (422,), nested_patterns(), "limit"),
        Ask("deep JSON", "/v1/convert", (422,), deep, "deep"),
        Ask("brackets for SymPy", "/v1/convert", (422,), brackets),
        Ask("a picture of 4 gigapixels", "/v1/read", (413, 415, 422), wide),
        Ask("a TIFF of 100,000 directories", "/v1/preview", (413, 422), many_directories()),
        Ask("25 MB of zeros", "/v1/read", (413,), bytes(25_000_000)),
        Ask("a name in the body", "/v1/read?model=../../etc/passwd", (422,), FORMULA),
        Ask("nested forms", "/v1/read", (422,), nested_forms(), "limit"),
        Ask("an inflating stream", "/v1/preview", (200, 422), inflating_stream()),
        Ask("no JSON", "/v1/convert", (422,), b"[" * 100_000),
    ]


def run(address: str, asks: Sequence[Ask], at_once: int) -> Tally:
    """Send requests, so many at once, and check every answer."""
    tally, left = Tally(), iter(asks)

    async def client(session: httpx.AsyncClient) -> None:
        for ask in left:
            await one(session, ask, tally)

    async def scene() -> None:
        limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
        async with (
            httpx.AsyncClient(base_url=address, limits=limits, timeout=PATIENCE) as session,
            asyncio.TaskGroup() as group,
        ):
            for _ in range(at_once):
                group.create_task(client(session))

    asyncio.run(scene())
    return tally


async def one(session: httpx.AsyncClient, ask: Ask, tally: Tally) -> None:
    """Ask until there is an answer; one that is not what it must be is lost."""
    began = time.perf_counter()
    while time.perf_counter() - began < PATIENCE:
        try:
            answer = await (
                session.get(ask.path) if ask.content is None else session.post(ask.path, content=ask.content)
            )
        except httpx.TransportError as error:
            tally.lost.append(f"{ask.name}: {error!r}")
            return
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            break
        tally.refused += 1
        await asyncio.sleep(min(5.0, float(answer.headers["retry-after"])))
    tally.answers[f"{ask.name}: {answer.status_code}"] += 1
    tally.slowest = max(tally.slowest, time.perf_counter() - began)
    if answer.status_code not in ask.status or ask.says not in answer.text:
        tally.lost.append(f"{ask.name}: {answer.status_code} {answer.text[:200]}")


def tell(tally: Tally) -> None:
    """Print what came back."""
    for name, count in sorted(tally.answers.items()):
        print(f"  {count:6} {name}")
    print(f"  {tally.refused} times told to come back, slowest {tally.slowest:.1f} s, {len(tally.lost)} lost")
    for line in tally.lost[:10]:
        print(f"  lost: {line}")


def memory(process: "subprocess.Popen[str]") -> int:
    """Return the megabytes of a process that are in memory (Linux)."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) // 1000


if __name__ == "__main__":
    main()
