"""Courses of the models that write text: the systems of the seeds on pictures and labels, our own on arrays.

A run starts from weights drawn anew, or from those of a model folder, whatever its vocabulary.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from unrender import checkpoints, tasks
from unrender.checkpoints import Loaded, Weights, cache_folder
from unrender.errors import ConfigError, DataError, ModelError
from unrender.evaluation.datasets import Example, open_dataset
from unrender.images.opening import open_pages, prepare
from unrender.layers import fill
from unrender.layers.seq2seq import VisionText
from unrender.models import preset
from unrender.models.config import TextConfig, Vocabulary
from unrender.tokens import END, PAD, START, CharacterTokenizer, LatexTokenizer, Tokenizer, open_tokenizer, read_list
from unrender.training.augment import AUGMENTATION, distort
from unrender.training.batches import (
    Batch,
    BatchStream,
    Framed,
    Framing,
    Ids,
    Stage,
    Stream,
    Variation,
    assemble,
    frame,
)
from unrender.training.data import Cache
from unrender.training.objectives import Transcription
from unrender.training.recipe import Recipe
from unrender.training.runs import Prepared, Request
from unrender.training.validation import SUBSET, draw_subset, pairs_of, reading_validator

_QUICK = 200  # held-out samples of each set while training; the whole set is for `unrender evaluate`
_HELD_OUT = 20  # one example in so many validates a system's training
_ROWS_OF_TOKENS = ("decoder.tokens.weight", "decoder.scores.weight")
_NOISE = 0.1  # of the rows' own spread, on the rows of new tokens


class ExampleStream(Stream[Batch]):
    """Batches of `batch` examples; a block is one epoch."""

    def __init__(
        self,
        examples: Sequence[Example],
        config: TextConfig,
        tokenizer: Tokenizer,
        *,
        batch: int,
        seed: int,
        augmented: bool = False,
        token_noise: float = 0.0,
    ) -> None:
        if not examples:
            raise DataError("the dataset has no examples to train on")
        self._examples, self._config, self._tokenizer = examples, config, tokenizer
        self._framing = Framing.of(config)
        self._batch, self._seed, self._augmented, self._noise = batch, seed, augmented, token_noise
        self._longest = config.decoder.max_positions - len(config.generation.start)

    @property
    def epoch_samples(self) -> int:
        return len(self._examples)

    def batches(self, number: int, index: int, seen: int, part: int = 0, parts: int = 1) -> Iterator[Batch]:
        order = np.random.default_rng([self._seed, number]).permutation(len(self._examples))
        for start in range(index * self._batch, len(order), self._batch):
            members = [int(member) for member in order[start : start + self._batch]]
            mine = members[part::parts] or members[:1]
            samples = [self._sample(member, number) for member in mine]
            batch = assemble(samples, self._framing)
            yield replace(batch, name=self._examples[members[0]].name, whole=len(members))

    def _sample(self, member: int, epoch: int) -> Framed:
        example = self._examples[member]
        rng = np.random.default_rng([self._seed, epoch, member])
        image = open_pages(example.image)[0]
        if self._augmented:
            image = distort(image, rng)
        label = self._encode(example)
        inputs, targets = frame(label, self._framing, rng, self._noise)
        return Framed(prepare(image, self._config.image), inputs, targets)

    def _encode(self, example: Example) -> Ids:
        label = np.array(self._tokenizer.encode(example.target), dtype=np.int64)
        unknown = self._tokenizer.find("<unk>")
        if unknown is not None and unknown in label:
            raise DataError(f"the label of {example.name} has tokens outside the vocabulary: {example.target[:80]}")
        return label[: self._longest]


@dataclass(frozen=True, kw_only=True)
class PreparedCourse:
    """A reader of our own, trained on prepared arrays; it begins with new weights unless told otherwise."""

    model: Callable[[int], TextConfig]  # given the size of the vocabulary
    sets: str  # the folder of the arrays in the cache, unless told otherwise
    stages: tuple[Stage, ...]
    recipe: Recipe
    augmentation: Variation = AUGMENTATION
    token_noise: float = 0.03
    held_out: tuple[str, ...]
    quick: int = _QUICK  # held-out samples of each set while training
    caseless: tuple[str, ...] = ()  # sets whose labels do not tell capitals from small letters
    partly: bool = False  # a start may lack layers; they begin with new weights

    def prepare(self, request: Request) -> Prepared[Batch]:
        """Open the arrays under `data`; a start may have another vocabulary."""
        if request.scratch and request.start is not None:
            raise ConfigError("--start and --scratch exclude each other; give one of them.")
        root = request.data or cache_folder() / self.sets
        names = {name for stage in self.stages for name, _ in stage.mix}
        caches = {name: Cache(root / name) for name in sorted(names)}
        vocabulary = next(iter(caches.values())).vocabulary
        config, seed = self.model(len(vocabulary)), self.recipe.seed
        tokenizer = (CharacterTokenizer if config.vocabulary == "characters" else LatexTokenizer)(vocabulary)
        start = request.start
        module = (
            fresh(config, seed)
            if start is None
            else start_from(start, config, tokenizer.tokens, seed, partly=self.partly)
        )
        stream = BatchStream(
            caches,
            self.stages,
            Framing.of(config),
            self.augmentation,
            seed=seed,
            token_noise=self.token_noise,
            caseless=self.caseless,
        )
        sets = {name: pairs_of(Cache(root / name), tokenizer, self.quick) for name in self.held_out}
        return Prepared(
            objective=Transcription(module, self.recipe, _other_cases(tokenizer.tokens)),
            stream=stream,
            validate=reading_validator(config, module, tokenizer, sets) if sets else None,
            write=partial(write_model, config, tokenizer),
        )


@dataclass(frozen=True, kw_only=True)
class SystemCourse:
    """One system of the seeds on a folder of pictures and labels; it begins with its published weights."""

    model: str  # preset
    batch: int  # samples to a batch; the recipe accumulates batches
    recipe: Recipe
    augmented: bool = False
    token_noise: float = 0.0

    def prepare(self, request: Request) -> Prepared[Batch]:
        """Open a dataset, and hold one example in twenty out."""
        if request.data is None:
            raise DataError("training needs --data: a folder of pictures with labels.tsv or metadata.jsonl")
        examples = list(open_dataset(request.data))
        config, tokenizer, module = self._begin(request, examples)
        stream = ExampleStream(
            [example for number, example in enumerate(examples) if number % _HELD_OUT],
            config,
            tokenizer,
            batch=self.batch,
            seed=self.recipe.seed,
            augmented=self.augmented,
            token_noise=self.token_noise,
        )
        return Prepared(
            objective=Transcription(module, self.recipe),
            stream=stream,
            validate=reading_validator(config, module, tokenizer, {"held-out": _pairs(examples[::_HELD_OUT])}, batch=4),
            write=partial(write_model, config, tokenizer),
        )

    def _begin(self, request: Request, examples: Sequence[Example]) -> tuple[TextConfig, Tokenizer, VisionText]:
        if request.scratch:
            system = preset(self.model)
            if not isinstance(system, TextConfig):
                raise ConfigError(f"{self.model} labels words; train it with a recipe for labels")
            config, tokenizer = start_from_scratch(system, [example.target for example in examples])
            return config, tokenizer, fresh(config, self.recipe.seed)
        loaded = checkpoints.load(request.start or self.model)
        return loaded.text_config, open_tokenizer(loaded.folder, loaded.text_config), load_module(loaded)


def _other_cases(tokens: Sequence[str]) -> NDArray[np.int64]:
    """Return for each token the one that is the same letter in the other case, itself where there is none."""
    numbers = {token: number for number, token in enumerate(tokens)}
    return np.array([numbers.get(token.swapcase(), number) for number, token in enumerate(tokens)])


def start_from_scratch(config: TextConfig, labels: Sequence[str]) -> tuple[TextConfig, Tokenizer]:
    """Give a system a vocabulary of its own, read off the labels: LaTeX tokens for formulas, else characters."""
    tokenizer: LatexTokenizer | CharacterTokenizer
    vocabulary: Vocabulary = "latex" if tasks.find(config.task).notation == "latex" else "characters"
    if vocabulary == "latex":
        tokenizer = LatexTokenizer.build(labels, at_least=1)
    else:
        tokenizer = CharacterTokenizer(sorted({character for label in labels for character in label}))
    ids = {name: tokenizer.find(name) or 0 for name in (START, END, PAD)}
    generation = replace(config.generation, start=(ids[START],), end=ids[END], pad=ids[PAD], forbidden=(), beams=1)
    decoder = replace(config.decoder, vocabulary=tokenizer.size)
    return replace(config, decoder=decoder, generation=generation, vocabulary=vocabulary), tokenizer


def write_model(config: TextConfig, tokenizer: Tokenizer, folder: Path, weights: Weights, training: str) -> None:
    """Write a model folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder / "tokenizer.json")
    checkpoints.save(folder, config, weights, folder / "tokenizer.json", training=training)


