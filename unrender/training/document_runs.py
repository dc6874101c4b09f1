"""`unrender train donut`: a small Donut learns to write the fields of one's own documents, from pictures and JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from unrender import checkpoints, metrics, tasks
from unrender.decoding.tags import fits
from unrender.documents import Json
from unrender.engines.torch_engine import TorchEngine
from unrender.errors import DataError
from unrender.evaluation.datasets import Example, open_dataset
from unrender.layers.seq2seq import VisionText
from unrender.models.config import FieldRule, LeafKind, TextConfig
from unrender.models.donut import tags_of
from unrender.reading.reader import Reader
from unrender.reading.text import TextSystem
from unrender.tokens import CharacterTokenizer, read_list
from unrender.training.batches import Batch
from unrender.training.loop import Validate
from unrender.training.objectives import Transcription
from unrender.training.recipe import Recipe
from unrender.training.runs import Prepared, Request
from unrender.training.text_runs import ExampleStream, SystemCourse, start_from, write_model
from unrender.training.validation import draw_subset

_HELD_OUT = 10  # one document in so many is read, not learnt
_MOST_HELD_OUT = 60
_ENOUGH = 20  # values that must all be dates, or amounts, before nothing else may be written there
_ROOM = 2  # times the longest text of a field: a reading that goes on has lost its way
_TASK = "json"


@dataclass(frozen=True, kw_only=True)
class DocumentCourse:
    """Documents with their fields in metadata.jsonl; Donut at its published size is trained when that is the start."""

    model: str  # begins with this one's weights
    batch: int
    recipe: Recipe
    published: SystemCourse

    def prepare(self, request: Request) -> Prepared[Batch]:
        """Open a folder of documents and give the vocabulary what it lacks: its tags and characters."""
        if request.scratch or (request.start is not None and not _writes_characters(request.start)):
            return self.published.prepare(request)
        if request.data is None:
            raise DataError("training needs --data: a folder of pictures with metadata.jsonl")
        examples = [example for example in open_dataset(request.data) if example.fields is not None]
        if len(examples) < 2:
            raise DataError(f"{request.data} has no documents with fields; ground_truth must hold gt_parse")
        start = request.start or self.model
        config, tokenizer = widen(start, examples)
        module = start_from(start, config, tokenizer.tokens, self.recipe.seed)
        held = {round(number * len(examples) / _held_out(examples)) for number in range(_held_out(examples))}
        learnt = [example for number, example in enumerate(examples) if number not in held]
        stream = ExampleStream(learnt, config, tokenizer, batch=self.batch, seed=self.recipe.seed, token_noise=0.02)
        return Prepared(
            objective=Transcription(module, self.recipe),
            stream=stream,
            validate=fields_validator(config, module, tokenizer, [examples[number] for number in sorted(held)]),
            write=partial(write_model, config, tokenizer),
        )


def widen(start: str | object, examples: Sequence[Example]) -> tuple[TextConfig, CharacterTokenizer]:
    """Return a start's configuration and vocabulary, with the tags and characters of these documents."""
    loaded = checkpoints.load(start)  # type: ignore[arg-type]
    assert loaded.tokenizer is not None
    names = tuple(dict.fromkeys(name for example in examples for name, _ in _leaves(example.fields)))
    known = CharacterTokenizer([*read_list(loaded.tokenizer), *tags_of(names)])
    letters = sorted({piece for example in examples for piece in known.unknown(example.target)})
    tokenizer = CharacterTokenizer([*known.tokens, *letters])
    config = loaded.text_config
    return replace(
        config,
        name="donut",
        task=_TASK,
        decoder=replace(config.decoder, vocabulary=tokenizer.size),
        fields=find_rules([example.fields for example in examples]),
        calibration=(1.0, 0.0),
        parameters=0,
    ), tokenizer


def find_rules(documents: Sequence[Json]) -> tuple[FieldRule, ...]:
    """Find out which fields come once, and which are always dates or amounts."""
    values: dict[str, list[str]] = {}
    several: set[str] = set()
    for fields in documents:
        for name, value in _leaves(fields):
            found = value if isinstance(value, list) else [value]
            several |= {name} if isinstance(value, list) else set()
            values.setdefault(name, []).extend(item for item in found if isinstance(item, str) and item)
    return tuple(
        FieldRule(
            name=name,
            kind=_kind(texts),
            single=name not in several,
            longest=_ROOM * max((len(text) for text in texts), default=0),
        )
        for name, texts in sorted(values.items())
    )


def fields_validator(
    config: TextConfig, module: VisionText, tokenizer: CharacterTokenizer, held: Sequence[Example]
) -> Validate:
    """Return a function that reads the documents held out; the score is what the fields' F1 lacks to 1."""
    chosen = [held[number] for number in draw_subset(len(held), _MOST_HELD_OUT)]
    reader = Reader(TextSystem(config, TorchEngine(config, module), tokenizer, tasks.find(_TASK)))

    def validate() -> dict[str, float]:
        documents = list(reader.read_many((example.image for example in chosen), batch=2))
        found = [document.pages[0].blocks[0].fields if document.pages[0].blocks else None for document in documents]
        truths = [example.fields for example in chosen]
        f1, tree = (metric(truths, found).value for metric in (metrics.field_f1, metrics.tree_accuracy))
        return {"field_f1": round(f1, 4), "tree_accuracy": round(tree, 4), "score": 1 - f1}

    return validate


def _held_out(examples: Sequence[Example]) -> int:
    return max(1, min(_MOST_HELD_OUT, len(examples) // _HELD_OUT))


def _writes_characters(start: str | object) -> bool:
    config = checkpoints.load(start).config  # type: ignore[arg-type]
    return isinstance(config, TextConfig) and config.vocabulary == "characters"


def _leaves(fields: Json) -> Iterator[tuple[str, Json]]:
    """Yield every name in a document with what it holds."""
    if isinstance(fields, Mapping):
        for name, value in fields.items():
            yield name, value
            yield from _leaves(value)
    elif isinstance(fields, list | tuple):
        for item in fields:
            yield from _leaves(item)


def _kind(texts: Sequence[str]) -> LeafKind:
    kinds: tuple[LeafKind, ...] = ("amount", "date")
    enough = Counter(kind for text in texts for kind in kinds if fits(kind, text))
    return next((kind for kind in kinds if len(texts) >= _ENOUGH and enough[kind] == len(texts)), "text")
