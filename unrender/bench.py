"""How fast one model runs on this machine and how much memory it needs, measured in a fresh process."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unrender.checkpoints import Loaded, load
from unrender.decoding import greedy
from unrender.engines import open_engine, open_label_engine
from unrender.errors import ConfigError, ModelError
from unrender.models.config import CnnConfig, TextConfig
from unrender.models.layoutlmv2 import COORDINATES

_LINE = (64, 320)  # height and width of a formula in one line
_WINDOW = 400  # tokens of a page of words
_NEVER = -1  # an end token that no model says, so that every text has the length asked for
_SCRIPT = "import sys; from unrender.bench import run; sys.stdout.write(run(*sys.argv[1:]))"
Round = Callable[[], dict[str, float]]  # seconds by what took them
_MEMORY = "VmHWM"  # the most that this process had, without what its parent had


@dataclass(frozen=True)
class Report:
    """What was measured of a model; times are in seconds, the middle ones of all that were taken."""

    model: str
    start: float  # of a fresh process, to its first result
    times: dict[str, float]
    megabytes: float | None  # None where the system does not tell

    def __str__(self) -> str:
        rows = {"start to first result": self.start, **self.times}
        lines = [f"  {name:<28}{_duration(seconds):>10}" for name, seconds in rows.items()]
        if self.megabytes is not None:
            lines.append(f"  {'memory at most':<28}{self.megabytes:>7,.0f} MB")
        return "\n".join([self.model, *lines])


def bench(model: str | Path, *, repeat: int = 5, tokens: int = 32, threads: int = 0) -> Report:
    """Measure a model by name or folder, on made-up input; `threads` 0 is one for each core."""
    if min(repeat, tokens) < 1 or threads < 0:
        raise ConfigError("repeat and tokens must be at least 1, threads at least 0")
    name = load(model).config.name  # whatever is wrong with the folder is said here
    begin = time.time()
    command = [sys.executable, "-c", _SCRIPT, str(model), str(repeat), str(tokens), str(threads)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise ModelError(f"{name} could not be measured: {ran.stderr.strip().splitlines()[-1]}")
    found = json.loads(ran.stdout)
    return Report(name, found["first"] - begin, found["times"], found["megabytes"])


def run(model: str, repeat: str, tokens: str, threads: str) -> str:
    """Measure in this process and return JSON; the first round is a rehearsal."""
    loaded = load(model)
    writes = isinstance(loaded.config, TextConfig)
    limit = int(threads) or None
    measure = _text_round(loaded, int(tokens), limit) if writes else _label_round(loaded, limit)
    taken = [measure()]
    first = time.time()
    taken += [measure() for _ in range(int(repeat))]
    times = {name: statistics.median(one[name] for one in taken[1:]) for name in taken[0]}
    return json.dumps({"first": first, "times": times, "megabytes": _peak()})


def _text_round(loaded: Loaded, tokens: int, threads: int | None) -> Round:
    config = loaded.text_config
    engine = open_engine(loaded, None, threads)
    height, width = _LINE if isinstance(config.encoder, CnnConfig) else (config.image.height, config.image.width)
    rng = np.random.default_rng(0)
    pixels = rng.standard_normal((1, config.encoder.channels, height, width), dtype=np.float32)
    prompt = np.array([config.generation.start], dtype=np.int64)
    limit = min(tokens, config.decoder.max_positions - prompt.shape[1])

    def measure() -> dict[str, float]:
        begin = time.perf_counter()
        engine.start(pixels).step(prompt)
        reached = time.perf_counter()
        searching = engine.start(pixels)
        started = time.perf_counter()
        greedy(searching, prompt, end=_NEVER, max_tokens=limit)
        return {"picture to first token": reached - begin, "each token": (time.perf_counter() - started) / limit}

    return measure


def _label_round(loaded: Loaded, threads: int | None) -> Round:
    config = loaded.label_config
    engine = open_label_engine(loaded, None, threads)
    length, image, rng = min(_WINDOW, config.layout.max_positions), config.image, np.random.default_rng(0)
    tokens = rng.integers(0, config.layout.vocabulary, (1, length))
    boxes = np.sort(rng.integers(0, COORDINATES, (1, length, 2, 2)), axis=2).reshape(1, length, 4)
    pixels = rng.standard_normal((1, image.channels, image.height, image.width), dtype=np.float32)

    def measure() -> dict[str, float]:
        begin = time.perf_counter()
        engine.label(tokens, boxes, np.ones((1, length), dtype=np.bool_), pixels)
        return {f"window of {length} tokens": time.perf_counter() - begin}

    return measure


def _peak() -> float | None:
    """Return the megabytes that this process had at most; Linux tells it."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.is_file() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(_MEMORY)), None)


def _duration(seconds: float) -> str:
    return f"{seconds:,.2f} s" if seconds >= 1 else f"{seconds * 1e3:,.1f} ms"
