"""What was read in a line: its tokens, how sure they are, and whether the reader began to loop."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.paths import Decoded
from unrender.formats.marked import BREAK, DISPLAY, HEADINGS, SPACE, balanced, enclosed, inline_markdown, join_lines
from unrender.tokens import Tokenizer

_LONGEST_PERIOD = 24  # tokens of a loop
_REPEATED = 4  # times
_LEAST_LOOP = 16  # tokens
_PHRASE = 5  # tokens: what is as long is not said three times in a row
_SAID, _SAID_SHORT = 2, 8  # times that it may be said, and something shorter


@dataclass(frozen=True)
class ReadRow:
    """The tokens of a line, their mean probability, and whether a loop was cut off or the end never came."""

    tokens: tuple[str, ...]
    confidence: float
    looped: bool = False
    cut: bool = False
    layered: bool = False  # its words are from the PDF's text layer

    @property
    def heading(self) -> int:
        """The level that a heading's marker gives; 0 without one."""
        first = self.tokens[0] if self.tokens else ""
        return HEADINGS.index(first) + 1 if first in HEADINGS else 0

    @property
    def markdown(self) -> str:
        return inline_markdown(self.tokens)

    def with_tokens(self, tokens: Sequence[str]) -> "ReadRow":
        return replace(self, tokens=tuple(tokens))


def read_row(decoded: Decoded, tokenizer: Tokenizer, *, display: bool = False) -> ReadRow:
    """Take the tokens of a line, or of a displayed formula without markers, from what the decoder wrote."""
    pieces = [tokenizer.piece(token).strip() for token in decoded.tokens]
    kept, looped = without_loop(pieces)
    tokens = (DISPLAY[0], *kept, DISPLAY[1]) if display else tuple(enclosed(balanced(kept)))
    logs = [*decoded.log_probabilities[: len(kept)], decoded.end_log_probability]
    sure = math.exp(sum(logs) / len(logs))
    return ReadRow(tokens, sure, looped, not decoded.complete and not looped)


def join_parts(parts: Sequence[ReadRow], joint: str = SPACE) -> ReadRow:
    """Join the parts of a line that was read in several."""
    if len(parts) == 1:
        return parts[0]
    tokens = [joint if token == BREAK else token for token in join_lines([part.tokens for part in parts])]
    lengths = [len(part.tokens) + 1 for part in parts]
    sure = sum(math.log(max(1e-9, part.confidence)) * length for part, length in zip(parts, lengths, strict=True))
    return ReadRow(
        tuple(tokens),
        math.exp(sure / max(1, sum(lengths))),
        any(part.looped for part in parts),
        any(part.cut for part in parts),
    )


@dataclass(frozen=True)
class NoLoop:
    """Forbids the token with which a text would say something for the third time in a row; for a search's rules."""

    vocabulary: int

    def __call__(self, tokens: Sequence[int]) -> NDArray[np.bool_] | None:
        for period in range(1, min(_LONGEST_PERIOD, len(tokens) // 2) + 1):
            times = _SAID if period >= _PHRASE else _SAID_SHORT
            tail = tokens[-period * times :]
            if len(tail) == period * times and all(
                one == other for one, other in zip(tail, tail[period:], strict=False)
            ):
                allowed = np.ones(self.vocabulary, dtype=np.bool_)
                allowed[tokens[-period]] = False
                return allowed
        return None


def without_loop(tokens: list[str]) -> tuple[list[str], bool]:
    """Cut off tokens that repeat themselves to the end; the first time they are said stays."""
    for period in range(1, _LONGEST_PERIOD + 1):
        same = 0
        while same + period < len(tokens) and tokens[-1 - same] == tokens[-1 - same - period]:
            same += 1
        if same + period >= max(_LEAST_LOOP, _REPEATED * period) and same >= (_REPEATED - 1) * period:
            return tokens[: len(tokens) - same], True
    return tokens, False
