r"""Markdown, with formulas between `$$` or, as Nougat writes them, between `\[` and `\]`.

Text inside a block is left as it is: emphasis and inline formulas are the text's own. A line that would begin
another block is written with a backslash before it, and read back without.
"""

import re
from collections.abc import Iterable, Iterator

from unrender.documents import Block, Document
from unrender.formats.blocks import (
    FURNITURE,
    HEADERS,
    LISTS,
    MERGED,
    as_lines,
    captions,
    grid,
    has_fields,
    is_formula,
    list_items,
    make_table,
    one_page,
)

_DEEPEST = 6
_LATEX_TABLE = re.compile(r"\\begin\{(table\*?|tabular)\}")
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s+(.*)")
_TABLE_RULE = re.compile(r"\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?")
_FURNITURE = re.compile(r"<!-- (page_header|page_footer): (.*) -->")
_PICTURE = re.compile(r"!\[(.*)\]\(\)")
_BEGINNING = r"#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|\||```|\$\$|<!-- |!\[|\\\[|\\begin\{tab"
_TO_ESCAPE = re.compile(rf"(?=\\*(?:{_BEGINNING}))")
_ESCAPED = re.compile(rf"\\(?=\\*(?:{_BEGINNING}))")
_CELL_END = re.compile(r"(?<!\\)\|")
_TABULAR = re.compile(r"\\begin\{tabular\}\s*(?:\{[^{}]*\})?(.*?)(?:\\end\{tabular\}|\Z)", re.DOTALL)
_CAPTION = re.compile(r"\\caption\{([^{}]*)\}|(?m:^((?:Table|TABLE)\b[^\n&]*)$)")
_WIDEST_SPAN = 100
_SPAN = re.compile(r"\\multicolumn\{(\d{1,3})\}\{[^{}]*\}\{(.*)\}", re.DOTALL)


def write_markdown(document: Document) -> str:
    """Write a document as Markdown; page headers and footers become comments."""
    return "\n\n".join(text for block in document.blocks if (text := _write(block)))


def parse_markdown(text: str) -> Document:
    """Parse Markdown into one page of blocks; any text gives a document."""
    return one_page(*parse_blocks(text))


