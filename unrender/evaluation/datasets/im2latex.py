"""The layout of Im2Latex-100K: a list of formulas, a list for each split, and a folder of pictures.

A split names a formula by its line, counted from 0: `line picture kind` as published, `picture line` once filtered.
Formulas whose file name says `norm` are taken as they are; raw TeX is normalised, and what cannot be parsed left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from unrender import latex
from unrender.errors import DataError, LatexError
from unrender.evaluation.datasets.example import Dataset, Example
from unrender.evaluation.datasets.folders import read_lines

_PICTURE_FOLDERS = ("formula_images_processed", "images_processed", "formula_images", "images", ".")
_SPLIT_WORDS = ("train", "valid", "test")
_ENCODING = "iso-8859-1"  # as published


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The longest formula and the largest picture that are kept."""

    max_tokens: int
    width: int
    height: int

    def __str__(self) -> str:
        return f"at most {self.max_tokens} tokens, {self.width} px wide, {self.height} px high"


SEED_004 = Limits(max_tokens=150, width=500, height=150)  # seed 004, 5.2
UPSTREAM = Limits(max_tokens=150, width=500, height=160)  # the scripts that made the dataset


def find_splits(folder: Path) -> list[Path]:
    """Find the lists of splits; without a list of formulas beside them there are none."""
    lists = sorted(folder.glob("*.lst"))
    if not any("formulas" in path.name for path in lists):
        return []
    return [path for path in lists if "formulas" not in path.name and any(word in path.name for word in _SPLIT_WORDS)]


def open_split(listing: Path, limits: Limits | None = SEED_004) -> Dataset:
    """Open one split; its notes say how many examples the limits and the parser dropped."""
    formulas_path = _find_formulas(listing)
    formulas = _read_formulas(formulas_path)
    pictures = _find_pictures(listing)
    raw = "norm" not in formulas_path.name
    examples: list[Example] = []
    beyond = broken = 0
    for place, number, name in _read_split(listing):
        if not 0 <= number < len(formulas):
            raise DataError(f"{place}: there is no formula {number}; {formulas_path.name} has {len(formulas)}.")
        path = pictures / name
        if not path.is_file():
            raise DataError(f"{place}: the picture {path} is missing.")
        target = _canonical(formulas[number]) if raw else " ".join(formulas[number].split())
        if not target:
            broken += 1
        elif limits is not None and not _is_within(path, target, limits):
            beyond += 1
        else:
            examples.append(Example(path, target, name))
    if not examples:
        raise DataError(f"{listing}: no example is left{f' with {limits}' if limits else ''}.")
    notes = [f"{broken:,} formulas cannot be parsed and are left out."] if broken else []
    notes += [f"{beyond:,} examples are beyond the limits ({limits}) and are left out."] if beyond else []
    return Dataset(listing, "im2latex", tuple(examples), tuple(notes))


def _find_formulas(listing: Path) -> Path:
    found = sorted(listing.parent.glob("*formulas*.lst"), key=lambda path: ("norm" not in path.name, path.name))
    if not found:
        raise DataError(f"{listing}: there is no list of formulas (*formulas*.lst) beside it.")
    return found[0]


def _find_pictures(listing: Path) -> Path:
    for name in _PICTURE_FOLDERS:
        folder = listing.parent / name
        if next(folder.glob("*.png"), None) is not None:
            return folder
    raise DataError(f"{listing}: there are no pictures beside it, in any of {', '.join(_PICTURE_FOLDERS[:-1])}.")


def _read_formulas(path: Path) -> list[str]:
    """Read every line, empty ones too: a formula is known by its line."""
    try:
        return path.read_bytes().decode(_ENCODING).removesuffix("\n").split("\n")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from error


def _read_split(listing: Path) -> Iterator[tuple[str, int, str]]:
    """Yield place, formula number and picture of each line."""
    for place, line in read_lines(listing, _ENCODING):
        columns = line.split()
        filtered = len(columns) == 2 and columns[1].isdecimal()
        if not filtered and not (len(columns) == 3 and columns[0].isdecimal()):
            raise DataError(f"{place}: expected `formula picture kind` or `picture formula`, found {line[:60]!r}.")
        number, name = (columns[1], columns[0]) if filtered else (columns[0], columns[1])
        yield place, int(number), name if Path(name).suffix else f"{name}.png"


def _canonical(formula: str) -> str:
    try:
        return latex.normalise(formula)
    except LatexError:
        return ""


def _is_within(path: Path, target: str, limits: Limits) -> bool:
    if len(target.split()) > limits.max_tokens:
        return False
    try:
        with Image.open(path) as image:
            return image.width <= limits.width and image.height <= limits.height
    except OSError as error:
        raise DataError(f"{path}: the picture is damaged ({error}).") from error
