"""Pen strokes: read from InkML, and drawn as pictures with the pen that the formula model was trained on."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from unrender.errors import ImageError

Points = NDArray[np.float64]  # (N, 2): x to the right, y down
_SUPERSAMPLING = 4
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_LARGEST_SIDE, _LARGEST_AREA = 4000, 4_000_000  # pixels of a picture; larger formulas are drawn smaller
_FARTHEST = 1e9  # a pen's coordinate; sums and differences of such ones stay exact
_UPRIGHT = 0.4  # strokes this high in proportion to their width tell how large the writing is
_SLOWEST_PEN = 0.6  # share of the typical speed at which a line is thickest


@dataclass(frozen=True, kw_only=True)
class Pen:
    """How strokes are drawn: sizes in pixels, `swing` the share by which speed thins and pauses thicken a line."""

    symbol_height: float = 16.0  # of the typical symbol, as in the handwritten Im2Latex pictures
    width: float = 1.5
    swing: float = 0.25
    margin: int = 8


@dataclass(frozen=True)
class InkSymbol:
    """One symbol of a segmented formula: its LaTeX and its strokes."""

    label: str
    strokes: tuple[Points, ...]


@dataclass(frozen=True)
class InkFile:
    """What one file holds; `truth` is LaTeX as annotated or empty, `symbols` are in the order of reading."""

    truth: str
    strokes: tuple[Points, ...]
    symbols: tuple[InkSymbol, ...]


PEN = Pen()
OTHER_PENS = (Pen(width=2.2), Pen(width=1.1, swing=0.0))  # what is read wrong with one is often right with another


def parse_ink(data: bytes, name: str) -> InkFile:
    """Read the strokes of a file, its truth and its symbols; errors call it `name`."""
    try:
        root = ElementTree.fromstring(data.decode(errors="replace"))  # some files have stray bytes
    except ElementTree.ParseError as error:
        raise ImageError(f"{name} is not InkML ({error}).") from error
    space = root.tag.removesuffix("ink")
    found = [(trace.get("id", ""), _points(trace.text or "", name)) for trace in root.iter(f"{space}trace")]
    traces = dict(found)  # not all have names, but those that groups speak of
    strokes = tuple(points for _, points in found if len(points))
    if not strokes:
        raise ImageError(f"{name}: there are no pen strokes in it.")
    order = {element.get(_ID): number for number, element in enumerate(root.iter())}  # MathML's leaves among others
    symbols: list[tuple[int, InkSymbol]] = []
    for group in root.iter(f"{space}traceGroup"):
        named = [view.get("traceDataRef", "") for view in group.findall(f"{space}traceView")]
        parts = tuple(traces[name] for name in named if len(traces.get(name, ())))
        if parts and (label := _annotation(group, space)):
            link = group.find(f"{space}annotationXML")
            rank = order.get(None if link is None else link.get("href"), len(order))
            symbols.append((rank, InkSymbol(label, parts)))
    in_order = sorted(symbols, key=lambda pair: pair[0])
    return InkFile(_annotation(root, space), strokes, tuple(symbol for _, symbol in in_order))


def draw(strokes: Sequence[Points], pen: Pen = PEN) -> Image.Image:
    """Draw strokes, dark on white, so large that the typical symbol has the pen's symbol height."""
    left, top = np.min([points.min(axis=0) for points in strokes], axis=0)
    right, bottom = np.max([points.max(axis=0) for points in strokes], axis=0)
    scale = pen.symbol_height / _symbol_height(strokes)
    scale = min(scale, (_LARGEST_SIDE - 2 * pen.margin) / max(right - left, bottom - top, 1e-9))
    scale = min(scale, (_LARGEST_AREA / max((right - left) * (bottom - top), 1e-9)) ** 0.5)
    width, height = (round(side * scale) + 2 * pen.margin for side in (right - left, bottom - top))
    canvas = Image.new("L", (width * _SUPERSAMPLING, height * _SUPERSAMPLING), 255)
    brush = ImageDraw.Draw(canvas)
    for points in strokes:
        placed = (points - (left, top)) * scale + pen.margin
        _draw_stroke(brush, placed * _SUPERSAMPLING, _widths(placed, pen) * _SUPERSAMPLING)
    return canvas.resize((width, height), Image.Resampling.BOX)


