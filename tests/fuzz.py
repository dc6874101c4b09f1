"""Fuzz the targets of `fuzz_targets`, beginning with tests/corpus: `make fuzz`, or for some of them

    python tests/fuzz.py --seconds 600 latex words

Coverage-guided by Atheris where it is installed, otherwise mutated by hypothesis. Bytes that make a target raise
are written to tests/corpus/TARGET and the exit code is 1: fix the cause, and the file stays as a test.
"""

import argparse
import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SLOWEST = 30  # seconds for one input


def main() -> None:
    """Run every target asked for, one after the other, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    guided = importlib.util.find_spec("atheris") is not None
    if options.one:
        (_guided if guided else _mutated)(options.targets[0], options.seconds)
        return
    sys.path.insert(0, str(Path(__file__).parent))
    from fuzz_targets import TARGETS

    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    failed = [name for name in options.targets or TARGETS if not _run(name, options.seconds)]
    sys.exit(f"found something in {', '.join(failed)}: see tests/corpus" if failed else 0)


def _run(name: str, seconds: int) -> bool:
    command = [sys.executable, __file__, "--one", "--seconds", str(seconds), name]
    print(f"fuzzing {name} for {seconds} seconds", flush=True)
    return subprocess.run(command, check=False).returncode == 0


def _guided(name: str, seconds: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["unrender", "fuzz_targets"]):
        from fuzz_targets import CORPUS, TARGETS, limit_children
    limit_children()
    folder = CORPUS / name
    work = Path(tempfile.mkdtemp())
    shutil.copytree(folder, work / "seeds")
    limits = [f"-max_total_time={seconds}", f"-timeout={SLOWEST}", "-rss_limit_mb=4096", "-max_len=20000"]
    prints = ["-print_final_stats=1", "-verbosity=0", f"-artifact_prefix={folder}/found-"]
    atheris.Setup([sys.argv[0], str(work / "seeds"), *limits, *prints], TARGETS[name])
    atheris.Fuzz()


def _mutated(name: str, seconds: int) -> None:
    from fuzz_targets import CORPUS, TARGETS, limit_children
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    limit_children()
    seeds = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    ending, cases = time.monotonic() + seconds, 0

    @st.composite
    def mutants(draw: st.DrawFn) -> bytes:
        content = bytearray(draw(st.sampled_from(seeds)))
        for _ in range(draw(st.integers(0, 6))):
            start = draw(st.integers(0, len(content)))
            end = draw(st.integers(start, min(len(content), start + 20)))
            content[start:end] = draw(st.binary(max_size=20)) * draw(st.sampled_from([1, 1, 1, 50]))
        return bytes(content)

    @settings(max_examples=10_000_000, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(mutants())
    def attack(data: bytes) -> None:
        nonlocal cases
        if time.monotonic() > ending:
            raise KeyboardInterrupt
        cases += 1
        try:
            TARGETS[name](data)
        except Exception:
            (CORPUS / name / f"found-{hashlib.sha256(data).hexdigest()[:16]}").write_bytes(data)
            raise

    try:
        attack()
    except KeyboardInterrupt:
        print(f"{name}: {cases:,} cases, nothing found")


if __name__ == "__main__":
    main()
