"""How fast bulk reading is, and that killing it loses nothing.

    python benchmarks/bulk.py             pages per second: a loop of `unrender read`, one worker, two workers, Ray
    python benchmarks/bulk.py --kills 10  kill -9 the run and all its processes ten times, then count the pages

Times are of whole commands, with the start of Python and the loading of the model. Processor seconds are those of the
command and its processes, so they hold on a busy machine too (not for Ray, whose processes are nobody's children).
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from unrender.reading.reader import Reader

EXAMPLES = Path(__file__).parent.parent / "examples"
UNRENDER = [sys.executable, "-m", "unrender"]
COPIES = 40
LOOPED = 4  # files that the loop reads; it is slow and every turn is alike
MOST_SHARDS, LONGEST_WAIT = 3, 1.0  # a run is killed after some of its shards and seconds more


def main() -> None:
    """Measure, or kill."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, default=COPIES, help="of each example")
    parser.add_argument("--kills", type=int, default=0, help="kill the run so often instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        files = copy_examples(Path(name) / "in", options.copies)
        kill(Path(name), files, options.kills) if options.kills else measure(Path(name), files)


def copy_examples(folder: Path, copies: int) -> list[Path]:
    """Make the files to read."""
    folder.mkdir()
    pictures = sorted(EXAMPLES.glob("*.png"))
    made = [folder / f"{copy:04}-{picture.name}" for copy in range(copies) for picture in pictures]
    for path in made:
        shutil.copy(EXAMPLES / path.name.partition("-")[2], path)
    return made


def measure(desk: Path, files: Sequence[Path]) -> None:
    """Read the same pictures in every way."""
    read_here(files)
    looped = files[:LOOPED]
    report("loop of unrender read", len(looped), [[*UNRENDER, "read", str(file)] for file in looped])
    report("unrender read FOLDER", len(files), [[*UNRENDER, "read", str(desk / "in")]])
    for workers, more in ((1, []), (2, []), (2, ["--ray", "local"])):
        out = desk / f"out{workers}{len(more)}"
        command = [*UNRENDER, "bulk", str(desk / "in"), "-o", str(out), "--workers", str(workers), *more]
        report(f"bulk, {workers} worker(s){' on Ray' if more else ''}", len(files), [command])


def read_here(files: Sequence[Path]) -> None:
    """Print the processor time of reading alone, with the model loaded and warm: what every further page costs."""
    reader = Reader.open("formula", threads=1)
    reader.read(files[0])
    before = time.process_time()
    pages = sum(len(document.pages) for document in reader.read_many(files))
    used = time.process_time() - before
    print(f"{'one warm reader':24} {pages:4} pages {used / pages:37.3f} CPU s a page", flush=True)


def report(name: str, pages: int, commands: Sequence[Sequence[str]]) -> None:
    """Run commands one after the other and print what a page took."""
    before, began = processor_seconds(), time.perf_counter()
    for command in commands:
        subprocess.run(command, check=True, capture_output=True)
    seconds, used = time.perf_counter() - began, processor_seconds() - before
    print(
        f"{name:24} {pages:4} pages {seconds:7.1f} s {pages / seconds:6.2f} pages/s {used / pages:6.3f} CPU s a page",
        flush=True,
    )


def processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def kill(desk: Path, files: Sequence[Path], kills: int) -> None:
    """Kill the run at random moments, let it end at last, and count every page."""
    out, rng = desk / "out", random.Random(0)
    command = [*UNRENDER, "bulk", str(desk / "in"), "-o", str(out), "--shards", "jsonl", "--chunk", "4"]
    for number in range(kills):
        process = subprocess.Popen(
            command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        )
        enough = len(list(out.glob("part-*"))) + rng.randrange(MOST_SHARDS)
        while len(list(out.glob("part-*"))) < enough and process.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, LONGEST_WAIT))
        with suppress(ProcessLookupError):  # it has ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        print(f"kill {number + 1}: {len(list(out.glob('part-*')))} shards", flush=True)
    subprocess.run(command, check=True)
    rows = [json.loads(line) for shard in out.glob("part-*") for line in shard.read_text().splitlines()]
    found = Counter(row["source"] for row in rows)
    wrong = [str(file) for file in files if found[str(file)] != 1]
    failed = sum(row["status"] == "failed" for row in rows)
    print(f"{len(files)} pages, {len(rows)} rows, {len(wrong)} lost or twice, {failed} failed")


if __name__ == "__main__":
    main()
