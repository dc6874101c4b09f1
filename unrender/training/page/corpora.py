"""`unrender data page`: from the raw sets to lines, layouts and pages, once.

| folder | what it holds |
|---|---|
| lines, pieces, paragraphs | single lines, two or three lines, whole paragraphs: pictures, tokens and their boxes |
| math-lines | the lines with a formula in them, once more |
| layouts | pages at 25 dpi with a label for every cell, and boxes in reading order |
| lines-held, pieces-held, paragraphs-held, layouts-held | the same of papers that no model is trained on |
| pages-held | their pages at 100 dpi: NAME.png, NAME.pdf, NAME.md; NAME.json says where everything stands |
| scans-held | the same pages, scanned badly, at 150 dpi |
"""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np

from unrender.checkpoints import cache_folder, resolve
from unrender.errors import DataError
from unrender.formats.marked import MARKERS, SOFT_HYPHEN, token_of
from unrender.tokens import FILE_NAME, LatexTokenizer, read_list
from unrender.training.data import CacheWriter, Gray, Sample, watched, write_part
from unrender.training.formula.texts import is_validation_paper
from unrender.training.page.compilation import compile_papers
from unrender.training.page.drafts import DOCUMENTS, PROSE, Excerpt, draft, read_documents, read_prose
from unrender.training.page.layouts import Layout, LayoutWriter, make_layout
from unrender.training.page.prose import CHARACTERS
from unrender.training.page.rasters import FLAT, PLACED, SCANNING, Warp, draw_pages, scan
from unrender.training.page.recovery import Page, assemble
from unrender.training.page.samples import LINES, PARAGRAPHS, PIECES, cut_samples, drawing_dpi
from unrender.training.page.styles import BOOK, LETTER, PAPER, choose_style
from unrender.training.page.whole_pages import PageFiles, write_page, write_pdfs
from unrender.training.photographs import rescale
from unrender.typesetting import fast_folder
from unrender.typesetting.pictures import find_tools

EXCERPTS, HELD_EXCERPTS = 3_000, 120  # unless told otherwise
PAGE_DPI, SCAN_DPI = 100, 150
_EXCERPTS_PER_RUN = 10
_PROCESSES = 2
_PROSE_SHARE = 0.12
_LETTERS = 0.4  # share of prose set as letters
_SCANNED_LINES, _SCANNED_LAYOUTS = 0.3, 0.5
_DOUBTFUL = 20  # words not understood, beyond which a page is left out
_FORMULAS = ("<m>", "<d>")  # a line that holds one of these is one of math-lines
_LINE_SETS = (LINES, PIECES, PARAGRAPHS)


@dataclass(frozen=True)
class Job:
    """One run of TeX: its excerpts, and the number that seeds its choices."""

    number: int
    excerpts: tuple[Excerpt, ...]
    held: bool


@dataclass
class Made:
    """What one run gave; `lost` counts the excerpts that TeX could not set."""

    samples: list[tuple[str, Sample]] = field(default_factory=list)
    layouts: list[Layout] = field(default_factory=list)
    files: list[PageFiles] = field(default_factory=list)
    lost: int = 0


