"""Reading by writing text: pictures go through an encoder, a decoder writes what stands in them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from unrender.checkpoints import Loaded
from unrender.decoding import Engine, Speller
from unrender.decoding.calibration import AS_IT_IS, Line
from unrender.decoding.paths import BeamPaths, Decoded, GreedyPath, Path
from unrender.decoding.rules import ALTERNATIVES, Constraint, Guard, Ids, Rules
from unrender.decoding.tags import TagGrammar
from unrender.documents import Alternative, Block, Box, Check, Page, Reading, Status, Token
from unrender.engines import open_engine
from unrender.errors import ConfigError, ModelError
from unrender.images.pixels import cleaned
from unrender.latex.commands import SILENT
from unrender.latex.grammar import Grammar
from unrender.models.config import TextConfig
from unrender.reading.certainty import Certainty
from unrender.reading.considering import LEFT_OUT, Look, Strips, left_out, left_unread
from unrender.reading.ink import LEFT_BEHIND, box_of
from unrender.reading.joining import join_rows
from unrender.reading.looks import Looking, Sight, spell_out
from unrender.reading.strips import join_pieces, strips_to_read
from unrender.reading.systems import BATCH, DEFAULTS, UNWATCHED, Options, Sheet, StoppedError, Watch, failed_page
from unrender.tasks import TASKS, Task
from unrender.tokens import CharacterTokenizer, LatexTokenizer, Tokenizer, open_tokenizer

if TYPE_CHECKING:
    from unrender.typesetting.pictures import Draws

_LINE_DPI = 200
Looks = Iterator[tuple[Sheet, tuple[Look, ...]]]


@dataclass(frozen=True)
class TextSystem:
    """A model that writes text, and the task it reads for; holds nothing of any one picture."""

    config: TextConfig
    engine: Engine
    tokenizer: Tokenizer
    task: Task

    @classmethod
    def open(cls, loaded: Loaded, task: Task, engine: str | None = None, threads: int | None = None) -> "TextSystem":
        """Open what a model folder holds."""
        tokenizer = open_tokenizer(loaded.folder, loaded.text_config)
        return cls(loaded.text_config, open_engine(loaded, engine, threads), tokenizer, task)

    @property
    def dpi(self) -> int:
        """How finely pages of a PDF are drawn; lines are brought to one height, so with room to spare."""
        return max(_LINE_DPI, self.config.image.dpi) if self.config.image.line_height else self.config.image.dpi

    @property
    def beams(self) -> int:
        return self.config.generation.beams

    def for_task(self, task: Task) -> "TextSystem":
        return replace(self, task=task)

    def read(
        self,
        sheets: Iterator[Sheet | None],
        options: Options = DEFAULTS,
        watch: Watch = UNWATCHED,
        *,
        batch: int = BATCH,
    ) -> Iterator[tuple[Sheet, Page]]:
        sight = self.sight(options)
        draws = self._typesetters(options)
        found = self._spell(sight, sheets, watch) if options.fast else Looking(sight, sheets, watch, batch).looks()
        for sheet, looks in found:
            if not looks:
                yield sheet, failed_page(sheet.number, StoppedError())
            else:
                blocks = self.blocks_of(looks, options)
                if draws and len(blocks) == 1:
                    looks, blocks = self._verified(sheet, looks, blocks, options, draws)
                yield sheet, sheet.page(self._status(looks), blocks)

    def blocks_of(self, looks: Sequence[Look], options: Options) -> tuple[Block, ...]:
        """Return what the looks at one picture say together; nothing, where they show nothing."""
        if self.config.image.line_height:
            return join_pieces([look.aim.strip for look in looks], [self._blocks(look, options) for look in looks])
        shown = [look for look in looks if not look.shows_nothing]
        return join_rows([self._blocks(look, options) for look in shown], [look.aim.beside for look in shown])

    def _typesetters(self, options: Options) -> "Draws":
        if not options.verify:
            return ()
        if self.task.notation != "latex":
            raise ConfigError(f"Only formulas can be typeset and compared; leave out --verify for {self.task.name}.")
        from unrender.typesetting.pictures import find_typesetters  # seldom asked for, and slow to load

        return find_typesetters()

    def _verified(
        self, sheet: Sheet, looks: tuple[Look, ...], blocks: tuple[Block, ...], options: Options, draws: "Draws"
    ) -> tuple[tuple[Look, ...], tuple[Block, ...]]:
        """Typeset what was read, compare it with the picture, and take the reading that fits; say where none does."""
        [before] = blocks
        known = [self._certainty.tidied(looks[0].decoded)] if len(looks) == 1 else []
        known += [one for one in known[0].runners_up if one.complete] if known else []
        texts = [(before.text, log_probability(known[0]) if known else 0.0)]
        texts += [(self._reading(one, looks[0], AS_IT_IS).text, log_probability(one)) for one in known[1:]]
        gray, shrunk = cleaned(sheet.image)
        from unrender.reading.verify import verify

        verdict = verify(np.asarray(gray), texts, draws)
        if verdict is None:
            return looks, blocks
        if verdict.chosen:
            others = tuple(one for one in known if one is not known[verdict.chosen])
            looks = (replace(looks[0], decoded=replace(known[verdict.chosen], runners_up=others)),)
            blocks = self.blocks_of(looks, options)
        differences = tuple(place.on(blocks[0].tokens, shrunk) for place in verdict.places)
        check = Check(verdict.likeness, differences, before.text if verdict.chosen else "")
        return looks, (replace(blocks[0], check=check),)

    def _spell(self, sight: Sight, sheets: Iterator[Sheet | None], watch: Watch) -> Looks:
        """Read without the decoder."""
        if not self.config.spelling or not isinstance(self.engine, Speller):
            raise ConfigError(f"{self.config.name} reads with its decoder only; leave out --fast.")
        return spell_out(sight, self.engine, sheets, watch)

    def _strips(self, sheet: Sheet) -> Strips | None:
        """Return which strips of a picture to look at; a model that reads single lines is shown them one by one."""
        prep = self.config.image
        return strips_to_read(sheet, prep, several=self.task.several_lines) if prep.line_height else None

    def sight(self, options: Options = DEFAULTS) -> Sight:
        """Return how this system looks at pictures."""
        prompt = self._prompt(options)
        path, decode = self._new_path(options, len(prompt)), self.tokenizer.decode
        settings = self.config.generation
        usual = options.beams is None and options.n_best == 1
        glance = self._new_path(replace(options, beams=1), len(prompt)) if settings.greedy_first and usual else None
        thorough = replace(self.config, generation=replace(settings, sure=1.0, doubtful=1.0))
        config = thorough if options.verify else self.config
        count = self._certainty.strokes if self._sees_strokes else None
        return Sight(config, self.engine, prompt, path, decode, glance, self._strips, count)

    @cached_property
    def _certainty(self) -> Certainty:
        return Certainty(self.config, self.tokenizer)

    @property
    def _sees_strokes(self) -> bool:
        """Whether tokens are symbols of a formula, in a picture large enough to tell its strokes apart."""
        return self.config.image.fit == "free" and isinstance(self.tokenizer, LatexTokenizer)

    def _prompt(self, options: Options) -> Ids:
        """Return the (P,) tokens to begin with: the task's own prompt where the model knows its tags."""
        name = self.config.name
        if options.words is not None:
            raise ConfigError(f"{name} reads the picture alone; --words is for models that label words.")
        text = self.task.prompt_text(options.question)
        if text and all(self.tokenizer.find(tag) is not None for tag in self.task.tags):
            return np.array(self.tokenizer.encode(text), dtype=np.int64)
        if self.config.task not in (self.task.name, self.task.like):
            raise ModelError(f"{name} reads {self.config.task}, not {self.task.name}; give another model.")
        return np.array(self.config.generation.start, dtype=np.int64)

    def _new_path(self, options: Options, prompt_length: int) -> Callable[[int], Path]:
        """Say how each text is searched for."""
        settings = self.config.generation
        room = self.config.decoder.max_positions - prompt_length
        max_tokens = max(1, min(options.max_tokens or settings.max_tokens, room))
        beams = max(options.beams or settings.beams, options.n_best)
        guard = Guard() if settings.repetition_guard else None

        def new_path(most: int) -> Path:
            limit = min(max_tokens, most)
            grammar = self._grammar.within(limit) if isinstance(self._grammar, TagGrammar) else self._grammar
            rules = Rules(settings.end, limit, settings.forbidden, grammar, ALTERNATIVES)
            if beams > 1:
                return BeamPaths(rules, beams, settings.length_penalty, settings.early_stopping)
            return GreedyPath(rules, guard)

        return new_path

    @cached_property
    def _grammar(self) -> Constraint | None:
        """What keeps the model to its grammar, where it has one."""
        settings = self.config.generation
        if settings.well_formed and isinstance(self.tokenizer, LatexTokenizer):
            return Grammar(self.tokenizer.tokens, settings.end, settings.max_tokens)
        if settings.well_formed and isinstance(self.tokenizer, CharacterTokenizer):
            return TagGrammar(self.tokenizer.tokens, settings.end, settings.max_tokens, self.config.fields)
        return None

    def _status(self, looks: Sequence[Look]) -> Status:
        settings = self.config.generation
        worst = min((look.decoded for look in looks), key=lambda decoded: (decoded.complete, decoded.cut is None))
        if all(look.shows_nothing for look in looks):
            return Status("unlikely", reason=_unlikely(self.task, "")) if settings.unlikely else Status("empty")
        surest = max((look.decoded for look in looks), key=lambda decoded: decoded.sureness)
        prose = self.task.unlike is not None and self.task.unlike(self.tokenizer.decode(surest.tokens))
        if surest.sureness < settings.unlikely or (settings.unlikely and prose):
            return Status("unlikely", reason=_unlikely(self.task, "; what was read is a guess"))
        left = left_unread(looks) if settings.rows and worst.complete else ()
        if len(left) < LEFT_BEHIND:
            missed = left_out(looks) if settings.rows and worst.complete else 0
            if missed >= LEFT_OUT:
                return Status("partial", reason=f"the picture shows about {missed} strokes more than was read")
            return Status(worst.status, worst.cut)
        corners = np.array(left, dtype=np.float64)
        box = Box(*(float(side) for side in (*corners[:, :2].min(axis=0), *corners[:, 2:].max(axis=0))))
        return Status("partial", reason=f"{len(left)} strokes of the picture were not read", box=box)

    def _blocks(self, look: Look, options: Options) -> tuple[Block, ...]:
        """Return what the task makes of a look; where that is one block, it has its tokens with it."""
        look = replace(look, decoded=self._certainty.tidied(look.decoded))
        decoded = look.decoded
        line = self.config.calibration if options.calibrated else AS_IT_IS
        blocks = self.task.parse(self.tokenizer.decode(decoded.tokens))
        if len(blocks) != 1:
            return blocks
        whole = replace(
            blocks[0],
            tokens=tuple(self._tokens(look)),
            confidence=self._reading(decoded, look, line).confidence,
            readings=self._readings(look, line)[: options.n_best] if options.n_best > 1 else (),
        )
        return (whole,)

    def _readings(self, look: Look, line: Line) -> tuple[Reading, ...]:
        """List the readings, best first; those that are one in readable form are listed once.

        Each is calibrated by itself, for what it looks like and not for how it is spelled, so another spelling adds
        nothing; what the best leaves is all that the others can have together.
        """
        found: dict[str, Reading] = {}
        for reading in (self._reading(one, look, line) for one in (look.decoded, *look.decoded.runners_up)):
            found.setdefault(reading.text, reading)
        best, *others = found.values()
        share = min(1.0, (1 - best.confidence) / max(1e-9, sum(other.confidence for other in others)))
        return (best, *(replace(other, confidence=share * other.confidence) for other in others))

    def _reading(self, decoded: Decoded, look: Look, line: Line) -> Reading:
        text = self.tokenizer.decode(decoded.tokens)
        parsed = self.task.parse(text)
        block = parsed[0] if len(parsed) == 1 else Block(kind="text", text=text)
        strokes = len(look.ink.boxes) if self._sees_strokes else None
        confidence = self._certainty.confidence(decoded, look.decoded.looks, strokes, line)
        return Reading(block.text, confidence, block.written)

    def _tokens(self, look: Look) -> Iterator[Token]:
        decoded = look.decoded
        boxes = self._boxes(look)
        for index, (token, log) in enumerate(zip(decoded.tokens, decoded.log_probabilities, strict=True)):
            others = decoded.alternatives[index] if decoded.alternatives else ()
            yield Token(
                self.tokenizer.piece(token),
                math.exp(log),
                tuple(Alternative(self.tokenizer.piece(other.token), other.probability) for other in others),
                boxes[index] if boxes else None,
            )

    def _boxes(self, look: Look) -> list[Box | None]:
        """Say where each token stands: where its strokes are or, on a page too coarse for that, the cells looked at."""
        attention, placement = look.decoded.attention, look.placement
        if not attention:
            return []
        if not self._sees_strokes:
            return [look.grid.locate(one, placement) for one in attention]
        pieces = (self.tokenizer.piece(token).strip() for token in look.decoded.tokens)
        known = [one if one.shape == (look.grid.positions,) else None for one in attention]
        shown = [None if piece in SILENT else one for piece, one in zip(pieces, known, strict=True)]
        traced = look.ink.trace(shown)
        return [None if box is None else box_of(placement, *box) for box in traced]


def log_probability(decoded: Decoded) -> float:
    """Return the log-probability of a text, its end included."""
    return sum(decoded.log_probabilities) + decoded.end_log_probability


def _unlikely(task: Task, guessed: str) -> str:
    others = [name for name, other in TASKS.items() if other.default_model and name != task.name]
    return f"This does not look like a {task.name}{guessed}. There is also {', '.join(others)} to choose."
