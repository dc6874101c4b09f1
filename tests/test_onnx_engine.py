"""The ONNX Runtime engine does what the torch engine does: scores, texts, places; alone, in batches, in threads."""

import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tiny_systems
from hypothesis import given, settings
from hypothesis import strategies as st

from unrender.decoding import Engine, beam, greedy
from unrender.decoding.paths import Decoded
from unrender.decoding.rules import Guard
from unrender.engines.batch_rows import Memory, Rows
from unrender.engines.export import write_decoder, write_graphs
from unrender.engines.onnx_engine import OnnxEngine
from unrender.engines.torch_engine import TorchEngine
from unrender.errors import ConfigError
from unrender.models.config import DecoderConfig

_TOLERANCE = 1e-4
_IMAGES = 6

Pair = tuple[TorchEngine, OnnxEngine]


def _export(engine: TorchEngine, folder: Path, *, int8: bool = False) -> OnnxEngine:
    tiny_systems.save(engine, folder)
    weights = {name: tensor.numpy() for name, tensor in engine.module.state_dict().items()}
    write_graphs(engine.config, weights, folder)
    if int8:
        write_decoder(engine.config, weights, folder, int8=True)
    return OnnxEngine(folder, threads=1)


@pytest.fixture(scope="module", params=list(tiny_systems.PARTS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    engine = tiny_systems.build(request.param)
    return engine, _export(engine, tmp_path_factory.mktemp("models") / request.param)


@pytest.fixture(scope="module")
def cnn(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    engine = tiny_systems.build("cnn")
    return engine, _export(engine, tmp_path_factory.mktemp("models") / "cnn")


def _take(
    engine: Engine, torch_engine: TorchEngine, images: int = _IMAGES, guard: Guard | None = None
) -> list[Decoded]:
    config = torch_engine.config
    run = engine.start(*tiny_systems.pixels(config, images))
    end, prompt = config.generation.end, tiny_systems.prompt(config, images)
    return greedy(run, prompt, end=end, max_tokens=tiny_systems.LIMIT, guard=guard)


def _search(engine: Engine, torch_engine: TorchEngine) -> list[Decoded]:
    config = torch_engine.config
    run = engine.start(*tiny_systems.pixels(config, _IMAGES))
    end, prompt = config.generation.end, tiny_systems.prompt(config, _IMAGES)
    return beam(run, prompt, beams=4, end=end, max_tokens=tiny_systems.LIMIT)


def _assert_alike(found: list[Decoded], expected: list[Decoded]) -> None:
    assert found == expected
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.log_probabilities, other.log_probabilities, atol=_TOLERANCE)
        assert one.end_log_probability == pytest.approx(other.end_log_probability, abs=_TOLERANCE)
        np.testing.assert_allclose(np.array(one.attention), np.array(other.attention), atol=_TOLERANCE)
        for here, there in zip(one.alternatives, other.alternatives, strict=True):
            assert [each.probability for each in here] == pytest.approx([each.probability for each in there], abs=1e-4)


def test_scores_and_attention_agree_at_every_step_whatever_becomes_of_the_rows(pair: Pair) -> None:
    runs = [engine.start(*tiny_systems.pixels(pair[0].config, 4)) for engine in pair]
    rng = np.random.default_rng(0)
    fates = {5: [2, 0, 3], 8: [2, 2, 0, 1, 1], 11: [4, 0, 0, 0, 2], 14: [3]}  # leave, divide, change places
    rows = 4
    for step in range(18):
        tokens = rng.integers(3, 60, (rows, 3 if step == 0 else 2 if step == 9 else 1))
        expected, found = (run.step(tokens) for run in runs)
        assert expected.std() > 0.1
        np.testing.assert_allclose(found, expected, atol=_TOLERANCE)
        looks = [run.attention for run in runs]
        assert looks[0] is not None
        assert looks[1] is not None
        np.testing.assert_allclose(looks[1], looks[0], atol=_TOLERANCE)
        if step in fates:
            rows = len(fates[step])
            for run in runs:
                run.reorder(np.array(fates[step]))


def test_greedy_search_agrees_with_torch(pair: Pair) -> None:
    expected = _take(pair[0], pair[0])
    assert len({row.tokens for row in expected}) > 2
    assert {row.complete for row in expected} == {True, False}
    _assert_alike(_take(pair[1], pair[0]), expected)


def test_beam_search_agrees_with_torch(pair: Pair) -> None:
    expected = _search(pair[0], pair[0])
    assert len({row.tokens for row in expected}) > 2
    _assert_alike(_search(pair[1], pair[0]), expected)


def test_the_repetition_guard_cuts_where_it_cuts_with_torch(cnn: Pair) -> None:
    guard = Guard(window=3, steady_steps=4, threshold_while=1e9, threshold_after=1e9, grace_factor=1, grace_tokens=2)
    expected = _take(cnn[0], cnn[0], guard=guard)
    assert max(len(row.tokens) for row in expected) < tiny_systems.LIMIT
    assert _take(cnn[1], cnn[0], guard=guard) == expected


def test_an_image_reads_alike_alone_and_in_a_batch(pair: Pair) -> None:
    config = pair[0].config
    batch, sizes = tiny_systems.pixels(config, _IMAGES)
    together = _take(pair[1], pair[0])
    for row, image in enumerate(batch):
        own = image if sizes is None else image[:, : sizes[row, 0], : sizes[row, 1]]
        run = pair[1].start(own[None])
        [alone] = greedy(run, tiny_systems.prompt(config, 1), end=config.generation.end, max_tokens=tiny_systems.LIMIT)
        assert alone == together[row]


def test_a_text_outgrows_the_first_room_of_the_cache(tmp_path: Path) -> None:
    torch_engine = tiny_systems.build("cnn", max_positions=150)
    engine = _export(torch_engine, tmp_path / "long")
    runs = [each.start(*tiny_systems.pixels(torch_engine.config, 2)) for each in (torch_engine, engine)]
    for step in range(150):
        expected, found = (run.step(np.full((2, 1), step % 50)) for run in runs)
        np.testing.assert_allclose(found, expected, atol=_TOLERANCE)
    with pytest.raises(ConfigError, match="the decoder has 150 positions; ask for fewer tokens"):
        runs[1].step(np.full((2, 1), 3))


def test_a_run_can_begin_anew(cnn: Pair) -> None:
    torch_engine, engine = cnn
    config = torch_engine.config
    run = engine.start(*tiny_systems.pixels(config, 3))
    first = run.step(np.full((3, 1), 5))
    run.step(np.full((3, 1), 6))
    run.reorder(np.array([0, 0, 1, 2, 2, 2]))
    run.step(np.full((6, 1), 7))
    run.forget()
    np.testing.assert_allclose(run.step(np.full((3, 1), 5)), first, atol=1e-5)


def test_pixels_of_another_shape_are_refused(pair: Pair) -> None:
    config = pair[0].config
    with pytest.raises(ConfigError, match=r"pixels of shape 2 x 32 x 48 do not fit the exported encoder, which reads"):
        pair[1].start(np.zeros((1, 2, 32, 48), np.float32))
    if config.image.fit != "free":
        with pytest.raises(ConfigError, match="reads images of one size"):
            pair[1].start(tiny_systems.pixels(config, 2)[0], np.array([[8, 8], [4, 4]]))


def test_threads_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="threads must be at least 1, got 0"):
        OnnxEngine(tmp_path, threads=0)


def test_eight_threads_on_one_engine_and_two_engines_read_alike(cnn: Pair, tmp_path: Path) -> None:
    torch_engine, engine = cnn
    other = _export(torch_engine, tmp_path / "other")
    expected = _take(engine, torch_engine)
    with ThreadPoolExecutor(8) as pool:
        engines = [engine, other] * 12
        results = list(pool.map(lambda each: _take(each, torch_engine), engines))
    assert all(result == expected for result in results)


def test_with_8_bit_weights_rows_still_do_not_influence_one_another(tmp_path: Path) -> None:
    torch_engine = tiny_systems.build("vit")
    engine = _export(torch_engine, tmp_path / "int8", int8=True)
    batch, _ = tiny_systems.pixels(torch_engine.config, 7)
    runs = engine.start(batch[:4]), engine.start(batch[[0, 4, 5, 6]])  # the first row has other neighbours
    rng = np.random.default_rng(0)
    for _ in range(6):
        tokens = rng.integers(3, 60, (7, 1))
        first, second = runs[0].step(tokens[:4]), runs[1].step(tokens[[0, 4, 5, 6]])
        np.testing.assert_array_equal(first[0], second[0])
        assert np.abs(first[1] - second[1]).max() > 0.1


@pytest.mark.slow
def test_memory_stays_flat_over_two_thousand_reads(cnn: Pair) -> None:
    torch_engine, engine = cnn
    config = torch_engine.config
    batch, sizes = tiny_systems.pixels(config, tiny_systems.IMAGES)
    assert sizes is not None

    def read(count: int) -> int:
        for number in range(count):
            row = number % len(batch)
            run = engine.start(batch[row : row + 1, :, : sizes[row, 0], : sizes[row, 1]])
            greedy(run, tiny_systems.prompt(config, 1), end=config.generation.end, max_tokens=4)
        return _resident_kilobytes()

    before = read(200)
    assert read(2000) < before + 8 * 1024


def _resident_kilobytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


_CONFIG = DecoderConfig(vocabulary=8, hidden=4, layers=2, heads=2, max_positions=12)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_rows_keep_their_memory_and_their_tokens_wherever_they_are_moved(data: st.DataObject) -> None:
    rows, expected = Rows(_CONFIG), list[tuple[int, list[int]]]()  # of each row: its image, its tokens
    for number in range(data.draw(st.integers(1, 14))):
        action = data.draw(st.sampled_from(["add", "feed", "reorder"]))
        if action == "add":
            size = data.draw(st.integers(1, 9))
            rows.add(Memory(np.full((2, 2, 2, size, 2), number + 1, np.float32)))
            expected.append((number + 1, []))
        elif action == "feed" and expected and rows.longest < _CONFIG.max_positions:
            rows.make_room(rows.longest + 1)
            for slot, (_, tokens) in zip(rows.slots, expected, strict=True):
                rows.cache[:, :, slot, :, rows.lengths[slot]] = number
                tokens.append(number)
            rows.lengths[rows.slots] += 1
        elif action == "reorder" and expected:
            order = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=8))
            rows.reorder(np.array(order, dtype=np.int64))
            expected = [(expected[row][0], list(expected[row][1])) for row in order]
        _assert_rows(rows, expected)


def _assert_rows(rows: Rows, expected: list[tuple[int, list[int]]]) -> None:
    assert len(rows.slots) == len(set(rows.slots.tolist())) == len(expected)
    assert rows.images == len({image for image, _ in expected})
    assert all(slot < rows.used for slot in rows.slots)
    for slot, (image, tokens) in zip(rows.slots, expected, strict=True):
        place = slot // rows.width
        visible = rows.mask[place, 0, 0] == 0
        assert visible.sum() == rows.sizes[place]
        assert (rows.memory[:, :, place, :, visible] == image).all()
        assert rows.lengths[slot] == len(tokens)
        assert (rows.cache[:, :, slot, :, : len(tokens)] == np.array(tokens)[:, None]).all()
