"""What to look at in a picture, and which looks to believe: those at other sizes, at rows left unread, at its lines."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from unrender.decoding import Pixels
from unrender.decoding.paths import Decoded
from unrender.images.lines import Region, Strip
from unrender.images.opening import Placement
from unrender.models.config import Generation
from unrender.reading.consensus import rank_readings
from unrender.reading.ink import LEFT_BEHIND, Grid, Ink
from unrender.reading.parts import Strokes

DOUBTFUL = 0.85  # geometric mean of the characters' probabilities below which lines are sought with a detector
Ways = tuple[tuple[Strip, ...], ...]  # of reading a picture: the strips of each, in reading order
Considering = Generator[tuple["Aim", ...], "list[Look]", tuple["Look", ...]]
_MOST_ROWS = 12  # of a picture that are looked at one by one
_PROGRESS = 2  # pixels by which what is left begins later than what it was left from
_CERTAIN = 0.9  # the least probability of a token from which several rows are believed as they were read together
_SLACK = 0.02  # rows read one by one are believed if they are hardly less sure than together
_FEWEST = 3  # characters that a line on its side has: one turned character reads as another, an l as a dash
_STEEP = 4
_SURELY_NOTHING = 0.7  # the least probability with which a picture is said to show nothing at the first look
_DOUBTFUL_STROKES = 0.6  # the least probability of a token below which pen strokes are drawn and looked at again
LEFT_OUT = 3  # strokes beyond what a reading has in print: fewer may be how a symbol is drawn


@dataclass(frozen=True)
class Aim:
    """What to look at: how much enlarged, and which part of the picture; None: all of it."""

    zoom: float = 1.0
    region: Region | None = None
    first: bool = False  # the first look at it
    strip: Strip | None = None  # or a line to be cut out
    pen: int = 0  # strokes drawn with another pen, counted from 1; 0: the picture as it is
    beside: bool = False  # the region goes on to the right of what the look before it shows


@dataclass(frozen=True)
class Look:
    """What was read in one view of a picture, and what ties the view's cells to the picture."""

    decoded: Decoded
    grid: Grid
    placement: Placement
    pixels: Pixels  # (C, H, W)
    aim: Aim
    count: Callable[[Sequence[int]], int] | None = None  # how many strokes tokens have in print, where that is known
    pens: int = 0  # with how many other pens the picture can be drawn

    @property
    def region(self) -> Region | None:
        return self.aim.region

    @cached_property
    def ink(self) -> Ink:
        return Ink.of(self.pixels, self.grid)

    @property
    def shows_nothing(self) -> bool:
        """Whether the model said that there is nothing of its kind: it ended at once."""
        return self.decoded.complete and not self.decoded.tokens

    @property
    def missed(self) -> int:
        """How many strokes there are, specks left out, beyond those that the tokens have in print."""
        return 0 if self.count is None else max(0, int((~self.ink.specks).sum()) - self.count(self.decoded.tokens))

    @property
    def invented(self) -> int:
        """How many strokes the tokens have in print beyond that of a picture of one stroke; of others, 0."""
        if self.count is None or len(self.ink.boxes) > 1:  # two may be three that touch
            return 0
        return max(0, self.count(self.decoded.tokens) - len(self.ink.boxes))

    @property
    def adds_up(self) -> bool:
        """Whether there are as many strokes, specks and all, as the tokens have in print."""
        return self.count is None or self.count(self.decoded.tokens) == len(self.ink.boxes)

    @cached_property
    def strokes(self) -> Strokes:
        """The strokes of the view, as parts of the picture, and which of them no token looked at."""
        ink = self.ink
        attention = self.decoded.attention
        unread = ink.unread(attention) if attention else np.zeros(len(ink.boxes), dtype=np.bool_)
        ends = [(*self.placement.to_image(x0, y0), *self.placement.to_image(x1, y1)) for x0, y0, x1, y1 in ink.boxes]
        return Strokes(np.array(ends, dtype=np.float64).reshape(-1, 4), unread)

    @property
    def unread(self) -> tuple[Region, ...]:
        """The strokes of the view that no token looked at, as parts of the picture."""
        strokes = self.strokes
        boxes = strokes.boxes[strokes.unread].tolist()
        return tuple((int(x0), int(y0), math.ceil(x1), math.ceil(y1)) for x0, y0, x1, y1 in boxes)


def left_unread(looks: Sequence[Look]) -> tuple[Region, ...]:
    """Return the strokes that no look has read, those left out that stand in the part of a later one."""
    found = list[Region]()
    for number, look in enumerate(looks):
        later = [one.region for one in looks[number + 1 :] if one.region is not None]
        found += [box for box in look.unread if not any(_holds(region, box) for region in later)]
    return tuple(found)


def left_out(looks: Sequence[Look]) -> int:
    """Return how many strokes some look's tokens have too few, those left out that stand in the part of a later one."""
    missed = 0
    for number, look in enumerate(looks):
        later = [one.region for one in looks[number + 1 :] if one.region is not None]
        boxes = look.strokes.boxes[~look.ink.specks].tolist()
        others = sum(any(_holds(region, (x0, y0, x1, y1)) for region in later) for x0, y0, x1, y1 in boxes)
        missed = max(missed, look.missed - others)
    return missed


def _holds(region: Region, box: tuple[float, float, float, float]) -> bool:
    across, down = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return region[0] <= across <= region[2] and region[1] <= down <= region[3]


@dataclass(frozen=True)
class Strips:
    """The lines of a picture: ways to read them, and others to be sought where these leave doubts."""

    ways: Ways
    detect: Callable[[], Ways] = tuple


