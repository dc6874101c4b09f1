"""How sure to be of a reading: by its tokens, by what the other looks at the picture read, and by its ink.

Also the form in which readings are compared: arrays declare the columns they have, and none is around a single cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from unrender.decoding.calibration import Line, confidence_of, without_usual_doubt
from unrender.decoding.paths import Decoded
from unrender.latex.commands import SILENT
from unrender.latex.stroke_counts import count_strokes
from unrender.latex.tree import fit_columns, unwrap_cells
from unrender.models.config import TextConfig
from unrender.tokens import LatexTokenizer, Tokenizer


@dataclass(frozen=True)
class Certainty:
    """What a model's config says about its doubts."""

    config: TextConfig
    tokenizer: Tokenizer

    def confidence(self, decoded: Decoded, looks: Sequence[tuple[int, ...]], strokes: int | None, line: Line) -> float:
        """Return how likely the whole text is right, calibrated.

        What counts is its probability, its end included, less what speaks against it: the share of the `looks` that
        show something else, and a number of `strokes` in the picture other than the tokens have in print. Of a formula
        only what is seen counts, not its braces and spaces.
        """
        if not decoded.tokens and not decoded.complete:
            return 0.0  # a loop of which nothing was kept
        config = self.config
        counted = decoded.log_probabilities
        if config.task == "formula":
            pairs = zip(self._pieces(decoded.tokens), counted, strict=True)
            counted = tuple(log for piece, log in pairs if piece not in SILENT)
        log = without_usual_doubt((*counted, decoded.end_log_probability), config.usual_doubt)
        shown = self._shown(decoded.tokens)
        if config.doubt_of_looks and looks:
            log -= config.doubt_of_looks * sum(self._shown(look) != shown for look in looks) / len(looks)
        if config.doubt_of_ink and strokes is not None and strokes != self.strokes(decoded.tokens):
            log -= config.doubt_of_ink
        return confidence_of(log, line)

    def strokes(self, tokens: Sequence[int]) -> int:
        """Return how many strokes of ink tokens have in print."""
        return count_strokes(self._pieces(tokens))

    def tidied(self, decoded: Decoded) -> Decoded:
        """Make arrays declare the columns they have; of readings that are the same then, the first is kept."""
        if not isinstance(self.tokenizer, LatexTokenizer):
            return decoded
        kept = self._kept(decoded.tokens)
        tokens = tuple(decoded.tokens[index] for index in kept)
        others = {tokens: decoded}
        for other in map(self.tidied, decoded.runners_up):
            others.setdefault(other.tokens, other)
        return replace(
            decoded,
            tokens=tokens,
            log_probabilities=tuple(decoded.log_probabilities[index] for index in kept),
            alternatives=tuple(decoded.alternatives[index] for index in kept) if decoded.alternatives else (),
            attention=tuple(decoded.attention[index] for index in kept) if decoded.attention else (),
            runners_up=tuple(others.values())[1:],
            looks=tuple(tuple(look[index] for index in self._kept(look)) for look in decoded.looks),
        )

    def _kept(self, tokens: Sequence[int]) -> list[int]:
        pieces = self._pieces(tokens)
        cells = unwrap_cells(pieces)
        return [cells[index] for index in fit_columns([pieces[index] for index in cells])]

    def _shown(self, tokens: Sequence[int]) -> list[str]:
        return [piece for piece in self._pieces(tokens) if piece not in SILENT]

    def _pieces(self, tokens: Sequence[int]) -> list[str]:
        return [self.tokenizer.piece(token).strip() for token in tokens]
