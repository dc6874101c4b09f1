"""Handwritten symbols as pen strokes, by writer: CROHME's, Detexify's, and letters of handwriting fonts.

A letter of a font becomes strokes by the middle line of what the font draws.
"""

import lzma
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from unrender.errors import DataError, ImageError
from unrender.evaluation.datasets.folders import INKML
from unrender.images.pen_strokes import parse_ink

Points = NDArray[np.float64]
Strokes = tuple[Points, ...]

DETEXIFY = "detexify"
_FONT = "font "
_WRITER = re.compile(rb'type="writer">\s*([^<]*?)\s*<')
_SESSION = re.compile(r"\d+-\d+(?=-)")  # MathBrush files are named by session, and a session has one writer
_NOBODY = frozenset({"", "?", "Unknown"})
SPELLING = {r"\lt": "<", r"\gt": ">"}
_WHOLE_WORDS = frozenset(r"\sin \cos \tan \log \lim \ldots".split())  # TeX sets them letter by letter
_KNOWN_FOR = 15  # symbols that a writer must have to write a formula
_ENOUGH = 20  # samples by pens: fonts are not needed
_MOST_ALIKE = 6  # samples of a symbol kept of one writer
_ODD = 3.0  # times the usual deviation of a symbol's proportions: wrongly cut, or something else
_FONT_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ?;:"
FONTS = """caveat patrick-hand indie-flower kalam shadows-into-light gloria-hallelujah reenie-beanie
    nothing-you-could-do architects-daughter handlee cedarville-cursive zeyada just-me-again-down-here
    over-the-rainbow sue-ellen-francisco waiting-for-the-sunrise annie-use-your-telescope gochi-hand kristi mansalva
    bad-script pangolin mali dekko sedgwick-ave edu-sa-beginner""".split()
Mask = NDArray[np.bool_]
Pixel = tuple[int, int]  # row, column

_SIZE = 72  # pixels to the font's size: enough for a smooth line, few enough to be quick
_DARK = 128
_SHORTEST = 6  # pixels; shorter lines are the spurs of thinning
_AROUND = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
_SMOOTHING = 5  # points


@dataclass(frozen=True)
class PenSymbol:
    """One symbol as somebody wrote it; `name` is its LaTeX."""

    name: str
    writer: str
    strokes: Strokes


class Hand:
    """Who writes one formula: one writer, what he lacks by a second, what both lack by anybody; one way for each."""

    def __init__(self, sources: Iterable[dict[str, list[Strokes]]], rng: np.random.Generator) -> None:
        self._sources = tuple(sources)
        self._rng = rng
        self._chosen: dict[str, Strokes] = {}

    def take(self, name: str) -> Strokes | None:
        """Return the strokes of a symbol; None where nobody has written it."""
        if name not in self._chosen:
            found = next((source[name] for source in self._sources if source.get(name)), None)
            if found is None:
                return None
            self._chosen[name] = found[int(self._rng.integers(len(found)))]
        return self._chosen[name]


