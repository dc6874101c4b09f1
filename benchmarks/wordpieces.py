"""The other vocabulary: frequent pieces of words as tokens beside the formula tokens, for shorter labels.

An experiment: no model that ships uses it.
Learnt from the labels of a prepared set; a set of characters is rewritten, pictures and all, as a set of word pieces.
A piece that begins a word holds the space before it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer as Library
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from unrender.formats.marked import DISPLAY, MARKERS, MATH, SOFT_HYPHEN, SPACE, character_of, token_of
from unrender.tokens import FILE_NAME, LatexTokenizer
from unrender.training.data import Cache, CacheWriter, Sample

PIECES_FILE = "pieces.json"
_PIECES = 2_000
_SAMPLES = 200_000  # labels from which pieces are learnt


def learn_pieces(cache: Cache, *, count: int = _PIECES) -> Library:
    """Learn frequent pieces from the words of a set's labels."""
    library = Library(BPE())
    words = (word for number in range(min(len(cache), _SAMPLES)) for word in _words(_tokens(cache, number)))
    library.train_from_iterator(words, BpeTrainer(vocab_size=count, show_progress=False))
    return library


def make_piece_tokenizer(base: Sequence[str], library: Library) -> LatexTokenizer:
    """Append the learnt pieces of more than one character to a vocabulary of characters, whose ids stay."""
    learnt = sorted(library.get_vocab().items(), key=lambda item: item[1])
    return LatexTokenizer([*base, *(piece for piece, _ in learnt if len(piece) > 1)])


def rewrite(source: Path, target: Path, library: Library) -> int:
    """Write a set of characters again with word pieces; return how many samples there are."""
    cache = Cache(source)
    tokenizer = make_piece_tokenizer(cache.vocabulary, library)
    writer = CacheWriter(target, tokenizer.tokens)
    for number in range(len(cache)):
        tokens, boxes = join_pieces(_tokens(cache, number), cache.boxes(number), library)
        ids = tuple(tokenizer.encode(" ".join(tokens)))
        writer.add(Sample(cache.gray(number), ids, int(cache.index[number]["group"]), boxes))
    writer.close()
    tokenizer.save(target / FILE_NAME)
    library.save(str(target / PIECES_FILE))
    return len(writer)


def join_pieces(
    tokens: Sequence[str], boxes: NDArray[np.int16], library: Library
) -> tuple[list[str], NDArray[np.int16]]:
    """Put the characters of words together to pieces; a piece's box is that of its characters."""
    joined: list[str] = []
    places: list[NDArray[np.int16]] = []
    for start, end, is_word in _runs(tokens):
        if not is_word:
            joined += tokens[start:end]
            places += list(boxes[start:end])
            continue
        for piece in library.encode(_spelled(tokens[start:end])).tokens:
            joined.append(piece if len(piece) > 1 else token_of(piece))
            places.append(_around(boxes[start : start + len(piece)]))
            start += len(piece)
    return joined, np.array(places, dtype=np.int16).reshape(-1, 4)


def split_piece(piece: str) -> list[str]:
    """Return the characters' tokens of which a token of either vocabulary consists."""
    if piece in MARKERS or piece.startswith(("\\", "--")) or len(piece) == 1:
        return [piece]
    return [token_of(character) for character in piece]


def _tokens(cache: Cache, number: int) -> list[str]:
    return [cache.vocabulary[token] for token in cache.tokens(number)]


def _words(tokens: Sequence[str]) -> Iterator[str]:
    return (_spelled(tokens[start:end]) for start, end, is_word in _runs(tokens) if is_word)


def _spelled(tokens: Sequence[str]) -> str:
    return "".join(SPACE if token == SPACE else character_of(token) for token in tokens)


def _runs(tokens: Sequence[str]) -> Iterator[tuple[int, int, bool]]:
    """Divide a label into words, each with the space before it, and what stands between them."""
    start, inside = 0, False
    for index, token in enumerate(tokens):
        if token in (*MATH, *DISPLAY):
            inside = token in (MATH[0], DISPLAY[0])
        letter = not inside and _is_letter(token)
        opens = token == SPACE and not inside
        if index > start and not letter:
            yield start, index, _is_word(tokens[start])
            start = index
        if not letter and not opens:
            yield index, index + 1, False
            start = index + 1
    if start < len(tokens):
        yield start, len(tokens), _is_word(tokens[start])


def _is_word(first: str) -> bool:
    return first == SPACE or _is_letter(first)


def _is_letter(token: str) -> bool:
    return len(character_of(token)) == 1 and token not in (SPACE, SOFT_HYPHEN)


def _around(boxes: NDArray[np.int16]) -> NDArray[np.int16]:
    known = boxes[boxes[:, 0] >= 0]
    if not len(known):
        return np.full(4, -1, dtype=np.int16)
    return np.concatenate([known[:, :2].min(axis=0), known[:, 2:].max(axis=0)])
