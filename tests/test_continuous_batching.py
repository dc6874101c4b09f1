"""Many images in one batch that is kept full: every text as it would be alone, and nobody waits for the longest."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_systems
from fakes import END, ScriptedRun
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from unrender import tasks
from unrender.decoding import JoinableEngine, Text, beam, greedy, paths, search
from unrender.decoding.paths import BeamPaths, Decoded, GreedyPath
from unrender.decoding.rules import Guard, Ids, Rules, Scores
from unrender.engines.export import write_graphs
from unrender.engines.onnx_engine import OnnxEngine
from unrender.reading.reader import Reader
from unrender.reading.systems import Options
from unrender.reading.text import TextSystem
from unrender.tokens import open_tokenizer

_PROMPTS = [(1,), (1, 7, 9)]


class ScriptedEngine:
    """Gives image i the i-th script; notes how many rows every step computed."""

    def __init__(self, *scripts: tuple[int, ...]) -> None:
        self.scripts = iter(scripts)
        self.steps: list[int] = []
        self.joined = 0

    def begin(self) -> "_GrowingRun":
        return _GrowingRun(self)

    def start(self, pixels: NDArray[np.float32], sizes: Ids | None = None) -> "_GrowingRun":
        raise AssertionError("nothing starts as a whole here")


class _GrowingRun:
    def __init__(self, engine: ScriptedEngine) -> None:
        self._engine = engine
        self._rows: list[ScriptedRun] = []

    def join(self, image: NDArray[np.float32]) -> int:
        self._rows.append(ScriptedRun(next(self._engine.scripts)))
        self._engine.joined += 1
        return 1

    def step(self, tokens: Ids) -> Scores:
        self._engine.steps.append(len(tokens))
        return np.concatenate([row.step(one[None]) for row, one in zip(self._rows, tokens, strict=True)])

    def reorder(self, rows: Ids) -> None:
        self._rows = [self._rows[row] for row in rows]


def _greedy_paths(end: int = END, guard: Guard | None = None) -> Callable[[], GreedyPath]:
    rules = Rules(end, tiny_systems.LIMIT, (), None, 3)
    return lambda: GreedyPath(rules, guard)


class _Queue:
    """Lets images join a run when there is room."""

    def __init__(
        self,
        engine: JoinableEngine,
        images: Iterable[NDArray[np.float32]],
        prompt: tuple[int, ...],
        at_once: int,
        new_path: Callable[[], paths.Path],
    ) -> None:
        self.run = engine.begin()
        self.numbers: dict[Text, int] = {}
        self._images, self._prompt, self._at_once, self._new_path = iter(images), prompt, at_once, new_path

    def enter(self, active: int) -> list[Text]:
        entering: list[Text] = []
        while active + len(entering) < self._at_once and (image := next(self._images, None)) is not None:
            text = Text(path=self._new_path(), feed=[list(self._prompt)], memory=self.run.join(image))
            self.numbers[text] = len(self.numbers)
            entering.append(text)
        return entering


def _decode(
    engine: JoinableEngine,
    images: Iterable[NDArray[np.float32]],
    prompt: tuple[int, ...],
    *,
    images_at_once: int,
    new_path: Callable[[], paths.Path],
) -> Iterator[tuple[int, Decoded]]:
    queue = _Queue(engine, images, prompt, images_at_once, new_path)
    return ((queue.numbers[text], text.path.result()) for text in search(queue))


def _script(length: int) -> tuple[int, ...]:
    return (*[5] * length, END)


def _blanks(count: int) -> list[NDArray[np.float32]]:
    return [np.zeros((1, 4, 4), np.float32)] * count


def test_a_long_text_does_not_hold_up_the_others() -> None:
    engine = ScriptedEngine(_script(9), *[_script(1)] * 8)
    results = _decode(engine, _blanks(9), (1,), images_at_once=2, new_path=_greedy_paths())
    finished = [number for number, _ in results]
    assert finished[:4] == [1, 2, 3, 4]
    assert sorted(finished) == list(range(9))
    assert engine.steps[:10] == [2] * 10  # the batch stays full while anyone waits
    assert sum(engine.steps) == 10 + 8 * 2  # and no row is computed in vain


def test_images_are_taken_only_when_there_is_room() -> None:
    engine = ScriptedEngine(*[_script(3)] * 6)
    taken = 0

    def images() -> Iterator[NDArray[np.float32]]:
        nonlocal taken
        for image in _blanks(6):
            taken += 1
            yield image

    results = _decode(engine, images(), (1,), images_at_once=2, new_path=_greedy_paths())
    assert taken == 0
    next(results)
    assert taken == 2
    assert len(list(results)) == 5


def test_no_images_give_no_texts() -> None:
    results = _decode(ScriptedEngine(), iter(()), (1,), images_at_once=2, new_path=_greedy_paths())
    assert list(results) == []


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> OnnxEngine:
    torch_engine = tiny_systems.build("cnn")
    folder = tiny_systems.save(torch_engine, tmp_path_factory.mktemp("models") / "cnn")
    write_graphs(
        torch_engine.config, {name: tensor.numpy() for name, tensor in torch_engine.module.state_dict().items()}, folder
    )
    return OnnxEngine(folder, threads=1)


def _images(count: int) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(4)
    sizes = [(4 * rng.integers(2, 9), 4 * rng.integers(2, 17)) for _ in range(count)]
    return [rng.standard_normal((1, height, width)).astype(np.float32) for height, width in sizes]


def _varied_end(engine: OnnxEngine, images: list[NDArray[np.float32]], prompt: tuple[int, ...]) -> int:
    """Choose the end token under which texts end in as many different places as possible."""
    runs = (engine.start(image[None]) for image in images)
    texts = [greedy(run, np.array([prompt]), end=2, max_tokens=tiny_systems.LIMIT)[0].tokens for run in runs]
    ends = {token: {text.index(token) for text in texts if token in text} for text in texts for token in text}
    return max(ends, key=lambda token: (len(ends[token]), token))


def _assert_alike(found: dict[int, Decoded], expected: list[Decoded]) -> None:
    assert [found[number] for number in range(len(expected))] == expected
    for number, one in enumerate(expected):
        np.testing.assert_allclose(found[number].log_probabilities, one.log_probabilities, atol=1e-4)
        np.testing.assert_allclose(np.array(found[number].attention), np.array(one.attention), atol=1e-4)


@pytest.mark.parametrize("prompt", _PROMPTS, ids=len)
@pytest.mark.parametrize("images_at_once", [1, 3, 16])
def test_greedy_texts_are_those_of_images_read_alone(
    engine: OnnxEngine, images_at_once: int, prompt: tuple[int, ...]
) -> None:
    images = _images(14)
    end = _varied_end(engine, images, prompt)
    alone = [
        greedy(engine.start(image[None]), np.array([prompt]), end=end, max_tokens=tiny_systems.LIMIT)[0]
        for image in images
    ]
    assert len({len(one.tokens) for one in alone}) > 2
    found = _decode(engine, images, prompt, images_at_once=images_at_once, new_path=_greedy_paths(end))
    _assert_alike(dict(found), alone)


@pytest.mark.parametrize("prompt", _PROMPTS, ids=len)
def test_beam_texts_are_those_of_images_read_alone(engine: OnnxEngine, prompt: tuple[int, ...]) -> None:
    images = _images(14)
    end = _varied_end(engine, images, prompt)
    alone = [
        beam(engine.start(image[None]), np.array([prompt]), beams=4, end=end, max_tokens=tiny_systems.LIMIT)[0]
        for image in images
    ]
    assert len({one.tokens for one in alone}) > 3
    rules = Rules(end, tiny_systems.LIMIT, (), None, 3)
    found = _decode(engine, images, prompt, images_at_once=4, new_path=lambda: BeamPaths(rules, 4, 1.0, False))
    _assert_alike(dict(found), alone)


def test_the_guard_watches_every_text_by_itself(engine: OnnxEngine) -> None:
    guard = Guard(window=3, steady_steps=4, threshold_while=1e9, threshold_after=1e9, grace_factor=1, grace_tokens=2)
    images, end = _images(6), engine.config.generation.end
    alone = [
        greedy(engine.start(image[None]), np.array([[1]]), end=end, max_tokens=tiny_systems.LIMIT, guard=guard)[0]
        for image in images
    ]
    found = dict(_decode(engine, images, (1,), images_at_once=4, new_path=_greedy_paths(end, guard)))
    assert [found[number] for number in range(6)] == alone


def _picture(width: int, height: int) -> Image.Image:
    image = Image.new("L", (140, 70), 255)
    ImageDraw.Draw(image).rectangle((5, 5, 4 + width, 4 + height), fill=0)
    ImageDraw.Draw(image).line((5, 5, 4 + width, 4 + height), fill=255, width=3)
    return image


@pytest.fixture(scope="module")
def reader(engine: OnnxEngine, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    config = replace(engine.config, image=replace(engine.config.image, crop_margin=True))
    folder = tmp_path_factory.mktemp("tokenizer") / "model"
    tiny_systems.save(tiny_systems.build("cnn"), folder)
    return Reader(TextSystem(config, engine, open_tokenizer(folder, config), tasks.find("formula")))


_PICTURES = [(8 + 9 * number % 110, 8 + 17 * number % 50) for number in range(12)]


@pytest.mark.parametrize("beams", [1, 4])
def test_reading_many_gives_what_single_reads_give_in_order(reader: Reader, beams: int) -> None:
    assert isinstance(reader.system.engine, JoinableEngine)
    options = Options(beams=beams)
    alone = [reader.read(_picture(*size), options) for size in _PICTURES]
    many = list(reader.read_many((_picture(*size) for size in _PICTURES), batch=5, options=options))
    assert [document.text for document in many] == [document.text for document in alone]
    assert len({document.text for document in alone}) > 3
    assert [[token.box for token in document.blocks[0].tokens] for document in many] == [
        [token.box for token in document.blocks[0].tokens] for document in alone
    ]


def test_documents_can_come_as_they_are_completed(reader: Reader) -> None:
    def named(in_order: bool) -> list[str]:
        pictures = [_picture(*size) for size in _PICTURES]
        return [document.text for document in reader.read_many(pictures, batch=4, in_order=in_order)]

    ordered, completed = named(True), named(False)
    assert sorted(ordered) == sorted(completed)
    assert ordered != completed


def test_what_cannot_be_read_keeps_its_place_among_the_others(reader: Reader, tmp_path: Path) -> None:
    white = Image.new("L", (50, 50), 255)
    sources = [tmp_path / "gone.png", _picture(40, 20), white, b"", _picture(60, 30), tmp_path / "gone too.png"]
    documents = list(reader.read_many(sources, batch=3))
    assert [document.status.kind for document in documents][:4] == ["failed", "limit", "empty", "failed"]
    assert documents[5].status.kind == "failed"
    assert documents[5].source == str(tmp_path / "gone too.png")


def test_only_files_that_cannot_be_read_give_only_failures(reader: Reader, tmp_path: Path) -> None:
    documents = list(reader.read_many([tmp_path / "a.png", tmp_path / "b.png"], batch=3))
    assert [document.status.kind for document in documents] == ["failed", "failed"]