class Writers:
    """All that was written, by writer and by name."""

    def __init__(self, symbols: Iterable[PenSymbol]) -> None:
        self._symbols = list(symbols)
        by_writer: defaultdict[str, dict[str, list[Strokes]]] = defaultdict(lambda: defaultdict(list))
        self._anybody: dict[str, list[Strokes]] = defaultdict(list)
        counts: defaultdict[str, int] = defaultdict(int)
        for symbol in self._symbols:
            by_writer[symbol.writer][symbol.name].append(symbol.strokes)
            counts[symbol.name] += not symbol.writer.startswith(_FONT)
        for symbol in self._symbols:
            if not symbol.writer.startswith(_FONT) or counts[symbol.name] < _ENOUGH:
                self._anybody[symbol.name].append(symbol.strokes)
        people = [(name, has) for name, has in by_writer.items() if name != DETEXIFY and not name.startswith(_FONT)]
        widest = max((len(has) for _, has in people), default=0)
        self._people = [has for _, has in people if len(has) >= min(_KNOWN_FOR, widest)]

    def __len__(self) -> int:
        return len(self._symbols)

    @property
    def names(self) -> list[str]:
        return sorted(self._anybody)

    @property
    def people(self) -> int:
        """How many writers there are who can write a formula."""
        return len(self._people)

    def hand(self, rng: np.random.Generator) -> Hand:
        """Choose who writes the next formula."""
        chosen = rng.permutation(len(self._people))[:2]
        return Hand((*(self._people[int(index)] for index in chosen), self._anybody), rng)

    def save(self, path: Path) -> None:
        strokes = [points for symbol in self._symbols for points in symbol.strokes]
        with path.open("wb") as file:
            np.savez_compressed(
                file,
                names=np.array([symbol.name for symbol in self._symbols]),
                writers=np.array([symbol.writer for symbol in self._symbols]),
                counts=np.array([len(symbol.strokes) for symbol in self._symbols]),
                lengths=np.array([len(points) for points in strokes]),
                points=np.concatenate(strokes).astype(np.float32),
            )

    @classmethod
    def load(cls, path: Path) -> "Writers":
        with np.load(path) as file:
            names, writers, counts = file["names"].tolist(), file["writers"].tolist(), file["counts"]
            lines = np.split(file["points"].astype(np.float64), np.cumsum(file["lengths"])[:-1])
        ends = np.cumsum(counts)
        rows = zip(names, writers, ends - counts, ends, strict=True)
        return cls(PenSymbol(name, writer, tuple(lines[start:end])) for name, writer, start, end in rows)


def gather(source: Path, fonts: Path) -> Writers:
    """Gather what there is: CROHME's training strokes and Detexify's under `source`, letters of npm's fonts."""
    symbols = [*read_crohme(source / "crohme-train"), *read_detexify(source / "detexify-strokes.tsv.xz")]
    return Writers(_few_alike(without_odd([*symbols, *read_fonts(fonts)])))


def read_crohme(folder: Path) -> Iterator[PenSymbol]:
    """Yield the symbols of segmented InkML files, as their writers wrote them."""
    for path in sorted(folder.rglob(f"*{INKML}")):
        data = path.read_bytes()
        try:
            ink = parse_ink(data, str(path))
        except ImageError:
            continue  # one file of the package is no XML
        for symbol in ink.symbols:
            name = SPELLING.get(symbol.label, symbol.label)
            if name not in _WHOLE_WORDS:
                yield PenSymbol(name, _writer(path, data), symbol.strokes)


def read_detexify(path: Path) -> Iterator[PenSymbol]:
    """Yield single symbols; nobody knows which of them had the same writer."""
    try:
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                command, _, written = line.rstrip("\n").split("\t")
                strokes = tuple(_points(stroke) for stroke in written.split(";") if stroke.strip())
                if strokes:
                    yield PenSymbol(command.replace(r"\mathds", r"\mathbb"), DETEXIFY, strokes)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no list of command, package and strokes ({error}).") from error


def read_fonts(folder: Path) -> Iterator[PenSymbol]:
    """Yield the capital letters and a few signs of npm's handwriting fonts, as far as they are installed."""
    for name in FONTS:
        path = folder / name / "files" / f"{name}-latin-400-normal.woff"
        if path.exists():
            for letter in _FONT_LETTERS:
                if strokes := font_strokes(path, letter):
                    yield PenSymbol(letter, f"{_FONT}{name}", strokes)


def without_odd(symbols: list[PenSymbol]) -> list[PenSymbol]:
    """Drop what has quite other proportions than the same symbol by others."""
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for index, symbol in enumerate(symbols):
        by_name[symbol.name].append(index)
    shapes = np.array([_proportion(symbol.strokes) for symbol in symbols])
    keep = np.ones(len(symbols), dtype=bool)
    for indices in by_name.values():
        if len(indices) >= _ENOUGH:
            off = np.abs(shapes[indices] - np.median(shapes[indices]))
            keep[indices] = off <= _ODD * 1.5 * max(float(np.median(off)), 0.05)
    return [symbol for symbol, kept in zip(symbols, keep, strict=True) if kept]


def _few_alike(symbols: Iterable[PenSymbol]) -> Iterator[PenSymbol]:
    """Keep a few of each symbol that one writer wrote over and over."""
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for symbol in symbols:
        counts[symbol.writer, symbol.name] += 1
        if symbol.writer == DETEXIFY or counts[symbol.writer, symbol.name] <= _MOST_ALIKE:
            yield symbol


