"""What to look at in a picture, and which looks to believe: those at other sizes, at rows left unread, at its lines."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unrender.decoding import Pixels
from unrender.decoding.paths import Decoded
from unrender.images.lines import Region, Strip
from unrender.images.opening import Placement
from unrender.models.config import Generation
from unrender.reading.consensus import rank_readings
from unrender.reading.ink import LEFT_BEHIND, Grid, Ink

DOUBTFUL = 0.85  # geometric mean of the characters' probabilities below which lines are sought with a detector
Ways = tuple[tuple[Strip, ...], ...]  # of reading a picture: the strips of each, in reading order
Considering = Generator[tuple["Aim", ...], "list[Look]", tuple["Look", ...]]
_MOST_ROWS = 12  # of a picture that are looked at one by one
_MARGIN = 0.25  # of a row's height, around it
_FEWEST = 3  # characters that a line on its side has: one turned character reads as another, an l as a dash
_STEEP = 4


@dataclass(frozen=True)
class Aim:
    """What to look at: how much enlarged, and which part of the picture; None: all of it."""

    zoom: float = 1.0
    region: Region | None = None
    first: bool = False  # the first look at it
    strip: Strip | None = None  # or a line to be cut out


@dataclass(frozen=True)
class Look:
    """What was read in one view of a picture, and what ties the view's cells to the picture."""

    decoded: Decoded
    grid: Grid
    placement: Placement
    pixels: Pixels  # (C, H, W)
    aim: Aim

    @property
    def region(self) -> Region | None:
        return self.aim.region

    @property
    def unread(self) -> tuple[Region, ...]:
        """The strokes of the view that no token looked at, as parts of the picture."""
        if not self.decoded.attention:
            return ()
        boxes = Ink.of(self.pixels, self.grid).unread(self.decoded.attention)
        ends = [(self.placement.to_image(x0, y0), self.placement.to_image(x1, y1)) for x0, y0, x1, y1 in boxes.tolist()]
        return tuple((int(x0), int(y0), math.ceil(x1), math.ceil(y1)) for (x0, y0), (x1, y1) in ends)


@dataclass(frozen=True)
class Strips:
    """The lines of a picture: ways to read them, and others to be sought where these leave doubts."""

    ways: Ways
    detect: Callable[[], Ways] = tuple


def consider(settings: Generation, strips: Strips | None = None) -> Considering:
    """Ask for looks, be sent them, and so on; return the looks to believe, from top to bottom.

    Where `strips` are to be read, there is one look at each, and of several ways to read a picture the surest is
    believed. Otherwise, where much ink was left unread above or below what was read, that part is looked at by itself.
    """
    known = yield from _look_at_strips(strips) if strips else _nothing()
    if known:
        return known
    found = [(yield from _look_at(settings, None))]
    likely = found[0].decoded.sureness >= settings.unlikely
    while likely and settings.rows and len(found) < _MOST_ROWS:
        region = _row_left(found)
        if region is None:
            break
        found.append((yield from _look_at(settings, region)))
    return tuple(sorted(found, key=lambda look: look.region[1] if look.region else -1))


def _nothing() -> Considering:
    yield from ()
    return ()


def _look_at_strips(strips: Strips) -> Considering:
    """Look at the lines that were found easily and, where these leave doubts, at those that a detector finds."""
    best: tuple[Look, ...] = ()
    if any(strips.ways):
        best = surest_way(strips.ways, (yield _aims(strips.ways)))
    if _sureness(best) >= DOUBTFUL:
        return best
    detected = strips.detect()
    if any(detected):
        best = max(best, surest_way(detected, (yield _aims(detected))), key=_amount)
    return best


def _aims(ways: Ways) -> tuple[Aim, ...]:
    return tuple(Aim(strip=strip) for way in ways for strip in way)


def surest_way(ways: Sequence[Sequence[Strip | None]], looks: Sequence[Look]) -> tuple[Look, ...]:
    """Return the looks of the way that was read most surely; of readings of a character or two, those of the first."""
    ends = np.cumsum([len(way) for way in ways]).tolist()
    first, *others = (tuple(looks[end - len(way) : end]) for way, end in zip(ways, ends, strict=True))
    long = [way for way in others if sum(len(look.decoded.tokens) for look in way) >= _FEWEST]
    return max((first, *long), key=_sureness)


def _sureness(looks: Sequence[Look]) -> float:
    lengths = [len(look.decoded.tokens) + 1 for look in looks]
    sure = sum(look.decoded.sureness * length for look, length in zip(looks, lengths, strict=True))
    return sure / max(1, sum(lengths))


def _amount(looks: Sequence[Look]) -> float:
    """Say how much was read, and how surely: what is read by guessing hardly counts."""
    return sum(look.decoded.sureness**_STEEP * len(look.decoded.tokens) for look in looks)


def _look_at(settings: Generation, region: Region | None) -> Generator[tuple[Aim, ...], "list[Look]", "Look"]:
    """Return the first look or, if it left doubts, what it and looks at other sizes together make likeliest."""
    [first] = yield (Aim(region=region, first=True),)
    if not settings.second_looks or not _in_doubt(first.decoded, settings):
        return first
    looks, zoom = [first], 1.0
    if settings.far_looks and first.decoded.sureness < settings.lost:
        looks += yield tuple(Aim(far, region) for far in settings.far_looks)
        surest = max(range(len(looks)), key=lambda number: looks[number].decoded.sureness)
        zoom = (1.0, *settings.far_looks)[surest]
    if max(look.decoded.sureness for look in looks) < settings.unlikely:
        return first
    looks += yield tuple(Aim(zoom * near, region) for near in settings.second_looks)
    found = [replace(look, decoded=one) for look in looks for one in (look.decoded, *look.decoded.runners_up)]
    best, *rest = rank_readings([look.decoded for look in found])
    others = tuple(found[index].decoded for index in rest)
    return replace(found[best], decoded=replace(found[best].decoded, runners_up=others))


def _in_doubt(reading: Decoded, settings: Generation) -> bool:
    """Whether a reading is unsure on the whole and of a single token."""
    return reading.sureness < settings.sure and reading.weakest < settings.doubtful


def _row_left(looks: Sequence[Look]) -> Region | None:
    """Return the part below everything read that was left unread by the last look, if it is worth one of its own."""
    last = looks[-1]
    unread = last.unread
    if len(unread) < LEFT_BEHIND:
        return None
    left, top = min(box[0] for box in unread), min(box[1] for box in unread)
    right, bottom = max(box[2] for box in unread), max(box[3] for box in unread)
    margin = round(_MARGIN * (bottom - top))
    region = (left - margin, top - 2, right + margin, bottom + margin)
    before = last.region
    return None if before is not None and region[1] <= before[1] + 2 else region