def consider(settings: Generation, strips: Strips | None = None) -> Considering:
    """Ask for looks, be sent them, and so on; return the looks to believe, from top to bottom.

    Where `strips` are to be read, there is one look at each, and of several ways to read a picture the surest is
    believed. Otherwise rows are looked at one by one where all of them together were read with any doubt, and so is
    what was left unread beside or below what was read.
    """
    known = yield from _look_at_strips(strips) if strips else _nothing()
    if known:
        return known
    [first] = yield (Aim(first=True),)
    if first.shows_nothing or not settings.rows or first.decoded.sureness < settings.unlikely:
        return ((yield from _look_again(settings, first)),)
    rows = yield from _look_at_rows(settings, first)
    if rows:
        return rows
    return (yield from _look_on(settings, (yield from _look_again(settings, first))))


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


def _look_at_rows(settings: Generation, whole: Look) -> Considering:
    """Look at rows that stand below one another one by one; return none if the whole was read more surely than they.

    A whole that leaves something out, however surely it was read, gives way to rows that leave out nothing.
    """
    regions = whole.strokes.rows()
    if not 1 < len(regions) <= _MOST_ROWS:
        return ()
    lacking = _lacks((whole,))
    if whole.decoded.weakest >= _CERTAIN and not lacking:
        return ()
    found: tuple[Look, ...] = ()
    for region in regions:
        found += yield from _look_at(settings, region)
    better = lacking and not _lacks(found) and _sureness(found) >= settings.unlikely
    return found if better or _sureness(found) >= whole.decoded.sureness - _SLACK else ()


def _lacks(looks: Sequence[Look]) -> bool:
    """Whether the looks together leave out some of the picture."""
    return len(left_unread(looks)) >= LEFT_BEHIND or left_out(looks) >= LEFT_OUT


def _look_on(settings: Generation, look: Look) -> Considering:
    """Look also at what was left unread to the right of what was read, or below it."""
    found: tuple[Look, ...] = (look,)
    while len(found) < _MOST_ROWS and (aim := _part_left(found[-1])) is not None:
        [first] = yield (aim,)
        found += ((yield from _look_again(settings, first)),)
    return found


def _look_at(settings: Generation, region: Region) -> Considering:
    """Look at a part of the picture, and at what that leaves unread."""
    [first] = yield (Aim(region=region, first=True),)
    return (yield from _look_on(settings, (yield from _look_again(settings, first))))


def _part_left(look: Look) -> Aim | None:
    """Return how to look at what a look left unread, if that is worth a look of its own."""
    strokes = look.strokes
    if look.shows_nothing:
        return None
    if strokes.unread.sum() >= LEFT_BEHIND:
        beside, below = strokes.left_beside(), strokes.left_below()
        if beside is not None and (look.region is None or beside[0] > look.region[0] + _PROGRESS):
            return Aim(region=beside, first=True, beside=True)
        if below is not None and (look.region is None or below[1] > look.region[1] + _PROGRESS):
            return Aim(region=below, first=True)
    apart = strokes.apart_beside(~look.ink.specks, look.missed) if look.missed >= LEFT_OUT else None
    return None if apart is None else Aim(region=apart, first=True, beside=True)


def _look_again(settings: Generation, first: Look) -> Generator[tuple[Aim, ...], "list[Look]", "Look"]:
    """Return the first look or, if it left doubts, what it and looks at other sizes together make likeliest."""
    again = replace(first.aim, first=first.shows_nothing)  # a wide search hardly ever ends at once
    if not settings.second_looks or not _in_doubt(first, settings):
        return first
    looks, zoom = [first], 1.0
    if settings.far_looks and first.decoded.sureness < settings.lost and not first.shows_nothing:
        looks += yield tuple(replace(again, zoom=far) for far in settings.far_looks)
        surest = max(range(len(looks)), key=lambda number: looks[number].decoded.sureness)
        zoom = (1.0, *settings.far_looks)[surest]
    if max(look.decoded.sureness for look in looks) < settings.unlikely and not first.shows_nothing:
        return first
    others = tuple(replace(again, zoom=zoom, pen=pen) for pen in range(1, first.pens + 1))
    looks += yield (*(replace(again, zoom=zoom * near) for near in settings.second_looks), *others)
    seeing = [look for look in looks if not look.shows_nothing]
    if first.shows_nothing:
        likely = sum(look.decoded.sureness >= settings.unlikely for look in seeing)
        if not seeing or (likely <= len(looks) / 2 and not first.pens):
            return first
    if first.shows_nothing or first.pens:
        looks = seeing
    found = [replace(look, decoded=one) for look in looks for one in (look.decoded, *look.decoded.runners_up)]
    best, *rest = rank_readings([look.decoded for look in found], [look.invented for look in found])
    next_best = tuple(found[index].decoded for index in rest)
    every = tuple(look.decoded.tokens for look in looks)
    return replace(found[best], decoded=replace(found[best].decoded, runners_up=next_best, looks=every))


def _in_doubt(look: Look, settings: Generation) -> bool:
    """Whether a reading is unsure on the whole and of a single token, or says less than there is.

    Strokes are a formula whatever the model says, and are looked at again sooner: other pens help much.
    """
    if look.pens and (look.shows_nothing or look.decoded.weakest < _DOUBTFUL_STROKES):
        return True
    if look.shows_nothing:
        return look.decoded.sureness < _SURELY_NOTHING
    unsure = look.decoded.sureness < settings.sure and look.decoded.weakest < settings.doubtful
    return unsure or look.missed >= LEFT_OUT
