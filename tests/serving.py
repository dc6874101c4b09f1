"""Servers for tests: readers whose engines follow a script, and servers around them, in a thread or by themselves."""

import io
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import layout_models
import numpy as np
import uvicorn
from fakes import END
from fastapi import FastAPI
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from unrender import tasks
from unrender.decoding.rules import Ids, Scores
from unrender.documents import Box
from unrender.models.config import CnnConfig, DecoderConfig, Generation, ImagePrep, TextConfig
from unrender.reading.labels import LabelSystem
from unrender.reading.reader import Reader
from unrender.reading.receipt.fields import LABELS
from unrender.reading.text import TextSystem
from unrender.server import Limits, Shelf, configure, create_app
from unrender.tokens import LatexTokenizer
from unrender.words import Word, WordPage

STRIDE = 8
CONFIG = TextConfig(
    name="formula",
    seed="004",
    task="formula",
    image=ImagePrep(
        height=256, width=1024, fit="free", channels=1, mean=(0.5,), std=(0.5,), pad_value=1.0, multiple=8, dpi=96,
    ),
    encoder=CnnConfig(widths=(4, 4, 4), blocks=(1, 1, 1), strides=((2, 2),) * 3, hidden=16, heads=2, feed_forward=32),
    decoder=DecoderConfig(vocabulary=64, max_positions=128),
    generation=Generation(start=(1,), end=END, pad=0, max_tokens=100),
    vocabulary="latex",
)  # fmt: skip


@dataclass(frozen=True)
class Said:
    """One scripted token: how sure the model shall be, what else it shall consider, and what it shall look at."""

    text: str
    probability: float
    place: tuple[int, int, int, int]
    others: tuple[tuple[str, float], ...] = ()


# What examples/quadratic.png shows, with the true places of its symbols.
QUADRATIC = (
    Said("x", 0.98, (26, 51, 37, 62), (("\\chi", 0.01), ("X", 0.005))),
    Said("=", 0.999, (45, 53, 61, 59)),
    Said("\\frac", 0.995, (73, 52, 241, 60)),
    Said("{", 0.999, (73, 24, 241, 56)),
    Said("-", 0.97, (75, 36, 90, 43), (("+", 0.02),)),
    Said("b", 0.86, (93, 29, 102, 46), (("6", 0.09), ("h", 0.03), ("\\delta", 0.01))),
    Said("\\pm", 0.93, (109, 30, 126, 46), (("+", 0.05), ("\\mp", 0.01))),
    Said("\\sqrt", 0.99, (135, 24, 241, 49)),
    Said("{", 0.999, (135, 24, 241, 49)),
    Said("b", 0.55, (155, 29, 164, 46), (("6", 0.31), ("h", 0.08), ("\\delta", 0.02))),
    Said("^", 0.98, (165, 27, 172, 38)),
    Said("{", 0.999, (165, 27, 172, 38)),
    Said("2", 0.96, (165, 27, 172, 38), (("z", 0.02),)),
    Said("}", 0.999, (165, 27, 172, 38)),
    Said("-", 0.97, (181, 36, 196, 43)),
    Said("4", 0.94, (205, 29, 215, 46), (("9", 0.03),)),
    Said("a", 0.74, (217, 35, 227, 46), (("\\alpha", 0.2), ("d", 0.02))),
    Said("c", 0.97, (230, 35, 239, 46)),
    Said("}", 0.999, (135, 24, 241, 49)),
    Said("}", 0.999, (73, 24, 241, 56)),
    Said("{", 0.999, (145, 62, 167, 79)),
    Said("2", 0.98, (145, 62, 155, 79), (("z", 0.01),)),
    Said("a", 0.91, (157, 68, 167, 79), (("\\alpha", 0.06),)),
    Said("}", 0.999, (145, 62, 167, 79)),
)
WORDS = sorted({word for said in QUADRATIC for word in (said.text, *(other for other, _ in said.others))})
NUMBERS = tuple(f"n{number}" for number in range(10))


class SayingEngine:
    """Says the same to every picture, slowly if need be."""

    def __init__(self, script: Sequence[Said], tokenizer: LatexTokenizer, step_seconds: float = 0.0) -> None:
        self._script, self._tokenizer, self._seconds = script, tokenizer, step_seconds

    def start(self, pixels: NDArray[np.float32], sizes: Ids | None = None) -> "_SayingRun":
        return _SayingRun(self._script, self._tokenizer, pixels.shape[2:], len(pixels), self._seconds)


