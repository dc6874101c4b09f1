"""The label of a line, of some lines or of a whole block: tokens, each with the box it stands in."""

from collections.abc import Sequence
from typing import NamedTuple

from unrender.training.page.alignment import Box, Sign
from unrender.training.page.assembly import Line, Part, Piece
from unrender.training.page.blocks import CODE, FORMULA, HEADING, TABLE, TITLE
from unrender.training.page.prose import MONO, PLAIN
from unrender.training.page.vocabulary import BREAK, CELL, DISPLAY, HEADINGS, MATH, SPACE, STYLES, token_of


class Label(NamedTuple):
    """Tokens and their boxes in points; None where a token leaves no ink."""

    tokens: list[str]
    boxes: list[Box | None]


def has_places(lines: Sequence[Line]) -> bool:
    """Whether it is known where every character stands."""
    return all(_is_known(part) for line in lines for part in line.parts)


def label_of(piece: Piece, lines: Sequence[Line]) -> Label:
    """Return the label of some consecutive lines of a block."""
    writer = _Writer(piece)
    for number, line in enumerate(lines):
        if number:
            writer.mark(BREAK)
        writer.line(line)
    writer.close()
    return Label(writer.tokens, writer.boxes)


def _is_known(part: Part) -> bool:
    return bool(part.atom.tokens) or all(sign.box is not None or sign.text in " _" for sign in part.signs)


class _Writer:
    """Writes parts one after the other; remembers which style and whether a formula is open."""

    def __init__(self, piece: Piece) -> None:
        self.tokens: list[str] = []
        self.boxes: list[Box | None] = []
        self._kind = piece.block.kind
        self._style = PLAIN
        self._open = False
        self._math = DISPLAY if self._kind == FORMULA else MATH
        self._last: Box | None = None
        if self._kind in (TITLE, HEADING) and not piece.continued:
            self.mark(HEADINGS[0] if self._kind == TITLE else HEADINGS[min(piece.block.level, 3)])

    def mark(self, token: str) -> None:
        self.tokens.append(token)
        self.boxes.append(None)
        if token == BREAK:
            self._last = None

    def close(self) -> None:
        """Close what is open at the end of the last line."""
        self._formula(opened=False)
        self._close_style(PLAIN)

    def line(self, line: Line) -> None:
        """Write the parts of a line; a formula or style that goes on in the next line stays open."""
        before: Part | None = None
        for part, after in zip(line.parts, [*line.parts[1:], None], strict=True):
            style = self._style_of(part, after)
            self._close_style(style)
            self._gap(before, part)
            if style not in (PLAIN, self._style):
                self.mark(STYLES[style][0])
            self._style = style
            if part.atom.tokens:
                self._formula(opened=True)
            self._signs(part.signs, formula=bool(part.atom.tokens))
            goes_on = self._kind == FORMULA and after is not None and bool(after.atom.tokens)
            if part.ends and not goes_on:
                self._formula(opened=False)
            before = part

    def _close_style(self, style: str) -> None:
        if self._style not in (PLAIN, style):
            self.mark(STYLES[self._style][1])
            self._style = PLAIN

    def _formula(self, *, opened: bool) -> None:
        if opened != self._open:
            self.mark(self._math[0] if opened else self._math[1])
            self._open = opened

    def _style_of(self, part: Part, after: Part | None) -> str:
        """Return the style of a part; a formula between words of one style does not interrupt it."""
        if part.atom.tokens:
            within = after is not None and after.atom.text and self._plain_style(after.atom.style) == self._style
            return self._style if within or not part.ends else PLAIN
        return self._plain_style(part.atom.style)

    def _plain_style(self, style: str) -> str:
        """Leave out what the kind of block says already."""
        if self._kind == CODE:
            return MONO
        return PLAIN if self._kind in (TITLE, HEADING) and style != "note" else style

    def _gap(self, before: Part | None, part: Part) -> None:
        """Write what stands between two atoms of a line."""
        if before is None:
            return
        if self._kind == TABLE and before.atom.column != part.atom.column:
            for _ in range(part.atom.column - before.atom.column):
                self.mark(CELL)
            return
        if part.atom.glued or (self._kind == FORMULA and part.atom.tokens):
            return
        ahead = next((sign.box for sign in part.signs if sign.box is not None), None)
        self.tokens.append(SPACE)
        self.boxes.append(_between(self._last, ahead))

    def _signs(self, signs: Sequence[Sign], *, formula: bool) -> None:
        for sign in signs:
            self.tokens.append(sign.text if formula else token_of(sign.text))
            self.boxes.append(sign.box)
            self._last = sign.box or self._last


def _between(before: Box | None, after: Box | None) -> Box | None:
    """Return the gap between two signs of a line."""
    if before is None or after is None or after[0] <= before[2]:
        return None
    return before[2], min(before[1], after[1]), after[0], max(before[3], after[3])
