"""When a formula is worth a second look, how to take it, and how sure to be in the end: by what all looks say.

    python benchmarks/doubts.py look FOLDER LOOKS [MODEL] [COUNT]     every look at every picture, kept
    python benchmarks/doubts.py weigh LOOKS [MODEL]                   the policies and the confidences, compared

`look` takes each picture (in an order drawn with a fixed seed, COUNT of them) once at its own size and at each size of
a second look, greedily and with the beam. `weigh` needs no model run: for every policy it prints, for the half of the
pictures to choose by and for the half to report, how many are right, the processor seconds of a picture, and how
many are looked at again at all and in full. Below that, for each sign of doubt and for a line through all of them
fitted on the first half, how well it tells right readings from wrong ones on the second (AUC).
"""

import math
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from people import same
from PIL import Image

from unrender.decoding.calibration import without_usual_doubt
from unrender.decoding.paths import Decoded
from unrender.latex.commands import SILENT
from unrender.reading.consensus import rank_readings
from unrender.reading.looks import Looking
from unrender.reading.reader import Reader
from unrender.reading.systems import UNWATCHED, Options, Sheet
from unrender.reading.text import TextSystem

_BEAM = 4
_STEPS, _RIDGE = 50, 1.0
_CHECK = 2  # which of the second looks is taken first, by itself, to check the first


@dataclass(frozen=True)
class Taken:
    """One look: what it read, how many strokes it left unread, and the processor seconds it took."""

    decoded: Decoded
    unread: int
    seconds: float


@dataclass(frozen=True)
class Seen:
    """All looks at one picture."""

    kind: str
    truth: str
    first: Taken
    greedy: tuple[Taken, ...]  # at the sizes of second looks
    beam: tuple[Taken, ...]


@dataclass(frozen=True)
class Outcome:
    """What a policy believes, and what it took."""

    reading: Decoded
    looks: tuple[Taken, ...]  # beyond the first
    full: bool  # it went through with all the second looks


def look(folder: Path, out: Path, model: str, count: int) -> None:
    """Look at every picture in every way and keep what was read."""
    system = Reader.open(model, threads=1).system
    assert isinstance(system, TextSystem)
    rows = [line.split("\t") for line in (folder / "labels.tsv").read_text().splitlines()]
    chosen = np.random.default_rng(0).permutation(len(rows))[:count]
    zooms = system.config.generation.second_looks
    seen = []
    for number in chosen:
        name, kind, truth = rows[int(number)]
        image = Image.open(folder / name).convert("RGB")
        views = [
            tuple(_take(system, image, zoom, beams) for zoom in sizes)
            for sizes, beams in (((1.0,), 1), (zooms, 1), (zooms, _BEAM))
        ]
        seen.append(Seen(kind, truth, views[0][0], views[1], views[2]))
        out.write_bytes(pickle.dumps(seen))
    print(f"{len(seen)} pictures in {out}")


def _take(system: TextSystem, image: Image.Image, zoom: float, beams: int) -> Taken:
    config = system.config
    once = replace(config.generation, second_looks=(), far_looks=(), rows=False)
    plain = replace(config, image=replace(config.image, zoom=zoom * config.image.zoom), generation=once)
    began = time.process_time()
    sight = replace(system, config=plain).sight(Options(beams=beams))
    [(_, [found])] = Looking(sight, iter([Sheet(image)]), UNWATCHED, 1).looks()
    seconds = time.process_time() - began
    bare = replace(found.decoded, attention=(), runners_up=tuple(map(_bare, found.decoded.runners_up)))
    return Taken(bare, len(found.unread), seconds)


def _bare(decoded: Decoded) -> Decoded:
    return replace(decoded, attention=())


