"""The courses by name: those of the seeds' systems and our own, as frozen values; `train` runs one."""

from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Protocol

from unrender.errors import ConfigError
from unrender.models.donut import donut_small
from unrender.models.formula import formula
from unrender.models.page import page
from unrender.models.word import word
from unrender.training import runs
from unrender.training.augment import Augmentation
from unrender.training.batches import Stage
from unrender.training.document_runs import DocumentCourse
from unrender.training.page.layout_runs import LayoutCourse
from unrender.training.receipt.label_runs import PretrainingCourse, ReceiptCourse
from unrender.training.receipt.own_fields import OwnFieldsCourse
from unrender.training.recipe import Recipe, Schedule
from unrender.training.runs import Request
from unrender.training.seed_recipes import PUBLISHED_DONUT, SYSTEMS
from unrender.training.text_runs import PreparedCourse
from unrender.training.word.camera import Camera

_PRINTED = (("short", 1.0),)
_SOME_HAND = (("short", 0.55), ("short-hand", 0.25), ("printed-unified", 0.1), ("handwritten-unified", 0.1))
_ALL = (
    ("short", 0.04),
    ("short-hand", 0.02),
    ("display", 0.21),
    ("display-hand", 0.21),
    ("printed-unified", 0.24),
    ("handwritten-unified", 0.24),
    ("crohme", 0.04),
)
_OFFICIAL = (
    ("symbols", 0.05),
    ("short", 0.07),
    ("short-hand", 0.03),
    ("display", 0.08),
    ("display-hand", 0.05),
    ("fonts", 0.09),
    ("printed-train", 0.29),
    ("handwritten-train", 0.19),
    ("crohme", 0.15),
)
# From short to long: until it looks at the picture, a model learns most from many small updates on few tokens. The
# last stage finishes on the labels as they are, whose habits of spacing and bracing no picture shows. Where TeX tells
# where a token stands, the decoder is taught to look there: it learns to look sooner, and points better.
_VARIED = Augmentation(scale=0.5, smallest=0.65, largest=1.35, small=20_000, coarse=0.15, darken=0.3, margin=4)
FORMULA = PreparedCourse(
    model=formula,
    sets="formula",
    held_out=("printed-held", "handwritten-held"),
    stages=(
        Stage(samples=16_000, max_tokens=6, batch=16, mix=_PRINTED),
        Stage(samples=40_000, max_tokens=10, batch=16, mix=_PRINTED),
        Stage(samples=80_000, max_tokens=20, batch=16, mix=_SOME_HAND),
        Stage(samples=80_000, max_tokens=40, batch=24, mix=_ALL),
        Stage(samples=500_000, max_tokens=150, batch=24, cost=1_200_000, mix=_ALL, learning_rate=0.8),
        Stage(samples=700_000, max_tokens=150, batch=24, cost=1_200_000, mix=_OFFICIAL, learning_rate=0.8, fade=0.02),
    ),
    recipe=Recipe(
        schedule=Schedule(peak=1e-3, warm_up=100),
        betas=(0.9, 0.98),
        smoothing=0.05,
        pointing=0.3,
        average=0.999,
        samples=700_000,
        threads=1,
    ),
    augmentation=_VARIED,
    token_noise=0.02,
)

# What people bring, for a model that can read already: give it with --start. Everything is enlarged, as the reader
# enlarges it (`models/formula.py`); labels are not smoothed, so that a reading that is right is sure.
_PEOPLE = (
    ("everyday", 0.025), ("matrices", 0.02), ("articles", 0.015), ("lines", 0.025), ("symbols", 0.025), ("rare", 0.05),
    ("browser", 0.11), ("mathjax", 0.035), ("plots", 0.04), ("fonts", 0.015), ("arrays", 0.015), ("arrays-hand", 0.015),
    ("others", 0.03), ("short", 0.015), ("display", 0.065), ("short-hand", 0.015), ("display-hand", 0.085),
    ("printed-train", 0.06), ("handwritten-train", 0.08), ("crohme", 0.21), ("pens", 0.075),
)  # fmt: skip
FURTHER = replace(
    FORMULA,
    stages=(
        Stage(
            samples=304_000,
            max_tokens=150,
            batch=20,
            cost=300_000,
            largest=26_000,
            mix=_PEOPLE,
            learning_rate=0.6,
            fade=0.01,
        ),
    ),
    recipe=replace(
        FORMULA.recipe,
        naming=0.3,
        smoothing=0.0,
        samples=304_000,
        schedule=Schedule(peak=1e-3, warm_up=300),
        half=True,
        seed=23,
        validate_seconds=1800,
    ),
    augmentation=replace(
        _VARIED, scale=1.0, smallest=0.85, largest=1.55, coarse=0.16, compressed=0.04, photographed=0.15
    ),
    quick=60,
)

