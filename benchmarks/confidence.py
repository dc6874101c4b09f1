"""Fit what the formula reader's confidence is made of, and say how true it is on pictures that the fit has not seen.

    python benchmarks/confidence.py MODEL FOLDER... [--store]

Each FOLDER holds pictures and a labels.tsv (picture, kind, truth), as `people.py` and `visitors.py` make them; a
reading is right if it has the same visible tokens. Every picture is read once. Then the nats of doubt that other looks
and odd ink are worth are tried, each with a slope and an offset of its own, and for each the AUC of right against wrong
readings and the expected calibration error are printed: by five folds drawn at random, and by five folds of whole
kinds. `--store` writes the best into the config.json of the model folder: the highest AUC less the error, over kinds.
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

_LOOKS, _INK = (0.0, 0.5, 1.0, 2.0, 4.0), (0.0, 0.1, 0.2, 0.4, 0.8)
_FOLDS = 5
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
            seen.append(_seen(system, certainty, open_pages(folder / name)[0], kind, truth))
    return seen


def _seen(system: TextSystem, certainty: Certainty, image: Image.Image, kind: str, truth: str) -> Seen:
    [(_, looks)] = Looking(system.sight(), iter([Sheet(image)]), UNWATCHED, 1).looks()
    text = "\n".join(block.text for block in system.blocks_of(looks, DEFAULTS))
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
    best = (-1.0, system.config, AS_IT_IS)
    for looks, ink in product(_LOOKS, _INK):
        config = replace(system.config, doubt_of_looks=looks, doubt_of_ink=ink)
        logs = np.array([one.log(Certainty(config, system.tokenizer)) for one in seen])
        found = {kinds: unseen(logs, right, folds) for kinds, folds in ways.items()}
        by = {
            kinds: (auc(values, right), float(calibration_error(values.tolist(), right.tolist())))
            for kinds, values in found.items()
        }
        print(
            f"looks {looks:.1f} ink {ink:.1f}:", *(f"{area:.3f} {error:.3f}" for area, error in by.values()), sep="  "
        )
        best = max(best, (by[True][0] - by[True][1], config, _line(logs, right)), key=lambda one: one[0])
    _, config, line = best
    print(f"best: doubt_of_looks {config.doubt_of_looks}, doubt_of_ink {config.doubt_of_ink}, calibration {line}")
    if given.store:
        loaded = load(given.model)
        assert isinstance(loaded.config, TextConfig)
        doubts = {"doubt_of_looks": config.doubt_of_looks, "doubt_of_ink": config.doubt_of_ink}
        write_config(loaded.folder, replace(loaded.config, calibration=line, **doubts))


if __name__ == "__main__":
    main()
