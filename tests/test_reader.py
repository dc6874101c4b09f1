"""The Reader: from sources to Documents, whatever becomes of single pages."""

import io
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from fakes import END, ScriptedRun
from PIL import Image, ImageDraw

import unrender
from unrender import tasks
from unrender.decoding.paths import BeamPaths, Decoded, GreedyPath
from unrender.documents import Box, Status
from unrender.errors import ConfigError, ImageError, ModelError
from unrender.models.config import CnnConfig, DecoderConfig, Generation, ImagePrep, TextConfig
from unrender.reading.reader import Reader
from unrender.reading.systems import Input, Options, Sheet, Watch
from unrender.reading.text import TextSystem
from unrender.tokens import LatexTokenizer

CONFIG = TextConfig(
    name="scripted",
    seed="002",
    task="formula",
    image=ImagePrep(
        height=64, width=256, fit="free", channels=1, mean=(0.5,), std=(0.5,), crop_margin=True, margin=2,
        pad_value=1.0, multiple=4,
    ),
    encoder=CnnConfig(),
    decoder=DecoderConfig(vocabulary=16, max_positions=12),
    generation=Generation(start=(1,), end=END, pad=0, max_tokens=8),
    vocabulary="latex",
)  # fmt: skip
CELLS = 3 * 5  # of the 24 x 20 pixels that a bar of 13 columns becomes, at strides 8 and 4
TOKENIZER = LatexTokenizer([f"n{number}" for number in range(4, 14)] + ["<s_cord-v2>", "<s_docvqa>"])


class ScriptedEngine:
    """Reads the number of ink columns of each image, as the token that many places after 4, then the end."""

    def __init__(self, margins: Mapping[int, float] = MappingProxyType({})) -> None:
        self.batches: list[tuple[tuple[int, ...], list[list[int]] | None]] = []
        self.prompts: list[list[int]] = []
        self.margins = margins  # how sure it is of a batch that begins with so many columns; of others very

    def start(self, pixels, sizes=None):
        self.batches.append((pixels.shape, None if sizes is None else sizes.tolist()))
        columns = (pixels[:, 0] < 0).any(axis=1).sum(axis=1)
        margin = self.margins.get(int(columns[0]), 10.0)
        run = ScriptedRun(*([4 + int(count) % 10, END] for count in columns), margin=margin)
        return _RecordingRun(run, self.prompts)


class _RecordingRun:
    def __init__(self, run: ScriptedRun, prompts: list[list[int]]) -> None:
        self._run, self._prompts = run, prompts
        self.attention = np.zeros((len(run.rows), 0), np.float32)
        self.reorder = run.reorder

    def step(self, tokens):
        self._prompts.append(tokens[0].tolist())
        scores = self._run.step(tokens)
        self.attention = np.eye(1, CELLS, 6, dtype=np.float32).repeat(len(tokens), axis=0)
        return scores


def bar(width: int, height: int = 20) -> Image.Image:
    """A picture whose ink is `width` columns wide."""
    image = Image.new("RGB", (100, 60), "white")
    ImageDraw.Draw(image).rectangle((10, 20, 9 + width, 19 + height), fill="black")
    return image


def tiff(*images: Image.Image) -> bytes:
    buffer = io.BytesIO()
    images[0].save(buffer, "TIFF", save_all=True, append_images=images[1:])
    return buffer.getvalue()


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def reader(engine) -> Reader:
    return Reader(TextSystem(CONFIG, engine, TOKENIZER, tasks.find("formula")))


def test_a_picture_becomes_a_document(reader):
    document = reader.read(bar(13))
    assert document.text == "n7"
    assert document.status == Status("complete")
    assert (document.model, document.task, document.source) == ("scripted", "formula", "image")
    [page] = document.pages
    assert (page.number, page.width, page.height) == (1, 100, 60)
    [block] = page.blocks
    assert block.kind == "formula"
    assert 0.99 < document.confidence <= 1


def test_every_token_carries_probability_alternatives_and_place(reader):
    [token] = reader.read(bar(13)).blocks[0].tokens
    assert token.text == "n7"
    assert 0.99 < token.probability <= 1
    assert len(token.alternatives) == 3
    assert token.alternatives[0].probability < 0.01
    assert token.box == Box(10, 20, 23, 40)  # the whole bar, though only one cell of it was looked at


def test_pictures_of_different_size_share_a_batch_and_keep_their_true_sizes(reader, engine):
    documents = list(reader.read_many([bar(13), bar(24, 8), bar(35)], batch=3))
    assert [document.text for document in documents] == ["n7", "n8", "n9"]
    assert engine.batches == [((3, 1, 24, 40), [[24, 20], [12, 28], [24, 40]])]