@dataclass(frozen=True)
class Drawing:
    """A file of pen strokes, opened; it has one page."""

    ink: InkFile
    count: int = 1

    def page(self, index: int, dpi: int, name: str) -> Image.Image:
        """Draw the strokes; what would be pages after the only one are the same strokes with other pens."""
        return draw(self.ink.strokes, (PEN, *OTHER_PENS)[index]).convert("RGB")

    def text(self, index: int, name: str) -> NoReturn:
        """Refuse: strokes have none."""
        raise ImageError(f"{name}: pen strokes have no text of their own.")


def vary(pen: Pen, rng: np.random.Generator) -> Pen:
    """Take a random pen for training: another width, size and swing."""
    return Pen(
        symbol_height=pen.symbol_height * float(rng.uniform(0.75, 1.5)),
        width=pen.width * float(rng.uniform(0.7, 2.0)),
        swing=float(rng.uniform(0.0, 2 * pen.swing)),
        margin=pen.margin,
    )


def _draw_stroke(brush: ImageDraw.ImageDraw, points: Points, widths: NDArray[np.float64]) -> None:
    for (x0, y0), (x1, y1), width in zip(points[:-1], points[1:], widths[1:], strict=True):
        brush.line((x0, y0, x1, y1), fill=0, width=max(1, round(width)))
    for (x, y), width in zip(points, widths, strict=True):  # round joints and ends, and dots
        brush.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), fill=0)


def _widths(points: Points, pen: Pen) -> NDArray[np.float64]:
    """Return how thick the line is at each point: thinner where the pen was fast, smoothed along the stroke."""
    if len(points) < 3:
        return np.full(len(points), pen.width)
    steps = np.hypot(*np.diff(points, axis=0, prepend=points[:1]).T)
    smooth = np.convolve(np.pad(steps, 2, mode="edge"), np.full(5, 0.2), mode="valid")
    speed = smooth / max(float(np.median(smooth)), 1e-9)
    widths: NDArray[np.float64] = pen.width * (1 + pen.swing * np.clip(1 - speed, -1.0, _SLOWEST_PEN))
    return widths


def _symbol_height(strokes: Sequence[Points]) -> float:
    """Estimate how high the typical symbol is: bars, signs and dots tell little."""
    extents = np.array([np.ptp(points, axis=0) for points in strokes])
    upright = extents[extents[:, 1] > _UPRIGHT * extents[:, 0], 1]
    tall = upright[upright > 0.2 * upright.max()] if upright.size else extents.max(axis=1)
    return max(float(np.median(tall)), 1e-9)


def _points(text: str, name: str) -> Points:
    """Parse `x y [time ...], x y ...`."""
    try:
        rows = [[float(value) for value in point.split()[:2]] for point in text.split(",") if point.strip()]
        points = np.array(rows, dtype=np.float64).reshape(len(rows), 2)
    except ValueError as error:
        raise ImageError(f"{name}: a pen stroke has points that are not x and y: {text.strip()[:40]!r}.") from error
    if not (np.abs(points) <= _FARTHEST).all():  # neither is NaN
        raise ImageError(f"{name}: a pen stroke has points farther than {_FARTHEST:g} from the origin.")
    return points


def _annotation(element: ElementTree.Element, space: str) -> str:
    """Return the truth; the name of the attribute that says so is misspelt in a few files."""
    found = (note.text for note in element.findall(f"{space}annotation") if "truth" in note.attrib.values())
    return (next(found, "") or "").strip()
