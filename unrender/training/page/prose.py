r"""Words and formulas of running text: read from clean LaTeX, written again with a mark in front of each.

An atom is what no space divides: a word in one style, or one inline formula. Its text is what a reader sees
(`\"o` is ö, two backticks are “); its formula is canonical, as the formula reader's labels are.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from unrender import latex
from unrender.checkpoints import resolve
from unrender.errors import DataError, LatexError
from unrender.tokens import FILE_NAME, read_list
from unrender.training.formula.pointing import mark

BOLD, ITALIC, MONO, NOTE, PLAIN = "bold", "italic", "mono", "note", ""
_STYLES = {
    "textbf": BOLD, "emph": ITALIC, "textit": ITALIC, "textsl": ITALIC, "texttt": MONO, "textsc": None,
    "textsf": None, "textrm": PLAIN, "textnormal": PLAIN, "textup": PLAIN, "text": None, "mbox": None,
}  # fmt: skip
_WRITTEN_STYLES = {
    BOLD: r"{\bfseries %s}", ITALIC: r"{\itshape %s\/}", MONO: r"{\ttfamily %s}", NOTE: r"\textsuperscript{%s}",
    PLAIN: "%s",
}  # fmt: skip
_ACCENTS = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "v": "\u030c", "c": "\u0327",
    "u": "\u0306", "H": "\u030b", "=": "\u0304", ".": "\u0307", "r": "\u030a", "k": "\u0328",
}  # fmt: skip
_NAMED = {
    "S": "§", "P": "¶", "AA": "Å", "aa": "å", "o": "ø", "O": "Ø", "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ",
    "OE": "Œ", "l": "ł", "L": "Ł", "i": "i", "j": "j", "ldots": "...", "dots": "...", "LaTeX": "LaTeX", "TeX": "TeX",
    "textasciitilde": "~", "textdegree": "°", "textregistered": "®", "copyright": "©", "pounds": "£", "dag": "†",
    "ddag": "‡", "textendash": "–", "textemdash": "—", "textquoteright": "’", "textbullet": "•", "textbackslash": "\\",
}  # fmt: skip
_SPACES = frozenset(["quad", "qquad", "newline", " ", ",", ";", ":", "\\", "linebreak", "enspace", "hfill", "par"])
_NOTHING = frozenset(["/", "-", "!", "@", "noindent", "centering", "xspace"])
_LITERAL = frozenset("%&_#${}")
_PIECE = re.compile(
    r"(?P<math>\$[^$]+\$)"
    r"|\\(?P<accent>[\"'`^~=.]|[vcuHrk](?![a-zA-Z]))\s*(?:\{\\?(?P<inner>[a-zA-Z])\}|\\?(?P<bare>[a-zA-Z]))"
    r"|\\(?P<name>[a-zA-Z]+)\*?[ ]*(?=(?P<open>\{)?)|\\(?P<sign>.)|(?P<group>[{}])|(?P<space>[\s~]+)"
    r"|(?P<quote>---?|``|''|[`'\"])|(?P<word>[^\s~\\{}$`'\"-]+|-)",
    re.DOTALL,
)
_QUOTES = {"--": "–", "---": "—", "``": "“", "''": "”", "`": "‘", "'": "’", '"': "”"}
_ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "^": r"\textasciicircum{}",
    "_": r"\_", "~": r"\textasciitilde{}", "%": r"\%", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': r"\textquotedbl{}", "'": r"\textquoteright{}", "`": r"\textquoteleft{}", "•": r"\textbullet{}",
}  # fmt: skip
_FENCES = {
    r"\ket": ("|", r"\rangle"), r"\bra": (r"\langle", "|"), r"\braket": (r"\langle", r"\rangle"), r"\abs": ("|", "|"),
    r"\norm": (r"\|", r"\|"),
}  # fmt: skip
_ALIKE = {r"\mathds": r"\mathbb", r"\mathbbm": r"\mathbb"}
_LIGATURES = re.compile(r"-(?=-)|,(?=,)|[!?](?=‘)")
WESTERN = frozenset(map(chr, [*range(0x20, 0x7F), *range(0xA1, 0x100)])) | frozenset("ıŁłŒœŠšŸŽžĆćČčĘęŃńŚśŻżŐőŰűĞğŞşİ")
CHARACTERS = (WESTERN | frozenset("‘’“”„–—•†‡")) - frozenset("\u00ad¦¨¯´¸¤¹²³¼½¾ªº")


@dataclass(frozen=True, kw_only=True)
class Atom:
    """A word (`text`) or a formula (`tokens`); `glued` says that no space stands before it."""

    text: str = ""
    tokens: tuple[str, ...] = ()
    style: str = PLAIN
    glued: bool = False
    row: int = 0  # of a table or of displayed formulas
    column: int = 0
    note: int | None = None  # the footnote that hangs here


def parse_prose(source: str) -> tuple[Atom, ...]:
    """Turn clean LaTeX text into atoms; DataError says what cannot be understood."""
    return _Prose().parse(source)


def plain_atoms(text: str) -> tuple[Atom, ...]:
    """Turn text without LaTeX into atoms; DataError where a character cannot be printed."""
    text = unicodedata.normalize("NFC", text).replace("…", "...").replace("'", "’").replace("\u00a0", " ")
    strange = set(text) - CHARACTERS - set("\n\t")
    if strange:
        raise DataError(f"no font of ours prints {', '.join(map(repr, sorted(strange)))}")
    return tuple(Atom(text=word) for word in text.split())


def parse_formula(source: str) -> tuple[str, ...]:
    """Return the canonical tokens of a formula; DataError where the formula reader has no token for something."""
    try:
        tokens = latex.normalise(source, unify=True).split()
    except LatexError as error:
        raise DataError(f"a formula cannot be read: {error}") from error
    spelled = tuple(_spelled([_ALIKE.get(token, token) for token in tokens]))
    unknown = set(spelled) - formula_tokens()
    if unknown or not spelled:
        raise DataError(f"the vocabulary of formulas has no {', '.join(sorted(unknown)) or 'empty formula'}")
    return spelled


@cache
def formula_tokens() -> frozenset[str]:
    """Return the tokens of the embedded formula reader."""
    return frozenset(read_list(resolve("formula") / FILE_NAME))


def _spelled(tokens: Sequence[str]) -> Iterator[str]:
    """Write commands of physicists as the signs they print."""
    closings: list[str] = []
    skipped = False
    for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if skipped:  # the brace of an argument whose fence stands already
            skipped = False
        elif token in _FENCES and after == "{":
            yield _FENCES[token][0]
            closings.append(_FENCES[token][1])
            skipped = True
        elif token == "}" and closings and closings[-1]:
            yield closings.pop()
        else:
            if token in "{}" and closings:
                closings.append("") if token == "{" else closings.pop()
            yield token


def italicised(atoms: Sequence[Atom]) -> tuple[Atom, ...]:
    """Set text in italics, as theorems are; what was in italics becomes upright."""
    turned = {PLAIN: ITALIC, ITALIC: PLAIN}
    return tuple(replace(atom, style=turned.get(atom.style, atom.style)) if atom.text else atom for atom in atoms)


def write_atom(atom: Atom, first: int) -> tuple[str, int]:
    """Write an atom with marks numbered from `first`; return also how many numbers that takes."""
    if atom.tokens:
        return rf"\U{{{first}}}${mark(atom.tokens, first)}$", len(atom.tokens)
    return rf"\U{{{first}}}" + _WRITTEN_STYLES[atom.style] % escape(atom.text), 1


def escape(text: str) -> str:
    """Write text so that TeX prints exactly these characters."""
    apart = _LIGATURES.sub(lambda match: match[0] + "\0", text)
    return "".join(_ESCAPED.get(character, character) for character in apart).replace("\0", "{}")


class _Prose:
    """Reads text piece by piece; keeps the word that is being built and the styles that are open."""

    def __init__(self) -> None:
        self._styles = [PLAIN]
        self._atoms: list[Atom] = []
        self._word = ""
        self._glued = False
        self._pending: str | None = None  # the style of the group that opens next

    def parse(self, source: str) -> tuple[Atom, ...]:
        start = 0
        while start < len(source):
            match = _PIECE.match(source, start)
            if match is None:
                raise DataError(f"cannot read {source[start : start + 20]!r}")
            self._take(match)
            start = match.end()
        self._finish()
        if len(self._styles) != 1:
            raise DataError("the braces do not match")
        return tuple(self._atoms)

    def _take(self, match: re.Match[str]) -> None:
        if match["math"]:
            self._finish()
            self._atoms.append(Atom(tokens=parse_formula(match["math"][1:-1]), glued=self._glued))
            self._glued = True
        elif match["accent"]:
            letter = match["inner"] or match["bare"]
            self._add(unicodedata.normalize("NFC", letter + _ACCENTS[match["accent"]]))
        elif match["name"] or match["sign"]:
            self._command(match["name"] or match["sign"], braced=bool(match["open"]))
        elif match["group"] == "{":
            self._open(self._styles[-1] if self._pending is None else self._pending)
        elif match["group"]:
            self._close()
        elif match["space"]:
            self._finish()
            self._glued = False
        else:
            self._add(_QUOTES.get(match["quote"], match["quote"]) if match["quote"] else match["word"])

    def _command(self, name: str, *, braced: bool) -> None:
        if name in _STYLES and braced:
            style, outer = _STYLES[name], self._styles[-1]
            self._pending = outer if style is None else PLAIN if name == "emph" and outer == ITALIC else style
        elif name in _NAMED:
            self._add(_NAMED[name])
        elif name in _LITERAL:
            self._add(name)
        elif name in _SPACES:
            self._finish()
            self._glued = False
        elif name not in _NOTHING:
            raise DataError(f"cannot read the command {name}")

    def _add(self, text: str) -> None:
        if not set(text) <= CHARACTERS:
            raise DataError(f"no font of ours prints {text!r}")
        self._word += text

    def _open(self, style: str) -> None:
        if style != self._styles[-1]:
            self._finish()
        self._styles.append(style)
        self._pending = None

    def _close(self) -> None:
        if len(self._styles) == 1:
            raise DataError("the braces do not match")
        if self._styles[-1] != self._styles[-2]:
            self._finish()
        self._styles.pop()

    def _finish(self) -> None:
        if self._word:
            self._atoms.append(Atom(text=self._word, style=self._styles[-1], glued=self._glued))
            self._word = ""
            self._glued = True