# Single lines, short ones first. Give the formula reader with --start. A line costs a third of three lines, and the
# page reader finds lines by itself, so pieces of several lines wait for a longer course.
_LINES = (("lines", 1.0),)
_SET_LINES = Augmentation(scale=0.5, smallest=0.8, largest=1.25, coarse=0.2, coarsest=0.5, darken=0.3, margin=2)
PAGE = PreparedCourse(
    model=page,
    sets="page",
    held_out=("lines-held",),
    stages=(
        Stage(samples=6_000, max_tokens=14, batch=16, cost=300_000, mix=_LINES),
        Stage(samples=16_000, max_tokens=30, batch=16, cost=400_000, mix=_LINES),
        Stage(samples=40_000, max_tokens=130, batch=16, cost=500_000, mix=_LINES),
        Stage(samples=72_000, max_tokens=160, batch=16, cost=500_000, mix=_LINES, fade=0.03),
    ),
    recipe=replace(FORMULA.recipe, naming=0.3, samples=72_000, schedule=Schedule(peak=8e-4, warm_up=300)),
    augmentation=_SET_LINES,
)

# The page reader further: give it with --start. What it misreads most are formulas within lines.
_MORE_FORMULAS = (("lines", 0.5), ("math-lines", 0.5))
PAGE_FURTHER = replace(
    PAGE,
    stages=(
        Stage(
            samples=16_000, max_tokens=160, batch=16, cost=300_000, mix=_MORE_FORMULAS, learning_rate=0.75, fade=0.01
        ),
    ),
    recipe=replace(PAGE.recipe, smoothing=0.0, samples=16_000, half=True, seed=61, validate_seconds=1800),
    augmentation=replace(_SET_LINES, scale=1.0, smallest=0.85, largest=1.4),
    quick=60,
)

_MADE_WORDS = (("words", 1.0),)
_SHORT_TEXTS = (("words", 0.55), ("phrases", 0.1), ("scene-train", 0.15), ("receipt-train", 0.2))
_PHRASES = (("words", 0.3), ("phrases", 0.22), ("scene-train", 0.18), ("receipt-train", 0.3))
_ALL_LINES = (
    ("words", 0.20),
    ("phrases", 0.14),
    ("lines", 0.14),
    ("scene-train", 0.22),
    ("receipt-train", 0.18),
    ("typed-train", 0.08),
    ("hand-train", 0.04),
)
# From words to lines. Where a made picture says where its characters stand, the decoder is taught to look there; the
# encoder is taught to spell by itself (CTC), from every picture.
WORD = PreparedCourse(
    model=word,
    sets="word",
    stages=(
        Stage(samples=30_000, max_tokens=7, batch=32, mix=_MADE_WORDS),
        Stage(samples=90_000, max_tokens=12, batch=32, mix=_SHORT_TEXTS),
        Stage(samples=160_000, max_tokens=30, batch=32, cost=300_000, mix=_PHRASES),
        Stage(samples=290_000, max_tokens=110, batch=48, cost=400_000, mix=_ALL_LINES),
        Stage(samples=400_000, max_tokens=110, batch=48, cost=400_000, mix=_ALL_LINES, fade=0.02),
    ),
    recipe=Recipe(
        schedule=Schedule(peak=1e-3, warm_up=400),
        betas=(0.9, 0.98),
        smoothing=0.05,
        pointing=0.2,
        spelling=0.3,
        average=0.999,
        samples=400_000,
        threads=1,
        half=True,
        seed=20,
        validate_seconds=1200,
    ),
    augmentation=Camera(),
    token_noise=0.02,
    held_out=("receipt-held", "scene-held", "typed-held", "fonts-held"),
    quick=80,
    caseless=("receipt-train",),  # SROIE's labels are all capitals
)

