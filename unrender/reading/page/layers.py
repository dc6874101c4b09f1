"""A PDF's own text as evidence: where it agrees with what was read, its characters are taken; formulas never are."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
from rapidfuzz.distance import Levenshtein

from unrender.documents import Box
from unrender.formats.marked import DISPLAY, MARKERS, MATH, SOFT_HYPHEN, SPACE, character_of, token_of
from unrender.images.opening import PageText
from unrender.reading.page.glyphs import SOFT, UNKNOWN, fill_unknown, is_other_script, join_accents, spell
from unrender.reading.page.items import is_bullet
from unrender.reading.page.rows import ReadRow
from unrender.reading.page.signs import Sign, are_level, split_formulas, write_formula_tokens

_AGREEING = 0.4  # of its length may differ for a piece of text to be the same
_FEW, _MOSTLY, _WORD = 3, 0.5, re.compile(r"[^\W\d_]{3,}")
_TYPED = re.compile(r"[^\W\d_]{2}|[#$%&@]")  # what text has and formulas have not
_MATHEMATICAL = re.compile("[\u0370-\u03ff\u2032-\u2037\u2100-\u214f\u2190-\u23ff\U0001d400-\U0001d7ff]")
_LEADERS = re.compile(r"(?:\s*\.){5,}\s*")
_SHAPED = frozenset(
    r"\frac \sqrt \hat \bar \tilde \vec \dot \ddot \overline \mathcal \mathbb \mathbf \mathfrak".split()
)
_SAME_SHAPE = 0.5  # of the tokens of a formula may differ for it to be the same
_DASHES = ("–", "—")
_WORD_GAP = 0.22  # of a character's height: what is farther apart are two words
# Letters that are set as formulas, to plain ones.
_ITALIC = {code: unicodedata.normalize("NFKC", chr(code)) for code in (*range(0x1D434, 0x1D468), 0x210E)}
TRUSTED = 0.6  # share of the pieces of a page that agree, for the others to be believed where the reading is unsure
_UNSURE = 0.85


class Layer:
    """The characters of a page, and where they stand in its picture of `width` by `height` pixels."""

    def __init__(self, text: PageText, width: int, height: int) -> None:
        across, down = width / max(1e-6, text.width), height / max(1e-6, text.height)
        self._characters = [character for character, _ in text.characters]
        self._formulas = text.formulas
        corners = np.array([box for _, box in text.characters], dtype=np.float64).reshape(-1, 4)
        left, bottom, right, top = corners.T
        self._boxes = np.stack(
            [left * across, (text.height - top) * down, right * across, (text.height - bottom) * down], axis=1
        )

    def line(self, box: Box) -> str:
        """Return what the layer says in a line's box, from left to right, with the spaces that gaps make."""
        return "".join(sign.text for sign in self.signs(box))

    def signs(self, box: Box) -> list[Sign]:
        """Return the same sign by sign, with what is known of each."""
        middles = (self._boxes[:, :2] + self._boxes[:, 2:]) / 2
        inside = (middles[:, 0] >= box.x0 - 1) & (middles[:, 0] <= box.x1 + 1)
        inside &= (middles[:, 1] >= box.y0) & (middles[:, 1] <= box.y1)
        inside &= self._boxes[:, 2] > self._boxes[:, 0]
        found = [int(one) for one in np.flatnonzero(inside) if spell(self._characters[one])]
        found.sort(key=lambda one: float(self._boxes[one, 0]))
        texts = join_accents([spell(self._characters[one]) for one in found], self._boxes[found])
        signs: list[Sign] = []
        before, last = None, -1
        for one, text in zip(found, texts, strict=True):
            if not text:
                continue
            left, top, right, bottom = self._boxes[one]
            apart = before is not None and left - before > _WORD_GAP * max(1.0, bottom - top) * 0.8
            if apart or (0 <= last < one - 1 and self._blank(last + 1, one)):
                signs.append(Sign(" "))
            signs += [Sign(part, self._in_formula(one), top, bottom) for part in _composed(text, signs)]
            before, last = right, one
        return _without_leaders(signs)

    def _in_formula(self, one: int) -> bool:
        return (one in self._formulas and not is_bullet(self._characters[one])) or ord(self._characters[one]) in _ITALIC

    def _blank(self, start: int, stop: int) -> bool:
        """Say whether the layer has nothing but blanks from one character to another."""
        return stop - start <= _FEW and not "".join(self._characters[start:stop]).strip()

    def correct(self, row: ReadRow, box: Box) -> ReadRow:
        """Take the characters of the layer for every piece of text in a line that agrees with it."""
        signs = self.signs(box)
        if not signs or not row.tokens:
            return row
        said = "".join(sign.text for sign in signs if not sign.formula)
        if is_other_script(said):  # the model can only guess
            return ReadRow(tuple(_tokens("".join(sign.text for sign in signs))), 1.0, layered=True)
        tokens, right, wrong = corrected(row.tokens, signs, typed=bool(self._formulas))
        if not right:
            return row
        return ReadRow(tuple(tokens), row.confidence if wrong else 1.0, layered=not wrong)

    def replace(self, row: ReadRow, box: Box) -> ReadRow:
        """Take the whole line from the layer where the reading is unsure of itself."""
        unsure = row.confidence < _UNSURE or row.looped or row.cut or not row.tokens
        if row.layered or not unsure:
            return row
        tokens, signs = list(row.tokens[: bool(row.heading)]), self.signs(box)
        if not are_level(signs) or any(sign.text == UNKNOWN for sign in signs):
            return row
        for part, is_formula in split_formulas(signs):
            text = "".join(sign.text for sign in part)
            written = write_formula_tokens(part) if is_formula else _tokens(text)
            if written is None or (not is_formula and _MATHEMATICAL.search(text)):
                return row
            tokens += written
        return ReadRow(tuple(tokens), 1.0, layered=True) if len(tokens) > bool(row.heading) else row

    def is_prose(self, box: Box) -> bool:
        """Say whether what the layer says in a box is words, not a formula."""
        said = self.line(box)
        return len(said) > _FEW and sum(map(len, _WORD.findall(said))) > _MOSTLY * len(said.replace(" ", ""))