def _writer(path: Path, data: bytes) -> str:
    named = _WRITER.search(data)
    name = named[1].decode(errors="replace") if named else ""
    session = _SESSION.match(path.name)
    if name in _NOBODY:
        name = session[0] if session else path.stem
    return f"{path.parent.name} {name}"


def _points(stroke: str) -> Points:
    return np.array([point.split(",") for point in stroke.split()], dtype=np.float64)


def _proportion(strokes: Strokes) -> float:
    width, height = np.ptp(np.concatenate(strokes), axis=0)
    least = max(width, height, 1e-9) / 20
    return float(np.log(max(width, least) / max(height, least)))


def font_strokes(path: Path, letter: str) -> tuple[Points, ...]:
    """Draw a letter and follow its lines; empty where the font lacks it."""
    font = ImageFont.truetype(str(path), _SIZE)
    canvas = Image.new("L", (3 * _SIZE, 3 * _SIZE), 255)
    ImageDraw.Draw(canvas).text((_SIZE, _SIZE // 2), letter, font=font, fill=0)
    return trace(thin(np.asarray(canvas) < _DARK))


def thin(mask: Mask) -> Mask:
    """Wear a shape down to lines of one pixel (Zhang and Suen 1984)."""
    mask = np.pad(mask, 1)
    while True:
        before = mask.copy()
        for first in (True, False):
            ring = np.stack([np.roll(mask, (-down, -right), (0, 1)) for down, right in _AROUND])
            north, east, south, west = ring[0], ring[2], ring[4], ring[6]
            count = ring.sum(axis=0)
            turns = (~ring & np.roll(ring, -1, axis=0)).sum(axis=0)
            if first:
                free = ~(north & east & south) & ~(east & south & west)
            else:
                free = ~(north & east & west) & ~(north & south & west)
            mask = mask & ~((count >= 2) & (count <= 6) & (turns == 1) & free)
        if (mask == before).all():
            return mask[1:-1, 1:-1]


def trace(lines: Mask) -> tuple[Points, ...]:
    """Follow lines of one pixel from end to end, straight on where they cross; (x, y) points, smoothed."""
    left: set[Pixel] = {(int(row), int(column)) for row, column in np.argwhere(lines)}
    every = frozenset(left)
    walks: list[list[Pixel]] = []
    while left:
        ends = [pixel for pixel in left if len(_neighbours(pixel, left)) == 1]
        walks.append(_walk(min(ends) if ends else min(left), left, every))
    long = [walk for walk in walks if len(walk) >= _SHORTEST] or walks
    return tuple(_smooth(np.array(walk, dtype=np.float64)[:, ::-1]) for walk in long)


def _walk(start: Pixel, left: set[Pixel], every: frozenset[Pixel]) -> list[Pixel]:
    """Take pixels out of `left` until there is none to go on with; a walk begins and ends on lines it meets."""
    path = [start]
    left.discard(start)
    while following := _neighbours(path[-1], left):
        back = path[max(0, len(path) - 4)]
        heading = path[-1][0] - back[0], path[-1][1] - back[1]
        path.append(max(following, key=lambda pixel: _along(heading, path[-1], pixel)))
        left.discard(path[-1])
    met = [pixel for pixel in _neighbours(path[-1], every) if pixel not in path[-3:]]
    return [*path, met[0]] if met else path


def _along(heading: Pixel, here: Pixel, there: Pixel) -> tuple[int, int]:
    step = there[0] - here[0], there[1] - here[1]
    return heading[0] * step[0] + heading[1] * step[1], -abs(step[0]) - abs(step[1])


def _neighbours(pixel: Pixel, among: set[Pixel] | frozenset[Pixel]) -> list[Pixel]:
    around = [(pixel[0] + down, pixel[1] + right) for down, right in _AROUND]
    return [other for other in around if other in among]


def _smooth(points: Points) -> Points:
    if len(points) < _SMOOTHING:
        return points
    half = _SMOOTHING // 2
    padded = np.pad(points, ((half, half), (0, 0)), mode="edge")
    window = np.full(_SMOOTHING, 1 / _SMOOTHING)
    smooth = np.stack([np.convolve(padded[:, axis], window, mode="valid") for axis in (0, 1)], axis=1)
    return np.asarray(smooth[:: half or 1])
