"""The words of a picture, read by RapidOCR (extra `ocr`; its weights are in its wheel)."""

import math
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.documents import Box
from unrender.errors import MissingExtraError
from unrender.words.word_page import Line, WordPage, level, order_lines, split_lines, turn_points

if TYPE_CHECKING:
    from rapidocr import RapidOCR

_LOST_SPACES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<=[A-Za-z.])\((?=[A-Za-z])", " ("),  # X.Y.Z.(CENTRAL)
        (r"\)(?=[A-Za-z])", ") "),
        (r"(?<![\d/-])(\d{5})(?=[A-Z][A-Za-z]{2})", r"\1 "),  # 12300SOMETOWN
        (r"(\d{2}[-/.]\d{2}[-/.](?:20)?\d{2})(?=\d{2}:\d{2})", r"\1 "),  # 01/02/202015:41
    )
)
_TALL = 1.5  # a line of this height to its width stands on its side
_SIDEWAYS = 0.5  # of the characters in such lines: then the picture lies on its side
_DOUBTFUL = 0.93  # mean score below which the picture may stand on its head
_LEVEL = 0.7  # degrees: lines that fall less are level
_LONG = 3.0  # a line this many times as long as high shows how it lies
_THINNEST = 60  # times as long as wide: RapidOCR shrinks what is thinner to nothing
_STEEP = 20.0  # degrees: a picture that is tilted more is levelled before it is read


class WordReader(Protocol):
    """Anything that finds the words of an upright RGB picture."""

    def __call__(self, image: Image.Image) -> WordPage: ...


class RapidReader:
    """RapidOCR behind one call; a picture on its side is turned first."""

    def __init__(self, threads: int = -1) -> None:
        self._library = _open_library(threads, reads=True)

    def __call__(self, image: Image.Image) -> WordPage:
        """Find the words; a picture that is tilted, on its side or on its head is turned first."""
        return self.find(image).page()

    def find(self, image: Image.Image) -> "FoundLines":
        """Find the lines as they were read, with the corners of each."""
        best = self._read(image, 0)
        tilt = best.tilt if _STEEP < abs(best.tilt) < 90 - _STEEP else 0.0
        if tilt:
            best = self._read(image, 0, tilt)
        for turns in _other_turns(best):
            other = self._read(image, turns, tilt)
            best = max(best, other, key=lambda reading: reading.weight if not reading.sideways else 0.0)
        return best

    def _read(self, image: Image.Image, turns: int, tilt: float = 0.0) -> "FoundLines":
        """Read a picture after some quarter turns and, where its lines fall, after levelling it."""
        from rapidocr.utils.output import RapidOCROutput

        turned = image.rotate(-90 * turns, expand=True) if turns else image
        size, turned = turned.size, level(turned, tilt) if tilt else turned
        found = self._library(_blue_first(turned), use_cls=False)
        if not isinstance(found, RapidOCROutput) or found.txts is None:
            return FoundLines(size, turns, [], np.zeros((0, 4, 2)))
        quads = np.asarray(found.boxes, dtype=np.float64)
        scores = found.scores or (1.0,) * len(quads)
        lines = [
            Line(tidy(text), _frame(quad), float(sure))
            for quad, text, sure in zip(quads, found.txts, scores, strict=True)
        ]
        return FoundLines(size, turns, lines, turn_points(quads, -tilt, turned.size, size) if tilt else quads, tilt)


class RapidFinder:
    """RapidOCR's detector alone: where lines stand, not what they say."""

    def __init__(self, threads: int = -1) -> None:
        self._library = _open_library(threads, reads=False)

    def __call__(self, image: Image.Image) -> NDArray[np.float64]:
        """Find the corners of each line, (N, 4, 2), from where it begins at the top round to where it begins below."""
        from rapidocr.ch_ppocr_det.utils import TextDetOutput

        found = self._library(_blue_first(image))
        if not isinstance(found, TextDetOutput) or found.boxes is None:
            return np.zeros((0, 4, 2))
        return np.asarray(found.boxes, dtype=np.float64)