class _SayingRun:
    def __init__(
        self,
        script: Sequence[Said],
        tokenizer: LatexTokenizer,
        size: Sequence[int],
        rows: int,
        seconds: float,
    ) -> None:
        self._script, self._tokenizer, self._rows, self._seconds = script, tokenizer, rows, seconds
        self._grid = (-(-size[0] // STRIDE), -(-size[1] // STRIDE))
        self._step = 0
        self.attention: NDArray[np.float32] | None = None

    def step(self, tokens: Ids) -> Scores:
        time.sleep(self._seconds)
        shape = (self._rows, self._tokenizer.size)
        if self._step >= len(self._script):
            scores = np.full(shape, -20.0, np.float32)
            scores[:, END] = 0.0
            return scores
        said = self._script[self._step]
        rest = 1 - said.probability - sum(probability for _, probability in said.others)
        scores = np.full(shape, np.log(rest / self._tokenizer.size), np.float32)
        for text, probability in ((said.text, said.probability), *said.others):
            scores[:, self._tokenizer.find(text)] = np.log(probability)
        x0, y0, x1, y1 = (value // STRIDE for value in said.place)
        cells = np.zeros(self._grid, np.float32)
        cells[y0 : y1 + 1, x0 : x1 + 1] = 1.0
        self.attention = np.tile(cells.ravel(), (self._rows, 1))
        self._step += 1
        return scores

    def reorder(self, rows: Ids) -> None:
        self._rows = len(rows)


class CountingEngine:
    """Reads how many columns have ink, modulo 10, so that every picture has an answer of its own.

    With a gate, it waits there before it begins.
    """

    def __init__(self, step_seconds: float = 0.0, gate: threading.Event | None = None) -> None:
        self.batches: list[int] = []
        self.steps = 0
        self.reached = threading.Event()
        self.step_seconds, self._gate = step_seconds, gate

    def start(self, pixels: NDArray[np.float32], sizes: Ids | None = None) -> "_CountingRun":
        self.batches.append(len(pixels))
        self.reached.set()
        if self._gate is not None:
            assert self._gate.wait(30)
        return _CountingRun(self, (pixels[:, 0] < 0).any(axis=1).sum(axis=1) % 10, self.step_seconds)


class _CountingRun:
    """Says the number and the end; a slow one says it ten times, to have steps that can be watched."""

    def __init__(self, engine: CountingEngine, numbers: Ids, seconds: float) -> None:
        self._engine, self._numbers, self._seconds, self._step = engine, numbers, seconds, 0

    def step(self, tokens: Ids) -> Scores:
        time.sleep(self._seconds)
        self._engine.steps += 1
        self._step += 1
        scores = np.full((len(self._numbers), 4 + len(NUMBERS)), -9.0, np.float32)
        done = self._step > (10 if self._seconds else 1)
        for row, number in enumerate(self._numbers):
            scores[row, END if done else 4 + number] = 9.0
        return scores

    def reorder(self, rows: Ids) -> None:
        self._numbers = self._numbers[rows]


class JoinedCountingEngine(CountingEngine):
    """Counts too, but pictures join its one run while it goes on; every number is said ten times."""

    def __init__(self, step_seconds: float = 0.0) -> None:
        super().__init__(step_seconds)
        self.most_rows = 0

    def begin(self) -> "_JoinedRun":
        return _JoinedRun(self)


class _JoinedRun:
    def __init__(self, engine: JoinedCountingEngine) -> None:
        self._engine = engine
        self._rows: list[tuple[int, int]] = []  # (number, how often it was said)

    def join(self, image: NDArray[np.float32]) -> int:
        self._rows.append((int((image[0] < 0).any(axis=0).sum()) % 10, 0))
        self._engine.reached.set()
        return 1

    def step(self, tokens: Ids) -> Scores:
        time.sleep(self._engine.step_seconds)
        self._engine.steps += 1
        self._engine.most_rows = max(self._engine.most_rows, len(self._rows))
        scores = np.full((len(self._rows), 4 + len(NUMBERS)), -9.0, np.float32)
        for row, (number, said) in enumerate(self._rows):
            scores[row, END if said == 10 else 4 + number] = 9.0
        self._rows = [(number, said + 1) for number, said in self._rows]
        return scores

    def reorder(self, rows: Ids) -> None:
        self._rows = [self._rows[row] for row in rows]


class SlowLabelEngine:
    """Finds nothing on any page, slowly; counts its calls."""

    def __init__(self, call_seconds: float) -> None:
        self.calls = 0
        self.reached = threading.Event()
        self.gate = threading.Event()  # it waits there before it begins
        self._seconds = call_seconds

    def label(self, tokens: Ids, boxes: Ids, mask: NDArray[np.bool_], pixels: NDArray[np.float32] | None) -> Scores:
        self.reached.set()
        assert self.gate.wait(30)
        time.sleep(self._seconds)
        self.calls += 1
        scores = np.zeros((*tokens.shape, len(LABELS)), np.float32)
        scores[..., 0] = 9
        return scores


def labelling_reader(engine: SlowLabelEngine, folder: Path, words: int) -> Reader:
    """A reader of receipts that have so many words."""
    config = layout_models.tiny()
    found = WordPage(64, 32, tuple(Word("ab", Box(1, 1, 9, 9), line) for line in range(words)))
    return Reader(LabelSystem(config, engine, layout_models.tokenizer(folder, config), lambda image: found))


def saying_reader(script: Sequence[Said] = QUADRATIC, step_seconds: float = 0.0) -> Reader:
    tokenizer = LatexTokenizer(WORDS)
    return Reader(TextSystem(CONFIG, SayingEngine(script, tokenizer, step_seconds), tokenizer, tasks.find("formula")))


def counting_reader(engine: CountingEngine | None = None) -> Reader:
    config = replace(CONFIG, name="count")
    return Reader(TextSystem(config, engine or CountingEngine(), LatexTokenizer(NUMBERS), tasks.find("formula")))


def bar(columns: int, kind: str = "PNG") -> bytes:
    """A picture with ink in so many columns."""
    image = Image.new("L", (64, 32), 255)
    ImageDraw.Draw(image).rectangle((8, 8, 7 + columns, 23), fill=0)
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def events_of(response: httpx.Response) -> list[tuple[str, dict[str, object]]]:
    """Parse server-sent events."""
    found = []
    for block in response.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """Serve an app on a free port of this machine, in a thread; give its address."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
        assert not thread.is_alive(), "the server did not end"


def main(port: int) -> None:
    """Serve the counting reader, slowed a little, until told to end; say the port on standard output."""
    limits = Limits(waiting=32, workers=2, read_seconds=20, body_seconds=5)
    app = create_app(Shelf(counting_reader(CountingEngine(step_seconds=0.002))), limits)
    with socket.create_server(("127.0.0.1", port), backlog=512) as listener:
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        uvicorn.Server(configure(app, limits)).run(sockets=[listener])


if __name__ == "__main__":
    main(int(sys.argv[1]))
