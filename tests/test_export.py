"""Exporting: what is written reads as torch does, or nothing is written; bad files give one clear sentence."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import oracles
import pytest
import tiny_systems
from conftest import Ran
from PIL import Image, ImageDraw

import unrender
from unrender import checkpoints
from unrender.decoding import greedy
from unrender.engines import export as exporting
from unrender.engines.export import export, graph, write_graphs
from unrender.engines.export.graph import Graph, Linear, save_graph
from unrender.engines.export.quantise import quantise
from unrender.engines.onnx_engine import OnnxEngine
from unrender.engines.torch_engine import TorchEngine, open_engine
from unrender.errors import ModelError
from unrender.models.codec import to_json
from unrender.models.trocr import TROCR_SMALL

_PUBLISHED = [oracles.donut, oracles.nougat, oracles.trocr_base, oracles.trocr_small, oracles.swimnet]


@pytest.fixture(scope="module")
def cnn() -> TorchEngine:
    return tiny_systems.build("cnn")


@pytest.fixture(scope="module")
def model(cnn: TorchEngine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_systems.save(cnn, tmp_path_factory.mktemp("models") / "model")


@pytest.fixture
def graphs(cnn: TorchEngine, tmp_path: Path) -> Path:
    """A model folder that was exported, to be spoilt."""
    return _write(cnn, tmp_path / "graphs")


def _write(engine: TorchEngine, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    write_graphs(engine.config, {name: tensor.numpy() for name, tensor in engine.module.state_dict().items()}, folder)
    (folder / "config.json").write_text(to_json(engine.config))
    return folder


def _texts(engine: TorchEngine | OnnxEngine) -> list[tuple[int, ...]]:
    config = engine.config
    run = engine.start(*tiny_systems.pixels(config, 4))
    prompt, end = tiny_systems.prompt(config, 4), config.generation.end
    return [row.tokens for row in greedy(run, prompt, end=end, max_tokens=tiny_systems.LIMIT)]


def _picture() -> Image.Image:
    image = Image.new("L", (60, 30), 255)
    ImageDraw.Draw(image).rectangle((10, 8, 40, 20), fill=0)
    return image


def test_an_exported_folder_reads_without_its_weights(model: Path, tmp_path: Path) -> None:
    (model / "card.md").write_text("# A card\n")
    written = export(model, tmp_path / "new" / "exported")
    assert sorted(path.name for path in written.folder.iterdir()) == [
        "card.md", "config.json", "decoder.onnx", "encoder.onnx", "tokenizer.json",
    ]  # fmt: skip
    assert written.difference.largest < 1e-4
    assert "scores within" in str(written)
    with_torch, with_onnx = (unrender.read(_picture(), model=str(folder)) for folder in (model, written.folder))
    assert with_onnx.text == with_torch.text != ""
    places = [[token.box for token in document.blocks[0].tokens] for document in (with_torch, with_onnx)]
    assert places[0] == places[1]


def test_a_folder_can_be_exported_into_itself(cnn: TorchEngine, tmp_path: Path) -> None:
    folder = tiny_systems.save(cnn, tmp_path / "model")
    export(folder, folder)
    assert checkpoints.load(folder).exported
    assert (folder / "weights.safetensors").is_file()
    assert _texts(OnnxEngine(folder)) == _texts(cnn)


def test_the_same_model_gives_the_same_files(cnn: TorchEngine, tmp_path: Path) -> None:
    first, second = (_write(cnn, tmp_path / name) for name in ("first", "second"))
    for name in ("encoder.onnx", "decoder.onnx"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


@pytest.mark.parametrize("oracle", _PUBLISHED, ids=lambda oracle: oracle.__name__)
def test_every_published_system_can_be_exported(oracle: Callable[[Path], object], tmp_path: Path) -> None:
    oracle(tmp_path / "published")
    written = export(tmp_path / "published", tmp_path / "exported")
    assert written.difference.largest < 1e-4


def test_a_graph_that_scores_otherwise_is_not_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = exporting.build_decoder

    def shifted(config, weights, **settings):
        spoilt = {name: array * 1.01 if name.endswith("expand.weight") else array for name, array in weights.items()}
        return honest(config, spoilt, **settings)

    monkeypatch.setattr(exporting, "build_decoder", shifted)
    with pytest.raises(
        ModelError, match=r"cnn was not exported: its ONNX scores differ from torch by .*more than 1e-04"
    ):
        export(model, tmp_path / "exported")
    assert list(tmp_path.iterdir()) == []


def test_a_graph_that_reads_otherwise_is_not_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OnnxEngine, "start", _with_reversed_reorder(OnnxEngine.start))
    with pytest.raises(ModelError, match=r"cnn was not exported: .* of its results are the same"):
        export(model, tmp_path / "exported")
    assert list(tmp_path.iterdir()) == []


def _with_reversed_reorder(start):
    def reversing(self, *pixels):
        run = start(self, *pixels)
        honest = run.reorder
        run.reorder = lambda rows: honest(rows[::-1])
        return run

    return reversing


def test_large_weights_lie_beside_the_graph(cnn: TorchEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "_INLINE_BYTES", 1000)
    for name in ("cnn", "swin"):
        engine = tiny_systems.build(name)
        folder = _write(engine, tmp_path / name)
        _write(engine, folder)  # again: nothing is appended to what was there
        assert (folder / "decoder.onnx.data").stat().st_size > (folder / "decoder.onnx").stat().st_size
        assert _texts(OnnxEngine(folder)) == _texts(engine)


def test_a_tied_table_is_stored_once(cnn: TorchEngine, graphs: Path) -> None:
    assert cnn.config.decoder.tied
    wide = [tensor.name for tensor in onnx.load(graphs / "decoder.onnx").graph.initializer if tensor.dims[:1] == [60]]
    assert wide == ["decoder.tokens.weight"]


def test_8_bit_weights_take_a_quarter_of_the_room_and_score_much_alike(tmp_path: Path) -> None:
    engine = tiny_systems.build("vit", hidden=128, feed_forward=512)
    folder = tiny_systems.save(engine, tmp_path / "model")
    whole, small = export(folder, tmp_path / "whole"), export(folder, tmp_path / "small", int8=True)
    sizes = [(written.folder / "decoder.onnx").stat().st_size for written in (whole, small)]
    assert sizes[1] < 0.35 * sizes[0]
    assert whole.int8 is None
    assert small.int8 is not None
    assert 0 < small.int8.share < 0.2
    assert "with 8-bit weights they differ by" in str(small)


def test_8_bit_weights_that_read_far_otherwise_are_not_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "quantise", lambda weight: (quantise(weight)[0] & 0xC0, quantise(weight)[1]))
    with pytest.raises(ModelError, match=r"with 8-bit weights its scores differ by .* export it without --int8"):
        export(model, tmp_path / "exported", int8=True)
    assert list(tmp_path.iterdir()) == []


def test_quantised_weights_are_within_half_a_step_of_their_blocks() -> None:
    weight = np.random.default_rng(0).standard_normal((5, 200)).astype(np.float32)
    weight[3] = 0
    values, scales = quantise(weight)
    assert values.shape == (5, 2, 128)
    restored = ((values.astype(np.float32) - 128) * scales[..., None]).reshape(5, -1)[:, :200]
    assert (np.abs(restored - weight) <= 0.501 * np.repeat(scales, 128, axis=1)[:, :200]).all()


@pytest.mark.parametrize("inputs", [16, 128, 200])
def test_an_8_bit_layer_and_table_compute_what_they_store(inputs: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    layer = Linear("layer", rng.standard_normal((7, inputs)).astype(np.float32), np.ones(7, np.float32))
    small = Graph("small", int8=True)
    small.output(
        small.linear(small.embed(small.input("ids", "int64", ["B"]), "table", layer.weight), layer), "y", ["B", 7]
    )
    save_graph(small.model(), tmp_path / "small.onnx")
    from unrender.engines.sessions import open_session

    [found] = open_session(tmp_path / "small.onnx", 1).run(None, {"ids": np.array([3, 0, 3])})
    expected = (layer.weight @ layer.weight.T + 1)[[3, 0, 3]]
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()


def test_the_command_says_what_it_wrote(run: Callable[..., Ran], model: Path, tmp_path: Path) -> None:
    ran = run("export", model, tmp_path / "exported", "--int8")
    assert ran.code == 0
    assert str(tmp_path / "exported") in ran.out.replace("\n", "")
    assert checkpoints.load(tmp_path / "exported").exported


def test_the_command_names_a_model_that_is_not_there(run: Callable[..., Ran], tmp_path: Path) -> None:
    ran = run("export", tmp_path / "gone", tmp_path / "exported")
    assert ran.code == 1
    assert len(ran.errors) == 1


def _cut(path: Path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])


def _change(path: Path, change: Callable[[onnx.ModelProto], object]) -> None:
    model = onnx.load(path)
    change(model)
    onnx.save(model, path)


_BAD_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (Path.unlink, "has neither weights.safetensors nor encoder.onnx and decoder.onnx"),
    "empty": (partial(_cut, share=0), "is not an ONNX file, or is cut short"),
    "truncated": (partial(_cut, share=0.7), "is not an ONNX file, or is cut short"),
    "text": (lambda path: path.write_text("hello " * 50), "is not an ONNX file, or is cut short"),
    "pickle": (lambda path: path.write_bytes(b"\x80\x04" + bytes(99)), "is not an ONNX file, or is cut short"),
    "newer format": (
        partial(_change, change=lambda model: setattr(model, "ir_version", 99)), "needs a newer ONNX Runtime than"
    ),
    "newer operators": (
        partial(_change, change=lambda model: setattr(model.opset_import[0], "version", 99)),
        "needs a newer ONNX Runtime than",
    ),
    "unknown operator": (
        partial(_change, change=lambda model: setattr(model.graph.node[5], "op_type", "Unheard")),
        "needs a newer ONNX Runtime than",
    ),
    "broken wiring": (
        partial(_change, change=lambda model: model.graph.node.pop(8)), "cannot be used by ONNX Runtime"
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", _BAD_FILES)
def test_a_bad_file_gives_one_clear_sentence(kind: str, graphs: Path) -> None:
    spoil, sentence = _BAD_FILES[kind]
    spoil(graphs / "decoder.onnx")
    with pytest.raises(ModelError, match=sentence) as caught:
        OnnxEngine(graphs)
    assert str(graphs) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [0, 0.5])
def test_weights_that_are_missing_beside_a_graph_are_named(
    share: float, cnn: TorchEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "_INLINE_BYTES", 1000)
    folder = _write(cnn, tmp_path / "graphs")
    _cut(folder / "decoder.onnx.data", share)
    with pytest.raises(ModelError, match=r"needs the whole file decoder\.onnx\.data beside it"):
        OnnxEngine(folder)


def test_graphs_of_another_model_are_refused(cnn: TorchEngine, graphs: Path) -> None:
    decoder = cnn.config.decoder
    others = {
        "takes memory_keys.0 of shape I x 4 x N x 8, but config.json asks for I x 2 x N x 16": replace(
            decoder, heads=2
        ),
        "lacks the input 'memory_keys.2'": replace(decoder, layers=3),
        "has an input 'memory_keys.1'": replace(decoder, layers=1),
    }
    for sentence, other in others.items():
        (graphs / "config.json").write_text(to_json(replace(cnn.config, decoder=other)))
        with pytest.raises(ModelError, match=sentence):
            OnnxEngine(graphs)
    (graphs / "encoder.onnx").rename(graphs / "spare.onnx")
    (graphs / "decoder.onnx").rename(graphs / "encoder.onnx")
    (graphs / "spare.onnx").rename(graphs / "decoder.onnx")
    with pytest.raises(ModelError, match=r"encoder\.onnx has an input"):
        OnnxEngine(graphs)


@pytest.mark.parametrize("name", ["vit", "swin"])
def test_graphs_for_another_image_size_are_refused(name: str, tmp_path: Path) -> None:
    engine = tiny_systems.build(name)
    folder = _write(engine, tmp_path / name)
    image = replace(engine.config.image, height=engine.config.image.height * 2)
    (folder / "config.json").write_text(to_json(replace(engine.config, image=image)))
    with pytest.raises(ModelError, match=r"takes pixels of shape 1 x 3 x .*; export the model again"):
        OnnxEngine(folder)


@pytest.mark.slow
def test_trocr_small_is_exported_at_its_full_size(tmp_path: Path) -> None:
    oracles.trocr_small(tmp_path / "published", full_size=True)
    written = export(tmp_path / "published", tmp_path / "exported")
    assert written.difference.largest < 1e-4
    engine = OnnxEngine(written.folder)
    assert engine.config.decoder == TROCR_SMALL.decoder
    pixels = np.random.default_rng(0).standard_normal((1, 3, 384, 384)).astype(np.float32)
    runs = [each.start(pixels) for each in (open_engine(checkpoints.load(tmp_path / "published")), engine)]
    texts = [greedy(run, np.array([[2]]), end=2, max_tokens=30) for run in runs]
    assert texts[0] == texts[1]
    assert all((written.folder / f"{name}.onnx.data").is_file() for name in ("encoder", "decoder"))
