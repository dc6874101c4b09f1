"""Reading whole pages: straightened, taken apart into blocks and lines, read line by line, put together again.

Every line of the pages at hand is in one continuous batch.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.checkpoints import Loaded, embedded_names, load
from unrender.decoding.paths import GreedyPath, Path
from unrender.decoding.rules import Rules
from unrender.documents import Page, Status
from unrender.engines import Cells, OnnxSegmenter, to_ink
from unrender.errors import UnrenderError
from unrender.images.pixels import shrink
from unrender.models.config import TextConfig
from unrender.reading.considering import Look
from unrender.reading.looks import Looking, Sight
from unrender.reading.page.assembly import make_page
from unrender.reading.page.cuts import cut, sample_lines, split
from unrender.reading.page.displays import PartIndex, is_words, may_be_words, settle
from unrender.reading.page.margins import without_leaders, without_line_numbers
from unrender.reading.page.places import Kind, Region
from unrender.reading.page.regions import find_regions
from unrender.reading.page.rows import NoLoop, ReadRow, read_row
from unrender.reading.page.straight import INK, Straight, straighten
from unrender.reading.systems import (
    BATCH,
    DEFAULTS,
    UNWATCHED,
    Options,
    Sheet,
    StoppedError,
    Watch,
    check_task,
    failed_page,
)
from unrender.reading.text import TextSystem
from unrender.tasks import Task, find

FORMULAS = "formula"  # the task of what is displayed
DPI = 200  # twice what the line reader sees of twelve-point letters
LINES_AT_ONCE = 24
_CELL_LETTERS = 1.62  # cells: the same on the pages that the layout network was trained on
_MOST_CELLS = 640  # of a page's longer side
_DARK_SHARE = 0.45  # of the picture: so much ink is no page
_MUCH_INK, _GRAINY = 0.1, 0.6  # the same; and how many of its pixels end a run of ink, across and down, in noise
_LONGEST_SIDE = 2340  # pixels of an A4 page at that resolution


@dataclass(frozen=True)
class PageSystem:
    """A line reader, a layout network, and the formula reader for what is displayed."""

    lines: TextSystem
    segmenter: Callable[[NDArray[np.float32]], Cells]
    formulas: TextSystem | None = None  # reads displayed formulas; without it, `lines` does

    @classmethod
    def open(cls, loaded: Loaded, task: Task, engine: str | None = None, threads: int | None = None) -> "PageSystem":
        """Open a model folder that holds a line reader and a layout network."""
        formulas = None
        displayed = find(FORMULAS)
        if displayed.default_model in embedded_names():
            formulas = TextSystem.open(load(displayed.default_model), displayed, engine, threads)
        return cls(TextSystem.open(loaded, task, engine, threads), OnnxSegmenter(loaded.folder, threads), formulas)

    @property
    def config(self) -> TextConfig:
        return self.lines.config

    @property
    def task(self) -> Task:
        return self.lines.task

    @property
    def dpi(self) -> int:
        return DPI

    @property
    def beams(self) -> int:
        return self.lines.beams

    def for_task(self, task: Task) -> "PageSystem":
        check_task(self.config, task)
        return self

    def read(
        self,
        sheets: Iterator[Sheet | None],
        options: Options = DEFAULTS,
        watch: Watch = UNWATCHED,
        *,
        batch: int = BATCH,
    ) -> Iterator[tuple[Sheet, Page]]:
        finished: list[_Job] = []
        jobs: dict[Sheet, tuple[_Job, int]] = {}

        def pieces() -> Iterator[Sheet | None]:
            for sheet in sheets:
                if sheet is None:
                    yield None
                    continue
                try:
                    job = self._take_apart(sheet)
                except UnrenderError as error:
                    job = _Job(sheet, error=error)
                if not job.wanted:
                    finished.append(job)
                for number, picture in enumerate(job.wanted):
                    piece = Sheet(picture.image, number)
                    jobs[piece] = job, number
                    yield piece

        follower = _Follower(watch, jobs)
        sight = _as_cut(replace(self.lines.sight(options), new_path=self._new_path(options)))
        for piece, looks in Looking(sight, pieces(), follower, LINES_AT_ONCE).looks():
            job, number = jobs.pop(piece)
            job.take(number, looks[0] if looks else None, self.lines)
            finished += [job] if job.done else []
            while finished:
                yield self._finish(finished.pop(0), options)
        while finished:
            yield self._finish(finished.pop(0), options)

    def _new_path(self, options: Options) -> Callable[[int], Path]:
        """Search greedily, and never say the same thing over and over."""
        settings, decoder = self.config.generation, self.config.decoder
        room = min(options.max_tokens or settings.max_tokens, decoder.max_positions - len(settings.start))
        constraint = NoLoop(decoder.vocabulary)
        return lambda most: GreedyPath(
            Rules(settings.end, max(1, min(most, room)), settings.forbidden, constraint, alternatives=0), None
        )

    def _take_apart(self, sheet: Sheet) -> "_Job":
        """Find what there is to read on a page."""
        shrunk = 1 + max(sheet.image.size) // (2 * _LONGEST_SIDE)  # how many times larger than reading takes
        image = sheet.image.reduce(shrunk) if shrunk > 1 else sheet.image
        straight = straighten(image)
        if not straight.letters or _is_no_page(straight.gray):
            return _Job(sheet, replace(straight, shrunk=shrunk), ())
        if straight.turns:
            straight = self._right_way_up(straight, image)
        straight = without_line_numbers(replace(straight, shrunk=shrunk))
        ink, scale = _low_resolution(straight.gray, straight.letters)
        regions = tuple(find_regions(straight, self.segmenter(ink), scale))
        gray = without_leaders(straight).gray
        zooms = [system.config.image.zoom for system in (self.lines, self.formulas) if system is not None]
        pictures = [_pictures(gray, regions, zoom, apart=self.formulas is not None) for zoom in zooms]
        lines = [picture for picture in pictures[0] if not picture.display or _may_be_words(picture, regions)]
        displays = [picture for picture in pictures[-1] if picture.display]
        return _Job(sheet, straight, regions, lines, displays)

    def _right_way_up(self, straight: Straight, image: Image.Image) -> Straight:
        """Read some lines of a page that was turned, and of the other ways it may lie; take what reads surest.

        Formulas below one another may gather in columns more sharply than in rows, so a page that seems to lie on its
        side is read upright too.
        """
        ways = [straight, straight.turned_over()]
        if straight.turns % 2:
            standing = straighten(image, lying=False)
            ways += [standing, standing.turned_over()]

        def sureness(way: Straight) -> float:
            return float(np.mean([0.0, *(row.confidence for row in self._read_at_once(sample_lines(way)))]))

        return max(ways, key=sureness)

    def _read_at_once(self, pictures: Sequence[Image.Image]) -> list[ReadRow]:
        """Read lines."""
        sheets = (Sheet(picture, number) for number, picture in enumerate(pictures))
        sight = replace(self.lines.sight(Options(beams=1)), new_path=self._new_path(DEFAULTS))
        looked = Looking(sight, sheets, UNWATCHED, LINES_AT_ONCE).looks()
        rows = {sheet.number: read_row(looks[0].decoded, self.lines.tokenizer) for sheet, looks in looked}
        return [rows[number] for number in range(len(pictures))]

    def _finish(self, job: "_Job", options: Options) -> tuple[Sheet, Page]:
        sheet = job.sheet
        if job.error is not None:
            return sheet, failed_page(sheet.number, job.error)
        if not job.regions or job.straight is None:
            return sheet, sheet.page(Status("empty"))
        if self.formulas is not None and job.displays:
            words = {index for index, row in job.found.items() if is_words(row)}
            job.displays = [display for display in job.displays if display.index not in words]
            self._read_displays(job, self.formulas)
        job.regions, job.found = settle(job.regions, job.found)
        layer = sheet.text() if options.text_layer else None
        return sheet, make_page(sheet, job.straight, job.regions, job.found, layer)

    def _read_displays(self, job: "_Job", formulas: TextSystem) -> None:
        """Look once at each displayed formula of a page; what the reader says is none is read as a line."""
        sight = _as_cut(formulas.sight(Options(beams=1)))
        once = replace(sight.config.generation, second_looks=(), far_looks=(), rows=False)
        sight = replace(sight, config=replace(sight.config, generation=once))
        sheets = (Sheet(picture.image, number) for number, picture in enumerate(job.displays))
        others = list[_Picture]()
        for sheet, looks in Looking(sight, sheets, UNWATCHED, LINES_AT_ONCE).looks():
            display = job.displays[sheet.number]
            if not looks[0].shows_nothing:
                job.found[display.index] = read_row(looks[0].decoded, formulas.tokenizer, display=True)
            elif display.index not in job.found:
                others.append(display)
        rows = self._read_at_once([display.image for display in others])
        job.found.update({display.index: row for display, row in zip(others, rows, strict=True)})


@dataclass(frozen=True)
class _Picture:
    """A part of a line as its reader sees it, and which it is: region, row, part."""

    image: Image.Image
    index: PartIndex
    display: bool = False


@dataclass(eq=False)
class _Job:
    """A page on its way: what is to be read on it, and what has been."""

    sheet: Sheet
    straight: Straight | None = None
    regions: tuple[Region, ...] = ()
    wanted: list[_Picture] = field(default_factory=list)
    displays: list[_Picture] = field(default_factory=list)
    found: dict[tuple[int, int, int], ReadRow] = field(default_factory=dict)
    awaited: int = 0
    error: UnrenderError | None = None

    def __post_init__(self) -> None:
        self.awaited = len(self.wanted)

    @property
    def done(self) -> bool:
        return self.awaited == 0

    def take(self, number: int, look: Look | None, lines: TextSystem) -> None:
        self.awaited -= 1
        if look is None:
            self.error = StoppedError()
        else:
            self.found[self.wanted[number].index] = read_row(look.decoded, lines.tokenizer)


@dataclass(frozen=True)
class _Follower(Watch):
    """Asks for each line whether its page is still wanted."""

    watch: Watch
    jobs: dict[Sheet, tuple[_Job, int]]

    def wants(self, sheet: Sheet) -> bool:
        return sheet not in self.jobs or self.watch.wants(self.jobs[sheet][0].sheet)


def _as_cut(sight: Sight) -> Sight:
    """Look at pictures as large as they are: they were cut out so."""
    image = replace(sight.config.image, zoom=1.0, symbols=(0.0, 0.0, 0.0))
    return replace(sight, config=replace(sight.config, image=image))


def _is_no_page(gray: NDArray[np.uint8]) -> bool:
    """Say whether there is too much ink for a page, or much of it in single pixels, as in noise."""
    ink = gray < INK
    share = float(ink.mean())
    if share <= _MUCH_INK:
        return False
    ends = min(int((ink[:, :-1] & ~ink[:, 1:]).sum()), int((ink[:-1] & ~ink[1:]).sum()))
    return share > _DARK_SHARE or ends > _GRAINY * int(ink.sum())


def _low_resolution(gray: NDArray[np.uint8], letters: float) -> tuple[NDArray[np.float32], float]:
    """Return the ink of a page in the layout network's cells, and how many cells there are to a pixel."""
    rows, columns = gray.shape
    scale = min(_CELL_LETTERS / letters, _MOST_CELLS / max(rows, columns), 1.0)
    width, height = max(1, round(columns * scale)), max(1, round(rows * scale))
    return to_ink(shrink(gray, width, height)), width / columns


def _may_be_words(picture: _Picture, regions: tuple[Region, ...]) -> bool:
    region, position, _ = picture.index
    return may_be_words(regions[region].rows[position])


def _pictures(gray: NDArray[np.uint8], regions: tuple[Region, ...], zoom: float, *, apart: bool) -> Iterator[_Picture]:
    """Cut out everything to be read; displays `apart` from their numbers."""
    for number, region in enumerate(regions):
        for position, row in enumerate(region.rows):
            by_itself = apart and region.kind == Kind.FORMULA
            for index, box in enumerate(row.cells if by_itself else split(row)):
                assert box is not None
                picture = cut(gray, box, row.letters, zoom)
                yield _Picture(picture, (number, position, index), by_itself and index == 0)
