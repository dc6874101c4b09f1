"""DocTags, the notation that seed 001 itself is delivered in: tagged blocks with boxes on a grid of 500 by 500.

Only known tag names are tags; any other `<` is text. DocTags has no escaping of its own, so text that holds a known
tag is written with `&lt;`, and read back.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from unrender.documents import Block, Box, Document, Json, Page
from unrender.formats.blocks import ANNOTATED, KIND_OF_TOKEN, as_lines, parse_otsl, write_otsl
from unrender.formats.markdown import expanded

GRID = 500
_MAX_DEPTH = 50
_DEEPEST_HEADING = 5

_INSIDE_FIGURES = frozenset({"caption", "footnote", "otsl", "chart", "smiles"})
_INSIDE_LISTS = frozenset({"list_item", "ordered_list", "unordered_list", "text"})
_ANYTHING = None
_CHILDREN: dict[str, frozenset[str] | None] = {
    "picture": _INSIDE_FIGURES,
    "chart": _INSIDE_FIGURES,
    "otsl": frozenset({"caption", "footnote"}),
    "code": frozenset({"caption"}),
    "formula": frozenset({"caption"}),
    "ordered_list": _INSIDE_LISTS,
    "unordered_list": _INSIDE_LISTS,
    "list_item": frozenset({"ordered_list", "unordered_list", "inline"}),
    "inline": _ANYTHING,
    "form": _ANYTHING,
    "key_value_region": _ANYTHING,
    "document_index": _ANYTHING,
}
_HEADINGS = tuple(f"section_header_level_{level}" for level in range(_DEEPEST_HEADING + 1))
_LEAVES = ("text", "title", "caption", "footnote", "page_header", "page_footer", "checkbox_selected",
           "checkbox_unselected", "smiles", "handwritten_text", "paragraph")  # fmt: skip
_BLOCKS = frozenset({*_CHILDREN, *_HEADINGS, *_LEAVES})
_PICTURE_CLASSES = ("natural_image", "pie_chart", "bar_chart", "stacked_bar_chart", "line_chart", "flow_chart",
                    "scatter_chart", "heatmap", "icon", "logo", "signature", "stamp", "qr_code", "bar_code",
                    "screenshot", "map", "other")  # fmt: skip
_NAMES = "|".join([*sorted(_BLOCKS, key=len, reverse=True), "doctag", "page_break"])
_CELLS = "|".join([*KIND_OF_TOKEN, "nl"])
_KNOWN = rf"/?(?:{_NAMES})|loc_\d{{1,4}}|_[^<>\s]{{1,30}}_|{_CELLS}|{'|'.join(_PICTURE_CLASSES)}"
_TAG = re.compile(rf"<({_KNOWN})>")
_TO_ESCAPE = re.compile(rf"<(?=(?:{_KNOWN})>)|&(?=(?:amp;)*lt;(?:{_KNOWN})>)")
_ESCAPED = re.compile(rf"&(lt|amp);(?=(?:{_KNOWN})>|(?:amp;)*lt;(?:{_KNOWN})>)")


@dataclass
class _Open:
    """A tag that has not been closed yet."""

    name: str
    text: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    children: list[Block] = field(default_factory=list)
    label: str = ""  # a code block's language, a picture's class


def parse_doctags(text: str, *, width: int = GRID, height: int = GRID) -> Document:
    """Parse DocTags into pages of the given size in pixels; any text gives a Document.

    A tag that is left open ends where one begins that cannot stand inside it, or with what encloses it.
    """
    builder = _Builder(width, height)
    position = 0
    for match in _TAG.finditer(text):
        builder.hear(text[position : match.start()])
        builder.tag(match[1])
        position = match.end()
    builder.hear(text[position:])
    return Document(pages=builder.finish())


def write_doctags(document: Document) -> str:
    """Write a document as DocTags, pages parted by <page_break>."""
    pages = ["\n".join(_write(block, page) for block in expanded(page.blocks)) for page in document.pages]
    return "<doctag>" + "\n<page_break>\n".join(pages) + "\n</doctag>"


class _Builder:
    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._pages: list[tuple[Block, ...]] = []
        self._blocks: list[Block] = []
        self._stack: list[_Open] = []

    def hear(self, text: str) -> None:
        if self._stack:
            self._stack[-1].text.append(text)
        elif text.strip():
            self._blocks.append(Block(kind="text", text=_unescape(text.strip())))

    def tag(self, name: str) -> None:
        if name == "page_break":
            self._next_page()
        elif name.startswith("/"):
            self._close(name[1:])
        elif name in _BLOCKS:
            self._open(name)
        elif self._stack and name != "doctag":
            self._mark(self._stack[-1], name)
        elif name.startswith("_") or name in _PICTURE_CLASSES:
            self.hear(f"<{name}>")

    def finish(self) -> tuple[Page, ...]:
        self._next_page()
        return tuple(
            Page(number=number, width=self._width, height=self._height, blocks=blocks)
            for number, blocks in enumerate(self._pages, start=1)
        )

    def _mark(self, innermost: _Open, name: str) -> None:
        if name.startswith("loc_"):
            innermost.places.append(int(name[4:]))
        elif name in KIND_OF_TOKEN or name == "nl":
            innermost.text.append(f"<{name}>" if innermost.name == "otsl" else "")
        elif name.startswith("_") and innermost.name == "code":
            innermost.label = innermost.label or name[1:-1]
        elif name in _PICTURE_CLASSES and innermost.name in {"picture", "chart"}:
            innermost.label = innermost.label or name
        else:  # a language or a class means nothing elsewhere
            innermost.text.append(f"<{name}>")

    def _open(self, name: str) -> None:
        while self._stack and not _may_hold(self._stack[-1].name, name):
            self._pop()
        if len(self._stack) < _MAX_DEPTH:
            self._stack.append(_Open(name))

    def _close(self, name: str) -> None:
        if any(opened.name == name for opened in self._stack):
            while self._pop() != name:
                pass

    def _pop(self) -> str:
        closed = self._stack.pop()
        siblings = self._stack[-1].children if self._stack else self._blocks
        siblings.append(self._block(closed))
        return closed.name

    def _next_page(self) -> None:
        while self._stack:
            self._pop()
        self._pages.append(tuple(self._blocks))
        self._blocks = []

    def _block(self, closed: _Open) -> Block:
        text = "".join(closed.text)
        block = Block(kind=closed.name, box=self._box(closed.places), children=tuple(closed.children))
        if closed.name == "otsl":
            rows = parse_otsl(text)
            return replace(block, kind="table", children=(*block.children, *_unescape_cells(rows)))
        if closed.name in _HEADINGS:
            block = replace(block, kind="heading", level=int(closed.name[-1]))
        label: Json = {"language" if closed.name == "code" else "class": closed.label} if closed.label else None
        return replace(block, text=_unescape(text.strip("\n" if closed.name == "code" else None)), fields=label)

    def _box(self, places: list[int]) -> Box | None:
        if len(places) < 4:
            return None
        across, down = self._width / GRID, self._height / GRID
        x0, y0, x1, y1 = places[:4]
        return Box(x0 * across, y0 * down, x1 * across, y1 * down)


def _may_hold(outer: str, inner: str) -> bool:
    allowed = _CHILDREN.get(outer, frozenset())
    return allowed is None or inner in allowed


def _write(block: Block, page: Page) -> str:
    name = _name(block)
    inner = _places(block.box, page) + _label(block)
    if block.kind == "table":
        others = [child for child in block.children if child.kind != "row"]
        escaped = replace(block, children=tuple(_escape_row(row) for row in block.children if row.kind == "row"))
        return f"<otsl>{inner}{_write_all(others, page)}{write_otsl(escaped)}</otsl>"
    text = block.text if block.text or block.kind in ANNOTATED else "\n".join(as_lines(block.fields))
    lines = "\n" if block.kind.endswith("_list") else ""
    children = lines.join(_write(child, page) for child in block.children) + (lines if block.children else "")
    return f"<{name}>{inner}{_escape(text)}{children}</{name}>"


def _write_all(blocks: Iterable[Block], page: Page) -> str:
    return "".join(_write(block, page) for block in blocks)


def _name(block: Block) -> str:
    if block.kind == "heading":
        return f"section_header_level_{min(block.level, _DEEPEST_HEADING)}"
    if block.kind in _BLOCKS:
        return block.kind
    return "key_value_region" if block.fields is not None else "text"


def _label(block: Block) -> str:
    if not isinstance(block.fields, dict):
        return ""
    if block.kind == "code" and "language" in block.fields:
        return f"<_{block.fields['language']}_>"
    if block.kind in {"picture", "chart"} and block.fields.get("class") in _PICTURE_CLASSES:
        return f"<{block.fields['class']}>"
    return ""


def _places(box: Box | None, page: Page) -> str:
    if box is None or not page.width or not page.height:
        return ""
    shares = (box.x0 / page.width, box.y0 / page.height, box.x1 / page.width, box.y1 / page.height)
    return "".join(f"<loc_{min(max(round(GRID * share), 0), GRID - 1)}>" for share in shares)


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(lambda match: "&lt;" if match[0] == "<" else "&amp;", text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: "<" if match[1] == "lt" else "&", text)


def _escape_row(row: Block) -> Block:
    return replace(row, children=tuple(replace(cell, text=_escape(cell.text)) for cell in row.children))


def _unescape_cells(rows: Iterable[Block]) -> list[Block]:
    return [
        replace(row, children=tuple(replace(cell, text=_unescape(cell.text)) for cell in row.children)) for row in rows
    ]