def agreement(rows: Sequence[ReadRow]) -> float:
    """Return the share of lines whose words the layer confirms."""
    return sum(row.layered for row in rows) / max(1, len(rows))


def corrected(tokens: Sequence[str], signs: Sequence[Sign], *, typed: bool = False) -> tuple[list[str], int, int]:
    """Return the tokens with the layer's characters, and how many pieces of text were taken and were not.

    The whole line is aligned with the layer; each run of text between markers and formulas is compared with what it
    is aligned with. Where the layer is `typed`, its fonts tell formulas from text: words that were read as a formula
    are words then.
    """
    said = "".join(sign.text for sign in signs)
    read = [character_of(token) if token not in MARKERS or token == SPACE else "" for token in tokens]
    offsets = np.cumsum([0, *(len(one) for one in read)])
    where = _alignment("".join(read).replace(SOFT_HYPHEN, "-"), said.translate(_ITALIC))
    result: list[str] = []
    right = wrong = 0
    for start, stop, is_text in _runs(tokens):
        own = "".join(read[start:stop]).replace(SOFT_HYPHEN, "-")
        shown = signs[where[offsets[start]] : where[offsets[stop]]]
        span = "".join(sign.text for sign in shown)
        whole = _is_whole(signs, where[offsets[start]], where[offsets[stop]])
        if not is_text and typed and (_is_words(own, shown) or (whole and _is_typed(shown))):
            right += 1
            result += _tokens(span.strip())
        elif not is_text and typed and (formula := _same_formula(tokens[start:stop], shown)) is not None:
            result += formula
        elif not is_text or not own.strip():
            result += tokens[start:stop]
        elif (written := _written(own, shown, tokens[start:stop])) is not None:
            right += 1
            result += written
        else:
            wrong += 1
            result += tokens[start:stop]
    return result, right, wrong


def _agrees(own: str, span: str) -> bool:
    """Say whether a piece of text is what the layer says."""
    return Levenshtein.normalized_distance(own, span.translate(_ITALIC)) <= _AGREEING


def _is_words(own: str, shown: Sequence[Sign]) -> bool:
    """Say whether what was read as a formula is words or a dash: no letter of it is set in a font of formulas."""
    span = "".join(sign.text for sign in shown).strip()
    if not span or any(sign.formula for sign in shown) or _MATHEMATICAL.search(span):
        return False
    return span in _DASHES or (_WORD.search(span) is not None and _agrees(own, span))


def _is_whole(signs: Sequence[Sign], start: int, stop: int) -> bool:
    """Say whether no word of the layer goes on beyond a part of its signs."""
    edges = (signs[start - 1 : start], signs[start : start + 1]), (signs[stop - 1 : stop], signs[stop : stop + 1])
    return not any(one and other and one[0].text.isalnum() and other[0].text.isalnum() for one, other in edges)


def _is_typed(shown: Sequence[Sign]) -> bool:
    """Say whether all signs are in fonts of text, among them letters that follow one another or signs of text."""
    span = "".join(sign.text for sign in shown)
    known = not any(sign.formula or sign.text == UNKNOWN for sign in shown) and not _MATHEMATICAL.search(span)
    return known and _TYPED.search(span) is not None


