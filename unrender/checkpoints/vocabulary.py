"""tokenizer.json for published folders that have only the older files: BPE, SentencePiece or WordPiece."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path

from unrender.checkpoints.files import read_json
from unrender.errors import ModelError

TOKENIZER = "tokenizer.json"
_SENTENCE_PIECES = ("sentencepiece.bpe.model", "sentencepiece.model")
_FRAME = ("<s>", "<pad>", "</s>", "<unk>")  # ids 0 to 3 of every published vocabulary here
_CONTROL = 3  # SentencePiece: a piece that stands for no text
_VARINT, _BYTES = 0, 2  # protobuf wire types
_FIXED = {1: 8, 5: 4}  # wire types of fixed length


def make_tokenizer(folder: Path) -> str | None:
    """Return the text of a tokenizer.json made from a folder's older files; None if it has none of them."""
    if (folder / TOKENIZER).is_file():
        return (folder / TOKENIZER).read_text(encoding="utf-8")
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        return _from_merges(folder)
    for name in _SENTENCE_PIECES:
        if (folder / name).is_file():
            return _from_sentence_pieces(folder, (folder / name).read_bytes())
    if (folder / "vocab.txt").is_file():
        return wordpiece((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
    return None


def wordpiece(vocabulary: list[str]) -> str:
    """Return the text of a tokenizer.json for a list of lower-case WordPiece tokens."""
    from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
    from tokenizers.models import WordPiece

    tokenizer = Tokenizer(WordPiece({token: index for index, token in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(
        [token for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if token in vocabulary]
    )
    return str(tokenizer.to_str())


def _from_merges(folder: Path) -> str:
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE

    try:
        model = BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    except Exception as error:  # the library raises no narrower class
        raise ModelError(f"{folder / 'vocab.json'} and merges.txt cannot be read together: {error}") from error
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return _with_added(tokenizer.to_str(), folder)


def _from_sentence_pieces(folder: Path, data: bytes) -> str:
    """Number the pieces as fairseq does: four frame tokens, the pieces after SentencePiece's own three, the mask."""
    from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers
    from tokenizers.models import Unigram

    pieces = [(text, score) for text, score, kind in _pieces(data, folder) if kind != _CONTROL and text != "<unk>"]
    tokenizer = Tokenizer(Unigram([(name, 0.0) for name in _FRAME] + pieces, unk_id=_FRAME.index("<unk>")))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return _with_added(tokenizer.to_str(), folder)


def _with_added(text: str, folder: Path) -> str:
    """Mark the frame tokens as special and append those of added_tokens.json."""
    from tokenizers import AddedToken, Tokenizer

    tokenizer = Tokenizer.from_str(text)
    tokenizer.add_special_tokens([name for name in _FRAME if tokenizer.token_to_id(name) is not None])
    path = folder / "added_tokens.json"
    added = read_json(path) if path.is_file() else {}
    for name, number in sorted(added.items(), key=lambda item: str(item[1]).zfill(9)):
        tokenizer.add_special_tokens([AddedToken(name, normalized=False)])
        if tokenizer.token_to_id(name) != number:
            raise ModelError(f"{path} numbers {name} {number}, which does not follow the vocabulary")
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False)


def _pieces(data: bytes, folder: Path) -> Iterator[tuple[str, float, int]]:
    """Yield text, score and kind of each piece of a SentencePiece model, a protobuf message."""
    try:
        for field, value in _fields(data):
            if field != 1 or not isinstance(value, bytes):
                continue
            text, score, kind = "", 0.0, 1
            for inner, content in _fields(value):
                if inner == 1 and isinstance(content, bytes):
                    text = content.decode("utf-8")
                elif inner == 2 and isinstance(content, bytes):
                    (score,) = struct.unpack("<f", content)
                elif inner == 3 and isinstance(content, int):
                    kind = content
            yield text, score, kind
    except (LookupError, ValueError, struct.error) as error:
        raise ModelError(f"the SentencePiece model in {folder} is damaged") from error


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    start = 0
    while start < len(data):
        key, start = _varint(data, start)
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            number, start = _varint(data, start)
            yield field, number
            continue
        if wire == _BYTES:
            length, start = _varint(data, start)
        else:
            length = _FIXED[wire]
        if start + length > len(data):
            raise ValueError("cut off")
        yield field, data[start : start + length]
        start += length


def _varint(data: bytes, start: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[start]
        value |= (byte & 0x7F) << shift
        start, shift = start + 1, shift + 7
        if byte < 0x80:
            return value, start