class Weighing:
    """Policies, over the looks that were taken."""

    def __init__(self, system: TextSystem) -> None:
        self._system = system
        pieces = [system.tokenizer.piece(token).strip() for token in range(system.config.decoder.vocabulary)]
        self._silent = {token for token, piece in enumerate(pieces) if piece in SILENT}

    def text(self, decoded: Decoded) -> str:
        """Return a reading as the user gets it."""
        blocks = self._system.task.parse(self._system.tokenizer.decode(decoded.tokens))
        return blocks[0].text if blocks else ""

    def visible(self, decoded: Decoded) -> tuple[int, ...]:
        """Return the tokens that a picture shows."""
        return tuple(token for token in decoded.tokens if token not in self._silent)

    def weakest(self, decoded: Decoded) -> float:
        """Return the least probability of a token that a picture shows, the end included."""
        pairs = zip(decoded.tokens, decoded.log_probabilities, strict=True)
        logs = [log for token, log in pairs if token not in self._silent]
        return math.exp(min((*logs, decoded.end_log_probability))) if decoded.complete else 0.0

    def once(self, seen: Seen) -> Outcome:
        return Outcome(seen.first.decoded, (), full=False)

    def always(self, seen: Seen, *, any_token: float = 1.1, shown: float = 1.1, beam: bool = False) -> Outcome:
        """Take all second looks where a token (any, or one that is seen) is below a limit."""
        first = seen.first.decoded
        if first.sureness >= self._system.config.generation.sure:
            return self.once(seen)
        if first.weakest >= any_token or self.weakest(first) >= shown:
            return self.once(seen)
        looks = seen.beam if beam else seen.greedy
        return Outcome(_best([first, *(one.decoded for one in looks)]), looks, full=True)

    def checked(self, seen: Seen, *, shown: float, beam: bool = False) -> Outcome:
        """Take one more look first; where it shows the same, believe that; else take the others."""
        first, check = seen.first.decoded, seen.greedy[_CHECK]
        if self.weakest(first) >= shown:
            return self.once(seen)
        if self.visible(first) == self.visible(check.decoded):
            return Outcome(first, (check,), full=False)
        among = seen.beam if beam else seen.greedy
        looks = (check, *(one for number, one in enumerate(among) if number != _CHECK))
        return Outcome(_best([first, *(one.decoded for one in looks)]), looks, full=True)


def _best(readings: Sequence[Decoded]) -> Decoded:
    found = [one for reading in readings for one in (reading, *reading.runners_up)]
    return found[rank_readings(found)[0]]


def weigh(path: Path, model: str) -> None:
    """Print the policies, then the signs of doubt."""
    system = Reader.open(model, threads=1).system
    assert isinstance(system, TextSystem)
    seen: list[Seen] = pickle.loads(path.read_bytes())
    ways = Weighing(system)
    policies: dict[str, Callable[[Seen], Outcome]] = {
        "one look": ways.once,
        "shipped": lambda one: ways.always(one, any_token=system.config.generation.doubtful, beam=True),
        "the same, greedy": lambda one: ways.always(one, any_token=system.config.generation.doubtful),
    }
    for limit in (0.5, 0.6, 0.7, 0.8):
        policies[f"seen below {limit}, beam"] = lambda one, limit=limit: ways.always(one, shown=limit, beam=True)
        policies[f"seen below {limit}, greedy"] = lambda one, limit=limit: ways.always(one, shown=limit)
        policies[f"checked below {limit}, beam"] = lambda one, limit=limit: ways.checked(one, shown=limit, beam=True)
        policies[f"checked below {limit}, greedy"] = lambda one, limit=limit: ways.checked(one, shown=limit)
    print(f"{len(seen)} pictures; to choose by | to report: right, seconds, again, in full")
    for name, policy in policies.items():
        print(f"{name:28}", *(_line(ways, policy, seen[half::2]) for half in (0, 1)), sep=" | ")
    _weigh_signs(ways, system.config.usual_doubt, [(one, policies["shipped"](one)) for one in seen])


