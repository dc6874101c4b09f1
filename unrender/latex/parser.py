"""From tokens to the tree; a LatexError says what is wrong and where.

Depth, length and the digits of a length are bounded, so that no text costs more than a formula may.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from unrender.errors import LatexError
from unrender.latex import commands
from unrender.latex.scanner import Lexeme, is_spaced, scan
from unrender.latex.tree import Array, Command, Fence, Group, Node, Script, Symbol, columns_of, roman_scope

MAX_CHARACTERS = 20_000
_MAX_DEPTH = 60  # deeper nesting is no formula, and must not exhaust the stack
_DIGITS = frozenset("0123456789.,-+ ")
_END = ""  # what stands after the last token
_NO_ARGUMENT = frozenset({_END, "}", "&", "\\\\", "_", "^"})
_ROW_ENDS = frozenset({"\\\\", "}"})
_CLOSINGS = frozenset("\\right" + delimiter for delimiter in commands.DELIMITERS)


def parse(text: str) -> tuple[Node, ...]:
    """Parse a formula into its nodes."""
    if len(text) > MAX_CHARACTERS:
        said = f"a formula of {len(text):,} characters; at most {MAX_CHARACTERS:,} are parsed"
        raise LatexError(said, MAX_CHARACTERS)
    return _Parser([*scan(text), Lexeme(_END, len(text))]).items(frozenset())


class _Parser:
    def __init__(self, lexemes: list[Lexeme]) -> None:
        self._lexemes = lexemes  # the last is the end of the text
        self._next = 0
        self._depth = 0

    def items(self, stops: frozenset[str]) -> tuple[Node, ...]:
        """Parse until one of `stops` (left unread) or the end of the text."""
        with self._deeper(self._lexemes[self._next].position):
            return self._items(stops)

    def _items(self, stops: frozenset[str]) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while (token := self._peek()) and token not in stops:
            if token in commands.INFIX:
                self._take()
                under = self.items(stops)
                return (Command(commands.INFIX[token], (Group(roman_scope(nodes)), Group(under))),)
            if token in ("_", "^", "'"):
                self._script(nodes)
            elif token.startswith("\\begin{") and token[7:-1] in commands.UNWRAPPED:
                self._take()
                nodes += self._until("\\end{" + token[7:])
            elif (node := self._node()) is not None:
                nodes.append(node)
        if not token and stops:
            expected = "\\right" if stops is _CLOSINGS else " or ".join(sorted(stops))
            raise LatexError(f"the formula ends where {expected} was expected", self._lexemes[-1].position)
        return roman_scope(nodes)

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
            return Group(self._until("}"))
        if token == "}":
            raise LatexError("a closing brace without its opening one", lexeme.position)
        if token.startswith("\\left") and token[5:] in commands.DELIMITERS:
            return self._fence(token)
        if token.startswith("\\right") and token[6:] in commands.DELIMITERS:
            raise LatexError("\\right without \\left", lexeme.position)
        if token.startswith("\\begin{"):
            return self._environment(lexeme)
        if token.startswith("\\end{"):
            raise LatexError(f"{token} without its \\begin", lexeme.position)
        if token in commands.DROPPED:
            return None
        if token in commands.DROPPED_WITH_ARGUMENT:
            self._argument(lexeme)
            return None
        if token == "\\ensuremath":
            return self._argument(lexeme)
        return self._command(lexeme)

    def _command(self, lexeme: Lexeme) -> Node:
        token = lexeme.token
        if token[1:] in commands.OPERATORS or token[1:] in commands.LIMIT_OPERATORS:
            name = "\\operatorname*" if token[1:] in commands.LIMIT_OPERATORS else "\\operatorname"
            return Command(name, (Group(tuple(Symbol(letter) for letter in token[1:])),))
        if token in commands.SIZED:
            delimiter = self._take()
            if delimiter.token not in commands.DELIMITERS:
                raise LatexError(f"{token} needs a delimiter", delimiter.position)
            return Command(token, (Symbol(delimiter.token),))
        if token in commands.LENGTH_ARGUMENT:
            return Command(token, (self._length_argument(lexeme),))
        if token in commands.SKIPS:
            return Command("\\hspace", (self._bare_length(lexeme),))
        if token in commands.TEXT:
            name = "\\mathrm" if token in commands.TEXT_AS_ROMAN else token
            with self._deeper(lexeme.position):
                return Command(name, (self._text_argument(lexeme),))
        if token in commands.ROWS:
            return Command(token, self._stacked_rows(lexeme))
        if token in commands.ARITY:
            option = self._option() if token in commands.OPTIONAL_ARGUMENT else None
            return Command(token, tuple(self._argument(lexeme) for _ in range(commands.ARITY[token])), option)
        return Symbol(token)

    def _until(self, stop: str) -> tuple[Node, ...]:
        items = self.items(frozenset({stop}))
        self._take()
        return items

    def _fence(self, left: str) -> Fence:
        return Fence(left[5:], self.items(_CLOSINGS), self._take().token[6:])

    def _script(self, nodes: list[Node]) -> None:
        """Attach _, ^ or ' to the node before it."""
        lexeme = self._take()
        if lexeme.token != "'":
            self._attach(nodes, "sub" if lexeme.token == "_" else "sup", self._argument(lexeme), lexeme)
            return
        if not nodes:
            nodes.append(Symbol("'"))
            return
        primes: list[Node] = [Symbol("\\prime")]
        while self._peek() == "'":
            self._take()
            primes.append(Symbol("\\prime"))
        if self._peek() == "^":
            extra = self._argument(self._take())
            primes += extra.items if isinstance(extra, Group) else (extra,)
        self._attach(nodes, "sup", Group(tuple(primes)), lexeme)

    def _attach(self, nodes: list[Node], side: str, argument: Node, lexeme: Lexeme) -> None:
        last = nodes.pop() if nodes else None
        script = last if isinstance(last, Script) else Script(last, None, None)
        if getattr(script, side) is not None:
            raise LatexError(f"a second {lexeme.token} on one base", lexeme.position)
        nodes.append(replace(script, **{side: argument}))

    def _argument(self, lexeme: Lexeme) -> Node:
        """Parse what a command or script takes: a group or the next single node."""
        token = self._peek()
        if token in _NO_ARGUMENT or token in commands.INFIX or token in _CLOSINGS or token.startswith("\\end{"):
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
            return Group(roman_scope([node]))
        return node if node is not None else self._argument(lexeme)

    def _option(self) -> tuple[Node, ...] | None:
        if self._peek() != "[":
            return None
        self._take()
        return self._until("]")

    def _length_argument(self, lexeme: Lexeme) -> Group:
        self._open(lexeme, "a length")
        symbols: list[Node] = []
        while self._peek() != "}":
            symbols.append(Symbol(self._take().token))
        self._take()
        return _length(symbols, lexeme)

    def _bare_length(self, lexeme: Lexeme) -> Group:
        symbols: list[Node] = []
        while self._peek() in _DIGITS:
            symbols.append(Symbol(self._take().token))
        for _ in range(2):  # the unit has two letters
            if not self._peek().isalpha() or not symbols:
                raise LatexError(f"{lexeme.token} needs a length", lexeme.position)
            symbols.append(Symbol(self._take().token))
        return _length(symbols, lexeme)

    def _stacked_rows(self, lexeme: Lexeme) -> tuple[Node, ...]:
        """Parse the rows of \\substack, each a group."""
        self._open(lexeme, "its rows")
        rows: list[Node] = [Group(self.items(_ROW_ENDS))]
        while self._take().token != "}":
            rows.append(Group(self.items(_ROW_ENDS)))
        return tuple(rows)

    def _text_argument(self, lexeme: Lexeme) -> Node:
        """Parse text: white space becomes ~, everything else as in a formula."""
        if self._peek() != "{":
            return self._argument(lexeme)
        opening = self._take()
        blanks_count = not (opening.after_blank and is_spaced(self._lexemes, self._next))
        nodes: list[Node] = []
        while (token := self._peek()) != "}":
            if not token:
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
        return Group(roman_scope(nodes))

    def _environment(self, begin: Lexeme) -> Node:
        name = begin.token[7:-1]
        if name != "array" and name not in commands.MATRICES:
            raise LatexError(f"the environment {name} is not known", begin.position)
        columns = self._columns(begin) if name == "array" else ""
        rows, lines = self._rows("\\end{" + name + "}")
        width = max((len(row) for row in rows), default=0)
        if name == "array":
            return Array(columns, rows, lines)
        fence = commands.MATRICES[name]
        array = Array(columns_of(name, width), rows, lines)
        return array if fence is None else Fence(fence[0], (array,), fence[1])

    def _columns(self, begin: Lexeme) -> str:
        self._option()  # [t], [b]: vertical placement is not kept
        self._open(begin, "its columns")
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
        while (token := self._peek()) not in ("]", "&", "\\\\", "{", "}", _END):
            self._take()
        gap = "".join(lexeme.token for lexeme in self._lexemes[start + 1 : self._next])
        if token == "]" and gap[-2:] in ("pt", "mm", "cm", "ex", "em", "in"):
            self._take()
        else:
            self._next = start

    def _open(self, lexeme: Lexeme, needed: str) -> None:
        """Take the brace before what a command needs."""
        if self._peek() != "{":
            raise LatexError(f"{lexeme.token} needs {needed} in braces", lexeme.position)
        self._take()

    def _peek(self) -> str:
        return self._lexemes[self._next].token

    def _take(self) -> Lexeme:
        lexeme = self._lexemes[self._next]
        if lexeme.token == _END:
            raise LatexError("the formula ends too early", lexeme.position)
        self._next += 1
        return lexeme


def _length(symbols: list[Node], lexeme: Lexeme) -> Group:
    if len(symbols) > commands.LONGEST_LENGTH:
        most = commands.LONGEST_LENGTH
        raise LatexError(f"the length after {lexeme.token} has more than {most} characters", lexeme.position)
    return Group(tuple(symbols))
