"""Pictures with their truth: the formats in which datasets come, read as one kind of Example.

| format | recognised by | target |
|---|---|---|
| labels | labels.tsv: picture, tab, truth | the truth, white space folded |
| imagefolder | metadata.jsonl with `file_name` | the column `text`, or Donut's `ground_truth` as tags |
| im2latex | a split .lst beside a formulas .lst | the formula; raw TeX is normalised |
| inkml | *.inkml files of pen strokes | the annotated LaTeX, normalised |
| sroie | NAME.json with `fields` and `lines` beside NAME.jpg | the fields as tags; the words with their boxes |
| pages | NAME.md beside NAME.pdf or a picture | the Markdown |

Truths are read at once, pictures when they are asked for, so memory does not grow with the pictures.
"""

from pathlib import Path

from unrender.errors import DataError
from unrender.evaluation.datasets import folders, im2latex
from unrender.evaluation.datasets.example import INKML, Dataset, Example, Kind
from unrender.evaluation.datasets.im2latex import SEED_004, UPSTREAM, Limits

__all__ = ["SEED_004", "UPSTREAM", "Dataset", "Example", "Kind", "Limits", "open_dataset"]


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
        return im2latex.open_split(listing, limits)
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
    splits = im2latex.find_splits(folder)
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
