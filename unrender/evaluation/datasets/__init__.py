"""Pictures with their truth: the formats in which datasets come, read as one kind of Example.

| format | recognised by | target |
|---|---|---|
| labels | labels.tsv: picture, tab, truth | the truth, white space folded |
| imagefolder | metadata.jsonl with `file_name` | the column `text`, or Donut's `ground_truth` as tags |
| im2latex | a split .lst beside a formulas .lst | the formula; raw TeX is normalised |
| inkml | *.inkml files of pen strokes | the annotated LaTeX, normalised |
| sroie | NAME.json with `fields` and `lines` beside NAME.jpg | the fields as tags; the words with their boxes |
| pages | NAME.md beside NAME.pdf or a picture | the Markdown |

Truths are read at once, pictures when they are asked for, so memory does not grow with the pictures. A split of
Im2Latex-100K names a formula by its line, counted from 0: `line picture kind` as published, `picture line` once
filtered. Formulas whose file name says `norm` are taken as they are; raw TeX is normalised, and what cannot be parsed
left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from unrender import latex
from unrender.errors import DataError, LatexError
from unrender.evaluation.datasets import folders
from unrender.evaluation.datasets.folders import INKML, Dataset, Example, Kind, read_lines

__all__ = ["SEED_004", "UPSTREAM", "Dataset", "Example", "Kind", "Limits", "open_dataset"]
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


def open_dataset(
    path: Path, *, column: str | None = None, limits: Limits | None = SEED_004, held_out: bool = False
) -> Dataset:
    """Open a dataset, whatever its format: a folder, or the file that lists it.

    `column` names the truth in metadata.jsonl; `limits` drops long and large examples of the Im2Latex layout, and of
    that one only (None: keep all); `held_out` takes the fifth of a folder of receipts that is never trained on.
    """
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder.")
    if path.is_dir() and folders.is_sroie(path):
        return folders.open_sroie(path, True if held_out else None)
    if held_out:
        raise DataError(f"{path}: only a folder of receipts, as SROIE gives them, has a part that is held out.")
    listing = path if path.is_file() else _listing(path)
    if listing.name == folders.LABELS:
        return folders.open_labels(listing)
    if listing.suffix == ".jsonl":
        return folders.open_imagefolder(listing, column)
    if listing.suffix == ".lst":
        return open_split(listing, limits)
    if listing.is_dir() and folders.has_pages(listing):
        return folders.open_pages(listing)
    if listing.is_dir() or listing.suffix == INKML:
        return folders.open_inkml(listing)
    raise DataError(
        f"{path}: this is not a list of examples; give labels.tsv, metadata.jsonl, a split .lst or .inkml files."
    )


def _listing(folder: Path) -> Path:
    """Find what lists the examples of a folder; for pen strokes and pages that is the folder itself."""
    for name in (folders.LABELS, folders.METADATA):
        if (folder / name).is_file():
            return folder / name
    splits = find_splits(folder)
    if len(splits) > 1:
        raise DataError(f"{folder} has several splits; give one of them: {', '.join(split.name for split in splits)}.")
    if splits:
        return splits[0]
    if folders.has_pages(folder) or next(folder.rglob(f"*{INKML}"), None) is not None:
        return folder
    raise DataError(
        f"{folder}: there is no dataset in this folder; it needs {folders.LABELS}, {folders.METADATA}, "
        "an Im2Latex split and formulas (.lst), .inkml files, receipts (NAME.json beside NAME.jpg) or pages "
        "(NAME.md beside NAME.pdf or a picture)."
    )


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
