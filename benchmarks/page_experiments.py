"""Two small trials for the page reader: pieces of words against characters, and whole pages end to end.

    python benchmarks/page_experiments.py pieces ~/.cache/unrender/page --minutes 12
    python benchmarks/page_experiments.py whole ~/.cache/unrender/data --minutes 20

`pieces` trains the page reader's model twice on the same lines, with one token for a character and with one for a
frequent piece of a word. Both begin with the embedded reader's encoder and a new decoder. `whole` teaches the embedded
reader short whole pages, drawn smaller, and compares it with reading by blocks on the same pages. Minutes are those of
one core (processor time), so a busy machine changes nothing but how long one waits.
"""

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from rapidfuzz.distance import Levenshtein
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode
from wordpieces import learn_pieces, rewrite, split_piece

from unrender import checkpoints
from unrender.formats import write
from unrender.formats.marked import BREAK, inline_markdown, join_lines
from unrender.images.pixels import normalise
from unrender.layers.seq2seq import VisionText
from unrender.models.config import TextConfig
from unrender.models.page import page as page_config
from unrender.reading.page.rows import without_loop
from unrender.reading.reader import Reader
from unrender.tokens import LatexTokenizer
from unrender.training.batches import BatchStream, Framing, Stage
from unrender.training.data import Cache, Gray, Sample, write_cache
from unrender.training.formula.texts import is_validation_paper
from unrender.training.loop import Trainer
from unrender.training.objectives import Transcription
from unrender.training.page.compilation import compile_papers
from unrender.training.page.corpora import make_tokenizer
from unrender.training.page.drafts import DOCUMENTS, draft, read_documents
from unrender.training.page.manuscript import FURNITURE, Kind
from unrender.training.page.rasters import draw_pages, in_pixels
from unrender.training.page.recovery import Page, assemble
from unrender.training.page.samples import READER_DPI, READER_POINTS, drawing_dpi, has_places, label_of
from unrender.training.page.styles import choose_style
from unrender.training.photographs import rescale
from unrender.training.recipe import Schedule
from unrender.training.recipes import PAGE
from unrender.training.text_runs import fresh, start_from
from unrender.typesetting import fast_folder
from unrender.typesetting.dvi import POINTS_PER_INCH, union

_SHORTEST, _LONGEST = 6, 40  # tokens of the lines that pieces are tried on
_LINES, _READ = 30_000, 120  # lines to learn from, and to read for a measurement
_MEASUREMENTS = 3
_SECONDS = 15  # by the clock, of each look at the processor's time
_PAGE_SCALE = 0.6  # of the size at which lines are read
_PAGE_TOKENS = 480  # of a whole page: what the decoder has places for
_PAGE_BLOCKS = 4  # blocks of a short page, at most
_PAPERS, _HELD_PAPERS, _PAPERS_PER_RUN = 700, 60, 20
_SIGNS = re.compile(r"[#*`$\\{}\[\]^_]|<!--.*?-->|\s+")


@dataclass(frozen=True)
class Trial:
    """A model being trained, and the sets that it learns from and is measured on."""

    config: TextConfig
    module: VisionText
    trainer: Trainer  # type: ignore[type-arg]
    held: Cache


def main() -> None:
    arguments = _arguments()
    torch.set_num_threads(1)
    if arguments.trial == "pieces":
        try_pieces(arguments.folder, 60 * arguments.minutes)
    else:
        try_whole_pages(arguments.folder, 60 * arguments.minutes)


def try_pieces(folder: Path, seconds: float) -> None:
    """Train with both vocabularies; print what each reads after every part of the time."""
    with tempfile.TemporaryDirectory(prefix="unrender-pieces-") as name:
        root = Path(name)
        for part in ("lines", "lines-held"):
            source = Cache(folder / part)
            write_cache(root / "characters" / part, source.vocabulary, islice(_short_lines(source), _LINES))
        library = learn_pieces(Cache(root / "characters" / "lines"))
        for part in ("lines", "lines-held"):
            rewrite(root / "characters" / part, root / "pieces" / part, library)
        for vocabulary in ("characters", "pieces"):
            trial = _line_trial(root / vocabulary, root / "runs" / vocabulary)
            for spent in _spend(trial.trainer, seconds, _MEASUREMENTS):
                measured = {**measure_lines(trial), "seen": trial.trainer.progress.seen}
                _tell(trial=vocabulary, minutes=round(spent / 60, 1), **measured)


