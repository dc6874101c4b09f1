"""What every system that reads pages agrees on: sheets go in, pages come out, and somebody may watch.

A system is a loaded model and all it needs to read: one writes text (`text`), one labels words (`labels`).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from PIL import Image

from unrender.documents import Block, Page, Status
from unrender.errors import ConfigError, ModelError, UnrenderError
from unrender.images.opening import Pages, PageText, Source, is_blank
from unrender.models import ModelConfig
from unrender.tasks import Task

if TYPE_CHECKING:
    from unrender.words import WordPage

BATCH = 8  # pages read together unless the caller says otherwise


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a caller may choose for a read; None leaves it to the model."""

    beams: int | None = None
    max_tokens: int | None = None
    n_best: int = 1
    question: str = ""  # for tasks whose prompt asks one
    words: str | Path | None = None  # a JSON, hOCR or ALTO file with the words, for models that label them
    text_layer: bool = True  # False: pages of a PDF are read from their pixels alone
    fast: bool = False  # read without the decoder, where the model's encoder names characters by itself
    verify: bool = False  # typeset what was read, compare it with the picture, and take the reading that fits
    calibrated: bool = True  # False: confidences as the model itself gives them

    def __post_init__(self) -> None:
        for name in ("beams", "max_tokens", "n_best"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be at least 1, got {value}")


DEFAULTS = Options()


@dataclass(frozen=True)
class Input:
    """A source with the name it goes by, the pages wanted (from 1; none given: all) and its words where known."""

    source: Source
    name: str = ""
    pages: tuple[int, ...] = ()
    words: "WordPage | None" = None  # for models that label them; of a source with one page
    place: str = ""  # its path below the folder it was found in


@dataclass(frozen=True, eq=False)
class Sheet:
    """One page to read: its picture, its number in the source, its words where they are known.

    `text` gives what a page of a PDF says itself; None for a picture. Where only one part of the picture is to be
    read, `region` is its left, top, right, bottom. `redraw` draws the same with another pen, if it is
    pen strokes.
    """

    image: Image.Image
    number: int = 1
    words: "WordPage | None" = None
    text: Callable[[], PageText | None] = lambda: None
    redraw: Callable[[int], Image.Image] | None = None
    region: tuple[int, int, int, int] | None = None

    @property
    def pens(self) -> int:
        """With how many other pens the page can be drawn."""
        if self.redraw is None:
            return 0
        from unrender.images.pen_strokes import OTHER_PENS  # XML is seldom read, and slow to load

        return len(OTHER_PENS)

    def page(self, status: Status, blocks: tuple[Block, ...] = ()) -> Page:
        """Return the page that this sheet was read as."""
        return Page(number=self.number, width=self.image.width, height=self.image.height, blocks=blocks, status=status)


class Watch:
    """Follows a reading; this one wants every page and listens to none."""

    def wants(self, sheet: Sheet) -> bool:
        """Say whether somebody still waits for a page; one that nobody waits for is given up, with status `failed`."""
        return True

    def listener(self, sheet: Sheet) -> Callable[[str], None] | None:
        """Return who is told the text of a page as it grows."""
        return None


UNWATCHED = Watch()


class StoppedError(UnrenderError):
    """Nobody waits for a page any more."""

    def __init__(self) -> None:
        super().__init__("The reading was stopped.")


def check_task(config: ModelConfig, task: Task) -> None:
    """Refuse a task that a model was not trained for, where it can read for that one only."""
    if task.name != config.task:
        raise ModelError(f"{config.name} reads {config.task}, not {task.name}; give another model.")


class System(Protocol):
    """Whoever reads pages."""

    @property
    def config(self) -> ModelConfig: ...

    @property
    def task(self) -> Task: ...

    @property
    def dpi(self) -> int:
        """How finely pages of a PDF are drawn."""
        ...

    @property
    def beams(self) -> int:
        """How wide the search is unless the caller says otherwise."""
        ...

    def for_task(self, task: Task) -> "System":
        """Return a system on the same weights that reads for another task."""
        ...

    def read(
        self,
        sheets: Iterator[Sheet | None],
        options: Options = DEFAULTS,
        watch: Watch = UNWATCHED,
        *,
        batch: int = BATCH,
    ) -> Iterator[tuple[Sheet, Page]]:
        """Yield each sheet with its page, as soon as it is read; up to `batch` of them are read together.

        A sheet is taken when there is room for it. None, like the end, means that there is none for now; reading ends
        when none is being read and none comes.
        """
        ...


def open_sheet(
    pages: Pages, number: int, words: "WordPage | None" = None, crop: tuple[float, ...] | None = None
) -> Sheet | Page:
    """Open one page of a source, counted from 1; one that is blank or cannot be opened is a page at once.

    `crop` is the part to read, left, top, right, bottom as shares of the page; it has pixels only.
    """
    try:
        sheet = Sheet(pages[number - 1], number, words, lambda: pages.text(number - 1), pages.redraw)
    except UnrenderError as error:
        return failed_page(number, error)
    if crop is not None:
        sheet = Sheet(cut_out(sheet.image, crop), number)
    return sheet.page(Status("empty")) if is_blank(sheet.image) else sheet


def cut_out(image: Image.Image, crop: tuple[float, ...]) -> Image.Image:
    """Return the part of a picture, given as shares of it; at least one pixel."""
    left, top = int(crop[0] * image.width), int(crop[1] * image.height)
    right, bottom = math.ceil(crop[2] * image.width), math.ceil(crop[3] * image.height)
    left, top = min(left, image.width - 1), min(top, image.height - 1)
    return image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))


def failed_page(number: int, error: UnrenderError) -> Page:
    """Return the page that says why it could not be read."""
    return Page(number=number, width=0, height=0, status=Status("failed", reason=str(error)))