@dataclass(frozen=True)
class FoundLines:
    """What was found in the picture after some quarter turns; corners are those before it was levelled."""

    size: tuple[int, int]
    turns: int
    lines: list[Line]  # as they were read, with boxes of the levelled picture
    quads: NDArray[np.float64]  # (N, 4, 2)
    levelled: float = 0.0  # degrees

    def page(self) -> WordPage:
        """Return the words of the level picture in reading order."""
        tilt = self.tilt
        if not self.lines or (abs(tilt) < _LEVEL and not self.levelled):
            width, height = self.size
            return WordPage(width, height, tuple(split_lines(order_lines(self.lines, self.slope))), self.turns)
        cosine, sine = abs(math.cos(math.radians(tilt))), abs(math.sin(math.radians(tilt)))
        width, height = self.size
        after = math.ceil(width * cosine + height * sine), math.ceil(width * sine + height * cosine)
        level_quads = turn_points(self.quads, tilt, self.size, after)
        lines = [replace(line, box=_frame(quad)) for line, quad in zip(self.lines, level_quads, strict=True)]
        return WordPage(*after, tuple(split_lines(order_lines(lines))), self.turns, tilt, self.size)

    @property
    def tilt(self) -> float:
        """By how many degrees long lines fall to the right, from -90 to 90."""
        return tilt_of(self.quads)

    @property
    def weight(self) -> float:
        """How much was read, and how surely."""
        return sum(line.confidence * len(line.text) for line in self.lines)

    @property
    def certainty(self) -> float:
        return self.weight / max(1, sum(len(line.text) for line in self.lines))

    @property
    def sideways(self) -> bool:
        tall = sum(len(line.text) for line in self.lines if line.box.height > _TALL * line.box.width)
        return tall > _SIDEWAYS * sum(len(line.text) for line in self.lines)

    @property
    def slope(self) -> float:
        return slope_of(self.quads)


def _other_turns(reading: FoundLines) -> tuple[int, ...]:
    """Say which ways to try when a picture was hard to read as it is."""
    if not reading.lines:
        return ()
    if reading.sideways:
        return (1, 3)
    return (2,) if reading.certainty < _DOUBTFUL else ()


def _open_library(threads: int, *, reads: bool) -> "RapidOCR":
    try:
        from rapidocr import RapidOCR
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "finding the words in a picture needs RapidOCR: pip install 'unrender[ocr]'; "
            "or give the words with --words FILE (JSON, hOCR or ALTO)"
        ) from error
    except ImportError as error:  # on a server, OpenCV may lack a library
        raise MissingExtraError(
            f"RapidOCR is installed but does not load ({error}); pip install --force-reinstall --no-deps "
            "opencv-python-headless fixes that on a machine without a display"
        ) from error
    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_rec": reads,
            "Global.use_cls": False,
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": threads,
        }
    )


def _blue_first(image: Image.Image) -> NDArray[np.uint8]:
    """Return the pixels as RapidOCR takes them; a ribbon, which it cannot shrink, gets paper below or beside it."""
    width, height = image.size
    least = math.ceil(max(width, height) / _THINNEST)
    padded = Image.new("RGB", (max(width, least), max(height, least)), "white")
    padded.paste(image.convert("RGB"))
    return np.asarray(padded)[:, :, ::-1].copy()


@lru_cache(maxsize=1)
def open_reader(threads: int = -1) -> RapidReader:
    """Return the one RapidOCR of this process; it takes a second to load."""
    return RapidReader(threads)


@lru_cache(maxsize=1)
def open_finder(threads: int = -1) -> RapidFinder | None:
    """Return the one detector of this process; None where RapidOCR is not installed."""
    return RapidFinder(threads) if find_spec("rapidocr") is not None else None


def tidy(text: str) -> str:
    """Give a recognised line the plain signs and the spaces that the recogniser tends to lose."""
    text = unicodedata.normalize("NFKC", text)
    for pattern, replacement in _LOST_SPACES:
        text = pattern.sub(replacement, text)
    return text


def slope_of(quads: NDArray[np.float64]) -> float:
    """Return how far lines fall on each pixel to the right: the median over (N, 4, 2) corners, long lines first."""
    if not len(quads):
        return 0.0
    along = quads[:, 1] - quads[:, 0]
    wide = np.abs(along[:, 0]) >= np.median(np.abs(along[:, 0]))
    slopes = along[wide, 1] / np.maximum(1.0, np.abs(along[wide, 0]))
    slope = float(np.median(slopes))
    return slope if math.isfinite(slope) else 0.0


def tilt_of(quads: NDArray[np.float64]) -> float:
    """Return how steeply lines fall, in degrees from -90 to 90: the median over the long sides of long (N, 4, 2)."""
    first, second = quads[:, 1] - quads[:, 0], quads[:, 2] - quads[:, 1]
    lengths = np.hypot(first[:, 0], first[:, 1]), np.hypot(second[:, 0], second[:, 1])
    along = np.where((lengths[0] >= lengths[1])[:, None], first, second)
    long = np.maximum(*lengths) > _LONG * np.minimum(*lengths)
    if not long.any():
        return 0.0
    degrees = np.degrees(np.arctan2(along[long, 1], along[long, 0]))
    upright = (degrees + 90) % 180 - 90
    steep = np.abs(upright) > 45  # about the vertical, -89 and 89 are the same
    if steep.mean() > 0.5:
        upright = np.where(upright < 0, upright + 180, upright)
    middle = float(np.median(upright))
    return middle if middle <= 90 else middle - 180


def _frame(quad: NDArray[np.float64]) -> Box:
    (x0, y0), (x1, y1) = quad.min(axis=0), quad.max(axis=0)
    return Box(float(x0), float(y0), float(x1), float(y1))