def _short_lines(cache: Cache) -> Iterator[Sample]:
    """Yield the lines of a set that are neither very short nor long."""
    fitting = (cache.index["length"] >= _SHORTEST) & (cache.index["length"] <= _LONGEST)
    for number in np.random.default_rng(0).permutation(np.flatnonzero(fitting)):
        yield Sample(cache.gray(number), tuple(cache.tokens(number).tolist()), 0, cache.boxes(number))


def _line_trial(folder: Path, out: Path) -> Trial:
    """Begin with the embedded reader's encoder and a new decoder."""
    cache = Cache(folder / "lines")
    config = page_config(len(cache.vocabulary))
    module = fresh(config, seed=0)
    weights = checkpoints.load("page").weights()
    encoder = {name: torch.from_numpy(array) for name, array in weights.items() if name.startswith("encoder.")}
    module.load_state_dict({**module.state_dict(), **encoder})
    stage = Stage(samples=10**9, max_tokens=_LONGEST, batch=16, cost=400_000, mix=(("lines", 1.0),))
    return _trial(config, module, {"lines": cache}, (stage,), out, Cache(folder / "lines-held"))


def _trial(
    config: TextConfig,
    module: VisionText,
    caches: dict[str, Cache],
    stages: tuple[Stage, ...],
    out: Path,
    held: Cache,
) -> Trial:
    schedule = Schedule(peak=1e-3, warm_up=60)
    recipe = replace(PAGE.recipe, samples=10**9, schedule=schedule, average=0.99, checkpoint_seconds=10**6)
    stream = BatchStream(caches, stages, Framing.of(config), PAGE.augmentation, seed=0, token_noise=0.02)
    return Trial(config, module, Trainer(Transcription(module, recipe), stream, recipe, out), held)


def _spend(trainer: Trainer, seconds: float, parts: int) -> Iterator[float]:  # type: ignore[type-arg]
    """Train for so many seconds of the processor; yield after each part how many that were."""
    spent = 0.0
    for part in range(1, parts + 1):
        while spent < seconds * part / parts:
            began = time.process_time()
            trainer.run(seconds=_SECONDS)
            spent += time.process_time() - began
        yield spent


@torch.inference_mode()
def measure_lines(trial: Trial) -> dict[str, float]:
    """Return the held-out lines' loss for a character, the share of characters read wrong, and the work for one."""
    own = {name: tensor.clone() for name, tensor in trial.module.state_dict().items()}
    trial.module.load_state_dict(trial.trainer.final_state())
    trial.module.eval()
    wrong = length = loss = operations = 0.0
    for number in range(min(_READ, len(trial.held))):
        label = trial.held.tokens(number).tolist()
        loss += _loss(trial, number, label)
        with FlopCounterMode(display=False) as counter:
            read = read_greedily(trial.config, trial.module, trial.held.gray(number), 2 * _LONGEST)
        operations += counter.get_total_flops()
        truth, said = (_characters(trial.held.vocabulary, tokens) for tokens in (label, read))
        wrong += Levenshtein.distance(truth, said)
        length += len(truth)
    trial.module.load_state_dict(own)
    trial.module.train()
    shares = {"loss": loss / length, "error": wrong / length, "megaflops": operations / length / 1e6}
    return {name: round(value, 4) for name, value in shares.items()}


