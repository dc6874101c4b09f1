"""What was read in lines: tokens, how sure they are, and what they are written as.

Code is indented as it stands, displayed formulas are LaTeX with the numbers beside them as tags, and a hyphen at the
end of a line was put in there to break a word, or is the word's own.
"""

import math
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from operator import itemgetter
from statistics import median

import numpy as np
from numpy.typing import NDArray

from unrender.decoding.paths import Decoded
from unrender.formats.marked import (
    BREAK,
    CELL,
    DISPLAY,
    HEADINGS,
    MARKERS,
    MATH,
    SOFT_HYPHEN,
    SPACE,
    balanced,
    character_of,
    enclosed,
    inline_markdown,
    join_lines,
    write_formula,
)
from unrender.reading.page.edges import settle_edges, with_lone_letters
from unrender.reading.page.places import Row
from unrender.tokens import Tokenizer

_LONGEST_PERIOD = 24  # tokens of a loop
_REPEATED = 4  # times
_LEAST_LOOP = 16  # tokens
_PHRASE = 5  # tokens: what is as long is not said three times in a row
_SAID, _SAID_SHORT = 2, 8  # times that it may be said, and something shorter
_QUOTES = str.maketrans("’‘“”", '\'`""')  # what code is written with
_RELATIONS = frozenset(
    "= < > \\le \\leq \\ge \\geq \\approx \\equiv \\sim \\to \\in \\ll \\gg \\propto \\simeq".split()
)
_STOPS = (".", ",", ";", ":")
_TAG = re.compile(r"[(\[]([A-Za-z]?[.\d]{1,7}[a-z\u2019]?)[)\]]$|^([.\d]{1,6})$")
_TAG_BEFORE = re.compile(r"[(\[]([A-Za-z]?[.\d]{1,7}[a-z]?)[)\]]([.,;:])")
_NUMBER_INSIDE = re.compile(r"[,.;] \( (?:[\d.a-z] ){1,6}\)$")
_BEGIN, _END = "\\begin{", "\\end{"
_OPENING, _CLOSING = frozenset(["{", "\\{", "(", "["]), frozenset(["}", "\\}", ")", "]"])
_COMPOUND = re.compile(r"[^\W\d_]+-[^\W\d_]+")
_LAST_WORD, _FIRST_WORD = re.compile(r"([^\W\d_]+)-$"), re.compile(r"[a-zß-ÿ]+")
_PREFIXES = frozenset("self non well high low long short two three one so semi quasi pseudo multi cross ultra".split())
_SHORTEST_FIRST = 4  # letters of a compound's first part; shorter ones (in-dependent) are syllables
# What the second part of a compound often is, and hardly ever the end of a word that was hyphenated.
_SECONDS = frozenset(
    "based body bound called defined degenerate dependent dimensional driven energy error factor field fitting fold "
    "free frequency function group independent induced invariant known level like line linear loop mass matter "
    "model neutral parameter particle phase point product range resolution sample scale sided space spin state "
    "step structure symmetric temperature term theoretic time trivial type uniform valued vector wave wide".split()
)


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
    tokens = (
        (DISPLAY[0], *kept, DISPLAY[1]) if display else tuple(with_lone_letters(settle_edges(enclosed(balanced(kept)))))
    )
    logs = [*decoded.log_probabilities[: len(kept)], decoded.end_log_probability]
    sure = math.exp(sum(logs) / len(logs))
    return ReadRow(tokens, sure, looped, not decoded.complete and not looped)


def join_parts(parts: Sequence[ReadRow], joint: str = SPACE) -> ReadRow:
    """Join the parts of a line that was read in several."""
    if len(parts) == 1:
        return parts[0]
    tokens = [joint if token == BREAK else token for token in join_lines([part.tokens for part in parts])]
    return _together(tokens, parts)


def join_cells(parts: Sequence[ReadRow], filled: Sequence[bool]) -> ReadRow:
    """Join the cells of a table's row; between those that are `filled` there may be empty ones."""
    texts = iter(parts)
    tokens: list[str] = []
    for number, full in enumerate(filled):
        read = next(texts, None) if full else None
        tokens += [CELL] if number else []
        tokens += [] if read is None else [SPACE if token == CELL else token for token in read.tokens]
    return _together(tokens, parts)


def _together(tokens: Sequence[str], parts: Sequence[ReadRow]) -> ReadRow:
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


def write_code(texts: Sequence[str], rows: Sequence[Row]) -> str:
    """Write lines of code, each indented as far as it stands from the left; not at all if a line was not read."""
    lines = [text.strip().translate(_QUOTES) for text in texts]
    if len(rows) == len(lines):
        left = min(row.box[0] for row in rows)
        widths = [(row.box[2] - row.box[0]) / len(line) for row, line in zip(rows, lines, strict=True) if line]
        width = max(1.0, median(widths)) if widths else 1.0
        lines = [" " * round((row.box[0] - left) / width) + line for row, line in zip(rows, lines, strict=True)]
    return "\n".join(lines)


