"""Marked text, as the page reader writes it: characters and formula tokens, with markers between; to Markdown.

A token outside formulas is one character; a marker says where a formula, a style, a table's cell or a heading begins.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from unrender.errors import LatexError
from unrender.latex import readable

SPACE, BREAK, CELL = "␣", "<br>", "<cell>"
MATH, DISPLAY = ("<m>", "</m>"), ("<d>", "</d>")
STYLES = {"bold": ("<b>", "</b>"), "italic": ("<i>", "</i>"), "mono": ("<tt>", "</tt>"), "note": ("<note>", "</note>")}
HEADINGS = ("<h1>", "<h2>", "<h3>", "<h4>")  # the first is a title
MARKERS = (SPACE, BREAK, CELL, *MATH, *DISPLAY, *(marker for pair in STYLES.values() for marker in pair), *HEADINGS)
SOFT_HYPHEN = "\u00ad"  # a hyphen that was put in at the end of a line
LIKE_TOKENS = {
    " ": SPACE, "%": r"\%", "&": r"\&", "_": r"\_", "{": r"\{", "}": r"\}", "\\": r"\backslash", "~": r"\sim",
    "’": "'", "‘": "`", "–": "--", "—": "---", "§": r"\S", "•": r"\bullet", "†": r"\dagger", "‡": r"\ddagger",
    "£": r"\pounds", "Å": r"\AA", "Ø": r"\O", "ø": r"\o", "Ł": r"\L", "ł": r"\l", "±": r"\pm", "×": r"\times",
    "¬": r"\neg", "·": r"\cdot", "'": "'", "`": "`",
}  # fmt: skip
_AS_CHARACTERS = {token: character for character, token in LIKE_TOKENS.items() if character not in "'`"}
_SIGNS = {"bold": "**", "italic": "*", "mono": "`"}
_INLINE = {marker: _SIGNS[style] for style, pair in STYLES.items() if style in _SIGNS for marker in pair}
_OPENERS = {pair[0]: pair[1] for pair in (MATH, DISPLAY, *STYLES.values())}
_CLOSERS = {close: opener for opener, close in _OPENERS.items()}
_NOTE_OPEN, _NOTE_CLOSE = STYLES["note"]
_SCRIPTS = frozenset("^_")
_STOPS = frozenset(".,;:")
_WITH_ARGUMENTS = frozenset(r"\frac \sqrt \hat \bar \tilde \vec \mathrm \mathbf \mathcal".split())
_UNBROKEN = frozenset({"-", "--", "---"})  # behind them a line may end without a space
# Behind these TeX may end a line inside a formula, so that a formula at the beginning of the next line goes on.
_BREAKABLE = frozenset(
    "= + - < > | : \\le \\leq \\ge \\geq \\ne \\neq \\in \\to \\times \\cdot \\pm \\sim \\approx \\equiv \\subset "
    "\\subseteq \\rightarrow \\mapsto \\otimes \\oplus \\cup \\cap \\ll \\gg \\propto \\simeq \\cong \\leftarrow "
    "\\Rightarrow \\Leftrightarrow \\wedge \\vee \\setminus \\circ \\mp \\notin \\mid \\colon \\prec \\succ".split()
)
# A formula that begins with one of these goes on from the formula before it.
_RELATIONS = _BREAKABLE - frozenset({"-", "+", "|", "\\pm", "\\mp", "\\sim", "\\circ"})


def character_of(token: str) -> str:
    """Return the character that a token outside formulas prints; markers stay as they are."""
    return _AS_CHARACTERS.get(token, token)


def token_of(character: str) -> str:
    """Return the token of a character of text."""
    return LIKE_TOKENS.get(character, character)


def inline_markdown(tokens: Sequence[str]) -> str:
    """Write the tokens of running text: formulas between dollars, line ends joined."""
    written: list[str] = []
    formula: list[str] | None = None
    tokens = _unbroken(tokens)
    for before, token in zip(["", *tokens], tokens, strict=False):
        if token in MATH or token in DISPLAY:
            if formula is not None:
                written.append(_between_dollars(formula))
            formula = [] if token in (MATH[0], DISPLAY[0]) else None
        elif formula is not None:
            formula += [token] if token not in MARKERS else []  # nothing of text means anything there
        elif token == BREAK:
            if before == SOFT_HYPHEN:
                written.pop()
            elif before not in _UNBROKEN:
                written.append(" ")
        elif token in (_NOTE_OPEN, _NOTE_CLOSE):
            written.append("[^" if token == _NOTE_OPEN else "]")
        elif token not in HEADINGS and not (token == SPACE and before in (SPACE, STYLES["mono"][0])):
            written.append(_INLINE.get(token) or _character(token))
    return "".join(written) if formula is None else "".join([*written, _between_dollars(formula)])


def _unbroken(tokens: Sequence[str]) -> list[str]:
    """Join formulas with nothing between them, or only a space where a relation or operation ties them together."""
    kept: list[str] = []
    for index, token in enumerate(tokens):
        tied = {*kept[-3:-2]} & _BREAKABLE or {*tokens[index + 1 : index + 2]} & _RELATIONS
        if token == MATH[0] and kept[-1:] == [MATH[1]]:
            del kept[-1]
        elif token == MATH[0] and kept[-2:] == [MATH[1], SPACE] and tied:
            del kept[-2:]
        else:
            kept.append(token)
    return kept


def write_formula(tokens: Sequence[str]) -> str:
    """Write the tokens of a formula as a person would; as they are, if they cannot be made well-formed LaTeX."""
    for attempt in (tokens, _mended(tokens)):
        with suppress(LatexError):
            return readable(" ".join(attempt))
    return " ".join(tokens)


def _mended(tokens: Sequence[str]) -> list[str]:
    """Close braces that stay open, leave out those that close nothing and scripts without anything in them.

    Brackets that grow and have no partner in their group become plain ones.
    """
    kept: list[str] = []
    depth = 0
    for token, following in zip(tokens, [*tokens[1:], "}"], strict=False):
        if (token in _SCRIPTS and (following == "}" or following in _SCRIPTS)) or (token == "}" and not depth):
            continue
        depth += (token == "{") - (token == "}")
        kept.append(token)
    kept += ["}"] * depth
    alone = _without_partner(kept)
    plain = [
        token.removeprefix(r"\left").removeprefix(r"\right") if index in alone else token
        for index, token in enumerate(kept)
    ]
    return [token for index, token in enumerate(plain) if token and not (index in alone and token == ".")]


def _without_partner(tokens: Sequence[str]) -> set[int]:
    """Return which brackets that grow are opened and not closed, or closed and not opened, within their braces."""
    alone: set[int] = set()
    opened: list[list[int]] = [[]]  # of each group that is open
    for index, token in enumerate(tokens):
        if token == "{":
            opened.append([])
        elif token == "}":
            alone.update(opened.pop())
        elif token.startswith(r"\left") and len(token) > len(r"\left") and not token[5:].isalpha():
            opened[-1].append(index)
        elif token.startswith(r"\right") and len(token) > len(r"\right") and not token[6:].isalpha():
            if opened[-1]:
                opened[-1].pop()
            else:
                alone.add(index)
    return alone.union(*opened)


def _between_dollars(tokens: Sequence[str]) -> str:
    written = write_formula(tokens)
    return f"${written}$" if written else ""


def plain_text(tokens: Iterable[str]) -> str:
    """Write tokens without markers, as a text layer shows them; a formula as the characters of its tokens."""
    kept = [token for token in tokens if token not in MARKERS or token == SPACE]
    return "".join(character_of(token) for token in kept)


def balanced(tokens: Iterable[str]) -> list[str]:
    """Close what stays open, leave out what closes nothing: a formula or a style never reaches beyond its line.

    A space between words says that a formula has ended, whether or not it was closed.
    """
    kept: list[str] = []
    opened: list[str] = []
    depth = 0  # of braces in a formula
    for token in tokens:
        in_formula = bool(opened) and opened[-1] in (MATH[0], DISPLAY[0])
        depth = depth + (token == "{") - (token == "}") if in_formula else 0
        if token in (SPACE, CELL) and in_formula and depth <= 0:
            start = len(kept) - 1 - kept[::-1].index(opened[-1])
            kept[start] = MATH[0]  # no display: words follow
            stop = [kept.pop()] if kept[-1] in _STOPS else []
            kept += [MATH[1], *stop]
            if kept[-2 - len(stop)] == MATH[0]:  # nothing stands inside
                del kept[-2 - len(stop) : len(kept) - len(stop)]
            opened.pop()
        elif token in _OPENERS:
            if token in opened or in_formula:
                continue
            opened.append(token)
        elif token in _CLOSERS:
            if _CLOSERS[token] not in opened:
                continue
            while opened[-1] != _CLOSERS[token]:
                kept.append(_OPENERS[opened.pop()])
            opened.pop()
            if kept and kept[-1] == _CLOSERS[token]:  # nothing stands inside
                kept.pop()
                continue
        kept.append(token)
    return kept + [_OPENERS[one] for one in reversed(opened)]


def enclosed(tokens: Sequence[str]) -> list[str]:
    """Put into formulas what only formulas have: scripts with what they stand at, and commands with their arguments."""
    kept: list[str] = []
    index, inside = 0, False
    while index < len(tokens):
        token = tokens[index]
        if token in (MATH[0], DISPLAY[0]) or token in (MATH[1], DISPLAY[1]):
            inside = token in (MATH[0], DISPLAY[0])
        if inside or not _needs_formula(token):
            kept.append(token)
            index += 1
            continue
        if token == "}" or (token in _SCRIPTS and (index + 1 == len(tokens) or tokens[index + 1] in MARKERS)):
            index += 1  # it closes nothing, or nothing stands in it
            continue
        base = _base(kept) if token in _SCRIPTS else []
        goes_on = not base and bool(kept) and kept[-1] == MATH[1]
        argued = token in _SCRIPTS or token in _WITH_ARGUMENTS
        stop = _end_of_argument(tokens, index + argued) if argued or token == "{" else index + 1
        if goes_on:
            kept.pop()
        kept += [*([] if goes_on else [MATH[0]]), *base, *tokens[index:stop], MATH[1]]
        index = stop
    return kept


def _base(tokens: list[str]) -> list[str]:
    """Take off what a script stands at: a token, or all digits of a number."""
    start = len(tokens)
    while start and tokens[start - 1].isdigit():
        start -= 1
    if start == len(tokens) and tokens and tokens[-1] not in MARKERS:
        start -= 1
    base = tokens[start:]
    del tokens[start:]
    return base


def _needs_formula(token: str) -> bool:
    return (
        token in _SCRIPTS
        or token in "{}"
        or (token.startswith("\\") and token not in _AS_CHARACTERS and len(token) > 2)
    )


def _end_of_argument(tokens: Sequence[str], start: int) -> int:
    """Return where arguments end that begin at `start`: one token, or braces with what is in them."""
    index = start
    while index < len(tokens) and tokens[index] == "{":
        depth = 0
        while index < len(tokens):
            depth += (tokens[index] == "{") - (tokens[index] == "}")
            index += 1
            if not depth:
                break
    return index if index > start else min(len(tokens), start + 1)


def join_lines(lines: Iterable[Sequence[str]]) -> list[str]:
    """Join the tokens of lines, with a break between; a style or formula that goes on is not closed and opened."""
    joined: list[str] = []
    for line in lines:
        following = list(line)
        if not following:
            continue
        if joined:
            last, first = joined[-1], following[0]
            goes_on = _CLOSERS.get(last) == first and (first not in (MATH[0], DISPLAY[0]) or _breaks(joined))
            if goes_on and first != _NOTE_OPEN:
                joined.pop()
                following.pop(0)
            joined.append(BREAK)
        joined += following
    return joined


def _breaks(tokens: Sequence[str]) -> bool:
    return len(tokens) > 1 and tokens[-2] in _BREAKABLE


def _character(token: str) -> str:
    character = character_of(token)
    return r"\$" if character == "$" else "-" if character == SOFT_HYPHEN else character