def expanded(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Replace blocks that hold Markdown by the blocks it describes."""
    return tuple(
        inner for block in blocks for inner in (parse_blocks(block.text) if block.kind == "markdown" else (block,))
    )


def parse_blocks(text: str) -> tuple[Block, ...]:
    return tuple(_Lines(text).blocks())


class _Lines:
    """The lines of a text, taken block by block."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._next = 0
        self._paragraph: list[str] = []
        self._tail = ""  # what stood on a formula's last line after it

    def blocks(self) -> Iterator[Block]:
        while self._next < len(self._lines):
            if not self._line.strip():
                self._next += 1
                yield from self._finish_paragraph()
            elif (block := self._special()) is not None:
                yield from self._finish_paragraph()
                yield block
                self._paragraph += [self._tail] if self._tail else []
                self._tail = ""
            else:
                line = self._line.strip()
                self._paragraph.append(line[1:] if _ESCAPED.match(line) else line)
                self._next += 1
        yield from self._finish_paragraph()

    @property
    def _line(self) -> str:
        return self._lines[self._next]

    def _finish_paragraph(self) -> Iterator[Block]:
        if self._paragraph:
            yield Block(kind="text", text="\n".join(self._paragraph))
            self._paragraph = []

    def _special(self) -> Block | None:
        """Take a block that is no paragraph, if one begins here."""
        line = self._line.strip()
        if line.startswith("```"):
            return self._code(line)
        if line.startswith("$$"):
            return self._formula("$$", "$$")
        if line.startswith("\\["):
            return self._formula("\\[", "\\]")
        if _LATEX_TABLE.match(line):
            return self._latex_table()
        if line.startswith("|") and self._next + 1 < len(self._lines):
            return self._pipe_table() if _TABLE_RULE.fullmatch(self._lines[self._next + 1].strip()) else None
        if _ITEM.match(self._line):
            return self._list()
        return self._one_line(line)

    def _one_line(self, line: str) -> Block | None:
        heading, furniture, picture = _HEADING.fullmatch(line), _FURNITURE.fullmatch(line), _PICTURE.fullmatch(line)
        if heading is None and furniture is None and picture is None:
            return None
        self._next += 1
        if heading is not None:
            return Block(kind="heading", text=heading[2].strip(), level=len(heading[1]))
        if furniture is not None:
            return Block(kind=furniture[1], text=furniture[2])
        assert picture is not None
        caption = (Block(kind="caption", text=picture[1]),) if picture[1] else ()
        return Block(kind="picture", children=caption)

    def _code(self, line: str) -> Block:
        language = line[3:].strip()
        start = self._next + 1
        ends = (number for number in range(start, len(self._lines)) if self._lines[number].strip() == "```")
        end = next(ends, len(self._lines))
        self._next = end + 1
        fields = {"language": language} if language else None
        return Block(kind="code", text="\n".join(self._lines[start:end]), fields=fields)

    def _formula(self, opening: str, closing: str) -> Block:
        """Take a formula up to its closing sign, or to the end of the paragraph where that is missing."""
        parts: list[str] = []
        rest = self._line.strip()[len(opening) :]
        while True:
            before, found, after = rest.partition(closing)
            parts.append(before.strip())
            self._next += 1
            if found or self._next >= len(self._lines) or not self._line.strip():
                break
            rest = self._line
        self._tail = after.strip()
        return Block(kind="formula", text="\n".join(part for part in parts if part))

    def _list(self) -> Block:
        first = _ITEM.match(self._line)
        assert first is not None
        indent, ordered = len(first[1]), first[2][0].isdigit()
        items: list[Block] = []
        while self._next < len(self._lines) and (match := _ITEM.match(self._line)) is not None:
            if len(match[1]) > indent:
                break
            if len(match[1]) < indent or match[2][0].isdigit() != ordered:
                break
            self._next += 1
            items.append(Block(kind="list_item", text=match[3].strip()))
        return Block(kind="ordered_list" if ordered else "unordered_list", children=tuple(items))

    def _pipe_table(self) -> Block:
        header = _cells(self._line)
        self._next += 2
        rows = []
        while self._next < len(self._lines) and self._line.strip().startswith("|"):
            rows.append(_cells(self._line))
            self._next += 1
        if any(header):
            return Block(kind="table", children=make_table([header, *rows], header_rows=1))
        return Block(kind="table", children=make_table(rows))

    def _latex_table(self) -> Block:
        name = _LATEX_TABLE.match(self._line.strip())
        assert name is not None
        closing = f"\\end{{{name[1]}}}"
        start = self._next
        while self._next < len(self._lines) and closing not in self._line:
            self._next += 1
        self._next += 1
        return _parse_tabular("\n".join(self._lines[start : self._next]))


def _parse_tabular(source: str) -> Block:
    body = _TABULAR.search(source)
    rows = []
    for line in re.split(r"\\\\", body[1] if body else ""):
        cells = re.sub(r"\\hline|\\(?:top|mid|bottom)rule|\\cline\{[^{}]*\}", "", line)
        if cells.strip():
            rows.append(Block(kind="row", children=tuple(_tabular_cells(cells))))
    caption = _CAPTION.search(source)
    title = (Block(kind="caption", text=(caption[1] or caption[2] or "").strip()),) if caption else ()
    return Block(kind="table", children=(*title, *rows))


def _tabular_cells(line: str) -> Iterator[Block]:
    for cell in re.split(r"(?<!\\)&", line):
        span = _SPAN.fullmatch(cell.strip())
        yield Block(kind="cell", text=(span[2] if span else cell).strip())
        for _ in range(min(int(span[1]), _WIDEST_SPAN) - 1 if span else 0):
            yield Block(kind="merged_left")


def _cells(line: str) -> list[str]:
    parts = _CELL_END.split(line.strip().removeprefix("|"))
    if not parts[-1].strip():
        parts.pop()
    return [part.strip().replace("\\|", "|") for part in parts]


def _write(block: Block) -> str:
    if block.kind == "markdown":
        return block.text
    if is_formula(block):
        return f"$$\n{block.text}\n$$"
    if has_fields(block):
        return "\n".join(f"- {line}" for line in as_lines(block.fields))
    if block.kind in {"heading", "title"}:
        return "#" * min(max(block.level, 1), _DEEPEST) + " " + _one_line(block.text)
    if block.kind in FURNITURE:
        return f"<!-- {block.kind}: {_one_line(block.text)} -->"
    if block.kind in LISTS:
        return "\n".join(f"{mark} {_one_line(item.text)}" for mark, item in list_items(block))
    if block.kind == "table":
        return "\n\n".join([*captions(block), _pipe_table(block)])
    if block.kind == "code":
        language = block.fields.get("language", "") if isinstance(block.fields, dict) else ""
        return f"```{language}\n{block.text}\n```"
    if block.kind == "picture":
        return "\n\n".join(f"![{_one_line(caption)}]({_file(block)})" for caption in captions(block) or [""])
    parts = [_paragraph(block.text), *(_write(child) for child in block.children)]
    return "\n\n".join(part for part in parts if part)


def _file(picture: Block) -> str:
    """Return the file that a figure was cut out into, if it was."""
    return str(picture.fields.get("file", "")) if isinstance(picture.fields, dict) else ""


def _paragraph(text: str) -> str:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return "\n".join("\\" + line if _TO_ESCAPE.match(line) else line for line in lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _pipe_table(table: Block) -> str:
    rows = grid(table)
    width = len(rows[0]) if rows else 1
    has_header = bool(rows) and any(cell.kind in HEADERS for cell in rows[0])
    lines = [[_pipe_cell(cell) for cell in row] for row in rows]
    header, body = (lines[0], lines[1:]) if has_header else ([""] * width, lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * width, *body])


def _pipe_cell(cell: Block) -> str:
    return "" if cell.kind in MERGED else _one_line(cell.text).replace("|", "\\|")
