"""The vocabulary of word pieces: labels get shorter, and nothing of them is lost."""

from pathlib import Path

import numpy as np
from wordpieces import learn_pieces, rewrite, split_piece

from unrender.training.data import Cache, CacheWriter, Sample
from unrender.training.page.corpora import make_tokenizer

LABEL = "t h e ␣ m e t h o d ␣ <m> x _ { i } </m> , ␣ <b> t h e n </b> ␣ t h e <br> m e t h o d".split()


def characters(folder: Path) -> Cache:
    tokenizer = make_tokenizer()
    writer = CacheWriter(folder, tokenizer.tokens)
    boxes = np.array([(place, 0, place + 1, 9) for place in range(len(LABEL))], dtype=np.int16)
    for _ in range(5):
        writer.add(Sample(np.zeros((9, 60), dtype=np.uint8), tuple(tokenizer.encode(" ".join(LABEL))), 3, boxes))
    writer.close()
    return Cache(folder)


def test_pieces_are_shorter_and_spell_the_same_label(tmp_path: Path) -> None:
    cache = characters(tmp_path / "characters")
    assert rewrite(tmp_path / "characters", tmp_path / "pieces", learn_pieces(cache, count=60)) == 5
    pieces = Cache(tmp_path / "pieces")
    tokens = pieces.text(0).split(" ")
    assert [token for piece in tokens for token in split_piece(piece)] == LABEL
    assert len(tokens) < 0.7 * len(LABEL)
    assert pieces.vocabulary[: len(cache.vocabulary)] == cache.vocabulary


def test_the_box_of_a_piece_is_that_of_its_characters(tmp_path: Path) -> None:
    cache = characters(tmp_path / "characters")
    rewrite(tmp_path / "characters", tmp_path / "pieces", learn_pieces(cache, count=60))
    pieces = Cache(tmp_path / "pieces")
    first = len(split_piece(pieces.text(0).split(" ")[0]))
    assert pieces.boxes(0)[0].tolist() == [0, 0, first, 9]
    assert int(pieces.index[0]["group"]) == 3
