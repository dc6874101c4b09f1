"""From the words of a page to scores for each of them: tokens, windows of a long page, and their scores merged.

NumPy in and out, so one road serves both engines: ONNX Runtime on labels.onnx, or torch on the weights.
Shapes: B windows, L tokens, K labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from unrender.checkpoints import GRAPHS, Loaded
from unrender.engines.sessions import count_cores, open_session
from unrender.errors import ModelError
from unrender.models.layoutlmv2 import COORDINATES, LabelConfig

if TYPE_CHECKING:
    from unrender.layers.spatial import LabelModel

Ids = NDArray[np.int64]
Scores = NDArray[np.float32]
Pixels = NDArray[np.float32]
_LONGEST_WORD = 48  # tokens kept of one word
_WINDOWS_AT_ONCE = 4
_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class LabelEngine(Protocol):
    """Who computes: labels a batch of windows."""

    def label(self, tokens: Ids, boxes: Ids, mask: NDArray[np.bool_], pixels: Pixels | None) -> Scores:
        """Score (B, L) tokens with (B, L, 4) boxes on pages with (B, C, H, W) pixels: (B, L, K)."""


@dataclass(frozen=True)
class Window:
    """A stretch of a page that the model sees at once, framed by [CLS] and [SEP].

    `words` tells the word of each token, -1 for special tokens.
    """

    tokens: Ids  # (L,)
    boxes: Ids  # (L, 4)
    words: Ids  # (L,)

    @property
    def firsts(self) -> NDArray[np.bool_]:
        """Where words begin: only a word's first token is labelled."""
        before = np.concatenate([[-1], self.words[:-1]])
        return np.asarray((self.words >= 0) & (self.words != before), dtype=np.bool_)


