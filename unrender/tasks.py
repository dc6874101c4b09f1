"""What there is to read, as values: prompt, parser, notation and metrics of each task."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

from unrender import latex, metrics
from unrender.documents import Block, Json
from unrender.errors import ConfigError, suggest
from unrender.formats.json import parse_tags
from unrender.formats.tex import formula_block
from unrender.latex.shown import rows_shown
from unrender.metrics import Measure

Metric = Callable[[Sequence[str], Sequence[str]], Measure]  # (references, predictions)
FieldMetric = Callable[[Sequence[Json], Sequence[Json]], Measure]

DEFAULT = "formula"
_SETTING = frozenset("{ } \\mathrm \\operatorname \\operatorname* \\bf \\mathbf \\it".split())
_FORMULA_SIGNS = frozenset("= + < > ^ _ \\frac \\sqrt \\sum \\int \\leq \\geq \\to \\rightarrow".split())
_PROSE_LETTERS, _PROSE_SHARE = 12, 0.75
_QUESTION = "{question}"
_NUMBER = re.compile(r"\d[\d.,]*(?:\\%)?")  # nothing shows whether it is a formula
_TOGETHER = str.maketrans("", "", " {}")
_TAG = re.compile(r"<[^<>]+>")


@dataclass(frozen=True, kw_only=True)
class Task:
    """One thing to read.

    A model trained for the task alone needs no prompt. `prompt` is for models that serve several tasks by tags in
    front of the text, as Donut does; `parse` turns the text that follows it into blocks.
    """

    name: str
    summary: str
    notation: str
    parse: Callable[[str], tuple[Block, ...]]
    metrics: Mapping[str, Metric] = field(default_factory=dict)  # of texts, where the task reads one
    field_metrics: Mapping[str, FieldMetric] = field(default_factory=dict)  # of fields, where it finds some
    check: Callable[[str], bool] | None = None  # whether what a model wrote is well-formed
    label: Callable[[str], str] = str.strip  # how a truth that a person wrote is written for training
    unlike: Callable[[str], bool] | None = None  # whether what a model wrote is what something else gives
    prompt: str = ""
    like: str = ""  # another task, whose models read for this one too
    several_lines: bool = False  # the picture may hold more than one line of text
    default_model: str = ""  # the embedded model that reads for it when none is named

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the prompt, each one token of a model that knows the task."""
        return tuple(_TAG.findall(self.prompt))

    def prompt_text(self, question: str = "") -> str:
        """Return the prompt with the question in it."""
        asks = _QUESTION in self.prompt
        if asks and not question:
            raise ConfigError(f"The task {self.name} answers a question; give one with --question.")
        if question and not asks:
            raise ConfigError(f"The task {self.name} takes no question.")
        return self.prompt.replace(_QUESTION, question.lower())


def find(name: str) -> Task:
    """Return a task by name."""
    if name not in TASKS:
        raise ConfigError(f"There is no task called {name}; {suggest(name, TASKS)}")
    return TASKS[name]


def _one_block(kind: str) -> Callable[[str], tuple[Block, ...]]:
    def parse(text: str) -> tuple[Block, ...]:
        return (Block(kind=kind, text=text.strip()),)

    return parse


def _formula(text: str) -> tuple[Block, ...]:
    return (formula_block(text),)


def _tagged_block(text: str) -> tuple[Block, ...]:
    """Read Donut's tags as JSON; the text stays as the model wrote it."""
    return (Block(kind="fields", text=text.strip(), fields=parse_tags(text)),)


def _is_formula(text: str) -> bool:
    """Say whether a text is well-formed LaTeX; nothing is no formula."""
    return bool(text.strip()) and latex.check(text) is None


def _is_prose(text: str) -> bool:
    """Say whether LaTeX is mostly words: many letters in a row, and nothing that makes a formula of them."""
    tokens = [token for token in text.split() if token not in _SETTING]
    letters = [token for token in tokens if token == "~" or (len(token) == 1 and token.isalpha())]
    return len(letters) >= max(_PROSE_LETTERS, _PROSE_SHARE * len(tokens)) and not _FORMULA_SIGNS.intersection(tokens)


def _in_tokens(metric: Metric) -> Metric:
    """Return a metric of pages that compares their formulas token by token, however they are spelled."""

    def measure(references: Sequence[str], predictions: Sequence[str]) -> Measure:
        return metric([spelled_out(text) for text in references], [spelled_out(text) for text in predictions])

    return measure