def _loss(trial: Trial, number: int, label: Sequence[int]) -> float:
    settings = trial.config.generation
    pixels = torch.from_numpy(normalise(trial.held.gray(number), trial.config.image))[None]
    inputs = torch.tensor([[*settings.start, *label]])
    memory, mask = trial.module.encode(pixels)
    scores = trial.module.decoder(inputs, memory, mask)[0, len(settings.start) - 1 :]
    return float(cross_entropy(scores, torch.tensor([*label, settings.end]), reduction="sum"))


@torch.inference_mode()
def read_greedily(config: TextConfig, module: VisionText, gray: Gray, most: int) -> list[int]:
    """Return the best token at each step until the end, without any defence against loops."""
    settings = config.generation
    memory, mask = module.encode(torch.from_numpy(normalise(gray, config.image))[None])
    state, tokens = module.decoder.start(memory, mask), torch.tensor([settings.start])
    read: list[int] = []
    while len(read) < most:
        best = int(module.decoder.step(tokens, state).argmax())
        if best == settings.end:
            break
        read.append(best)
        tokens = torch.tensor([[best]])
    return read


def _characters(vocabulary: Sequence[str], tokens: Sequence[int]) -> list[str]:
    return [character for token in tokens for character in split_piece(vocabulary[token])]


def try_whole_pages(folder: Path, seconds: float) -> None:
    """Train on short whole pages, then read pages of other papers as a whole and by blocks."""
    tokenizer = make_tokenizer()
    with tempfile.TemporaryDirectory(prefix="unrender-whole-") as name:
        root = Path(name)
        for part, held, count in (("pages", False, _PAPERS), ("pages-held", True, _HELD_PAPERS)):
            made = _make_pages(folder, root / f"{part}-pictures", tokenizer, count, held=held)
            _tell(made=part, pages=write_cache(root / part, tokenizer.tokens, made))
        config = page_config(tokenizer.size)
        module = start_from("page", config, tokenizer.tokens, seed=0)
        mix = (("pages", 1.0),)
        lengths = ((600, 160), (1_500, 300), (10**9, _PAGE_TOKENS))
        stages = tuple(Stage(samples=many, max_tokens=most, batch=2, cost=400_000, mix=mix) for many, most in lengths)
        trial = _trial(
            config, module, {"pages": Cache(root / "pages")}, stages, root / "run", Cache(root / "pages-held")
        )
        _tell(read="whole, before", **measure_pages(trial, root / "pages-held-pictures"))
        for spent in _spend(trial.trainer, seconds, _MEASUREMENTS):
            seen = trial.trainer.progress.seen
            measured = measure_pages(trial, root / "pages-held-pictures")
            _tell(read="whole", minutes=round(spent / 60, 1), seen=seen, **measured)
        _tell(read="by blocks", **_measure_blocks(trial, root / "pages-held-pictures"))