def test_pictures_of_one_size_need_no_sizes(reader, engine):
    list(reader.read_many([bar(13), bar(13)], batch=2))
    assert engine.batches == [((2, 1, 24, 20), None)]


def test_results_come_in_order_as_soon_as_their_batch_is_read(reader, engine):
    def sources():
        yield tiff(bar(11), bar(12), bar(13))
        yield bar(14)
        assert len(engine.batches) == 2  # nothing waits for the end

    documents = reader.read_many(sources(), batch=2)
    assert [page.text for page in next(documents).pages] == ["n5", "n6", "n7"]
    assert [document.text for document in documents] == ["n8"]


def test_a_source_that_cannot_be_read_leaves_the_others(reader, tmp_path):
    good = tmp_path / "good.png"
    bar(13).save(good)
    sources = [tmp_path / "gone.png", good, b"", Image.new("L", (1, 1)), bar(14)]
    documents = list(reader.read_many(sources, batch=8))
    assert [document.status.kind for document in documents] == ["failed", "complete", "failed", "failed", "complete"]
    assert "there is no such file" in documents[0].status.reason
    assert documents[0].source == str(tmp_path / "gone.png")
    assert [document.text for document in documents] == ["", "n7", "", "", "n8"]


def test_a_page_that_cannot_be_read_keeps_its_place(reader, make_pdf):
    document = reader.read(make_pdf(pages=3, first_page_points=200_000))
    assert [page.status.kind for page in document.pages] == ["failed", "complete", "complete"]
    assert [page.number for page in document.pages] == [1, 2, 3]
    assert document.status.kind == "failed"


def test_a_single_picture_that_cannot_be_read_raises(reader):
    with pytest.raises(ImageError, match="1 x 1 pixels"):
        reader.read(Image.new("L", (1, 1)))


def test_a_blank_page_is_empty_and_never_decoded(reader, engine):
    document = reader.read(Image.new("RGB", (50, 50), "white"))
    assert (document.text, document.status) == ("", Status("empty"))
    assert engine.batches == []


def test_pages_can_be_chosen(reader):
    stack = tiff(bar(11), bar(12), bar(13))
    assert [page.number for page in reader.read(Input(stack, "stack", pages=(3, 1))).pages] == [3, 1]
    with pytest.raises(ImageError, match="stack: there is no page 4; the pages are 1 to 3"):
        reader.read(Input(stack, "stack", pages=(4,)))


def test_the_limit_of_tokens_is_reported(reader):
    document = reader.read(bar(13), Options(max_tokens=1))
    assert document.status == Status("limit")
    assert document.text == "n7"


def test_the_place_of_a_cut_is_reported(reader, monkeypatch):
    cut = Decoded((7,), complete=False, cut=1, log_probabilities=(-0.1,))
    monkeypatch.setattr("unrender.decoding.paths.GreedyPath.result", lambda path: cut)
    assert reader.read(bar(13)).status == Status("repetition", 1)


def test_n_best_gives_that_many_readings_best_first(reader, monkeypatch):
    best, *others = (
        Decoded((token,), complete=True, log_probabilities=(log,)) for token, log in ((7, -0.1), (5, -1.0), (6, -3.0))
    )
    monkeypatch.setattr(
        "unrender.decoding.paths.BeamPaths.result", lambda paths: replace(best, runners_up=tuple(others))
    )
    [block] = reader.read(bar(13), Options(n_best=3)).blocks
    assert block.readings[0].text == block.text == "n7"
    confidences = [reading.confidence for reading in block.readings]
    assert len(confidences) == 3
    assert confidences == sorted(confidences, reverse=True)
    assert sum(confidences) <= 1 + 1e-9


def test_n_best_of_a_search_gives_the_best_first_and_no_text_twice(reader):
    [block] = reader.read(bar(13), Options(n_best=3)).blocks
    texts = [reading.text for reading in block.readings]
    assert texts[0] == block.text == "n7"
    assert len(set(texts)) == len(texts) <= 3


def test_readings_that_are_one_text_are_listed_once_and_not_surer_for_it(reader, monkeypatch):
    best, other = (Decoded((token,), complete=True, log_probabilities=(-2.0,)) for token in (7, 6))
    same = Decoded((7, CONFIG.generation.pad), complete=True, log_probabilities=(-2.0, 0.0))
    best = replace(best, runners_up=(same, other))
    monkeypatch.setattr("unrender.decoding.paths.BeamPaths.result", lambda paths: best)
    [block] = reader.read(bar(13), Options(n_best=3)).blocks
    assert [reading.text for reading in block.readings] == ["n7", "n6"]
    assert block.readings[0].confidence == block.confidence == pytest.approx(math.exp(-2.0))