class LabelTokenizer:
    """WordPiece tokens of words, each with its word's box."""

    def __init__(self, path: Path, config: LabelConfig) -> None:
        from tokenizers import Tokenizer

        try:
            self._library = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises no narrower class
            raise ModelError(f"{path} is not a tokenizer the `tokenizers` library can read: {error}") from error
        self._library.no_padding()
        self._library.no_truncation()
        found = [token for name in _SPECIALS if (token := self._library.token_to_id(name)) is not None]
        if len(found) < len(_SPECIALS):
            raise ModelError(f"{path} lacks one of the tokens {' '.join(_SPECIALS)}")
        self.pad, self.unknown, self.begin, self.separate, self.mask = found
        self.size = int(self._library.get_vocab_size(with_added_tokens=True))
        self._config = config

    def pieces(self, words: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each word; a word that is nothing to the vocabulary is one unknown token."""
        found = self._library.encode_batch(list(words), add_special_tokens=False)
        return [list(word.ids)[:_LONGEST_WORD] or [self.unknown] for word in found]

    def windows(self, words: Sequence[str], boxes: Ids) -> list[Window]:
        """Cut a page into windows that share about `stride` tokens; a short page is one window."""
        pieces = self.pieces(words)
        room = self._config.layout.max_positions - 2
        spans = cut_windows([len(piece) for piece in pieces], room, self._config.stride)
        return [self.frame(pieces[start:stop], boxes[start:stop], start) for start, stop in spans]

    def frame(self, pieces: Sequence[Sequence[int]], boxes: Ids, first_word: int = 0) -> Window:
        """Put [CLS] before and [SEP] behind the tokens of some words."""
        counts = [len(piece) for piece in pieces]
        inner = [token for piece in pieces for token in piece]
        last = COORDINATES if self._config.layout.separator_box == "last" else 0
        repeated = np.repeat(np.asarray(boxes, dtype=np.int64).reshape(-1, 4), counts, axis=0)
        return Window(
            np.array([self.begin, *inner, self.separate], dtype=np.int64),
            np.concatenate([np.zeros((1, 4), np.int64), repeated, np.full((1, 4), last, np.int64)]),
            np.concatenate([[-1], np.repeat(np.arange(len(pieces)) + first_word, counts), [-1]]).astype(np.int64),
        )


def cut_windows(lengths: Sequence[int], room: int, stride: int) -> list[tuple[int, int]]:
    """Return (start, stop) of the words in each window: none cut through, all covered, about `stride` tokens shared."""
    spans: list[tuple[int, int]] = []
    start = 0
    while True:
        stop, used = start, 0
        while stop < len(lengths) and used + lengths[stop] <= room:
            used += lengths[stop]
            stop += 1
        spans.append((start, stop))
        if stop >= len(lengths):
            return spans
        following, shared = stop, 0
        while following - 1 > start and shared + lengths[following - 1] <= stride:
            following -= 1
            shared += lengths[following]
        start = following


def label_words(
    engine: LabelEngine,
    tokenizer: LabelTokenizer,
    words: Sequence[str],
    boxes: Ids,
    pixels: Pixels | None,
    check: Callable[[], None] = lambda: None,
) -> Scores:
    """Score every word of a page, (N, K): the scores of its first token, averaged over the windows that hold it.

    `check` is called before every few windows and may raise to stop the work.
    """
    if not words:
        raise ModelError("there are no words to label on this page")
    windows = tokenizer.windows(words, boxes)
    totals: NDArray[np.float64] | None = None
    counts = np.zeros(len(words))
    for start in range(0, len(windows), _WINDOWS_AT_ONCE):
        check()
        batch = windows[start : start + _WINDOWS_AT_ONCE]
        picture = None if pixels is None else np.repeat(pixels[None], len(batch), axis=0)
        scores = engine.label(*stack_windows(batch, tokenizer.pad), picture)
        if totals is None:
            totals = np.zeros((len(words), scores.shape[-1]))
        for row, window in zip(scores, batch, strict=True):
            firsts = np.flatnonzero(window.firsts)
            totals[window.words[firsts]] += row[firsts]
            counts[window.words[firsts]] += 1
    assert totals is not None
    return (totals / counts[:, None]).astype(np.float32)


def stack_windows(windows: Sequence[Window], pad: int) -> tuple[Ids, Ids, NDArray[np.bool_]]:
    """Join windows to (B, L) tokens, (B, L, 4) boxes and a (B, L) mask, padded at the end."""
    length = max(len(window.tokens) for window in windows)
    tokens = np.full((len(windows), length), pad, dtype=np.int64)
    boxes = np.zeros((len(windows), length, 4), dtype=np.int64)
    mask = np.zeros((len(windows), length), dtype=bool)
    for row, window in enumerate(windows):
        size = len(window.tokens)
        tokens[row, :size], boxes[row, :size], mask[row, :size] = window.tokens, window.boxes, True
    return tokens, boxes, mask


class OnnxLabelEngine:
    """Labels windows one at a time with the exported graph; needs no torch."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self._session = open_session(folder / GRAPHS["labels"][0], threads or count_cores())
        self._looks = any(value.name == "pixels" for value in self._session.get_inputs())

    def label(self, tokens: Ids, boxes: Ids, mask: NDArray[np.bool_], pixels: Pixels | None) -> Scores:
        found = []
        for row, length in enumerate(mask.sum(axis=1)):
            feeds: dict[str, NDArray[np.generic]] = {"tokens": tokens[row, :length], "boxes": boxes[row, :length]}
            if self._looks:
                assert pixels is not None, "this model looks at the picture too"
                feeds["pixels"] = pixels[row : row + 1]
            found.append(self._session.run(["scores"], feeds)[0])
        scores = np.zeros((*tokens.shape, found[0].shape[-1]), dtype=np.float32)
        for row, values in enumerate(found):
            scores[row, : len(values)] = values
        return scores


class TorchLabelEngine:
    """Labels a batch of windows with a LabelModel."""

    def __init__(self, module: "LabelModel") -> None:
        self.module = module.eval()

    def label(self, tokens: Ids, boxes: Ids, mask: NDArray[np.bool_], pixels: Pixels | None) -> Scores:
        import torch

        from unrender.layers.spatial import LabelInputs

        picture = None if pixels is None else torch.from_numpy(pixels)
        inputs = LabelInputs(torch.from_numpy(tokens), torch.from_numpy(boxes), torch.from_numpy(mask), picture)
        with torch.inference_mode():
            scores: Scores = self.module(inputs).numpy()
        return scores


def open_torch_engine(loaded: Loaded) -> "TorchLabelEngine":
    """Build the module of a loaded model and fill it with its weights."""
    from unrender.layers import fill
    from unrender.layers.spatial import LabelModel

    return TorchLabelEngine(fill(LabelModel(loaded.label_config), loaded.weights()))