@lru_cache(maxsize=256)
def spelled_out(page: str) -> str:
    """Write formulas as far as they show: rows as displays of their own, numbers alone as text."""

    def spell(found: re.Match[str]) -> str:
        rows = rows_shown(next(part for part in found.groups() if part is not None))
        if found[0].startswith(("$$", "\\[")):
            return "\n\n".join(f"$$\n{row}\n$$" for row in rows)
        text = " ".join(rows)
        number = text.translate(_TOGETHER)
        return number.replace("\\%", "%") if _NUMBER.fullmatch(number) else f"${text}$"

    return metrics.MATH.sub(spell, page)


_FIELDS: Mapping[str, FieldMetric] = {"field_f1": metrics.field_f1, "tree_accuracy": metrics.tree_accuracy}
_WORD: Mapping[str, Metric] = {
    "accuracy": metrics.exact,
    "accuracy_folded": metrics.accuracy_folded,
    "cer": metrics.cer,
    "wer": metrics.wer,
    "exact": metrics.exact,
}
_TEXT: Mapping[str, Metric] = {"cer": metrics.cer, "wer": metrics.wer, "exact": metrics.exact}
_FORMULA: Mapping[str, Metric] = {
    "wer": metrics.wer,
    "wer_visible": metrics.wer_visible,
    "cer": metrics.cer,
    "bleu": metrics.bleu,
    "edit": metrics.edit,
    "exact": metrics.exact,
    "exp_rate": metrics.exp_rate,
    "exp_rate_1": partial(metrics.exp_rate, errors=1),
    "exp_rate_2": partial(metrics.exp_rate, errors=2),
    "exp_rate_3": partial(metrics.exp_rate, errors=3),
}
_PAGE_METRICS: Mapping[str, Metric] = {
    "normalised_distance": metrics.normalised_distance,
    "bleu": metrics.bleu,
    "word_set_f1": metrics.word_set_f1,
    "meteor": metrics.meteor,
}
_PART_METRICS: Mapping[str, Metric] = {  # a part that was not read at all counts
    **_PAGE_METRICS,
    "normalised_distance": partial(metrics.normalised_distance, shortest=0),
}
_PAGE: Mapping[str, Metric] = {
    **{name: _in_tokens(metrics.on_part("all", metric)) for name, metric in _PAGE_METRICS.items()},
    **{
        f"{part}_{name}": _in_tokens(metrics.on_part(part, metric))
        for part in metrics.PARTS
        for name, metric in _PART_METRICS.items()
    },
    "order_errors": _in_tokens(metrics.order_errors),
}

_WRITES_TEXT = partial(Task, notation="text", default_model="word")
_WRITES_FIELDS = partial(Task, notation="json", parse=_tagged_block, field_metrics=_FIELDS)
_TASKS = (
    Task(
        name="formula",
        summary="a formula, printed or written by hand, to LaTeX",
        notation="latex",
        parse=_formula,
        metrics=_FORMULA,
        check=_is_formula,
        label=partial(latex.normalise, unify=True),
        unlike=_is_prose,
        default_model="formula",
    ),
    _WRITES_TEXT(name="word", summary="one word", parse=_one_block("text"), metrics=_WORD),
    _WRITES_TEXT(name="line", summary="one line of text", parse=_one_block("text"), metrics=_WORD, like="word"),
    _WRITES_TEXT(
        name="text",
        summary="lines of text below one another",
        parse=_one_block("line"),
        metrics=_TEXT,
        like="word",
        several_lines=True,
    ),
    Task(
        name="page",
        summary="a page of a paper to Markdown",
        notation="markdown",
        parse=_one_block("markdown"),
        metrics=_PAGE,
        default_model="page",
    ),
    _WRITES_FIELDS(name="receipt", summary="a receipt to its fields", prompt="<s_cord-v2>", default_model="receipt"),
    _WRITES_FIELDS(name="ticket", summary="a train ticket to its fields", prompt="<s_zhtrainticket>"),
    _WRITES_FIELDS(name="class", summary="a page to the kind of document it is", prompt="<s_rvlcdip>"),
    _WRITES_FIELDS(
        name="question",
        summary="a page and a question to the answer",
        prompt="<s_docvqa><s_question>{question}</s_question><s_answer>",
    ),
    _WRITES_FIELDS(name="labels", summary="a page to its words, labelled as the model was trained"),
    _WRITES_FIELDS(name="json", summary="a page to whatever fields the model was trained for"),
)
TASKS: Mapping[str, Task] = {task.name: task for task in _TASKS}
