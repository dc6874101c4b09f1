"""`unrender data formula`: from the raw sets to prepared arrays, once.

| prepared set | what it holds |
|---|---|
| short, display | arXiv inline and display formulas, typeset |
| short-hand, display-hand | the same kinds, written with harvested handwritten glyphs |
| printed-unified, handwritten-unified | nine tenths of the official validation pictures, labels unified |
| printed-train, handwritten-train | the same pictures, labels as they are |
| symbols | every symbol of the vocabulary by itself, typeset |
| fonts | the labels of printed-train, typeset in other fonts |
| printed-held, handwritten-held | the tenth that no model is trained on |
| typeset-held | formulas of papers that no model is trained on |
| crohme | real pen strokes: whole formulas, parts of them, and with other symbols in them |
| arrays, arrays-hand | those of display and display-hand that have arrays |
| others | what is no formula: words, lines of text, pieces of receipts, drawings |
| pens | formulas laid out by TeX, written with the strokes of real pens |
| everyday, matrices, rare | formulas made up by rule: of all kinds, matrices, and around signs that are rare |
| articles, lines | out of TeX articles, and several formulas below one another |
| browser, plots, mathjax | formulas of all these kinds drawn by Chromium (KaTeX, MathML), matplotlib, MathJax |
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from PIL import Image

from unrender.checkpoints import cache_folder
from unrender.evaluation.datasets import open_dataset
from unrender.evaluation.datasets.folders import read_ink
from unrender.models.config import ImagePrep
from unrender.models.formula import formula as formula_model
from unrender.tokens import LatexTokenizer, read_list
from unrender.training.data import BOXES, CacheWriter, Gray, Sample, watched, write_part
from unrender.training.formula import crohme
from unrender.training.formula.everyday import make_up, matrices, stack
from unrender.training.formula.handwriting import GlyphBank, compose, fit, harvest
from unrender.training.formula.others import make_others
from unrender.training.formula.pen_set import gather_writers, make_pens
from unrender.training.formula.pens import as_read, fits
from unrender.training.formula.pointing import annotate
from unrender.training.formula.rarities import make_rare
from unrender.training.formula.renderers import renderer
from unrender.training.formula.texts import (
    MAX_TOKENS,
    Formula,
    is_held_out,
    is_learnable,
    is_validation_paper,
    open_corpus,
    read_articles,
    stands_alone,
    unify,
)
from unrender.training.formula.writers import Writers
from unrender.typesetting import FONTS, Style, lay_out
from unrender.typesetting.pictures import crop_to_ink, typeset

_CHUNK = 400  # formulas to one run of TeX
_PAGEFUL = 80  # formulas to one page of the browser
_PROCESSES = 2
_PLAIN = 0.75  # share of runs in Computer Modern at the usual size
_FONTS = sorted(FONTS.keys() - {"computer-modern", "stix", "bright", "iwona", "antykwa"})  # the last are for measuring
_SETTINGS = 2  # how often an official label is set in another font
_SYMBOL_SETTINGS = 12  # how often a symbol is set by itself
_HAND_SCALES = (1.1, 1.22)  # the handwritten pictures are drawn larger than the printed ones
_SHORT, _SHORT_HAND, _DISPLAY, _DISPLAY_HAND, _HELD = 20_000, 12_000, 36_000, 48_000, 2_000
_EVERYDAY, _MATRICES, _RARE, _LINES, _DRAWN = 24_000, 8_000, 16_000, 16_000, 36_000
_SEED_STRIDE = 10_000_000  # more than any set has formulas
_OFFICIAL = ("printed", "handwritten")
_ARRAYS = {"display": "arrays", "display-hand": "arrays-hand"}
_LAYOUT_DPI = 100

Pair = tuple[Path, str]  # picture and label
Choice = Callable[[str], str | None]  # what of a label is written, if anything


@dataclass(frozen=True)
class _Plan:
    """Formulas and how they are set: by TeX, or in the handwriting of a bank of glyphs."""

    formulas: Sequence[Formula]
    bank: Path | None = None
    plain: float = _PLAIN  # the chance of Computer Modern at the usual size
    number: int = 0  # of the run of TeX, which seeds its choices; at first, where its set begins to count


def make(source: Path, out: Path | None = None, seed: int = 0) -> Path:
    """Prepare every set from the raw sets under `source`; what is there already stays. Another seed draws others."""
    folder = out or cache_folder() / "formula"
    folder.mkdir(parents=True, exist_ok=True)
    official = {kind: _official(source / f"im2latex-{kind}-validate") for kind in _OFFICIAL}
    corpus = open_corpus(source, folder, [label for pairs in official.values() for _, label in pairs])
    tokenizer = LatexTokenizer(read_list(folder / "tokenizer.json"))
    _make_official(folder, official, tokenizer)
    held = [formula for formula in corpus if is_validation_paper(formula.paper)]
    drawn = (corpus[index] for index in np.random.default_rng(seed).permutation(len(corpus)))
    usable = [formula for formula in drawn if not is_validation_paper(formula.paper)]
    inline = [formula for formula in usable if not formula.display]
    display = [formula for formula in usable if formula.display]
    bank = _make_bank(folder, official["handwritten"])
    labels = [Formula(label, 0, display=True) for _, label in official["printed"] if is_learnable(label, tokenizer)]
    symbols = [Formula(token, 0, display=False) for token in tokenizer.tokens if stands_alone(token)]
    articles = list(read_articles(source / "planetmath-tex", tokenizer))
    made = list(make_up(_EVERYDAY, tokenizer, seed=seed))
    rare = list(make_up(_RARE, tokenizer, make_rare, seed=seed))
    lines = list(stack(_LINES, [*articles, *made, *inline[:40_000]], tokenizer, seed=seed))
    pools = made, inline[_SHORT + _SHORT_HAND :], display
    plans = {
        "display-hand": _Plan(display[-_DISPLAY_HAND:], bank),
        "rare": _Plan(rare, plain=0.4),
        "everyday": _Plan(made, plain=0.5),
        "symbols": _Plan(symbols * _SYMBOL_SETTINGS),
        "matrices": _Plan(list(make_up(_MATRICES, tokenizer, matrices, seed=seed)), plain=0.5),
        "lines": _Plan(lines, plain=0.6),
        "articles": _Plan(articles, plain=0.6),
        "fonts": _Plan(labels * _SETTINGS, plain=0.0),
        "short": _Plan(inline[:_SHORT]),
        "short-hand": _Plan(inline[_SHORT : _SHORT + _SHORT_HAND], bank),
        "display": _Plan(display[:_DISPLAY]),
        "typeset-held": _Plan(held[:_HELD]),
    }
    for name, plan in plans.items():
        _make_set(folder / name, replace(plan, number=seed * _SEED_STRIDE), tokenizer)
        _place(folder / name)
    for whole, part in _ARRAYS.items():
        write_part(folder / whole, folder / part, (r"\begin{array}",))
    if (source / "crohme-train").exists():
        writers = gather_writers(folder, source)
        _make_crohme(folder, source / "crohme-train", tokenizer, Writers.load(writers), seed)
        watch = partial(watched, what="pens")
        make_pens(folder / "pens", writers, pools, tokenizer, first=seed * _SEED_STRIDE, progress=watch)
    make_others(folder / "others", source, tokenizer.tokens, formula_model(tokenizer.size).image, seed)
    rng = np.random.default_rng([2, seed])
    share = _DRAWN // 7
    people = [
        pool[int(index)]
        for pool in (articles, made, rare, rare, symbols, inline, display)
        for index in rng.integers(len(pool), size=share)
    ]
    for name, chosen in {"browser": people, "plots": people[: 5 * share : 2], "mathjax": people[1::3]}.items():
        _make_drawn(folder / name, chosen, tokenizer, seed)
        _place(folder / name)
    for kind in _OFFICIAL:
        for name in ("unified", "train"):
            _place(folder / f"{kind}-{name}")
    return folder


def _place(folder: Path) -> None:
    """Find out where the tokens of a set stand in its pictures."""
    if not (folder / BOXES).exists():
        share = annotate(folder, progress=lambda starts: watched(starts, f"{folder.name}, places"))
        with (folder / "notes.txt").open("a") as notes:
            notes.write(f"{share:.1%} of the samples know where their tokens stand\n")


def _official(folder: Path) -> list[Pair]:
    return [(example.path, example.target) for example in open_dataset(folder).examples]


def _make_official(folder: Path, official: dict[str, list[Pair]], tokenizer: LatexTokenizer) -> None:
    choices: dict[str, Choice] = {
        "held": lambda label: label if is_held_out(label) else None,
        "train": lambda label: None if is_held_out(label) else label,
        "unified": lambda label: None if is_held_out(label) else unify(label),
    }
    for kind, pairs in official.items():
        for name, choose in choices.items():
            _write(folder / f"{kind}-{name}", tokenizer, pairs, choose)


def _write(folder: Path, tokenizer: LatexTokenizer, pairs: Sequence[Pair], choose: Choice) -> None:
    """Write the pictures whose label `choose` keeps; held-out ones stay even with tokens the vocabulary lacks."""
    if (folder / "index.npy").exists():
        return
    writer = CacheWriter(folder, tokenizer.tokens)
    for path, label in watched(pairs, folder.name):
        target = choose(label)
        if target is None or (tokenizer.unknown(target) and not is_held_out(label)):
            continue
        gray = _open(path)
        if gray is not None and len(target.split()) <= MAX_TOKENS:
            writer.add(Sample(gray, tuple(tokenizer.encode(target))))
    writer.close()


def _open(picture: Path) -> Gray | None:
    with Image.open(picture) as image:
        return crop_to_ink(np.asarray(image.convert("L")))


def _make_bank(folder: Path, pairs: Sequence[Pair]) -> Path:
    """Harvest handwritten glyphs from the pictures that may be trained on."""
    path = folder / "bank.npz"
    if path.exists():
        return path
    bank = GlyphBank()
    usable = [pair for pair in pairs if not is_held_out(pair[1])]
    chunks = [usable[start : start + _CHUNK] for start in range(0, len(usable), _CHUNK)]
    for chunk in watched(chunks, "handwritten glyphs"):
        layouts = lay_out([label for _, label in chunk], Style(), _LAYOUT_DPI)
        for (picture, _), layout in zip(chunk, layouts, strict=True):
            gray = _open(picture)
            fitted = None if layout is None or gray is None else fit(layout, gray)
            if fitted is not None and gray is not None:
                for key, glyph in harvest(fitted, gray):
                    bank.add(key, glyph)
    bank.save(path)
    return path


def _make_crohme(folder: Path, source: Path, tokenizer: LatexTokenizer, writers: Writers, seed: int) -> None:
    target = folder / "crohme"
    if (target / "index.npy").exists():
        return
    rng, prep = np.random.default_rng(seed), formula_model(tokenizer.size).image
    writer = CacheWriter(target, tokenizer.tokens)
    for example in watched(open_dataset(source).examples, "crohme"):
        text = crohme.label(example.target)
        if text is None or tokenizer.unknown(text) or len(text.split()) > MAX_TOKENS:
            continue
        for gray, boxes, tokens in crohme.pictures(read_ink(example.path), text.split(), prep, rng, writers):
            if fits(gray):
                writer.add(Sample(gray, tuple(tokenizer.encode(" ".join(tokens))), boxes=boxes))
    writer.close()


def _make_set(folder: Path, plan: _Plan, tokenizer: LatexTokenizer) -> None:
    """Draw formulas in several processes, hundreds to a run of TeX; count what could not be drawn."""
    if (folder / "index.npy").exists():
        return
    starts = range(0, len(plan.formulas), _CHUNK)
    jobs = [
        replace(plan, formulas=plan.formulas[start : start + _CHUNK], number=plan.number + start) for start in starts
    ]
    writer, prep = CacheWriter(folder, tokenizer.tokens), formula_model(tokenizer.size).image
    with get_context("spawn").Pool(_PROCESSES) as pool:
        work = _typeset_job if plan.bank is None else _handwrite_job
        for job, pictures in zip(jobs, watched(pool.imap(work, jobs), folder.name, len(jobs)), strict=True):
            for formula, gray in zip(job.formulas, pictures, strict=True):
                _add(writer, formula, gray, tokenizer, prep)
    writer.close()
    (folder / "notes.txt").write_text(
        f"{len(writer)} of {len(plan.formulas)} formulas; the others do not compile or are too large\n"
    )


def _make_drawn(folder: Path, formulas: Sequence[Formula], tokenizer: LatexTokenizer, seed: int) -> None:
    """Draw formulas with other programs than TeX."""
    if (folder / "index.npy").exists():
        return
    prep = formula_model(tokenizer.size).image
    order = np.random.default_rng([3, seed]).permutation(len(formulas))
    pages = [order[start : start + _PAGEFUL] for start in range(0, len(order), _PAGEFUL)]
    chunks = [[formulas[index] for index in page] for page in pages]
    writer = CacheWriter(folder, tokenizer.tokens)
    with renderer(folder.name, cache_folder() / "node") as draw:
        for number, chunk in enumerate(watched(chunks, folder.name)):
            pictures = draw([formula.text for formula in chunk], np.random.default_rng([4, seed, number]))
            for formula, picture in zip(chunk, pictures, strict=True):
                _add(writer, formula, picture, tokenizer, prep)
    writer.close()


def _add(
    writer: CacheWriter, formula: Formula, picture: Gray | None, tokenizer: LatexTokenizer, prep: ImagePrep
) -> None:
    """Add a picture at the size at which the reader would look at it: a tall sign by itself as small as any letter."""
    gray = None if picture is None else crop_to_ink(np.asarray(as_read(Image.fromarray(picture), prep)))
    if fits(gray):
        writer.add(Sample(gray, tuple(tokenizer.encode(formula.text)), formula.paper))


def _typeset_job(job: _Plan) -> list[Gray | None]:
    return typeset([formula.drawn or formula.text for formula in job.formulas], _style(job))


def _style(job: _Plan) -> Style:
    """Choose how a run is set: mostly as the Im2Latex pictures, some in other fonts and sizes."""
    rng = np.random.default_rng(job.number)
    display = job.formulas[0].display or bool(rng.random() < 0.5)
    points = int(rng.choice([10, 11, 12, 12, 12, 12]))
    if rng.random() < job.plain:
        return Style(points=points, display=display)
    font = str(rng.choice(_FONTS))
    return Style(points=points, dpi=int(rng.choice([85, 100, 100, 120])), font=font, display=display)


def _handwrite_job(job: _Plan) -> list[Gray | None]:
    assert job.bank is not None
    bank, rng = GlyphBank.load(job.bank), np.random.default_rng([1, job.number])
    pictures: list[Gray | None] = []
    for layout in lay_out([formula.text for formula in job.formulas], Style(), _LAYOUT_DPI):
        ink = None if layout is None else compose(layout, bank, rng, scale=float(rng.uniform(*_HAND_SCALES)))
        pictures.append(None if ink is None else crop_to_ink(ink))
    return pictures
