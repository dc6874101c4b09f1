"""From tokens to the tree; a LatexError says what is wrong and where.

Depth, length and the digits of a length are bounded, so that no text costs more than a formula may.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from unrender.errors import LatexError
from unrender.latex.commands import (
    ARITY,
    DELIMITERS,
    DROPPED,
    DROPPED_WITH_ARGUMENT,
    INFIX,
    LENGTH_ARGUMENT,
    LIMIT_OPERATORS,
    LONGEST_LENGTH,
    MATRICES,
    OPERATORS,
    OPTIONAL_ARGUMENT,
    ROWS,
    SIZED,
    SKIPS,
    TEXT,
    TEXT_AS_ROMAN,
    UNWRAPPED,
)
from unrender.latex.scanner import Lexeme, scan
from unrender.latex.tree import Array, Command, Fence, Group, Node, Script, Symbol, columns_of

MAX_CHARACTERS = 20_000
_MAX_DEPTH = 60  # deeper nesting is no formula, and must not exhaust the stack
_LENGTH = frozenset("0123456789.,-+ ")
_NO_ARGUMENT = frozenset({"}", "&", "\\\\", "_", "^"})
_CLOSINGS = frozenset("\\right" + delimiter for delimiter in DELIMITERS)


def parse(text: str) -> tuple[Node, ...]:
    """Parse a formula into its nodes."""
    if len(text) > MAX_CHARACTERS:
        raise LatexError(
            f"a formula of {len(text):,} characters; at most {MAX_CHARACTERS:,} are parsed", MAX_CHARACTERS
        )
    return _Parser(scan(text), len(text)).items(frozenset())


class _Parser:
    def __init__(self, lexemes: list[Lexeme], length: int) -> None:
        self._lexemes = lexemes
        self._length = length
        self._next = 0
        self._depth = 0

    def items(self, stops: frozenset[str]) -> tuple[Node, ...]:
        """Parse until one of `stops` (left unread) or the end of the text."""
        with self._deeper(self._position()):
            return self._items(stops)

    def _items(self, stops: frozenset[str]) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while (token := self._peek()) is not None and token not in stops:
            if token in INFIX:
                self._take()
                under = self.items(stops)
                return (Command(INFIX[token], (Group(_roman_scope(nodes)), Group(under))),)
            if token in ("_", "^", "'"):
                self._script(nodes)
            elif token.startswith("\\begin{") and token[7:-1] in UNWRAPPED:
                self._take()
                nodes += self.items(frozenset({"\\end{" + token[7:]}))
                self._take()
            else:
                node = self._node()
                if node is not None:
                    nodes.append(node)
        if token is None and stops:
            expected = "\\right" if stops is _CLOSINGS else " or ".join(sorted(stops))
            raise LatexError(f"the formula ends where {expected} was expected", self._length)
        return _roman_scope(nodes)

    @contextmanager
    def _deeper(self, position: int) -> Iterator[None]:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise LatexError("the formula is nested too deeply", position)
        yield
        self._depth -= 1

    def _node(self) -> Node | None:
        lexeme = self._take()
        token = lexeme.token
        if token == "{":
            return self._group()
        if token == "}":
            raise LatexError("a closing brace without its opening one", lexeme.position)
        if token.startswith("\\left") and token[5:] in DELIMITERS:
            return self._fence(token)
        if token.startswith("\\right") and token[6:] in DELIMITERS:
            raise LatexError("\\right without \\left", lexeme.position)
        if token.startswith("\\begin{"):
            return self._environment(lexeme)
        if token.startswith("\\end{"):
            raise LatexError(f"{token} without its \\begin", lexeme.position)
        if token in DROPPED:
            return None
        if token in DROPPED_WITH_ARGUMENT:
            self._argument(lexeme)
            return None
        if token == "\\ensuremath":
            return self._argument(lexeme)
        return self._command(lexeme)

    def _command(self, lexeme: Lexeme) -> Node:
        token = lexeme.token
        if token[1:] in OPERATORS or token[1:] in LIMIT_OPERATORS:
            name = "\\operatorname*" if token[1:] in LIMIT_OPERATORS else "\\operatorname"
            return Command(name, (Group(tuple(Symbol(letter) for letter in token[1:])),))
        if token in SIZED:
            delimiter = self._take()
            if delimiter.token not in DELIMITERS:
                raise LatexError(f"{token} needs a delimiter", delimiter.position)
            return Command(token, (Symbol(delimiter.token),))
        if token in LENGTH_ARGUMENT:
            return Command(token, (self._length_argument(lexeme),))
        if token in SKIPS:
            return Command("\\hspace", (self._bare_length(lexeme),))
        if token in TEXT:
            name = "\\mathrm" if token in TEXT_AS_ROMAN else token
            with self._deeper(lexeme.position):
                return Command(name, (self._text_argument(lexeme),))
        if token in ROWS:
            return Command(token, self._stacked_rows(lexeme))
        if token in ARITY:
            option = self._option() if token in OPTIONAL_ARGUMENT else None
            return Command(token, tuple(self._argument(lexeme) for _ in range(ARITY[token])), option)
        return Symbol(token)

    def _group(self) -> Group:
        items = self.items(frozenset({"}"}))
        self._take()
        return Group(items)

    def _fence(self, left: str) -> Fence:
        items = self.items(_CLOSINGS)
        return Fence(left[5:], items, self._take().token[6:])

    def _script(self, nodes: list[Node]) -> None:
        """Attach _, ^ or ' to the node before it."""
        lexeme = self._take()
        if lexeme.token == "'":
            if not nodes:
                nodes.append(Symbol("'"))
                return
            primes: list[Node] = [Symbol("\\prime")]
            while self._peek() == "'":
                self._take()
                primes.append(Symbol("\\prime"))
            if self._peek() == "^":
                caret = self._take()
                extra = self._argument(caret)
                primes += extra.items if isinstance(extra, Group) else (extra,)
            self._attach(nodes, None, Group(tuple(primes)), lexeme)
            return
        argument = self._argument(lexeme)
        if lexeme.token == "_":
            self._attach(nodes, argument, None, lexeme)
        else:
            self._attach(nodes, None, argument, lexeme)

    def _attach(self, nodes: list[Node], sub: Node | None, sup: Node | None, lexeme: Lexeme) -> None:
        last = nodes[-1] if nodes else None
        if isinstance(last, Script):
            if sub is not None and last.sub is None:
                nodes[-1] = Script(last.base, sub, last.sup)
                return
            if sup is not None and last.sup is None:
                nodes[-1] = Script(last.base, last.sub, sup)
                return
            raise LatexError(f"a second {lexeme.token} on one base", lexeme.position)
        if nodes:
            nodes.pop()
        nodes.append(Script(last, sub, sup))

    def _argument(self, lexeme: Lexeme) -> Node:
        """Parse what a command or script takes: a group or the next single node."""
        token = self._peek()
        if token is None or token in _NO_ARGUMENT or token in INFIX or token in _CLOSINGS or token.startswith("\\end{"):
            raise LatexError(f"{lexeme.token} has no argument", lexeme.position)
        if token == "'":
            self._take()
            return Symbol("\\prime")
        if token in ("--", "---"):  # an argument is one sign
            dashes = self._lexemes[self._next]
            self._lexemes[self._next] = Lexeme(token[1:], dashes.position + 1)
            return Symbol("-")
        with self._deeper(lexeme.position):
            node = self._node()
        if node == Symbol("\\rm"):
            return Group(_roman_scope([node]))
        return node if node is not None else self._argument(lexeme)

    def _option(self) -> tuple[Node, ...] | None:
        if self._peek() != "[":
            return None
        self._take()
        items = self.items(frozenset({"]"}))
        self._take()
        return items

    def _length_argument(self, lexeme: Lexeme) -> Group:
        if self._peek() != "{":
            raise LatexError(f"{lexeme.token} needs a length in braces", lexeme.position)
        self._take()
        symbols: list[Node] = []
        while (token := self._peek()) != "}":
            if token is None:
                raise LatexError(f"{lexeme.token} needs a length in braces", lexeme.position)
            symbols.append(Symbol(self._take().token))
        self._take()
        return _checked_length(symbols, lexeme)

    def _bare_length(self, lexeme: Lexeme) -> Group:
        symbols: list[Node] = []
        while (token := self._peek()) is not None and token in _LENGTH:
            symbols.append(Symbol(self._take().token))
        for _ in range(2):  # the unit has two letters
            token = self._peek()
            if token is None or not token.isalpha() or not symbols:
                raise LatexError(f"{lexeme.token} needs a length", lexeme.position)
            symbols.append(Symbol(self._take().token))
        return _checked_length(symbols, lexeme)

    def _stacked_rows(self, lexeme: Lexeme) -> tuple[Node, ...]:
        """Parse the rows of \\substack, each a group."""
        if self._peek() != "{":
            raise LatexError(f"{lexeme.token} needs its rows in braces", lexeme.position)
        rows: list[Node] = []
        while self._take().token != "}":
            rows.append(Group(self.items(frozenset({"\\\\", "}"}))))
        return tuple(rows)

    def _text_argument(self, lexeme: Lexeme) -> Node:
        """Parse text: white space becomes ~, everything else as in a formula."""
        if self._peek() != "{":
            return self._argument(lexeme)
        opening = self._take()
        blanks_count = not (opening.after_blank and self._is_spaced())
        nodes: list[Node] = []
        while (token := self._peek()) != "}":
            if token is None:
                raise LatexError(f"{lexeme.token} is not closed", lexeme.position)
            blank = blanks_count and self._lexemes[self._next].after_blank
            if blank and nodes[-1:] != [Symbol("~")] and token != "~":
                nodes.append(Symbol("~"))
            if token in ("_", "^", "'"):
                self._script(nodes)
            elif (node := self._node()) is not None:
                nodes.append(node)
        closing = self._take()
        if blanks_count and closing.after_blank and nodes[-1:] != [Symbol("~")]:
            nodes.append(Symbol("~"))
        return Group(_roman_scope(nodes))

    def _is_spaced(self) -> bool:
        """Whether every token of this group follows white space: canonical text, whose blanks only separate."""
        depth, index = 1, self._next
        while depth and index < len(self._lexemes):
            lexeme = self._lexemes[index]
            if not lexeme.after_blank:
                return False
            depth += (lexeme.token == "{") - (lexeme.token == "}")
            index += 1
        return True

    def _environment(self, begin: Lexeme) -> Node:
        name = begin.token[7:-1]
        if name != "array" and name not in MATRICES:
            raise LatexError(f"the environment {name} is not known", begin.position)
        columns = self._columns(begin) if name == "array" else ""
        rows, lines = self._rows("\\end{" + name + "}")
        width = max((len(row) for row in rows), default=0)
        if name == "array":
            return Array(columns, rows, lines)
        fence = MATRICES[name]
        array = Array(columns_of(name, width), rows, lines)
        return array if fence is None else Fence(fence[0], (array,), fence[1])

    def _columns(self, begin: Lexeme) -> str:
        self._option()  # [t], [b]: vertical placement is not kept
        if self._peek() != "{":
            raise LatexError(f"{begin.token} needs its columns in braces", begin.position)
        self._take()
        columns, depth = "", 1
        while depth:
            lexeme = self._take()
            depth += (lexeme.token == "{") - (lexeme.token == "}")
            if depth == 1 and lexeme.token in ("l", "c", "r", "|"):
                columns += lexeme.token
        return columns

    def _rows(self, end: str) -> tuple[tuple[tuple[tuple[Node, ...], ...], ...], tuple[int, ...]]:
        rows: list[tuple[tuple[Node, ...], ...]] = []
        lines: list[int] = []
        cells: list[tuple[Node, ...]] = []
        while True:
            while self._peek() == "\\hline":
                self._take()
                lines.append(len(rows))
            cells.append(self.items(frozenset({"&", "\\\\", "\\cr", end})))
            closing = self._take().token
            if closing == "&":
                continue
            if closing != end or len(cells) > 1 or cells[0]:
                rows.append(tuple(cells))
            cells = []
            if closing == end:
                return tuple(rows), tuple(lines)
            if self._peek() == "[" and closing == "\\\\":
                self._row_gap()

    def _row_gap(self) -> None:
        """Drop the [length] that may follow a row's end, and only that."""
        start = self._next
        while (token := self._peek()) is not None and token not in ("]", "&", "\\\\", "{", "}"):
            self._take()
        gap = "".join(lexeme.token for lexeme in self._lexemes[start + 1 : self._next])
        if token == "]" and gap[-2:] in ("pt", "mm", "cm", "ex", "em", "in"):
            self._take()
        else:
            self._next = start

    def _peek(self) -> str | None:
        return self._lexemes[self._next].token if self._next < len(self._lexemes) else None

    def _position(self) -> int:
        return self._lexemes[self._next].position if self._next < len(self._lexemes) else self._length

    def _take(self) -> Lexeme:
        if self._next >= len(self._lexemes):
            raise LatexError("the formula ends too early", self._length)
        self._next += 1
        return self._lexemes[self._next - 1]


def _checked_length(symbols: list[Node], lexeme: Lexeme) -> Group:
    if len(symbols) > LONGEST_LENGTH:
        raise LatexError(f"the length after {lexeme.token} has more than {LONGEST_LENGTH} characters", lexeme.position)
    return Group(tuple(symbols))


def _roman_scope(nodes: list[Node]) -> tuple[Node, ...]:
    """Turn each switch \\rm into \\mathrm over what follows it, up to the next one."""
    switches = [index for index, node in enumerate(nodes) if node == Symbol("\\rm")]
    if not switches:
        return tuple(nodes)
    scoped = nodes[: switches[0]]
    for start, end in zip(switches, [*switches[1:], len(nodes)], strict=True):
        scope = tuple(nodes[start + 1 : end])
        if len(scope) == 1 and isinstance(scope[0], Group):
            scope = scope[0].items
        scoped.append(Command("\\mathrm", (Group(scope),)))
    return tuple(scoped)
