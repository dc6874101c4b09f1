"""`unrender data word`: from fonts, texts and raw sets to prepared arrays, once.

| prepared set | what it holds |
|---|---|
| words, phrases, lines | made: one word, up to 32 characters, up to 100 |
| scene-train, receipt-train, typed-train, hand-train | real crops, without the held-out part |
| scene-held, receipt-held, typed-held, hand-held | the held-out part |
| fonts-held | made words and lines in fonts that are never trained on |
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.progress import Progress

from unrender.checkpoints import cache_folder
from unrender.models.word import ALPHABET, MAX_CHARACTERS
from unrender.tokens import CharacterTokenizer
from unrender.training.data import CacheWriter, Sample
from unrender.training.word.crops import Crop, receipt_lines, scene_words, written_lines
from unrender.training.word.drawing import draw_text
from unrender.training.word.fonts import Font, find_fonts
from unrender.training.word.texts import Texts, read_texts

_MADE = {"words": (120_000, 0), "phrases": (50_000, 32), "lines": (16_000, 100)}  # how many, how long at most
_HELD = 1_000
_HAND = ("lines-handwritten-fr", "lines-handwritten-fr-2")
_SETS = {
    "scene": ("words-train",),
    "receipt": ("sroie-train",),
    "typed": ("lines-typewritten-en",),
    "hand": _HAND,
}
Item = TypeVar("Item")
_TRIES = 20  # other fonts for a text that a font cannot write


def make(source: Path, out: Path | None = None) -> Path:
    """Prepare every set from the raw sets under `source`; what is there already stays."""
    folder = out or cache_folder() / "word"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = CharacterTokenizer(ALPHABET)
    seen = {name: _make_real(folder, name, source, tokenizer) for name in _SETS}
    texts = read_texts(source, seen["receipt"], [*seen["hand"], *seen["typed"]])
    fonts = find_fonts()
    for number, (name, (count, most)) in enumerate(_MADE.items()):
        _make_drawn(folder / name, count, most, fonts, texts, tokenizer, seed=number)
    _make_drawn(folder / "fonts-held", _HELD, 40, find_fonts(held_out=True), texts, tokenizer, seed=99)
    return folder


def _make_real(folder: Path, name: str, source: Path, tokenizer: CharacterTokenizer) -> list[str]:
    """Write the two parts of a real set; return the texts of what may be trained on."""
    train, held = folder / f"{name}-train", folder / f"{name}-held"
    notes = folder / f"{name}.txt"
    if not notes.exists():
        writers = (CacheWriter(train, tokenizer.tokens), CacheWriter(held, tokenizer.tokens))
        texts: list[str] = []
        for crop in _watched(real_crops(name, source), name):
            if crop.text and len(crop.text) <= MAX_CHARACTERS:
                writers[crop.held].add(Sample(crop.gray, tuple(tokenizer.encode(crop.text))))
                if not crop.held:
                    texts.append(crop.text)
        for writer in writers:
            writer.close()
        notes.write_text("\n".join(texts), encoding="utf-8")
    return notes.read_text(encoding="utf-8").split("\n")


def real_crops(name: str, source: Path) -> Iterator[Crop]:
    """Give the crops of a real set (scene, receipt, typed, hand) as they were cut."""
    read = {"scene": scene_words, "receipt": receipt_lines}.get(name, written_lines)
    for folder in _SETS[name]:
        yield from read(source / folder)


def _make_drawn(
    folder: Path,
    count: int,
    most: int,
    fonts: Sequence[Font],
    texts: Texts,
    tokenizer: CharacterTokenizer,
    *,
    seed: int,
) -> None:
    """Draw `count` texts; `most` characters to a line, 0 for single words."""
    if (folder / "index.npy").exists():
        return
    rng = np.random.default_rng([5, seed])
    writer = CacheWriter(folder, tokenizer.tokens)
    for _ in _watched(range(count), folder.name):
        text = texts.line(rng, most) if most else texts.word(rng)
        font = next((font for font in _draw_fonts(fonts, rng) if font.writes(text)), None)
        drawn = None if font is None or not text else draw_text(text, font, rng)
        if drawn is not None:
            writer.add(Sample(drawn.gray, tuple(tokenizer.encode(text)), 0, drawn.boxes))
    writer.close()


def _draw_fonts(fonts: Sequence[Font], rng: np.random.Generator) -> Iterator[Font]:
    for index in rng.integers(len(fonts), size=_TRIES):
        yield fonts[index]


def _watched(items: Iterable[Item], what: str) -> Iterator[Item]:
    """Show on stderr how far a step is."""
    size = len(items) if isinstance(items, Sequence) else None
    with Progress(console=Console(stderr=True)) as bar:
        yield from bar.track(items, total=size, description=what)