def _pairs(examples: Sequence[Example]) -> list[tuple[Image.Image, str]]:
    chosen = [examples[number] for number in draw_subset(len(examples), SUBSET)]
    return [(open_pages(example.image)[0], example.target) for example in chosen]


def fresh(config: TextConfig, seed: int) -> VisionText:
    """Return a model of new weights."""
    module = VisionText(config)
    module.init_weights(torch.Generator().manual_seed(seed))
    return module


def load_module(loaded: Loaded) -> VisionText:
    """Return the model of a model folder."""
    return fill(VisionText(loaded.text_config), loaded.weights())


def start_from(
    source: str | Path, config: TextConfig, tokens: Sequence[str], seed: int, *, partly: bool = False
) -> VisionText:
    """Return a model that begins with the weights of a model folder; its rows are found by the tokens' texts.

    With `partly`, what the folder has no weights for is drawn anew.
    """
    loaded = checkpoints.load(source)
    if loaded.tokenizer is None or loaded.text_config.vocabulary == "tokenizer":
        raise ModelError(f"{source} has no plain list of tokens, so its weights cannot start another vocabulary")
    weights = carry_over(loaded.weights(), read_list(loaded.tokenizer), tokens, np.random.default_rng(seed))
    module = fresh(config, seed) if partly else VisionText(config)
    if partly:
        drawn = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
        weights = {name: weights.get(name, array) for name, array in drawn.items()}
    wanted = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    given = {name: array.shape for name, array in weights.items()}
    if given != wanted:
        other = sorted(name for name in {*given, *wanted} if given.get(name) != wanted.get(name))
        raise ModelError(f"{source} has another shape than {config.name}, first in {other[0]}; train without --start")
    return fill(module, weights)


def carry_over(weights: Weights, old: Sequence[str], new: Sequence[str], rng: np.random.Generator) -> Weights:
    """Give each new token the row of the old token of that text, or the mean of all rows and a little noise."""
    rows = {token: row for row, token in enumerate(old)}
    known = [index for index, token in enumerate(new) if token in rows]
    carried = dict(weights)
    for name in _ROWS_OF_TOKENS:
        if name in weights:
            table = np.asarray(weights[name], dtype=np.float32)
            noise = rng.normal(size=(len(new), table.shape[1])) * _NOISE * table.std(axis=0)
            grown = (table.mean(axis=0) + noise).astype(np.float32)
            grown[known] = table[[rows[new[index]] for index in known]]
            carried[name] = grown
    return carried