def _line(ways: Weighing, policy: Callable[[Seen], Outcome], seen: Sequence[Seen]) -> str:
    outcomes = [policy(one) for one in seen]
    right = sum(same(ways.text(out.reading), one.truth) for out, one in zip(outcomes, seen, strict=True))
    seconds = np.mean(
        [one.first.seconds + sum(more.seconds for more in out.looks) for out, one in zip(outcomes, seen, strict=True)]
    )
    again, full = np.mean([bool(out.looks) for out in outcomes]), np.mean([out.full for out in outcomes])
    return f"{right:3d} of {len(seen)}  {seconds:.3f}  {again:.2f}  {full:.2f}"


def _weigh_signs(ways: Weighing, usual: float, found: Sequence[tuple[Seen, Outcome]]) -> None:
    right = np.array([same(ways.text(out.reading), one.truth) for one, out in found])
    signs = {
        "doubts beyond the usual (shipped)": [
            without_usual_doubt((*out.reading.log_probabilities, out.reading.end_log_probability), usual)
            for _, out in found
        ],
        "weakest that is seen": [math.log(max(1e-9, ways.weakest(out.reading))) for _, out in found],
        "least margin": [_margin(out.reading) for _, out in found],
        "mean of all": [math.log(max(1e-9, out.reading.sureness)) for _, out in found],
        "looks that agree": [_agreement(ways, one, out) for one, out in found],
        "unread strokes": [-math.log1p(one.first.unread) for one, _ in found],
        "tokens": [-math.log1p(len(out.reading.tokens)) for _, out in found],
    }
    print("AUC on the half to report:")
    for name, values in signs.items():
        print(f"  {name:36} {_auc(np.array(values)[1::2], right[1::2]):.3f}")
    table = np.array(list(signs.values())).T
    table = (table - table[::2].mean(axis=0)) / np.maximum(1e-9, table[::2].std(axis=0))
    weights = _fit(table[::2], right[::2])
    print(f"  {'all, fitted on the other half':36} {_auc(table[1::2] @ weights[:-1], right[1::2]):.3f}")
    print("  weights:", ", ".join(f"{name} {weight:.2f}" for name, weight in zip(signs, weights[:-1], strict=True)))


def _margin(decoded: Decoded) -> float:
    """Return the least distance, in nats, of a token taken from the next best one."""
    margins = [
        log - math.log(max(1e-9, others[0].probability))
        for log, others in zip(decoded.log_probabilities, decoded.alternatives, strict=True)
        if others
    ]
    return min(margins, default=0.0)


def _agreement(ways: Weighing, seen: Seen, outcome: Outcome) -> float:
    """Return the share of the looks taken that show what is believed; one look agrees with itself."""
    readings = [seen.first.decoded, *(one.decoded for one in outcome.looks)]
    return float(np.mean([ways.visible(one) == ways.visible(outcome.reading) for one in readings]))


def _auc(values: np.ndarray, right: np.ndarray) -> float:
    good, bad = values[right], values[~right]
    above = (good[:, None] > bad[None, :]).mean() if len(good) and len(bad) else 0.5
    return float(above + 0.5 * (good[:, None] == bad[None, :]).mean()) if len(good) and len(bad) else 0.5


def _fit(table: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Fit a logistic line by Newton's method; the last weight is the offset."""
    design = np.hstack([table, np.ones((len(table), 1))])
    weights = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        slope = design.T @ (chances - right) + _RIDGE * weights
        bend = (design * (chances * (1 - chances))[:, None]).T @ design + _RIDGE * np.eye(len(weights))
        weights -= np.linalg.solve(bend, slope)
    return weights


if __name__ == "__main__":
    verb, *given = sys.argv[1:]
    if verb == "look":
        folder, out, *rest = given
        look(Path(folder), Path(out), rest[0] if rest else "formula", int(rest[1]) if len(rest) > 1 else 10_000)
    else:
        weigh(Path(given[0]), given[1] if len(given) > 1 else "formula")
