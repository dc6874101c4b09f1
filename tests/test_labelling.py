"""Words to tokens, windows and merged scores."""

import itertools

import layout_models
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrender.engines.labelling import cut_windows, label_words, stack_windows
from unrender.errors import ModelError


class PlaceEngine:
    """Scores every token by its word's top coordinate, so that a test sees which word got which scores."""

    def __init__(self) -> None:
        self.longest = 0

    def label(self, tokens, boxes, mask, pixels):
        self.longest = max(self.longest, tokens.shape[1])
        return np.stack([boxes[:, :, 1], -boxes[:, :, 1]], axis=-1).astype(np.float32)


@pytest.fixture
def tokenizer(tmp_path):
    return layout_models.tokenizer(tmp_path, layout_models.tiny())


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.integers(9, 30), st.integers(0, 8))
def test_windows_cover_every_word_and_none_is_too_long(lengths, room, stride):
    spans = cut_windows(lengths, room, stride)
    covered = {place for start, stop in spans for place in range(start, stop)}
    assert covered == set(range(len(lengths)))
    assert all(sum(lengths[start:stop]) <= room for start, stop in spans)
    assert all(later > earlier for (earlier, _), (later, _) in itertools.pairwise(spans))


def test_neighbouring_windows_share_tokens():
    spans = cut_windows([1] * 50, room=20, stride=5)
    assert spans == [(0, 20), (15, 35), (30, 50)]


def test_a_window_is_framed_and_special_tokens_have_the_empty_box(tokenizer):
    [window] = tokenizer.windows(["Totals", "9"], np.array([[1, 2, 3, 4], [5, 6, 7, 8]]))
    names = [layout_models.VOCABULARY[token] for token in window.tokens]
    assert names == ["[CLS]", "total", "##s", "9", "[SEP]"]
    assert window.boxes.tolist() == [[0, 0, 0, 0], [1, 2, 3, 4], [1, 2, 3, 4], [5, 6, 7, 8], [0, 0, 0, 0]]
    assert window.words.tolist() == [-1, 0, 0, 1, -1]
    assert window.firsts.tolist() == [False, True, False, True, False]


def test_the_published_separator_stands_at_the_last_corner(tmp_path):
    tokenizer = layout_models.tokenizer(tmp_path, layout_models.tiny(separator_box="last"))
    [window] = tokenizer.windows(["a"], np.array([[1, 2, 3, 4]]))
    assert window.boxes[-1].tolist() == [1000, 1000, 1000, 1000]


@pytest.mark.parametrize("word", ["漢字", "Ω", "\u200b", "🙂🙂"])
def test_a_word_foreign_to_the_vocabulary_is_unknown_but_not_lost(tokenizer, word):
    [piece] = tokenizer.pieces([word])
    assert set(piece) == {tokenizer.unknown}


def test_a_very_long_word_leaves_room_for_others(tokenizer):
    [piece] = tokenizer.pieces(["1." * 500])
    assert len(piece) == 48


@pytest.mark.parametrize("count", [1, 30, 63, 200, 1000])
def test_every_word_of_a_long_page_gets_its_own_scores_to_the_last(tokenizer, count):
    boxes = layout_models.boxes(count)
    engine = PlaceEngine()
    scores = label_words(engine, tokenizer, ["ab"] * count, boxes, None)
    assert np.array_equal(scores[:, 0], boxes[:, 1].astype(np.float32))
    assert engine.longest <= 64


def test_scores_of_a_word_in_two_windows_are_averaged(tokenizer):
    class CountingEngine:
        calls = 0

        def label(self, tokens, boxes, mask, pixels):
            rows = np.arange(self.calls, self.calls + len(tokens), dtype=np.float32)
            self.calls += len(tokens)
            return np.repeat(rows[:, None, None], tokens.shape[1], axis=1)

    scores = label_words(CountingEngine(), tokenizer, ["a"] * 100, layout_models.boxes(100), None)
    assert sorted(set(scores[:, 0].tolist())) == [0.0, 0.5, 1.0]


def test_stacked_windows_are_padded_and_masked(tokenizer):
    windows = [tokenizer.windows(["a"] * count, layout_models.boxes(count))[0] for count in (1, 3)]
    tokens, boxes, mask = stack_windows(windows, tokenizer.pad)
    assert mask.tolist() == [[True] * 3 + [False] * 2, [True] * 5]
    assert tokens[0, 3:].tolist() == [tokenizer.pad] * 2
    assert not boxes[0, 3:].any()


def test_a_page_without_words_cannot_be_labelled(tokenizer):
    with pytest.raises(ModelError, match="no words"):
        label_words(PlaceEngine(), tokenizer, [], np.zeros((0, 4), np.int64), None)


def test_a_tokenizer_without_special_tokens_is_refused(tmp_path):
    from unrender.checkpoints.vocabulary import wordpiece
    from unrender.engines.labelling import LabelTokenizer

    (tmp_path / "tokenizer.json").write_text(wordpiece(["[UNK]", "a"]))
    with pytest.raises(ModelError, match="lacks one of the tokens"):
        LabelTokenizer(tmp_path / "tokenizer.json", layout_models.tiny())
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="not a tokenizer"):
        LabelTokenizer(tmp_path / "tokenizer.json", layout_models.tiny())