def _same_formula(read: Sequence[str], shown: Sequence[Sign]) -> list[str] | None:
    """Return a plain formula as the layer spells it, if what was read is of that shape."""
    if read[0] != MATH[0] or any(token in _SHAPED for token in read):
        return None
    parts = list(split_formulas([sign for sign in shown if sign.text != " "]))
    written = write_formula_tokens(parts[0][0]) if len(parts) == 1 and parts[0][1] else None
    if written is None or Levenshtein.normalized_distance(list(read), written) > _SAME_SHAPE:
        return None
    return written


def _written(own: str, shown: Sequence[Sign], tokens: Sequence[str]) -> list[str] | None:
    """Return the tokens of the layer's text, the spaces at its ends as they were read; None where it disagrees.

    What the layer sets as a formula becomes one if it is a plain one; if it is not, the text stays as it was read.
    """
    span = "".join(sign.text for sign in shown)
    if not _agrees(own.strip(), span.strip()):
        return None
    if UNKNOWN in span:
        filled = fill_unknown(span, own)
        if filled is None:
            return None
        shown = [
            Sign(part) if sign.text == UNKNOWN else sign
            for sign, text in zip(shown, filled, strict=True)
            for part in text
        ]
        span = "".join(filled)
    found: list[str] = []
    first, last = len(span) - len(span.lstrip()), len(span.rstrip())
    for part, is_formula in split_formulas(shown[first:last]):
        text = "".join(sign.text for sign in part)
        written = write_formula_tokens(part) if is_formula else _tokens(text)
        if written is None or (not is_formula and any(_is_foreign(character, own) for character in text)):
            return None
        found += written
    before, after = own[: len(own) - len(own.lstrip())], own[len(own.rstrip()) :]
    found = [*_tokens(before), *found, *_tokens(after)]
    if found and tokens[-1] == SOFT_HYPHEN and found[-1] == "-":
        found[-1] = SOFT_HYPHEN
    return found


def _is_foreign(character: str, own: str) -> bool:
    """Say whether the layer has a sign of a formula where none was read."""
    return _MATHEMATICAL.match(character) is not None and character not in own and ord(character) not in _ITALIC


def _composed(text: str, before: list[Sign]) -> str:
    """Return the text; an accent that combines goes to the letter before it."""
    if before and unicodedata.combining(text[0]):
        whole = unicodedata.normalize("NFC", before[-1].text + text)
        before[-1] = replace(before[-1], text=whole[0])
        return whole[1:]
    return unicodedata.normalize("NFC", text)


def _without_leaders(signs: list[Sign]) -> list[Sign]:
    """Leave out the dots from a title to the number of its page; they are not read either."""
    said = "".join(sign.text for sign in signs)
    kept, edge = list[Sign](), 0
    for leader in _LEADERS.finditer(said):
        kept += [*signs[edge : leader.start()], Sign(" ")]
        edge = leader.end()
    return kept + signs[edge:]


def _tokens(said: str) -> list[str]:
    """Return the tokens of some text; letters that are set as formulas become formulas."""
    tokens: list[str] = []
    for is_formula, run in groupby(said, key=lambda character: ord(character) in _ITALIC):
        text = "".join(run)
        if is_formula:
            tokens += [MATH[0], *text.translate(_ITALIC), MATH[1]]
        else:
            tokens += [SOFT_HYPHEN if character in SOFT else token_of(character) for character in text]
    return tokens


def _alignment(read: str, said: str) -> list[int]:
    """Return for each position in what was read the position in what the layer says."""
    where = [0] * (len(read) + 1)
    for code in Levenshtein.opcodes(read, said):
        length, other = code.src_end - code.src_start, code.dest_end - code.dest_start
        for step in range(length):
            where[code.src_start + step] = code.dest_start + (other * step // length if length else 0)
    where[len(read)] = len(said)
    return where


def _runs(tokens: Sequence[str]) -> list[tuple[int, int, bool]]:
    """Part tokens into runs of text, single markers, and whole formulas: from, to, whether it is text."""
    runs: list[tuple[int, int, bool]] = []
    index = 0
    while index < len(tokens):
        start = index
        if tokens[index] in (MATH[0], DISPLAY[0]):
            while index < len(tokens) and tokens[index] not in (MATH[1], DISPLAY[1]):
                index += 1
            index += 1
            runs.append((start, min(index, len(tokens)), False))
        elif tokens[index] in MARKERS and tokens[index] != SPACE:
            index += 1
            runs.append((start, index, False))
        else:
            while index < len(tokens) and (tokens[index] not in MARKERS or tokens[index] == SPACE):
                index += 1
            runs.append((start, index, True))
    return runs
