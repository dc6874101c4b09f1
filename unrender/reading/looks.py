"""Looks at pictures, as `considering` asks for them: all in one batch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from unrender.decoding import DecoderRun, Engine, JoinableEngine, JoinableRun, Pixels, Speller, Text, search
from unrender.decoding.paths import Path, best_path
from unrender.decoding.rules import Ids
from unrender.images.opening import Placement, place, stack
from unrender.models.config import ImagePrep, TextConfig
from unrender.reading.considering import Aim, Considering, Look, Strips, consider
from unrender.reading.ink import Grid, grid_of, most_tokens
from unrender.reading.systems import Sheet, Watch


@dataclass(frozen=True)
class Sight:
    """One way to look at pictures: a model, how it is prompted and how its texts are searched for."""

    config: TextConfig
    engine: Engine
    prompt: Ids  # (P,)
    new_path: Callable[[int], Path]  # given how many tokens there can be at most
    decode: Callable[[Sequence[int]], str]
    glance: Callable[[int], Path] | None = None  # the same for first looks; None: as for the others
    strips: Callable[[Sheet], Strips | None] = lambda sheet: None  # lines to look at; None: all of the picture
    count: Callable[[Sequence[int]], int] | None = None  # how many strokes tokens have in print, where that is known


def spell_out(
    sight: Sight, speller: Speller, sheets: Iterator[Sheet | None], watch: Watch
) -> Iterator[tuple[Sheet, tuple[Look, ...]]]:
    """Do what `Looking.looks` does, but let the encoder alone name the characters: one look, no search."""
    for sheet in iter(lambda: next(sheets, None), None):
        considering = consider(sight.config.generation, sight.strips(sheet))
        aims = next(considering)
        try:
            while watch.wants(sheet):
                aims = considering.send([_spelled(sight, speller, sheet, aim) for aim in aims])
            yield sheet, ()
        except StopIteration as known:
            yield sheet, known.value


def _spelled(sight: Sight, speller: Speller, sheet: Sheet, aim: Aim) -> Look:
    pixels, placement = _view(sheet, sight.config.image, aim)
    decoded = best_path(speller.spell(pixels), sight.config.generation.pad)
    return Look(decoded, grid_of(sight.config.encoder, *pixels.shape[-2:]), placement, pixels, aim)


def _view(sheet: Sheet, prep: ImagePrep, aim: Aim) -> tuple[Pixels, Placement]:
    """Return the pixels of what is looked at, and where they came from."""
    prep = replace(prep, zoom=aim.zoom * prep.zoom)
    if aim.strip is not None:
        pixels, placement = place(aim.strip.cut(sheet.image), prep)
        return pixels, replace(placement, strip=aim.strip)
    image = sheet.redraw(aim.pen) if aim.pen and sheet.redraw else sheet.image
    if aim.region is None:
        return place(image, prep)
    left, top = max(0, aim.region[0]), max(0, aim.region[1])
    pixels, placement = place(image.crop((left, top, *aim.region[2:])), prep)
    return pixels, replace(placement, left=placement.left + left, top=placement.top + top)


@dataclass(eq=False)
class _Page:
    """A sheet that is being looked at."""

    sheet: Sheet
    considering: Considering
    looks: list[Look | None] = field(default_factory=list)  # those it asked for last; None: not there, or given up
    awaited: int = 0  # how many of them are not over yet


@dataclass(frozen=True)
class _View:
    """A look that a page asks for."""

    page: _Page
    index: int  # among those it asks for together
    aim: Aim
    listener: Callable[[str], None] | None


class Looking:
    """Looks at sheets together: singly as they come where a run can be joined, otherwise batch after batch."""

    def __init__(self, sight: Sight, sheets: Iterator[Sheet | None], watch: Watch, batch: int) -> None:
        self._sight, self._sheets, self._watch, self._batch = sight, sheets, watch, batch
        self._joinable = sight.engine.begin() if isinstance(sight.engine, JoinableEngine) else None
        self._started: DecoderRun | None = None
        self._asked: list[_View] = []  # not in the run yet
        self._entered: dict[Text, tuple[_View, Placement, Grid, Pixels]] = {}
        self._pages = 0  # being looked at

    def looks(self) -> Iterator[tuple[Sheet, tuple[Look, ...]]]:
        """Yield each sheet with the looks to believe, as soon as they are known; none if nobody wants it any more."""
        for text in search(self):
            view, placement, grid, pixels = self._entered.pop(text)
            page = view.page
            page.looks[view.index] = (
                None
                if text.stopped
                else Look(text.path.result(), grid, placement, pixels, view.aim, self._sight.count, page.sheet.pens)
            )
            page.awaited -= 1
            if page.awaited:
                continue
            found = self._consider(page)
            if not page.awaited:
                self._pages -= 1
                yield page.sheet, found

    @property
    def run(self) -> DecoderRun:
        run = self._joinable or self._started
        assert run is not None, "a text enters before its run is asked for"
        return run

    def enter(self, active: int) -> list[Text]:
        """Bring in the looks that were asked for, and new sheets while there is room."""
        if active and self._joinable is None:
            return []
        while self._pages < self._batch and (sheet := next(self._sheets, None)) is not None:
            page = _Page(sheet, consider(self._sight.config.generation, self._sight.strips(sheet)))
            self._pages += 1
            self._ask(page, next(page.considering), self._watch.listener(sheet))
        views, self._asked = self._asked, []
        if self._joinable is not None:
            return [self._join(self._joinable, view) for view in views]
        return self._start(views) if views else []

    def _consider(self, page: _Page) -> tuple[Look, ...]:
        """Let a page think about the looks it has: it asks for more or knows which to believe."""
        looks = [look for look in page.looks if look is not None]
        if len(looks) < len(page.looks):
            return ()
        try:
            self._ask(page, page.considering.send(looks))
        except StopIteration as known:
            found: tuple[Look, ...] = known.value
            return found
        return ()

    def _ask(self, page: _Page, aims: tuple[Aim, ...], listener: Callable[[str], None] | None = None) -> None:
        page.looks, page.awaited = [None] * len(aims), len(aims)
        self._asked += [_View(page, index, aim, listener) for index, aim in enumerate(aims)]

    def _join(self, run: JoinableRun, view: _View) -> Text:
        pixels, placement = self._prepare(view)
        return self._enter(view, placement, pixels, pixels.shape, run.join(pixels))

    def _start(self, views: Sequence[_View]) -> list[Text]:
        prepared = [self._prepare(view) for view in views]
        pixels, sizes = stack([values for values, _ in prepared], self._sight.config.image)
        self._started = self._sight.engine.start(pixels, sizes)
        return [
            self._enter(view, placement, own, pixels.shape, None)
            for view, (own, placement) in zip(views, prepared, strict=True)
        ]

    def _prepare(self, view: _View) -> tuple[Pixels, Placement]:
        return _view(view.page.sheet, self._sight.config.image, view.aim)

    def _enter(
        self, view: _View, placement: Placement, pixels: Pixels, padded: tuple[int, ...], memory: int | None
    ) -> Text:
        sheet, listener, decode = view.page.sheet, view.listener, self._sight.decode
        config = self._sight.config
        grid = grid_of(config.encoder, *padded[-2:])
        most = most_tokens(pixels, grid) if config.image.fit == "free" else config.generation.max_tokens
        text = Text(
            path=((view.aim.first and self._sight.glance) or self._sight.new_path)(most),
            feed=[self._sight.prompt.tolist()],
            memory=memory,
            wanted=lambda: self._watch.wants(sheet),
            hear=None if listener is None else lambda tokens: listener(decode(tokens)),
        )
        self._entered[text] = view, placement, grid, pixels
        return text
