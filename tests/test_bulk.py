"""Bulk reading: every page once, whatever is killed, and bad files that cost one row each."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from unrender.bulk import Command, Plan, execute, prepare, status
from unrender.bulk.plan import begin, list_files
from unrender.bulk.shards import Row, Storage, count, count_shard, encode
from unrender.bulk.workers import Piece, Tally, Workplace
from unrender.documents import Block, Document, Page
from unrender.errors import ConfigError, DataError, NotationError, UnrenderError
from unrender.reading.systems import Input

ROOT = Path(__file__).parent.parent
PATIENCE_SECONDS = 240.0


class FakeReader:
    """Does what a file says: die, raise, fill the disk, wait to be killed, or give that many pages of text."""

    def read_many(self, sources: Iterable[Input], **_: object) -> Iterator[Document]:
        for source in sources:
            path = Path(str(source.source))
            word, _, number = path.read_text().partition(" ")
            self.obey(word, path.parent.parent)
            numbers = range(1, int(number or 1) + 1)
            blocks = (Block(kind="text", text=path.stem, confidence=0.5),)
            pages = tuple(Page(number=number, width=1, height=1, blocks=blocks) for number in numbers)
            yield Document(pages=pages, source=source.name, model="fake", task="page")

    def obey(self, word: str, desk: Path) -> None:
        if word == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif word == "raise":
            raise RuntimeError("a bug")
        elif word == "fill" and not (desk / "released").exists():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        elif word == "wait":
            (desk / "waiting").write_text(str(os.getpid()))
            wait_until((desk / "released").exists)


def open_fake(plan: Plan) -> FakeReader:
    return FakeReader()


def wait_until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.02)


def make_files(desk: Path, *contents: str) -> None:
    (desk / "in").mkdir()
    for number, content in enumerate(contents):
        (desk / "in" / f"{number:03}.png").write_text(content)


def plan_of(desk: Path, *, chunk: int = 2) -> Plan:
    """Begin a run, or find the one that was begun."""
    command = Command(inputs=(str(desk / "in"),), notation="text", shards="jsonl", chunk=chunk)
    storage = Storage(str(desk / "out"))
    if "plan.json" in storage.names():
        return prepare(command, str(desk / "out"))
    return begin(command, storage, model="fake", version="1", notation="text")


def drive(desk: str, ray: str) -> None:
    """Run to the end; what a driver that is killed does in a process of its own."""
    execute(plan_of(Path(desk)), workers=2, ray=ray, factory=open_fake)


def start_driver(desk: Path, ray: str = "") -> subprocess.Popen[bytes]:
    script = f"import test_bulk; test_bulk.drive({str(desk)!r}, {ray!r})"
    search = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    environment = {**os.environ, "PYTHONPATH": search}
    return subprocess.Popen([sys.executable, "-c", script], env=environment, start_new_session=True)


def rows_of(desk: Path) -> list[dict[str, str]]:
    shards = sorted((desk / "out").glob("part-*.jsonl"))
    return [json.loads(line) for shard in shards for line in shard.read_text().splitlines()]


def pages_of(desk: Path) -> Counter[tuple[str, str]]:
    return Counter((Path(row["source"]).name, row["page"]) for row in rows_of(desk))


def failed_of(desk: Path) -> list[str]:
    return [Path(row["source"]).name for row in rows_of(desk) if row["status"] == "failed"]


@pytest.mark.slow
def test_every_page_is_a_row_and_a_file_that_kills_its_reader_costs_one(tmp_path):
    make_files(tmp_path, "good", "die", "good 3", "raise", "good")
    progress = execute(plan_of(tmp_path), workers=2, factory=open_fake)
    assert pages_of(tmp_path) == Counter(
        [("000.png", 1), ("001.png", 1), *(("002.png", page) for page in (1, 2, 3)), ("003.png", 1), ("004.png", 1)]
    )
    assert failed_of(tmp_path) == ["001.png", "003.png"]
    assert (progress.finished, progress.pages, sum(progress.failures.values())) == (True, 7, 2)
    assert "RuntimeError: a bug" in progress.failures
    [first, *_] = rows_of(tmp_path)
    assert (first["status"], first["text"], first["confidence"], first["model"]) == ("complete", "000", 0.5, "fake")
    assert json.loads(first["blocks"])[0]["text"] == "000"


@pytest.mark.slow
def test_a_worker_killed_by_chance_costs_no_page(tmp_path):
    make_files(tmp_path, "good", "wait", "good", "good")
    driver = start_driver(tmp_path)
    wait_until((tmp_path / "waiting").exists)
    wait_until(lambda: (tmp_path / "waiting").read_text().isdigit())
    (tmp_path / "released").touch()
    os.kill(int((tmp_path / "waiting").read_text()), signal.SIGKILL)
    assert driver.wait(PATIENCE_SECONDS) == 0
    assert set(pages_of(tmp_path).values()) == {1}
    assert len(pages_of(tmp_path)) == 4
    assert failed_of(tmp_path) == []


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_with_every_page_once(tmp_path):
    make_files(tmp_path, "good", "good 2", "wait", "good", "good", "good")
    driver = start_driver(tmp_path)
    finished = tmp_path / "out" / "part-00000000.jsonl"
    wait_until(lambda: finished.exists() and (tmp_path / "waiting").exists())
    driver.kill()
    driver.wait()
    written = finished.stat().st_mtime_ns
    halfway = status(str(tmp_path / "out"))
    assert not halfway.finished
    (tmp_path / "released").touch()
    progress = execute(plan_of(tmp_path), workers=1, factory=open_fake)
    assert pages_of(tmp_path).total() == len(pages_of(tmp_path)) == 7
    assert (progress.pages, progress.finished, finished.stat().st_mtime_ns) == (7, True, written)
    assert status(str(tmp_path / "out")).pages == 7


def test_a_full_disk_ends_the_run_and_leaves_no_half_shard(tmp_path):
    make_files(tmp_path, "good", "good", "fill", "good")
    plan = plan_of(tmp_path)
    with pytest.raises(UnrenderError, match="cannot be written"):
        execute(plan, workers=1, factory=open_fake)
    assert set(pages_of(tmp_path)) == {("000.png", 1), ("001.png", 1)}
    (tmp_path / "released").touch()
    execute(plan, workers=1, factory=open_fake)
    assert pages_of(tmp_path).total() == len(pages_of(tmp_path)) == 4
    assert {path.name[:5] for path in (tmp_path / "out").iterdir()} == {"files", "part-", "plan.", "progr"}


def test_another_command_is_refused(tmp_path):
    make_files(tmp_path, "good")
    plan_of(tmp_path)
    with pytest.raises(ConfigError, match="another command"):
        plan_of(tmp_path, chunk=3)
    (tmp_path / "out" / "part-00000000.jsonl").touch()
    (tmp_path / "out" / "plan.json").unlink()
    with pytest.raises(ConfigError, match=r"no plan\.json"):
        prepare(Command(inputs=("x",)), str(tmp_path / "out"))


def test_a_command_that_cannot_work_is_refused_before_anything_is_written(tmp_path):
    out = str(tmp_path / "out")
    with pytest.raises(NotationError, match="docx is no text"):
        prepare(Command(inputs=("x",), notation="docx"), out)
    with pytest.raises(ConfigError, match="no kind of shard"):
        prepare(Command(inputs=("x",), shards="csv"), out)
    with pytest.raises(DataError, match="no run was begun"):
        status(out)
    assert not Path(out).exists()


def test_folders_patterns_lists_and_addresses_name_each_file_once(tmp_path, monkeypatch):
    for name in ("a.png", "deep/b.PDF", "deep/c.txt", "d.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_bytes(b"a.png\n\xff.png\ns3://bucket/key.png\n\n")
    pictures = [str(tmp_path / name) for name in ("a.png", "d.jpg", "deep/b.PDF")]
    assert list_files(["."]) == list_files([".", "a.png"]) == pictures
    assert list_files(["*.png", "deep/*"]) == sorted([pictures[0], *map(str, (tmp_path / "deep").iterdir())])
    assert list_files(["@list.txt"]) == sorted([pictures[0], f"{tmp_path}/\udcff.png", "s3://bucket/key.png"])
    assert list_files([f"file://{tmp_path}"]) == [f"file://{path}" for path in pictures]
    assert list_files([f"file://{tmp_path}/*.jpg"]) == [f"file://{tmp_path}/d.jpg"]
    with pytest.raises(DataError, match="no image or PDF"):
        list_files(["*.gif"])
    with pytest.raises(DataError, match="no such file"):
        list_files(["typo"])


def test_a_file_at_an_address_is_fetched_by_its_reader_and_one_that_is_gone_is_a_failed_row(tmp_path):
    make_files(tmp_path, "good")
    addresses = tuple(f"file://{tmp_path}/in/{name}" for name in ("000.png", "gone.png"))
    plan = plan_of(tmp_path)

    class Echo:
        def read_many(self, sources: Iterable[Input], **_: object) -> Iterator[Document]:
            for source in sources:
                block = Block(kind="text", text=bytes(source.source).decode())
                yield Document(pages=(Page(number=1, width=1, height=1, blocks=(block,)),))

    rows = Workplace(plan, lambda plan: Echo()).work(Piece(addresses))
    assert isinstance(rows, list)
    assert [(row.status, row.text) for row in rows] == [("complete", "good"), ("failed", "")]
    assert "cannot be fetched" in rows[1].reason


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_a_shard_counts_its_pages_and_groups_its_failures(kind):
    reasons = ["a.png: 90 x 90 pixels are too many", "a.png, page 2: 100 x 7 pixels are too many", ""]
    rows = [
        Row(source="a.png", page=page, status="failed" if reason else "complete", reason=reason, model="m", version="1")
        for page, reason in enumerate(reasons, 1)
    ]
    expected = Tally(3, Counter({"N x N pixels are too many": 2}))
    assert count(rows) == count_shard(encode(rows, kind), kind) == expected


def test_results_can_go_through_a_file_system_of_pyarrow(tmp_path):
    storage = Storage(f"file://{tmp_path}/out")
    assert storage.names() == set()
    storage.write("part-1", b"old")
    storage.write("part-1", b"new")
    assert (storage.names(), storage.read("part-1")) == ({"part-1"}, b"new")


@pytest.mark.slow
def test_the_command_reads_the_examples_as_read_does_and_bad_files_fail_alone(tmp_path, run, make_png_header):
    (tmp_path / "in").mkdir()
    for name in ("zeta.png", "quadratic.png"):
        (tmp_path / "in" / name).write_bytes((ROOT / "examples" / name).read_bytes())
    (tmp_path / "in" / "bomb.png").write_bytes(make_png_header(60_000, 60_000))
    Path(os.fsdecode(os.fsencode(tmp_path / "in") + b"/\xff.png")).write_bytes(b"")
    words = ("bulk", tmp_path / "in", "-o", tmp_path / "out", "--shards", "jsonl", "--workers", 1)
    done = run(*words)
    assert done.code == 0, done.err
    assert "finished, 4 of 4 chunks, 4 pages" in done.out
    assert "2 failed" in done.out
    texts = {Path(row["source"]).name: row["text"] for row in rows_of(tmp_path) if row["status"] == "complete"}
    for name in ("zeta.png", "quadratic.png"):
        assert run("read", ROOT / "examples" / name).out.strip() == texts[name]
    assert run("bulk", "--status", tmp_path / "out").out.startswith(f"{tmp_path}/out: finished, 4 of 4")
    assert run(*words, "-f", "mathml").code == 1


@pytest.mark.slow
def test_ray_replaces_a_killed_actor_and_a_killed_ray_goes_on_with_local_processes(tmp_path):
    make_files(tmp_path, "good", "die", "wait", "good 2", "good", "good")
    driver = start_driver(tmp_path, ray="local")
    first = tmp_path / "out" / "part-00000000.jsonl"
    wait_until(lambda: first.exists() and (tmp_path / "waiting").exists())
    killed = (tmp_path / "waiting").read_text()
    (tmp_path / "waiting").unlink()
    os.kill(int(killed), signal.SIGKILL)
    wait_until(lambda: (tmp_path / "waiting").exists())  # its successor reads the file alone
    os.killpg(driver.pid, signal.SIGKILL)  # the driver and what it has started
    driver.wait()
    assert not (tmp_path / "out" / "part-00000001.jsonl").exists()
    (tmp_path / "released").touch()
    execute(plan_of(tmp_path), workers=2, factory=open_fake)
    assert pages_of(tmp_path).total() == len(pages_of(tmp_path)) == 7
    assert failed_of(tmp_path) == ["001.png"]


@pytest.mark.slow
def test_two_actors_of_ray_read_everything(tmp_path):
    make_files(tmp_path, *["good"] * 5, "die", "raise", "good 2")
    driver = start_driver(tmp_path, ray="local")
    assert driver.wait(PATIENCE_SECONDS) == 0
    assert pages_of(tmp_path).total() == len(pages_of(tmp_path)) == 9
    assert failed_of(tmp_path) == ["005.png", "006.png"]
