"""Files are opened in child processes that have limits: what exceeds them fails alone, and nobody waits for it."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import hostile
import numpy as np
import pytest
from PIL import Image
from test_images import drawing, encoded

from unrender.errors import ImageError
from unrender.images import opening
from unrender.images.guard import Guard, Limits, TooMuchError
from unrender.images.opening import PageMemory, open_pages

SECONDS = 1.5
LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")


class CountingGuard(Guard):
    """Remembers what it asked its children."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.tasks: list[str] = []

    def _ask(self, child, header, data=b""):
        self.tasks.append(str(header["task"]))
        return super()._ask(child, header, data)

    @property
    def processes(self) -> list[int]:
        return [child._process.pid for child in self._idle]


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingGuard]:
    guard = CountingGuard(Limits(seconds=SECONDS, children=3))
    monkeypatch.setattr(opening, "GUARD", guard)
    yield guard
    guard.close()


@pytest.mark.parametrize(
    "make", [hostile.nested_patterns, hostile.nested_forms, hostile.inflating_stream, hostile.many_directories]
)
def test_a_file_that_takes_too_long_is_stopped(guard, make):
    data = make()
    open_pages(encoded(drawing()))[0]  # a child is there
    started = time.monotonic()
    with pytest.raises(TooMuchError, match=r"exceeds the limit of 1\.5 seconds"):
        list(open_pages(data))
    assert time.monotonic() - started < 10 * SECONDS
    assert open_pages(encoded(drawing()))[0].size == drawing().size


def test_the_neighbours_of_a_slow_page_are_drawn(guard):
    pages = open_pages(hostile.nested_forms(pages=3, hostile_page=1), name="bad.pdf")
    assert pages[0].size == (800, 800)
    with pytest.raises(ImageError, match=r"bad\.pdf, page 2: the page exceeds the limit"):
        pages[1]
    assert pages[2].size == (800, 800)


def test_a_file_is_given_up_after_three_slow_pages(guard, monkeypatch):
    pages = open_pages(hostile.nested_forms())
    calls = []

    def fail(*arguments):
        calls.append(arguments)
        raise TooMuchError("too slow")

    monkeypatch.setattr(guard, "draw", fail)
    for _ in range(5):
        with pytest.raises(ImageError):
            pages[0]
    assert len(calls) == 3


def test_a_slow_file_does_not_hold_up_other_threads(guard):
    open_pages(encoded(drawing()))[0]

    def draw_slowly() -> None:
        with pytest.raises(ImageError):
            open_pages(hostile.nested_forms())[0]

    slow = threading.Thread(target=draw_slowly)
    slow.start()
    while "draw" not in guard.tasks[2:]:
        time.sleep(0.01)
    for _ in range(3):
        assert open_pages(encoded(drawing()))[0].size == drawing().size
    assert slow.is_alive()
    slow.join()


@LINUX
def test_a_file_that_needs_too_much_memory_is_refused_alone(monkeypatch):
    guard = Guard(Limits(memory=300 << 20))
    monkeypatch.setattr(opening, "GUARD", guard)
    with pytest.raises(TooMuchError, match="memory"):
        open_pages(encoded(Image.new("L", (9000, 8000)), compress_level=1))[0]
    assert open_pages(encoded(drawing()))[0].size == drawing().size
    guard.close()


@LINUX
@pytest.mark.parametrize("mode", ["RGBA", "I;16", "LA", "P"])
def test_large_images_of_odd_modes_are_converted_in_little_memory(monkeypatch, mode):
    """20 million pixels: two pictures of 80 MB, and the child's own 150 MB."""
    guard = Guard(Limits(memory=400 << 20))
    monkeypatch.setattr(opening, "GUARD", guard)
    image = Image.new(mode, (5000, 4000), 0)
    assert open_pages(encoded(image, compress_level=1, **({"transparency": 0} if mode == "P" else {})))[0].size == (
        5000,
        4000,
    )
    guard.close()


def test_a_pdf_is_opened_once_for_all_its_pages(guard, make_pdf):
    data = make_pdf(pages=20)
    pages = open_pages(data)
    for index in range(20):
        pages[index]
        pages.text(index)
    assert guard.tasks == ["open", *["draw", "text"] * 20]
    assert len(open_pages(bytes(bytearray(data)))) == 20  # the same content from elsewhere
    assert guard.tasks.count("open") == 1