# The word reader further, with more of the scenes: give it with --start.
_MORE_SCENES = (
    ("words", 0.24),
    ("phrases", 0.11),
    ("lines", 0.10),
    ("scene-train", 0.30),
    ("receipt-train", 0.13),
    ("typed-train", 0.09),
    ("hand-train", 0.03),
)
WORD_FURTHER = replace(
    WORD,
    stages=(
        Stage(samples=260_000, max_tokens=110, batch=48, cost=400_000, mix=_MORE_SCENES, learning_rate=0.8, fade=0.01),
    ),
    recipe=replace(WORD.recipe, samples=260_000, seed=22, average=0.9995),
)

# Donut as it was taught (seed 000), at our size: first to read all the text of strips of receipts and other documents,
# beginning with the word reader (--start); then to write the fields of whole receipts and nothing else.
_STRIPS = (("strips-train", 0.6), ("strips-made", 0.4))
_SCANNED = Augmentation(
    nougat=False, scale=0.7, smallest=0.8, largest=1.1, coarse=0.1, coarsest=0.6, darken=0.3, margin=12
)
DONUT_TEXT = PreparedCourse(
    model=donut_small,
    sets="donut",
    stages=(
        Stage(samples=1_600, max_tokens=60, batch=4, cost=150_000, mix=_STRIPS),
        Stage(samples=8_200, max_tokens=150, batch=4, cost=180_000, mix=_STRIPS, fade=0.3),
    ),
    recipe=replace(FORMULA.recipe, naming=0.3, average=0.995, samples=8_200, half=True, seed=30),
    augmentation=_SCANNED,
    token_noise=0.02,
    held_out=(),
    partly=True,
)
_RECEIPTS = (("fields-train", 0.6), ("fields-made", 0.4))
DONUT_RECEIPT = replace(
    DONUT_TEXT,
    stages=(Stage(samples=2_200, max_tokens=300, batch=2, cost=900_000, mix=_RECEIPTS, fade=0.05),),
    recipe=replace(
        DONUT_TEXT.recipe, schedule=Schedule(peak=6e-4, warm_up=40), naming=0.2, samples=2_200, average=0.99, seed=31
    ),
)
# One's own documents, from what reads receipts: an hour on a laptop.
DONUT = DocumentCourse(
    model="donut-receipt",
    batch=4,
    recipe=Recipe(
        schedule=Schedule(peak=5e-4, warm_up=50),
        betas=(0.9, 0.98),
        smoothing=0.05,
        average=0.99,
        epochs=20,
        threads=2,
        validate_seconds=600,
    ),
    published=PUBLISHED_DONUT,
)

PRETRAINING = PretrainingCourse()
RECEIPT = ReceiptCourse()
OWN_FIELDS = OwnFieldsCourse()
LAYOUT = LayoutCourse()


class _Train(Protocol):
    def __call__(self, request: Request, *, resume: bool = False, hours: float | None = None) -> Path: ...


_COURSES: dict[str, _Train] = {
    "formula": partial(runs.train, FORMULA),
    "formula-further": partial(runs.train, FURTHER),
    "page": partial(runs.train, PAGE),
    "page-further": partial(runs.train, PAGE_FURTHER),
    "word": partial(runs.train, WORD),
    "word-further": partial(runs.train, WORD_FURTHER),
    **{name: partial(runs.train, course) for name, course in SYSTEMS.items()},
    "donut": partial(runs.train, DONUT),
    "donut-text": partial(runs.train, DONUT_TEXT),
    "donut-receipt": partial(runs.train, DONUT_RECEIPT),
    "layoutlmv2-pretrain": partial(runs.train, PRETRAINING),
    "layoutlmv2-receipt": partial(runs.train, RECEIPT),
    "receipt": partial(runs.train, OWN_FIELDS),
    "layout": partial(runs.train, LAYOUT),
}
NAMES = tuple(_COURSES)


def train(
    name: str,
    *,
    data: Path | None = None,
    out: Path | None = None,
    resume: bool = False,
    hours: float | None = None,
    start: str | None = None,
    scratch: bool = False,
) -> Path:
    """Train by the recipe of that name and return the model folder it wrote."""
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(NAMES)}."
        raise ConfigError(f"There is no recipe called {name}; {hint}")
    request = Request(folder=out or Path("runs") / name, data=data, start=start, scratch=scratch)
    return _COURSES[name](request, resume=resume, hours=hours)
