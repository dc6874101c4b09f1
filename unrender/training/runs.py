"""Runs: a recipe, data and a model put together, with a progress bar, and a model folder at the end."""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch
from PIL import Image
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from unrender import checkpoints
from unrender.checkpoints.places import cache_folder
from unrender.errors import DataError
from unrender.evaluation.datasets import open_dataset
from unrender.images.opening import open_pages
from unrender.layers.seq2seq import VisionText
from unrender.models import preset
from unrender.models.config import ModelConfig, Vocabulary
from unrender.models.formula import formula
from unrender.tokens import END, PAD, START, CharacterTokenizer, LatexTokenizer, Tokenizer, open_tokenizer
from unrender.training import distributed
from unrender.training.batches import BatchStream, Framing
from unrender.training.curves import draw_curves
from unrender.training.data import Cache
from unrender.training.examples import ExampleStream, LabelledImage
from unrender.training.loop import BEST, METRICS, Recipe, Stream, Trainer, Validate
from unrender.training.recipes import FormulaRecipe, SystemRecipe
from unrender.training.starts import fresh, start_from
from unrender.training.validation import SUBSET, draw_subset, pairs_of, reading_validator

_QUICK = 200  # held-out samples of each set while training; the whole set is for `unrender evaluate`
_HELD_OUT = 20  # one example in so many validates a system's training


def train_formula(
    settings: FormulaRecipe,
    folder: Path,
    *,
    data: Path | None,
    resume: bool,
    hours: float | None,
    start: str | Path | None = None,
) -> Path:
    """Train the formula reader on the prepared arrays under `data`, from `start` or from scratch."""
    root = data or cache_folder() / "formula"
    names = {name for stage in settings.stages for name, _ in stage.mix}
    caches = {name: Cache(root / name) for name in sorted(names)}
    tokenizer = LatexTokenizer(next(iter(caches.values())).vocabulary)
    config, seed = formula(tokenizer.size), settings.recipe.seed
    module = fresh(config, seed) if start is None else start_from(start, config, tokenizer.tokens, seed)
    stream = BatchStream(
        caches,
        settings.stages,
        Framing.of(config),
        settings.augmentation,
        seed=settings.recipe.seed,
        token_noise=settings.token_noise,
    )
    sets = {name: pairs_of(Cache(root / name), _QUICK) for name in settings.held_out}
    validate = reading_validator(config, module, tokenizer, sets)
    return _run(module, stream, settings.recipe, folder, config, tokenizer, validate, resume=resume, hours=hours)


def train_system(
    settings: SystemRecipe,
    folder: Path,
    *,
    data: Path | None,
    resume: bool,
    hours: float | None,
    start: str | Path | None = None,
    scratch: bool = False,
) -> Path:
    """Train a system of the seeds on pictures and labels: from `start`, its published weights, or from scratch."""
    if data is None:
        raise DataError("training needs --data: a folder of pictures with labels.tsv or metadata.jsonl")
    examples = list(open_dataset(data))
    if scratch:
        config, tokenizer = start_from_scratch(preset(settings.model), [example.target for example in examples])
        module = fresh(config, settings.recipe.seed)
    else:
        loaded = checkpoints.load(start or settings.model)
        config, tokenizer = loaded.config, open_tokenizer(loaded.folder, loaded.config)
        module = fresh(config, settings.recipe.seed)
        module.load_state_dict({name: torch.from_numpy(array) for name, array in loaded.weights().items()})
    held = [example for number, example in enumerate(examples) if number % _HELD_OUT == 0]
    kept = [example for number, example in enumerate(examples) if number % _HELD_OUT]
    stream = ExampleStream(
        kept,
        config,
        tokenizer,
        batch=settings.batch,
        seed=settings.recipe.seed,
        augmented=settings.augmented,
        token_noise=settings.token_noise,
    )
    validate = reading_validator(config, module, tokenizer, {"held-out": _pairs(held)}, batch=4)
    return _run(module, stream, settings.recipe, folder, config, tokenizer, validate, resume=resume, hours=hours)


def start_from_scratch(config: ModelConfig, labels: Sequence[str]) -> tuple[ModelConfig, Tokenizer]:
    """Give a system a vocabulary of its own, read off the labels: LaTeX tokens for formulas, else characters."""
    tokenizer: LatexTokenizer | CharacterTokenizer
    if config.task == "formula":
        tokenizer = LatexTokenizer.build(labels, at_least=1)
    else:
        tokenizer = CharacterTokenizer(sorted({character for label in labels for character in label}))
    places = {name: tokenizer.find(name) or 0 for name in (START, END, PAD)}
    generation = replace(
        config.generation, start=(places[START],), end=places[END], pad=places[PAD], forbidden=(), beams=1
    )
    vocabulary: Vocabulary = "latex" if config.task == "formula" else "characters"
    decoder = replace(config.decoder, vocabulary=tokenizer.size)
    return replace(config, decoder=decoder, generation=generation, vocabulary=vocabulary), tokenizer


def _run(
    module: VisionText,
    stream: Stream,
    recipe: Recipe,
    folder: Path,
    config: ModelConfig,
    tokenizer: Tokenizer,
    validate: Validate,
    *,
    resume: bool,
    hours: float | None,
) -> Path:
    def train() -> None:
        trainer = Trainer(module, stream, recipe, folder)
        if resume:
            trainer.resume()
        with _progress_bar(trainer) as report:
            trainer.run(validate, seconds=float("inf") if hours is None else hours * 3600, report=report)
        if distributed.rank() == 0:
            write_model(trainer, folder / "model", config, tokenizer)
            draw_curves(folder / METRICS, folder / "curves.png")

    distributed.join()
    train()  # a function of its own: the trainer must be gone when the processes part
    distributed.leave()
    return folder / "model"


def write_model(trainer: Trainer, folder: Path, config: ModelConfig, tokenizer: Tokenizer) -> None:
    """Write the best weights so far as a model folder."""
    best = torch.load(trainer.folder / BEST, weights_only=True)
    weights = {name: tensor.numpy() for name, tensor in best["state"].items()}
    training = json.dumps({"recipe": asdict(trainer.recipe), "progress": best["progress"]}, indent=2) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / "tokenizer.json")
    checkpoints.save(folder, config, weights, folder / "tokenizer.json", training=training)


@contextlib.contextmanager
def _progress_bar(trainer: Trainer) -> Iterator[Callable[[Trainer], None]]:
    """Show loss, samples a second and the time left on stderr, from the first process only."""
    columns = (
        TextColumn("{task.completed}/{task.total} samples"),
        BarColumn(),
        TextColumn("loss {task.fields[loss]:.3f}  {task.fields[speed]:.1f}/s"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    quiet = distributed.rank() > 0
    with Progress(*columns, console=Console(stderr=True, quiet=quiet), transient=False) as bar:
        line = bar.add_task("", total=trainer.total, completed=trainer.progress.seen, loss=0.0, speed=0.0)

        def report(trainer: Trainer) -> None:
            speed = trainer.progress.seen / max(1e-9, trainer.progress.seconds)
            bar.update(line, completed=trainer.progress.seen, loss=trainer.losses[-1], speed=speed)

        yield report


def _pairs(examples: Sequence[LabelledImage]) -> list[tuple[Image.Image, str]]:
    chosen = [examples[number] for number in draw_subset(len(examples), SUBSET)]
    return [
        (example.image if isinstance(example.image, Image.Image) else open_pages(example.image)[0], example.target)
        for example in chosen
    ]
