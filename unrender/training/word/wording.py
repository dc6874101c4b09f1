"""What stands on made pictures: words and lines of real prose and receipts, and what is made up by rule."""

import json
import lzma
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unrender.models.word import ALPHABET

_PARAGRAPHS = 30_000  # of each source
_LONGEST = 24  # characters of a word
_OUTSIDE = re.compile(f"[^{re.escape(ALPHABET)}]+")
_MARKUP = re.compile(r"\$[^$]*\$|\\[A-Za-z]+\*?|[{}~]")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ACCENTS = "àáâãäåçèéêëìíîïñòóôõöùúûüýÿšž"
_ENDINGS = ("com", "org", "net", "de", "fr", "co.uk", "edu", "my", "io")
_CURRENCIES = ("", "", "", "$", "€", "£", "RM ", "RM", "USD ", "EUR ", "Rp. ")
_MONTHS = "January February March April May June July August September October November December".split()
_ACCENTED: dict[str, str] = {}
for _letter in _ACCENTS:
    _plain = unicodedata.normalize("NFD", _letter)[0]
    _ACCENTED[_plain] = _ACCENTED.get(_plain, "") + _letter
_RULED, _RECEIPT, _FOREIGN = 0.22, 0.2, 0.15  # shares of texts made up by rule, off receipts, in French
_FREQUENT = 0.35  # share of words drawn as often as they occur; the others are drawn from a list of all


@dataclass(frozen=True)
class Texts:
    """Where the texts of made pictures come from: lists of lines or paragraphs."""

    prose: tuple[str, ...]
    receipts: tuple[str, ...]
    foreign: tuple[str, ...]
    vocabulary: tuple[str, ...]  # every word that occurs, once

    def word(self, rng: np.random.Generator) -> str:
        """Return one word, or something that stands alone like one."""
        if rng.random() < _RULED:
            return by_rule(rng)
        words = self._words(rng) if rng.random() < _FREQUENT else self.vocabulary
        word = _accented(words[int(rng.integers(len(words)))], rng)
        if rng.random() < 0.3:
            word = word.strip(".,;:()\"'“”‘’") or word  # noqa: RUF001
        return _cased(word, rng)

    def line(self, rng: np.random.Generator, most: int) -> str:
        """Return some words that stand beside one another, at most `most` characters."""
        if rng.random() < _RULED / 2:
            return " ".join(by_rule(rng) for _ in range(int(rng.integers(1, 4))))[:most].strip()
        words = self._words(rng)
        first = int(rng.integers(len(words)))
        wanted, line = int(rng.integers(2, most + 1)), ""
        for word in words[first:]:
            if line and len(line) + 1 + len(word) > wanted:
                break
            line = f"{line} {word}" if line else word
            if rng.random() < 0.03:
                line = f"{line} {by_rule(rng)}"
        return _cased(line[:most].strip(), rng, words=True)

    def _words(self, rng: np.random.Generator) -> list[str]:
        kind = rng.random()
        lines = self.receipts if kind < _RECEIPT else self.foreign if kind < _RECEIPT + _FOREIGN else self.prose
        for _ in range(9):
            words = lines[int(rng.integers(len(lines)))].split()
            if words:
                return words
        return ["text"]


def read_texts(source: Path, receipts: Sequence[str], foreign: Sequence[str]) -> Texts:
    """Read the prose under `source` and what stands on receipts; lines of training pictures may be added to both."""
    prose = [*_openstax(source / "openstax-prose.tsv.xz"), *_arxiv(source / "arxiv-documents.jsonl.xz")]
    printed = [*_receipts(source / "receipt-text.jsonl.xz"), *receipts]
    receipts, foreign = [clean(line) for line in printed], [clean(line) for line in foreign]
    everything = (*prose, *receipts, *foreign)
    vocabulary = {word for line in everything for word in line.split() if len(word) <= _LONGEST}
    return Texts(tuple(prose), tuple(receipts), tuple(foreign), tuple(sorted(vocabulary)))


def clean(text: str) -> str:
    """Drop what the alphabet does not have."""
    return " ".join(_OUTSIDE.sub(" ", unicodedata.normalize("NFC", text)).split())


def by_rule(rng: np.random.Generator) -> str:
    """Make up a number, an amount, a date, a time, a telephone number, an address on the web, a code."""
    return _RULES[int(rng.integers(len(_RULES)))](rng)