def make(source: Path, out: Path | None = None, limit: int | None = None) -> Path:
    """Prepare everything from the raw sets under `source`; `limit` is how many excerpts of papers to set."""
    find_tools()
    folder = out or cache_folder() / "page"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer()
    tokenizer.save(folder / FILE_NAME)
    counts = (EXCERPTS, HELD_EXCERPTS) if limit is None else (limit, max(_EXCERPTS_PER_RUN, limit // 10))
    for held, count in zip((False, True), counts, strict=True):
        if not (folder / _named("layouts", held) / "index.npy").exists():
            _make_part(folder, _jobs(source, count, held=held), tokenizer, held=held)
    write_part(folder / LINES, folder / f"math-{LINES}", _FORMULAS)
    return folder


def make_tokenizer() -> LatexTokenizer:
    """Append characters of text and markers to the vocabulary of the embedded formula reader, whose ids stay.

    A character that looks like a formula token is that token: what is text and what is formula, the markers say.
    """
    formulas = read_list(resolve("formula") / FILE_NAME)
    characters = sorted(token_of(character) for character in CHARACTERS)
    return LatexTokenizer([*formulas, *characters, SOFT_HYPHEN, *MARKERS])


def _named(name: str, held: bool) -> str:
    return f"{name}-held" if held else name


def _jobs(source: Path, count: int, *, held: bool) -> list[Job]:
    """Share excerpts out among runs of TeX; papers that are held out stay apart."""
    prose = round(count * _PROSE_SHARE)
    chosen: list[Excerpt] = []
    for path, read, wanted in ((DOCUMENTS, read_documents, count - prose), (PROSE, read_prose, prose)):
        if not (source / path).exists():
            raise DataError(f"{source} has no {path}")
        fitting = [excerpt for excerpt in read(source / path) if is_validation_paper(excerpt.group) == held]
        order = np.random.default_rng(0).permutation(len(fitting))[:wanted]
        chosen += [fitting[index] for index in order]
    jobs: list[Job] = []
    for kind in (False, True):
        members = iter([excerpt for excerpt in chosen if excerpt.prose == kind])
        while batch := tuple(islice(members, _EXCERPTS_PER_RUN)):
            jobs.append(Job(2 * len(jobs) + held, batch, held))
    return [jobs[index] for index in np.random.default_rng(1).permutation(len(jobs))]


def _make_part(folder: Path, jobs: Sequence[Job], tokenizer: LatexTokenizer, *, held: bool) -> None:
    writers = {name: CacheWriter(folder / _named(name, held), tokenizer.tokens) for name in _LINE_SETS}
    layouts = LayoutWriter(folder / _named("layouts", held))
    lost = 0
    with ExitStack() as stack:
        pool = stack.enter_context(get_context("spawn").Pool(_PROCESSES, initializer=_settle))
        for made in watched(pool.imap(run_job, jobs), _named("pages", held), len(jobs)):
            for name, sample in made.samples:
                writers[name].add(sample)
            for layout in made.layouts:
                layouts.add(layout)
            for files in made.files:
                write_page(folder, files)
            lost += made.lost
    for name, writer in writers.items():
        writer.close()
        notes = folder / _named(name, held) / "notes.txt"
        notes.write_text(f"{len(writer)} pictures; {lost} excerpts could not be set\n")
    layouts.close()


def run_job(job: Job) -> Made:
    """Set the excerpts of one job, draw their pages and cut them up."""
    made, rng = Made(), np.random.default_rng([3, job.number])
    prose = job.excerpts[0].prose
    kind = PAPER if not prose else LETTER if rng.random() < _LETTERS else BOOK
    style = choose_style(rng, held=job.held, kind=kind)
    papers = [draft(excerpt, style, rng) for excerpt in job.excerpts]
    with tempfile.TemporaryDirectory(prefix="unrender-tex-", dir=fast_folder()) as name:
        runs = compile_papers(papers, style, Path(name))
        groups = {paper.name: paper.group for paper in papers}
        made.lost = len(papers) - sum(len(run.names) for run in runs)
        for run in runs:
            pages = assemble(run, [groups[paper] for paper in run.names])
            if not pages:
                continue
            dpi = drawing_dpi(pages[0])
            pdfs = write_pdfs(run.dvi) if job.held else None
            for page, gray in draw_pages(run.dvi, pages, dpi, rng):
                if page.pieces and page.doubtful <= _DOUBTFUL:
                    _use(page, gray, dpi, made, rng)
                    if job.held:
                        made.files.append(_files(page, gray, dpi, f"{job.number:04d}-{page.number:03d}", pdfs, rng))
    return made


def _use(page: Page, gray: Gray, dpi: float, made: Made, rng: np.random.Generator) -> None:
    """Cut a page into samples and make its layout, some of it scanned."""
    straight = Warp.at(dpi)
    seen = scan(gray, straight, dpi, FLAT, rng)[0] if rng.random() < _SCANNED_LINES else gray
    made.samples += cut_samples(page, seen, dpi, _tokenizer(), rng)
    small = rescale(gray, PAGE_DPI / dpi)
    warp = Warp.at(PAGE_DPI)
    if rng.random() < _SCANNED_LAYOUTS:
        small, warp = scan(small, warp, PAGE_DPI, PLACED, rng)
    made.layouts.append(make_layout(page, small, warp))


def _files(
    page: Page, gray: Gray, dpi: float, name: str, pdfs: Sequence[bytes] | None, rng: np.random.Generator
) -> PageFiles:
    at_scan = rescale(gray, min(1.0, SCAN_DPI / dpi))
    scanned, _ = scan(at_scan, Warp.at(SCAN_DPI), SCAN_DPI, SCANNING, rng)
    pdf = pdfs[page.number] if pdfs is not None and page.number < len(pdfs) else None
    return PageFiles(name, page, rescale(gray, PAGE_DPI / dpi), scanned, pdf, PAGE_DPI)


def _settle() -> None:
    """Keep each process to one core: there are as many processes as cores."""
    cv2.setNumThreads(1)


@cache
def _tokenizer() -> LatexTokenizer:
    return make_tokenizer()