@LINUX
def test_memory_stays_flat_over_500_pages(guard, make_pdf):
    pages = open_pages(make_pdf(pages=500))
    sizes = []
    for index in range(500):
        pages[index]
        sizes.append(_resident(guard.processes[0]))
    assert sizes[-1] - sizes[50] < 5_000


def _resident(process: int) -> int:
    [line] = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1])


def test_a_child_that_was_killed_while_idle_is_replaced(guard):
    open_pages(encoded(drawing()))[0]
    [child] = guard._idle
    child._process.kill()
    child._process.wait()
    assert open_pages(encoded(drawing()))[0].size == drawing().size


def test_many_threads_share_the_children(guard):
    results: list[tuple[int, int]] = []
    pictures = [encoded(Image.new("RGB", (50 + number, 40), "red")) for number in range(12)]
    threads = [threading.Thread(target=lambda data=data: results.append(open_pages(data)[0].size)) for data in pictures]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(50 + number, 40) for number in range(12)]
    assert guard._running <= 3


def test_a_plain_file_on_disk_needs_no_child(guard, tmp_path):
    drawing().save(tmp_path / "plain.png")
    assert open_pages(tmp_path / "plain.png")[0].size == drawing().size
    assert guard.tasks == []


def test_a_jpeg_of_very_many_scans_is_not_plain(guard, tmp_path):
    content = encoded(drawing(), "JPEG")
    (tmp_path / "scans.jpg").write_bytes(content[:-2] + b"\xff\xda" * 1000 + content[-2:])
    open_pages(tmp_path / "scans.jpg")
    assert guard.tasks == ["open"]


def test_what_the_child_sends_is_what_the_parent_would_draw(guard, tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (1300, 1100, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    [here], [there] = open_pages(tmp_path / "noise.png"), open_pages((tmp_path / "noise.png").read_bytes())
    assert here.tobytes() == there.tobytes() == noise.tobytes()


def test_large_pages_wait_for_room_and_give_it_back():
    memory = PageMemory(size=100_000_000, seconds=0.05)

    def page() -> Image.Image:
        with memory.room("big.png") as room:
            room.take((5000, 4000))
            return room.keep(Image.new("L", (10, 10)))

    first = page()
    with pytest.raises(ImageError, match="the large pages that are open hold"):
        page()
    del first
    page()


SCRIPT = """
import os, pathlib, sys
from unrender.images import opening
from unrender.images.guard import Guard, Limits
opening.GUARD = Guard(Limits(seconds={seconds}))
data = pathlib.Path(sys.argv[1]).read_bytes()
{body}
"""


def _run(tmp_path: Path, data: bytes, body: str, seconds: float = SECONDS) -> subprocess.Popen[str]:
    (tmp_path / "data").write_bytes(data)
    script = SCRIPT.format(seconds=seconds, body=body)
    environment = os.environ | {"PYTHONPATH": str(Path(opening.__file__).parents[2])}
    command = [sys.executable, "-W", "error", "-c", script, str(tmp_path / "data")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


PRINT_CHILD = "print(opening.GUARD._idle[0]._process.pid, flush=True)\n"


@LINUX
def test_closing_python_leaves_no_child(tmp_path, make_pdf):
    process = _run(tmp_path, make_pdf(), "opening.open_pages(data)[0]\n" + PRINT_CHILD)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 0, output
    assert _is_gone(int(output))


@LINUX
def test_a_killed_parent_leaves_no_child_even_a_busy_one(tmp_path):
    body = "opening.open_pages(data)\n" + PRINT_CHILD + "opening.open_pages(data)[0]"
    process = _run(tmp_path, hostile.nested_forms(), body, seconds=1)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    time.sleep(0.3)
    process.kill()
    process.communicate()
    assert _is_gone(child)


def _is_gone(process: int) -> bool:
    for _ in range(1200):
        status = Path(f"/proc/{process}/stat")
        if not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
def test_a_forked_process_has_children_of_its_own(tmp_path, make_pdf):
    body = """
pages = opening.open_pages(data)
pages[0]
ours = opening.GUARD._idle[0]._process.pid
forked = os.fork()
for index in range(5):
    pages[index]
theirs = opening.GUARD._idle[0]._process.pid
if forked:
    assert theirs == ours
    assert os.waitpid(forked, 0)[1] == 0
else:
    assert theirs != ours
"""
    process = _run(tmp_path, make_pdf(pages=5), body, seconds=20)
    output = process.communicate(timeout=60)[0]
    assert (process.returncode, output) == (0, "")