def _make_pages(folder: Path, pictures: Path, tokenizer: LatexTokenizer, count: int, *, held: bool) -> Iterator[Sample]:
    """Typeset the beginnings of papers as one short page each; write its whole picture for the reader by blocks."""
    pictures.mkdir(parents=True)
    fitting = (one for one in read_documents(folder / DOCUMENTS) if is_validation_paper(one.group) == held)
    done = 0
    for number in range(count // _PAPERS_PER_RUN):
        excerpts = list(islice(fitting, _PAPERS_PER_RUN))
        rng = np.random.default_rng([held, number])
        style = choose_style(rng, held=held)
        papers = [draft(excerpt, style, rng) for excerpt in excerpts]
        papers = [replace(one, blocks=one.blocks[: int(rng.integers(1, _PAGE_BLOCKS + 1))]) for one in papers]
        with tempfile.TemporaryDirectory(dir=fast_folder()) as name:
            for run in compile_papers(papers, style, Path(name)):
                pages = assemble(run, [0] * len(run.names))
                for page, gray in draw_pages(run.dvi, pages, drawing_dpi(pages[0]), rng) if pages else ():
                    sample = _page_sample(page, gray, drawing_dpi(page), tokenizer)
                    if sample is not None:
                        Image.fromarray(rescale(gray, 0.5)).save(pictures / f"{done:04d}.png")
                        done += 1
                        yield sample


def _page_sample(page: Page, gray: Gray, dpi: float, tokenizer: LatexTokenizer) -> Sample | None:
    """Cut the printed part out of a page; two line ends part its blocks. None if it is too long or not known."""
    pieces = [piece for piece in page.pieces if piece.block.kind not in {Kind.FIGURE, *FURNITURE}]
    if not pieces or len(pieces) < len([piece for piece in page.pieces if piece.block.kind not in FURNITURE]):
        return None
    labels = [label_of(piece, piece.lines) for piece in pieces]
    tokens = [token for label in labels for token in (*label.tokens, BREAK, BREAK)][:-2]
    places = [box for label in labels for box in (*label.boxes, None, None)][:-2]
    known = all(has_places(piece.lines) for piece in pieces) and not tokenizer.unknown(" ".join(tokens))
    if not known or len(tokens) > _PAGE_TOKENS:
        return None
    left, top, right, bottom = in_pixels(union(piece.box for piece in pieces), dpi)
    left, top = max(0, left - 8), max(0, top - 8)
    factor = _PAGE_SCALE * READER_DPI * READER_POINTS / (page.style.points * dpi)
    picture = rescale(gray[top : bottom + 8, left : right + 8], factor)
    boxes = np.array([box or (np.nan,) * 4 for box in places]) * (dpi / POINTS_PER_INCH)
    boxes = (boxes - np.array([left, top, left, top])) * factor
    whole = np.where(np.isnan(boxes), -1, np.rint(np.nan_to_num(boxes))).astype(np.int16)
    return Sample(picture, tuple(tokenizer.encode(" ".join(tokens))), 0, whole)


def measure_pages(trial: Trial, pictures: Path) -> dict[str, float]:
    """Read the held-out pages as a whole: edit distance, seconds of the processor, pages that ended in a loop."""
    own = {name: tensor.clone() for name, tensor in trial.module.state_dict().items()}
    trial.module.load_state_dict(trial.trainer.final_state())
    trial.module.eval()
    loops, texts, began = 0, list[str](), time.process_time()
    for number in range(len(trial.held)):
        read = read_greedily(trial.config, trial.module, trial.held.gray(number), _PAGE_TOKENS + 20)
        tokens, looped = without_loop([trial.held.vocabulary[token] for token in read])
        loops += looped
        texts.append(_markdown(tokens))
    spent = time.process_time() - began
    trial.module.load_state_dict(own)
    trial.module.train()
    return {**_distance(trial.held, texts), "seconds": round(spent / len(texts), 2), "loops": loops}


def _measure_blocks(trial: Trial, pictures: Path) -> dict[str, float]:
    reader = Reader.open("page", task="page")
    began = time.process_time()
    texts = [write(reader.read(path), "markdown") for path in sorted(pictures.glob("*.png"))]
    spent = time.process_time() - began
    return {**_distance(trial.held, texts), "seconds": round(spent / len(texts), 2)}


def _distance(held: Cache, texts: Sequence[str]) -> dict[str, float]:
    """Compare letters and digits only: neither blanks nor signs of markup count."""
    truths = [_markdown([held.vocabulary[token] for token in held.tokens(number)]) for number in range(len(held))]
    pairs = [(_SIGNS.sub("", truth), _SIGNS.sub("", text)) for truth, text in zip(truths, texts, strict=True)]
    rates = [Levenshtein.normalized_distance(*pair) for pair in pairs]
    return {"distance": round(float(np.mean(rates)), 4), "pages": len(rates)}


def _markdown(tokens: Sequence[str]) -> str:
    """Write a page's tokens, block after block."""
    blocks = " ".join(tokens).split(f"{BREAK} {BREAK}")
    return "\n\n".join(inline_markdown(join_lines([block.split()])) for block in blocks)


def _tell(**values: object) -> None:
    print(json.dumps(values), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trial", choices=("pieces", "whole"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=12.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