def write_display(rows: Sequence[Sequence[str]]) -> str:
    """Write the rows of a display, each the tokens of its line."""
    parts = [_parts(row) for row in rows]
    parts = [(formula, tag) for formula, tag in parts if formula or tag]
    if not parts:
        return ""
    if len(parts) == 1:
        return _row(*parts[0])
    name = "align" if any(tag for _, tag in parts) else "aligned"
    written = " \\\\\n".join(_row(_aligned(formula), tag) for formula, tag in parts)
    return f"\\begin{{{name}}}\n{written}\n\\end{{{name}}}"


def _parts(row: Sequence[str]) -> tuple[list[str], str]:
    """Part a row into the tokens of the formula and the number behind it."""
    formula: list[str] = []
    outside: list[str] = []
    inside = False
    for token in row:
        if token in (DISPLAY[0], MATH[0]):
            inside = True
        elif token in (DISPLAY[1], MATH[1]):
            inside = False
        elif token not in MARKERS:
            (formula if inside else outside).append(token)
    words = "".join(character_of(token) for token in outside).strip()
    if before := _TAG_BEFORE.fullmatch(words):
        return [*formula, before[2]], before[1]
    numbered = _TAG.search(words)
    if numbered is None and not words and _ends_with_number(formula):
        start = len(formula) - 1 - formula[::-1].index("(")
        return formula[:start], "".join(formula[start + 1 : -1])
    rest = words[: numbered.start()].strip() if numbered else words
    if rest:
        formula += [rest] if rest in _STOPS else ["\\text{", rest, "}"] if formula else outside
    return formula, (numbered[1] or numbered[2]) if numbered else ""


def _ends_with_number(formula: Sequence[str]) -> bool:
    """Say whether a formula's number was read as a part of it: digits in brackets behind a comma or full stop."""
    text = " ".join(formula)
    return _NUMBER_INSIDE.search(text) is not None


def _aligned(tokens: Sequence[str]) -> list[str]:
    """Put the sign of alignment before the first relation that stands in no bracket."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token in _OPENING or token.startswith(_BEGIN)) - (token in _CLOSING or token.startswith(_END))
        if depth == 0 and token in _RELATIONS:
            return [*tokens[:index], "&", *tokens[index:]]
    return list(tokens)


def _row(tokens: Sequence[str], tag: str) -> str:
    sides = "".join(f" {token} " if token == "&" else token for token in _sides(tokens)).strip()
    return sides + (rf" \tag{{{tag}}}" if tag else "")


def _sides(tokens: Sequence[str]) -> Iterator[str]:
    """Write what stands on either side of the sign of alignment, and the sign; one between cells is the formula's."""
    depths = accumulate(token.startswith(_BEGIN) - token.startswith(_END) for token in tokens)
    signs = (token == "&" and not depth for token, depth in zip(tokens, depths, strict=True))
    for is_sign, part in groupby(zip(signs, tokens, strict=True), key=itemgetter(0)):
        yield "&" if is_sign else write_formula([token for _, token in part])


def settle_hyphens(pieces: Sequence[Sequence[ReadRow]]) -> list[tuple[ReadRow, ...]]:
    """Take a hyphen at a line's end for one that was put in there, unless something says that it is the word's own.

    Something is: a number or a formula before it, the same compound elsewhere on the page, or parts that compounds
    often have.
    """
    whole = " ".join(row.markdown for rows in pieces for row in rows)
    compounds = {word.lower() for word in _COMPOUND.findall(whole)}
    return [
        tuple(_settled(row, following, compounds) for row, following in zip(rows, [*rows[1:], None], strict=False))
        for rows in pieces
    ]


def _settled(row: ReadRow, following: ReadRow | None, compounds: Set[str]) -> ReadRow:
    if following is None or not row.tokens or row.tokens[-1] not in ("-", SOFT_HYPHEN):
        return row
    own = _is_own(row, following, compounds)
    return row if own is None else row.with_tokens((*row.tokens[:-1], "-" if own else SOFT_HYPHEN))


def _is_own(row: ReadRow, following: ReadRow, compounds: Set[str]) -> bool | None:
    """Say whether a hyphen is the word's own; None where nothing tells."""
    if len(row.tokens) > 1 and (row.tokens[-2] == MATH[1] or row.tokens[-2].isdigit()):
        return True
    begun, rest = _LAST_WORD.search(row.markdown), _FIRST_WORD.match(following.markdown)
    if begun is None or rest is None:
        return None
    first, second = begun[1].lower(), rest[0]
    usual = first in _PREFIXES or (second in _SECONDS and len(first) >= _SHORTEST_FIRST)
    return usual or f"{first}-{second}" in compounds
