import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from unrender.errors import ModelError
from unrender.tokens import SPECIALS, BpeTokenizer, CharacterTokenizer, LatexTokenizer, Tokenizer, open_tokenizer

LABELS = [r"\frac { a } { b }", r"a _ { 2 } \, \ b", r"\left( a \right)"]


@dataclass(frozen=True)
class Generation:
    end: int = 2
    pad: int = 0


@dataclass(frozen=True)
class Config:
    vocabulary: str
    generation: Generation = Generation()


def test_the_special_tokens_come_first():
    assert LatexTokenizer(["x"]).tokens == ("<pad>", "<s>", "</s>", "<unk>", "x")


def test_a_latex_vocabulary_is_sorted_and_leaves_out_rare_tokens():
    assert LatexTokenizer.build(LABELS).tokens == (*SPECIALS, "a", "b", "{", "}")
    assert r"\frac" in LatexTokenizer.build(LABELS, at_least=1).tokens


def test_latex_tokens_round_trip_with_single_spaces():
    tokenizer = LatexTokenizer.build(LABELS, at_least=1)
    for label in LABELS:
        assert tokenizer.decode(tokenizer.encode(label)) == label


def test_unknown_tokens_become_unk_and_can_be_listed():
    tokenizer = LatexTokenizer.build(LABELS, at_least=1)
    assert tokenizer.encode(r"a \oint") == [tokenizer.find("a"), SPECIALS.index("<unk>")]
    assert tokenizer.unknown(r"a \oint b") == [r"\oint"]


def test_decoding_leaves_out_start_end_and_padding():
    tokenizer = LatexTokenizer(["x", "y"])
    assert tokenizer.decode([1, 4, 5, 2, 0, 0]) == "x y"
    assert tokenizer.piece(2) == ""


def test_an_id_outside_the_vocabulary_is_refused():
    with pytest.raises(ModelError, match="token 9 is not in the vocabulary, which has 5 tokens"):
        LatexTokenizer(["x"]).piece(9)


@settings(deadline=None)
@given(st.text(alphabet="abc \n", max_size=20))
def test_characters_round_trip(text: str):
    tokenizer = CharacterTokenizer("abc \n")
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize(
    ("vocabulary", "tokenizer", "text"),
    [
        ("latex", LatexTokenizer.build(LABELS, at_least=1), r"\frac { a } { \oint } \ b"),
        ("characters", CharacterTokenizer("ab \n"), "ab\n x b"),
    ],
)
def test_a_saved_vocabulary_opens_again_here_and_in_the_tokenizers_library(
    tmp_path: Path, vocabulary: str, tokenizer: Tokenizer, text: str
):
    tokenizer.save(tmp_path / "tokenizer.json")
    opened = open_tokenizer(tmp_path, Config(vocabulary))
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert opened.size == library.get_vocab_size() == tokenizer.size
    assert opened.encode(text) == library.encode(text).ids == tokenizer.encode(text)
    assert opened.decode(opened.encode(text)) == library.decode(opened.encode(text), skip_special_tokens=False)


def test_a_bpe_tokenizer_keeps_tags_and_drops_what_frames_the_text(tmp_path: Path):
    tokenizer = _bpe(tmp_path)
    ids = tokenizer.encode("<s_name>two words</s_name>")
    assert tokenizer.find("<s_name>") == ids[0]
    assert tokenizer.decode([tokenizer.find("<s>"), *ids, 2, 1]) == "<s_name>two words</s_name>"


def test_pieces_of_a_bpe_tokenizer_carry_their_space(tmp_path: Path):
    tokenizer = _bpe(tmp_path)
    ids = tokenizer.encode("two words")
    assert "".join(tokenizer.piece(token) for token in ids) == "two words"
    assert tokenizer.piece(2) == ""


def test_a_bpe_tokenizer_survives_saving(tmp_path: Path):
    tokenizer = _bpe(tmp_path)
    tokenizer.save(tmp_path / "copy.json")
    assert BpeTokenizer(tmp_path / "copy.json").encode("two words") == tokenizer.encode("two words")


@pytest.mark.parametrize("vocabulary", ["latex", "tokenizer"])
def test_a_folder_without_tokenizer_says_so(tmp_path: Path, vocabulary: str):
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        open_tokenizer(tmp_path, Config(vocabulary))


@pytest.mark.parametrize("vocabulary", ["latex", "characters", "tokenizer"])
@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"model": {"vocab": 3}}', '{"model": {"vocab": {"a": "x"}}}'])
def test_a_damaged_tokenizer_file_is_refused(tmp_path: Path, vocabulary: str, text: str):
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        open_tokenizer(tmp_path, Config(vocabulary))


@pytest.mark.parametrize("vocab", [{"a": 0}, {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "a": 5}])
def test_a_token_list_must_begin_with_the_specials_and_have_no_gaps(tmp_path: Path, vocab: dict[str, int]):
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocab}}))
    with pytest.raises(ModelError, match="number its tokens from 0"):
        open_tokenizer(tmp_path, Config("latex"))


def _bpe(folder: Path) -> BpeTokenizer:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    library = Tokenizer(models.BPE(unk_token="<unk>"))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<s_name>", "</s_name>"]
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=specials, show_progress=False)
    library.train_from_iterator(["two words", "two more words"] * 5, trainer)
    library.save(str(folder / "tokenizer.json"))
    return BpeTokenizer(folder / "tokenizer.json")
