"""Text to token ids and back: a tokenizer.json of the `tokenizers` library, single characters, LaTeX tokens.

Whatever the vocabulary, the model folder holds it as tokenizer.json, which the `tokenizers` library can read too.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from unrender.errors import ModelError

FILE_NAME = "tokenizer.json"
PAD, START, END, UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"
SPECIALS = (PAD, START, END, UNKNOWN)  # ids 0 to 3 of every vocabulary we build
_FRAME = frozenset({"<pad>", "<s>", "</s>", "[PAD]", "[CLS]", "[SEP]", "[BOS]", "[EOS]"})

# How the `tokenizers` library is told to split and join.
_EACH_CHARACTER: Mapping[str, object] = {
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": False},
    "decoder": {"type": "Fuse"},
}
_BETWEEN_SPACES: Mapping[str, object] = {"pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None}


class Tokenizer(Protocol):
    """Text to ids and back; neither start nor end tokens are added, and decoding leaves them out."""

    @property
    def size(self) -> int:
        """How many ids there are."""
        ...

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...

    def piece(self, token: int) -> str:
        """Return the text of one token by itself, with the space it begins with if it has one."""
        ...

    def find(self, piece: str) -> int | None:
        """Return the id of a token of the vocabulary."""
        ...

    def save(self, path: Path) -> None:
        """Write tokenizer.json."""
        ...


class BpeTokenizer:
    """Any tokenizer.json of the `tokenizers` library.

    Special tokens that carry meaning, such as Donut's tags, stay in the text; those that only frame it do not.
    """

    def __init__(self, path: Path, *, frame: Iterable[int] = ()) -> None:
        from tokenizers import Tokenizer as Library

        text = _read(path)
        try:
            self._library = Library.from_str(text)
        except Exception as error:  # the library raises no narrower class
            raise ModelError(f"{path} is not a tokenizer the `tokenizers` library can read: {error}") from error
        named = (self._library.token_to_id(name) for name in _FRAME)
        self._frame = {token for token in (*named, *frame) if token is not None}

    @property
    def size(self) -> int:
        return int(self._library.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str) -> list[int]:
        return list(self._library.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> str:
        kept = [int(token) for token in ids if token not in self._frame]
        return str(self._library.decode(kept, skip_special_tokens=False))

    def piece(self, token: int) -> str:
        if token in self._frame:
            return ""
        raw = self._library.id_to_token(token)
        if raw is None:
            raise ModelError(f"token {token} is not in the vocabulary, which has {self.size} tokens")
        text = self.decode([token])
        return " " + text if raw[:1] in {"▁", "Ġ"} and not text.startswith(" ") else text

    def find(self, piece: str) -> int | None:
        token: int | None = self._library.token_to_id(piece)
        return token

    def save(self, path: Path) -> None:
        path.write_text(self._library.to_str(pretty=False) + "\n", encoding="utf-8")


class _ListTokenizer:
    """A plain list of tokens, the specials first."""

    _separator: str
    _form: Mapping[str, object]

    def __init__(self, tokens: Iterable[str]) -> None:
        ordinary = dict.fromkeys(token for token in tokens if token not in SPECIALS)
        self._tokens = (*SPECIALS, *ordinary)
        self._ids = {token: index for index, token in enumerate(self._tokens)}
        self._unknown = self._ids[UNKNOWN]
        self._frame = {self._ids[name] for name in (PAD, START, END)}

    @property
    def size(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Every token in the order of the ids."""
        return self._tokens

    def split(self, text: str) -> list[str]:
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(token, self._unknown) for token in self.split(text)]

    def unknown(self, text: str) -> list[str]:
        """Return the tokens of the text that the vocabulary does not have."""
        return [token for token in self.split(text) if token not in self._ids]

    def decode(self, ids: Sequence[int]) -> str:
        return self._separator.join(self.piece(int(token)) for token in ids if token not in self._frame)

    def piece(self, token: int) -> str:
        if not 0 <= token < self.size:
            raise ModelError(f"token {token} is not in the vocabulary, which has {self.size} tokens")
        return "" if token in self._frame else self._tokens[token]

    def find(self, piece: str) -> int | None:
        return self._ids.get(piece)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self._as_library_json(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    def _added(self) -> tuple[str, ...]:
        """Return the tokens that the library must not take apart."""
        return SPECIALS

    def _as_library_json(self) -> dict[str, object]:
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [{"id": self._ids[name], "content": name, **flags} for name in self._added()],
            "normalizer": None,
            "post_processor": None,
            **self._form,
            "model": {"type": "WordLevel", "vocab": self._ids, "unk_token": UNKNOWN},
        }


class CharacterTokenizer(_ListTokenizer):
    """Each character is a token (seed 002), and so is each longer piece of the vocabulary, such as Donut's tags."""

    _separator = ""
    _form = _EACH_CHARACTER

    def __init__(self, tokens: Iterable[str]) -> None:
        super().__init__(tokens)
        self._whole = [token for token in self._tokens[len(SPECIALS) :] if len(token) > 1]
        longest_first = sorted(self._whole, key=len, reverse=True)
        self._pieces = re.compile("|".join([*map(re.escape, longest_first), "."]), re.DOTALL)

    def split(self, text: str) -> list[str]:
        return self._pieces.findall(text) if self._whole else list(text)

    def _added(self) -> tuple[str, ...]:
        return (*SPECIALS, *self._whole)


class LatexTokenizer(_ListTokenizer):
    """Each space-separated piece of canonical LaTeX is a token (seed 004, 5.1)."""

    _separator = " "
    _form = _BETWEEN_SPACES

    @classmethod
    def build(cls, texts: Iterable[str], *, at_least: int = 2) -> "LatexTokenizer":
        """Collect the tokens that occur `at_least` times in canonical LaTeX texts, in sorted order."""
        counts = Counter(token for text in texts for token in text.split())
        return cls(sorted(token for token, count in counts.items() if count >= at_least))

    def split(self, text: str) -> list[str]:
        return text.split()


class _Generation(Protocol):
    @property
    def end(self) -> int: ...

    @property
    def pad(self) -> int: ...


class _Config(Protocol):
    """What `open_tokenizer` needs of a TextConfig."""

    @property
    def vocabulary(self) -> str: ...

    @property
    def generation(self) -> _Generation: ...


def open_tokenizer(folder: Path, config: _Config) -> Tokenizer:
    """Open the tokenizer.json of a model folder as the kind of vocabulary its config names."""
    path = Path(folder) / FILE_NAME
    if config.vocabulary == "characters":
        return CharacterTokenizer(read_list(path))
    if config.vocabulary == "latex":
        return LatexTokenizer(read_list(path))
    return BpeTokenizer(path, frame=(config.generation.end, config.generation.pad))


def read_list(path: Path) -> list[str]:
    """Read the tokens of a plain list from tokenizer.json, in the order of their ids."""
    try:
        vocabulary = json.loads(_read(path))["model"]["vocab"]
        tokens = sorted(vocabulary, key=lambda token: int(vocabulary[token]))
        contiguous = [vocabulary[token] for token in tokens] == list(range(len(tokens)))
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not a list of tokens in WordLevel format") from error
    if not contiguous or tuple(tokens[: len(SPECIALS)]) != SPECIALS:
        raise ModelError(f"{path} must number its tokens from 0 and begin with {' '.join(SPECIALS)}")
    return tokens


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ModelError(f"{path.parent} has no {path.name}; a model folder needs one") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} cannot be read as text: {error}") from error
