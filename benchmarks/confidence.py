"""Fit what the formula reader's confidence is made of, and say how true it is on pictures that the fit has not seen.

    python benchmarks/confidence.py MODEL FOLDER... [--store]

Each FOLDER holds pictures and a labels.tsv (picture, kind, truth), as `people.py` and `visitors.py` make them; a
reading is right if it has the same visible tokens. Every picture is read once; where nothing was read there is nothing
to be sure of. Then the nats of doubt are tried that every token lacks, and that other looks and odd ink are worth,
each with a slope and an offset of its own. For each the AUC of right against wrong readings and the expected
calibration error are found: by five folds drawn at random, and by five folds of whole kinds. The best ten are printed:
those with the highest AUC less the error, over kinds. `--store` writes the best into the config.json of the model
folder.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from people import auc, same
from PIL import Image

from unrender.checkpoints import load, write_config
from unrender.decoding.calibration import AS_IT_IS, Line, confidence_of, fit_line, log_odds
from unrender.images.opening import open_pages
from unrender.metrics import calibration_error
from unrender.models.config import TextConfig
from unrender.reading.certainty import Certainty
from unrender.reading.considering import Look
from unrender.reading.looks import Looking
from unrender.reading.reader import Reader
from unrender.reading.systems import DEFAULTS, UNWATCHED, Sheet
from unrender.reading.text import TextSystem

_DOUBTS = {
    "usual_doubt": (0.0, 0.05, 0.1),
    "doubt_of_looks": (0.0, 1.0, 2.0, 4.0),
    "doubt_of_ink": (0.0, 0.2, 0.4, 0.8),
}
_FOLDS, _SHOWN = 5, 10
_LEAST = 1e-300


@dataclass(frozen=True)
class Seen:
    """What one picture was read as, and what that rests on."""

    kind: str
    right: bool
    looks: tuple[Look, ...]
    strokes: tuple[int, ...]  # in the picture, for each look

    def log(self, certainty: Certainty) -> float:
        """Return the logarithm of the confidence as it is before the fit."""
        chances = [
            certainty.confidence(look.decoded, look.decoded.looks, strokes, AS_IT_IS)
            for look, strokes in zip(self.looks, self.strokes, strict=True)
        ]
        return float(np.log(np.maximum(chances, _LEAST)).sum())


def read(system: TextSystem, folders: Sequence[Path]) -> list[Seen]:
    """Read every picture of the folders once."""
    seen, certainty = list[Seen](), Certainty(system.config, system.tokenizer)
    for folder in folders:
        for line in (folder / "labels.tsv").read_text().splitlines():
            name, kind, truth = line.split("\t")
            one = _seen(system, certainty, open_pages(folder / name)[0], kind, truth)
            seen += [one] if one else []
    return seen


def _seen(system: TextSystem, certainty: Certainty, image: Image.Image, kind: str, truth: str) -> Seen | None:
    [(_, looks)] = Looking(system.sight(), iter([Sheet(image)]), UNWATCHED, 1).looks()
    text = "\n".join(block.text for block in system.blocks_of(looks, DEFAULTS))
    if not text:
        return None
    strokes = tuple(len(look.ink.boxes) for look in looks)
    slim = np.zeros((1, 1, 1), dtype=np.float32)
    bare = tuple(
        Look(replace(certainty.tidied(look.decoded), attention=()), look.grid, look.placement, slim, look.aim)
        for look in looks
    )
    return Seen(kind, same(text, truth), bare, strokes)


def folds_of(seen: Sequence[Seen], *, kinds: bool) -> np.ndarray:
    """Return the fold of each picture; with `kinds`, all of a kind are in one."""
    rng = np.random.default_rng(0)
    if not kinds:
        return rng.permutation(np.arange(len(seen)) % _FOLDS)
    names = sorted({one.kind for one in seen})
    chosen = dict(zip(names, rng.permutation(np.arange(len(names)) % _FOLDS).tolist(), strict=True))
    return np.array([chosen[one.kind] for one in seen])


def unseen(logs: np.ndarray, right: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return the confidence of each picture by a line fitted on the other folds."""
    found = np.zeros(len(logs))
    for fold in range(_FOLDS):
        line = _line(logs[folds != fold], right[folds != fold])
        found[folds == fold] = [confidence_of(log, line) for log in logs[folds == fold]]
    return found


def _line(logs: np.ndarray, right: np.ndarray) -> Line:
    return fit_line([log_odds(log) for log in logs], right.tolist())


@dataclass(frozen=True)
class Tried:
    """Doubts, the line fitted with them, and how true the confidence is on what its fit has not seen."""

    doubts: dict[str, float]
    line: Line
    worth: float
    measures: str


def _tried(
    system: TextSystem, seen: Sequence[Seen], right: np.ndarray, ways: dict[bool, np.ndarray], doubts: dict[str, float]
) -> Tried:
    certainty = Certainty(replace(system.config, **doubts), system.tokenizer)
    logs = np.array([one.log(certainty) for one in seen])
    found = {kinds: unseen(logs, right, folds) for kinds, folds in ways.items()}
    by = {
        kinds: (auc(values, right), float(calibration_error(values.tolist(), right.tolist())))
        for kinds, values in found.items()
    }
    measures = " | ".join(f"{area:.3f} {error:.3f}" for area, error in by.values())
    return Tried(doubts, _line(logs, right), by[True][0] - by[True][1], measures)


def main() -> None:
    """Read, fit and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--store", action="store_true")
    given = parser.parse_args()
    system = Reader.open(given.model, threads=1).system
    assert isinstance(system, TextSystem)
    seen = read(system, given.folders)
    right = np.array([one.right for one in seen])
    print(f"{len(seen)} pictures, {right.sum()} right; AUC and calibration error by random folds | by kinds")
    ways = {False: folds_of(seen, kinds=False), True: folds_of(seen, kinds=True)}
    tried = [
        _tried(system, seen, right, ways, dict(zip(_DOUBTS, one, strict=True))) for one in product(*_DOUBTS.values())
    ]
    tried.sort(key=lambda one: one.worth, reverse=True)
    for one in tried[:_SHOWN]:
        print(*(f"{name} {value}" for name, value in one.doubts.items()), one.measures, sep="  ")
    best = tried[0]
    print(f"calibration {best.line}")
    if given.store:
        loaded = load(given.model)
        assert isinstance(loaded.config, TextConfig)
        write_config(loaded.folder, replace(loaded.config, calibration=best.line, **best.doubts))


if __name__ == "__main__":
    main()
