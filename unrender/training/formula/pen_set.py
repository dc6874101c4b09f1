"""The prepared set `pens`: formulas of all kinds, laid out by TeX and written with the strokes of real pens."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from unrender.checkpoints import cache_folder
from unrender.models.config import ImagePrep
from unrender.models.formula import formula as formula_model
from unrender.tokens import LatexTokenizer
from unrender.training.data import CacheWriter, Gray, Sample
from unrender.training.formula.glyphs import LARGE, Shapes, read_shapes
from unrender.training.formula.pens import fits, picture, take_manner, write
from unrender.training.formula.pointing import Boxes, lay_out_marked
from unrender.training.formula.texts import Formula
from unrender.training.formula.writers import Writers, gather
from unrender.typesetting import Style

_PRINTED = frozenset(
    r"""\mathbf \boldsymbol \bf \boldmath \mathsf \mathtt \sf \tt \textsc \sl \mathit \textit \emph \it \cancel
    \underbrace \overbrace \scriptstyle \scriptscriptstyle \tiny \small \large \Large \LARGE \footnotesize
    \raise \raisebox \kern \llap \smash \phantom \hphantom \vphantom""".split()
)  # what no hand shows
_UPRIGHT = frozenset(r"\mathrm \operatorname \textrm \textup \textnormal".split())  # of words; of one letter, unseen
_MOST_TOKENS = 60
_DISPLAYED = 0.7  # share of the runs in display style
_FORMULAS = 42_000
_CHUNK = 400  # formulas to one run of TeX
_PROCESSES = 2

Drawn = tuple[Gray, Boxes] | None  # None stands for a formula that could not be written
Progress = Callable[..., Iterable[list[Drawn]]]


@dataclass(frozen=True)
class Job:
    """Formulas for one run of TeX, who may write them, and the number that seeds the choices."""

    formulas: Sequence[Formula]
    writers: Path
    shapes: Shapes
    prep: ImagePrep
    number: int


def gather_writers(folder: Path, source: Path) -> Path:
    """Gather who wrote what from the raw sets under `source`, unless that was done."""
    path = folder / "writers.npz"
    if not path.exists():
        gather(source, cache_folder() / "node" / "node_modules" / "@fontsource").save(path)
    return path


def make_pens(
    folder: Path,
    writers: Path,
    pools: Sequence[Sequence[Formula]],
    tokenizer: LatexTokenizer,
    *,
    first: int = 0,
    progress: Progress,
) -> None:
    """Write formulas of all pools, in equal shares; the folder is there whole or not at all. `first` seeds all choices.

    `progress` may watch the jobs go by, told how many there are; it must pass them on.
    """
    if (folder / "index.npy").exists():
        return
    partial = folder.with_name(f"{folder.name}.partial")
    writer = CacheWriter(partial, tokenizer.tokens)
    jobs = _plan(writers, pools, formula_model(tokenizer.size).image, first)
    with get_context("spawn").Pool(_PROCESSES) as pool:
        for job, found in zip(jobs, progress(pool.imap(_work, jobs), total=len(jobs)), strict=True):
            for formula, drawn in zip(job.formulas, found, strict=True):
                if drawn is not None and fits(drawn[0]):
                    writer.add(Sample(drawn[0], tuple(tokenizer.encode(formula.text)), formula.paper, drawn[1]))
    writer.close()
    tried = sum(len(job.formulas) for job in jobs)
    (partial / "notes.txt").write_text(
        f"{len(writer)} of {tried} formulas; the others cannot be written or are large\n"
    )
    partial.rename(folder)


def _plan(writers: Path, pools: Sequence[Sequence[Formula]], prep: ImagePrep, first: int) -> list[Job]:
    """Share the formulas out to runs of TeX."""
    share = _FORMULAS // len(pools)
    formulas = [formula for pool in pools for formula in islice(can_be_written(pool), share)]
    formulas = [formulas[index] for index in np.random.default_rng(5).permutation(len(formulas))]
    shapes = read_shapes(Writers.load(writers).names)
    starts = range(0, len(formulas), _CHUNK)
    return [Job(formulas[start : start + _CHUNK], writers, shapes, prep, first + start) for start in starts]


def can_be_written(formulas: Iterable[Formula]) -> Iterator[Formula]:
    """Yield what a pen can write: not too long, and without bold or other letters that a hand does not tell apart."""
    for formula in formulas:
        tokens = formula.text.split()
        alone = (tokens[index + 2 : index + 4] for index, token in enumerate(tokens) if token in _UPRIGHT)
        if len(tokens) <= _MOST_TOKENS and not _PRINTED & set(tokens) and not any(end[1:] == ["}"] for end in alone):
            yield formula


def _work(job: Job) -> list[Drawn]:
    """Lay out and write the formulas of a job; None stands for one that could not be written."""
    rng = np.random.default_rng([5, job.number])
    writers = _open_writers(job.writers)
    labels = [formula.text.split() for formula in job.formulas]
    pages = lay_out_marked(labels, Style(display=bool(rng.random() < _DISPLAYED)))
    found: list[Drawn] = []
    for tokens, page in zip(labels, pages, strict=True):
        found.append(None)
        if page is not None and (written := write(page[0], job.shapes, writers.hand(rng), take_manner(rng), rng)):
            large = [glyph.key[0] == LARGE for glyph in page[0].glyphs]
            found[-1] = picture(written, tokens, page[1], large, job.prep, rng)
    return found


@cache
def _open_writers(path: Path) -> Writers:
    return Writers.load(path)
