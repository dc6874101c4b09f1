"""Sight: from pictures to what stands in them, with one model, prompt and set of options."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unrender.decoding.calibration import AS_IT_IS, confidence_of
from unrender.decoding.repetition import Guard
from unrender.decoding.search import (
    ALTERNATIVES,
    BeamRow,
    Constraint,
    Decoded,
    Engine,
    GreedyRow,
    Ids,
    Rules,
    beam,
    greedy,
)
from unrender.documents import Alternative, Block, Reading, Token
from unrender.images.opening import Placement, place, stack
from unrender.latex.arrays import fit_columns
from unrender.latex.grammar import Grammar
from unrender.models.config import ModelConfig
from unrender.reading.consensus import rank_readings
from unrender.reading.grid import Grid, grid_of
from unrender.reading.options import Options
from unrender.tasks import Task
from unrender.tokens import LatexTokenizer, Tokenizer

View = tuple[NDArray[np.float32], Placement]  # a picture as the encoder wants it, and where its pixels came from


@dataclass(frozen=True)
class Look:
    """What was read in one view of a picture, and what ties the view's cells to the picture."""

    decoded: Decoded
    grid: Grid
    placement: Placement


@dataclass(frozen=True)
class Sight:
    """One way to look at pictures; holds nothing of any one of them."""

    config: ModelConfig
    engine: Engine
    tokenizer: Tokenizer
    constraint: Constraint | None
    prompt: Ids  # (P,)
    options: Options

    def view(self, image: Image.Image, zoom: float = 1.0) -> View:
        """Prepare a picture, at another size than usual if asked to."""
        return place(image, replace(self.config.image, zoom=zoom * self.config.image.zoom))

    def look(self, views: Sequence[View], listener: Callable[[int, int], None] | None = None) -> list[Look]:
        """Read prepared pictures together."""
        pixels, sizes = stack([values for values, _ in views], self.config.image)
        grid = self.grid(pixels)
        return [
            Look(decoded, grid, placement)
            for decoded, (_, placement) in zip(self._decode(pixels, sizes, listener), views, strict=True)
        ]

    def grid(self, pixels: NDArray[np.float32]) -> Grid:
        """Return the cells that the decoder looks at in (..., H, W) pixels."""
        return grid_of(self.config.encoder, *pixels.shape[-2:])

    def reconsider(self, image: Image.Image, first: Look) -> Look:
        """Return the first look or, if it left doubts, what it and looks at other sizes together make likeliest."""
        settings = self.config.generation
        if not settings.second_looks or first.decoded.sureness >= settings.sure:
            return first
        looks, zoom = [first], 1.0
        if first.decoded.sureness < settings.lost:
            looks += self.look([self.view(image, far) for far in settings.far_looks])
            surest = max(range(len(looks)), key=lambda number: looks[number].decoded.sureness)
            zoom = (1.0, *settings.far_looks)[surest]
        looks += self.look([self.view(image, zoom * near) for near in settings.second_looks])
        found = [replace(look, decoded=one) for look in looks for one in (look.decoded, *look.decoded.runners_up)]
        best, *rest = rank_readings([look.decoded for look in found])
        others = tuple(found[place].decoded for place in rest)
        return replace(found[best], decoded=replace(found[best].decoded, runners_up=others))

    def new_path(self) -> Callable[[], GreedyRow | BeamRow]:
        """Say how each of many pictures is decoded: as `look` would."""
        settings = self.config.generation
        beams, max_tokens = self._limits()
        rules = Rules(settings.end, max_tokens, settings.forbidden, self.constraint, ALTERNATIVES)
        if beams > 1:
            return lambda: BeamRow(rules, beams, settings.length_penalty, settings.early_stopping)
        guard = Guard() if settings.repetition_guard else None
        return lambda: GreedyRow(rules, guard)

    def blocks(self, look: Look, task: Task) -> tuple[Block, ...]:
        """Return what a task makes of a look; where that is one block, it has its tokens with it."""
        look = replace(look, decoded=self._tidied(look.decoded))
        decoded, wanted = look.decoded, self.options.n_best
        blocks = task.parse(self.tokenizer.decode(decoded.tokens))
        if len(blocks) != 1:
            return blocks
        best = (decoded, *decoded.runners_up)[:wanted] if wanted > 1 else ()
        whole = replace(
            blocks[0],
            tokens=tuple(self._tokens(look)),
            confidence=self._confidence(decoded),
            readings=tuple(Reading(self.tokenizer.decode(one.tokens), self._confidence(one)) for one in best),
        )
        return (whole,)

    def _tidied(self, decoded: Decoded) -> Decoded:
        """Make arrays declare the columns they have; of readings that are the same then, the first is kept."""
        if not isinstance(self.tokenizer, LatexTokenizer):
            return decoded
        kept = fit_columns([self.tokenizer.piece(token).strip() for token in decoded.tokens])
        tokens = tuple(decoded.tokens[place] for place in kept)
        others = {tokens: decoded}
        for other in map(self._tidied, decoded.runners_up):
            others.setdefault(other.tokens, other)
        return replace(
            decoded,
            tokens=tokens,
            log_probabilities=tuple(decoded.log_probabilities[place] for place in kept),
            alternatives=tuple(decoded.alternatives[place] for place in kept) if decoded.alternatives else (),
            attention=tuple(decoded.attention[place] for place in kept) if decoded.attention else (),
            runners_up=tuple(others.values())[1:],
        )

    def _decode(
        self, pixels: NDArray[np.float32], sizes: Ids | None, listener: Callable[[int, int], None] | None
    ) -> list[Decoded]:
        settings = self.config.generation
        beams, max_tokens = self._limits()
        prompts = np.tile(self.prompt, (len(pixels), 1))
        run = self.engine.start(pixels, sizes)
        if beams > 1:
            return beam(
                run,
                prompts,
                beams=beams,
                end=settings.end,
                max_tokens=max_tokens,
                length_penalty=settings.length_penalty,
                early_stopping=settings.early_stopping,
                forbidden=settings.forbidden,
                constraint=self.constraint,
            )
        return greedy(
            run,
            prompts,
            end=settings.end,
            max_tokens=max_tokens,
            forbidden=settings.forbidden,
            constraint=self.constraint,
            guard=Guard() if settings.repetition_guard else None,
            listener=listener,
        )

    def _limits(self) -> tuple[int, int]:
        """Return how wide and how far to search."""
        settings = self.config.generation
        room = self.config.decoder.max_positions - len(self.prompt)
        max_tokens = max(1, min(self.options.max_tokens or settings.max_tokens, room))
        return max(self.options.beams or settings.beams, self.options.n_best), max_tokens

    def _confidence(self, decoded: Decoded) -> float:
        """Return how likely the whole text is right: its probability, its end included, calibrated."""
        line = self.config.calibration if self.options.calibrated else AS_IT_IS
        return confidence_of(sum(decoded.log_probabilities) + decoded.end_log_probability, line)

    def _tokens(self, look: Look) -> Iterator[Token]:
        decoded = look.decoded
        for index, (token, log) in enumerate(zip(decoded.tokens, decoded.log_probabilities, strict=True)):
            others = decoded.alternatives[index] if decoded.alternatives else ()
            yield Token(
                self.tokenizer.piece(token),
                math.exp(log),
                tuple(Alternative(self.tokenizer.piece(other.token), other.probability) for other in others),
                look.grid.locate(decoded.attention[index], look.placement) if decoded.attention else None,
            )


def grammar_of(config: ModelConfig, tokenizer: Tokenizer) -> Constraint | None:
    """Return what keeps a model to its grammar, where it has one."""
    if config.generation.well_formed and isinstance(tokenizer, LatexTokenizer):
        return Grammar(tokenizer.tokens, config.generation.end, config.generation.max_tokens)
    return None