class Listening(Watch):
    """Hears every page, and wants those with these numbers only."""

    def __init__(self, *numbers: int) -> None:
        self.heard: list[tuple[int, str]] = []
        self._numbers = numbers

    def wants(self, sheet: Sheet) -> bool:
        return sheet.number in self._numbers

    def listener(self, sheet: Sheet):
        return lambda text: self.heard.append((sheet.number, text))


def test_who_watches_hears_the_text_grow(reader):
    watch = Listening(1)
    reader.read(bar(13), watch=watch)
    assert watch.heard == [(1, "n7"), (1, "n7")]  # the second one with the end


def test_a_page_that_nobody_wants_is_given_up_and_says_so(reader):
    document = reader.read(tiff(bar(11), bar(12), bar(13)), watch=Listening(1, 3))
    assert [page.status for page in document.pages] == [
        Status(),
        Status("failed", reason="The reading was stopped."),
        Status(),
    ]
    assert [page.text for page in document.pages] == ["n5", "", "n7"]


def test_a_model_is_prompted_by_its_own_start(reader, engine):
    reader.read(bar(13))
    assert engine.prompts[0] == [1]


def test_a_task_prompts_a_model_that_knows_its_tags(engine):
    reader = Reader(TextSystem(CONFIG, engine, TOKENIZER, tasks.find("receipt")))
    reader.read(bar(13))
    assert engine.prompts[0] == [TOKENIZER.find("<s_cord-v2>")]


def test_a_task_the_model_does_not_know_is_refused(engine):
    with pytest.raises(ModelError, match="scripted reads formula, not word"):
        Reader(TextSystem(CONFIG, engine, TOKENIZER, tasks.find("word"))).read(bar(13))
    with pytest.raises(ModelError, match="scripted reads formula, not question"):
        Reader(TextSystem(CONFIG, engine, TOKENIZER, tasks.find("question"))).read(bar(13), Options(question="who?"))


def test_a_question_goes_with_the_task_that_asks_one(reader, engine):
    with pytest.raises(ConfigError, match="takes no question"):
        reader.read(bar(13), Options(question="who?"))
    with pytest.raises(ConfigError, match="give one with --question"):
        Reader(TextSystem(CONFIG, engine, TOKENIZER, tasks.find("question"))).read(bar(13))


@pytest.mark.parametrize("wrong", [{"beams": 0}, {"max_tokens": 0}, {"n_best": 0}])
def test_options_must_be_positive(wrong):
    with pytest.raises(ConfigError, match="must be at least 1"):
        Options(**wrong)


def test_a_long_prompt_leaves_less_room(engine):
    config = replace(CONFIG, generation=replace(CONFIG.generation, start=(1,) * 11, max_tokens=50))
    document = Reader(TextSystem(config, engine, TOKENIZER, tasks.find("formula"))).read(bar(13))
    assert document.status.kind == "limit"


LOOKS = replace(CONFIG, generation=replace(CONFIG.generation, second_looks=(2.0, 3.0), sure=0.95))


def test_a_picture_that_leaves_doubts_is_looked_at_again():
    engine = ScriptedEngine({10: 0.1, 20: 2.0})
    document = Reader(TextSystem(LOOKS, engine, TOKENIZER, tasks.find("formula"))).read(bar(10, 5))
    assert [(shape[0], shape[3]) for (shape, _) in engine.batches] == [(1, 16), (2, 44)]
    [token] = document.blocks[0].tokens
    others = [-number for number in range(16) if number != 4]
    assert token.probability == pytest.approx(np.exp(2.0) / np.exp([2.0, *others]).sum())


def test_a_first_look_that_is_sure_is_the_last():
    engine = ScriptedEngine()
    Reader(TextSystem(LOOKS, engine, TOKENIZER, tasks.find("formula"))).read(bar(10, 5))
    assert len(engine.batches) == 1


def test_no_token_in_doubt_makes_a_second_look_needless():
    for doubtful, looks in ((0.9, 2), (0.01, 1)):
        config = replace(LOOKS, generation=replace(LOOKS.generation, doubtful=doubtful))
        engine = ScriptedEngine({10: 0.1})
        Reader(TextSystem(config, engine, TOKENIZER, tasks.find("formula"))).read(bar(10, 5))
        assert len(engine.batches) == looks