def _openstax(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for _, line in zip(range(_PARAGRAPHS), lines, strict=False):
            yield clean(line.rstrip("\n").split("\t", 1)[-1])


def _arxiv(path: Path) -> Iterator[str]:
    found = 0
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            for block in json.loads(line)["blocks"]:
                if block["kind"] in ("paragraph", "heading"):
                    yield clean(_MARKUP.sub(" ", block["text"]))
                    found += 1
            if found > _PARAGRAPHS:
                return


def _receipts(path: Path) -> Iterator[str]:
    """Give every text of the receipts, and what a till prints beside it."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from _strings(json.loads(line))


def _strings(value: object) -> Iterator[str]:
    match value:
        case dict():
            for inner in value.values():
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)
        case float():
            yield f"{value:,.2f}"
        case str() if value:
            yield value


def _cased(text: str, rng: np.random.Generator, *, words: bool = False) -> str:
    kind = rng.random()
    if kind < 0.22:
        return text.upper()
    if kind < 0.32:
        return text.title() if words else text.capitalize()
    return text.lower() if kind < 0.36 else text


def _accented(text: str, rng: np.random.Generator) -> str:
    """Now and then put accents on letters, so that rare ones are seen too."""
    if rng.random() > 0.06:
        return text
    return "".join(_pick(_ACCENTED[one], rng) if one in _ACCENTED and rng.random() < 0.4 else one for one in text)


def _pick(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(len(choices)))]


def _digits(rng: np.random.Generator, least: int, most: int) -> str:
    return "".join(str(digit) for digit in rng.integers(0, 10, int(rng.integers(least, most + 1))))


def _number(rng: np.random.Generator) -> str:
    return _digits(rng, 1, 9)


def _amount(rng: np.random.Generator) -> str:
    value = 10 ** rng.uniform(0, 5)
    text = f"{value:,.2f}" if rng.random() < 0.6 else f"{value:.2f}"
    if rng.random() < 0.15:
        text = text.translate(str.maketrans(",.", ".,"))
    return ("-" if rng.random() < 0.08 else "") + _pick(_CURRENCIES, rng) + text + ("%" if rng.random() < 0.04 else "")


def _date(rng: np.random.Generator) -> str:
    day, month, year = int(rng.integers(1, 32)), int(rng.integers(1, 13)), int(rng.integers(1930, 2031))
    sign, name = _pick("/-.", rng), _MONTHS[month - 1]
    forms = (
        f"{day:02}{sign}{month:02}{sign}{year}",
        f"{day:02}{sign}{month:02}{sign}{year % 100:02}",
        f"{year}{sign}{month:02}{sign}{day:02}",
        f"{day} {name} {year}",
        f"{name} {day}, {year}",
        f"{day:02}-{name[:3].upper()}-{year}",
    )
    return _pick(forms, rng)


def _time(rng: np.random.Generator) -> str:
    hour, minute, second = int(rng.integers(24)), int(rng.integers(60)), int(rng.integers(60))
    forms = (f"{hour:02}:{minute:02}", f"{hour:02}:{minute:02}:{second:02}", f"{hour % 12 + 1}:{minute:02} PM")
    return _pick(forms, rng)


def _telephone(rng: np.random.Generator) -> str:
    return _pick(("+", "", "", "TEL: ", "("), rng) + _pick("- .", rng).join(_digits(rng, 2, 4) for _ in range(3))


def _letters(rng: np.random.Generator, least: int, most: int) -> str:
    return "".join(_LETTERS[index] for index in rng.integers(26, size=int(rng.integers(least, most + 1))))


def _web(rng: np.random.Generator) -> str:
    name, place = _letters(rng, 3, 9), f"{_letters(rng, 3, 9)}.{_pick(_ENDINGS, rng)}"
    return _pick((f"{name}@{place}", f"www.{place}", f"https://{place}/{name}", f"{name}.{name[:2]}_{name[-1]}"), rng)


def _code(rng: np.random.Generator) -> str:
    signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" if rng.random() < 0.6 else ALPHABET[1:95]
    return "".join(signs[index] for index in rng.integers(len(signs), size=int(rng.integers(2, 11))))


def _anything(rng: np.random.Generator) -> str:
    """Draw characters of the whole alphabet, so that every one of them is seen."""
    return "".join(ALPHABET[index] for index in rng.integers(1, len(ALPHABET), int(rng.integers(1, 7))))


_RULES = (_number, _number, _amount, _amount, _amount, _date, _date, _time, _telephone, _web, _code, _code, _anything)