def test_only_second_looks_search_widely_unless_a_width_is_asked_for():
    config = replace(LOOKS, generation=replace(LOOKS.generation, greedy_first=True, beams=3))
    system = TextSystem(config, ScriptedEngine(), TOKENIZER, tasks.find("formula"))
    for options, first in ((Options(), GreedyPath), (Options(beams=2), BeamPaths), (Options(n_best=2), BeamPaths)):
        sight = system.sight(options)
        assert isinstance((sight.glance or sight.new_path)(9), first)
        assert isinstance(sight.new_path(9), BeamPaths)


def test_of_looks_that_agree_the_surest_is_taken_wherever_it_was():
    engine = ScriptedEngine({10: 2.0, 20: 0.1})
    alone = Reader(TextSystem(CONFIG, ScriptedEngine({10: 2.0}), TOKENIZER, tasks.find("formula"))).read(bar(10, 5))
    assert Reader(TextSystem(LOOKS, engine, TOKENIZER, tasks.find("formula"))).read(bar(10, 5)) == alone


def test_a_reading_that_got_lost_goes_on_at_the_size_that_reads_best():
    generation = replace(CONFIG.generation, far_looks=(2.0,), lost=0.8, second_looks=(1.5,), sure=0.95)
    for far, width in ((2.0, 44), (0.0, 24)):  # surer from afar or not: 1.5 times twice the size, or 1.5 times the size
        engine = ScriptedEngine({10: 0.1, 20: far})
        Reader(TextSystem(replace(CONFIG, generation=generation), engine, TOKENIZER, tasks.find("formula"))).read(
            bar(10, 5)
        )
        assert [shape[3] for (shape, _) in engine.batches] == [16, 28, width]


def test_what_looks_like_something_else_is_said_and_not_looked_at_on_and_on():
    generation = replace(CONFIG.generation, far_looks=(2.0,), lost=0.8, second_looks=(1.5,), sure=0.95, unlikely=0.7)
    engine = ScriptedEngine({10: 0.1, 20: 0.1})
    system = TextSystem(replace(CONFIG, generation=generation), engine, TOKENIZER, tasks.find("formula"))
    document = Reader(system).read(bar(10, 5))
    assert document.status.kind == "unlikely"
    assert "does not look like a formula" in document.status.reason
    assert document.text  # a guess, but it is there
    assert len(engine.batches) == 2


class EndingEngine(ScriptedEngine):
    """Says of every picture, more or less surely, that there is nothing of its kind."""

    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def start(self, pixels, sizes=None):
        super().start(pixels, sizes)
        return _RecordingRun(ScriptedRun(*([END] for _ in pixels), margin=self.margin), self.prompts)


@pytest.mark.parametrize(("margin", "rounds"), [(5.0, 1), (0.5, 2)])
def test_what_the_model_says_is_nothing_of_its_kind_is_looked_at_again_only_in_doubt(margin, rounds):
    generation = replace(CONFIG.generation, far_looks=(2.0,), lost=0.9, second_looks=(1.5,), sure=0.95)
    for unlikely, kind in ((0.65, "unlikely"), (0.0, "empty")):  # a model that tells, and one that does not
        engine = EndingEngine(margin)
        config = replace(CONFIG, generation=replace(generation, rows=True, unlikely=unlikely))
        document = Reader(TextSystem(config, engine, TOKENIZER, tasks.find("formula"))).read(bar(10, 5))
        assert document.status.kind == kind
        assert (document.text, document.blocks, document.confidence) == ("", (), None)
        assert len(engine.batches) == rounds
        assert "guess" not in document.status.reason


def test_a_model_folder_reads_by_name_alone(tiny_folder: Path):
    document = unrender.read(bar(30), model=str(tiny_folder))
    assert document.model == str(tiny_folder)
    assert document.task == "formula"
    assert document.blocks[0].tokens[0].box is not None


def test_a_batch_reads_what_single_reads_read(tiny_folder: Path):
    reader = unrender.open_reader(str(tiny_folder))
    pictures = [bar(30), bar(7, 30), bar(61, 9), bar(44)]
    alone = [reader.read(picture).text for picture in pictures]
    assert len(set(alone)) > 2
    assert [document.text for document in reader.read_many(pictures, batch=4)] == alone


def test_an_engine_the_folder_cannot_serve_is_refused(tiny_folder: Path):
    with pytest.raises(ModelError, match="has no ONNX graphs"):
        unrender.open_reader(str(tiny_folder), engine="onnx")
    with pytest.raises(ConfigError, match="no engine called tpu"):
        unrender.open_reader(str(tiny_folder), engine="tpu")
