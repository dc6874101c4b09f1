"""What a reading gives back: a Document of pages, blocks and tokens, frozen from top to bottom.

Boxes are in pixels of the page image as it was opened (upright, x to the right, y down).
"""

import dataclasses
import html
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
StatusKind = Literal["complete", "partial", "unlikely", "limit", "repetition", "empty", "failed"]

LINE = "line"  # the kind of a block that is one line of text
_WORST_FIRST: tuple[StatusKind, ...] = ("failed", "repetition", "limit", "unlikely", "partial", "empty", "complete")


@dataclass(frozen=True)
class Box:
    """A rectangle on the page, (x0, y0) top left, (x1, y1) bottom right, in pixels."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @classmethod
    def around(cls, boxes: "Iterable[Box]") -> "Box":
        """Return the smallest box around some boxes."""
        x0, y0, x1, y1 = zip(*((box.x0, box.y0, box.x1, box.y1) for box in boxes), strict=True)
        return cls(min(x0), min(y0), max(x1), max(y1))


@dataclass(frozen=True)
class Status:
    """How a reading ended.

    `complete`: the model said it was done. `partial`: there is more in the picture, in `box`. `unlikely`: the picture
    does not look like what the model reads; what it read, if anything, is a guess. `limit`: max_tokens came first.
    `repetition`: the model began to loop and the text was cut at token `position`. `empty`: there was nothing to read.
    `failed`: the page could not be read. `reason` says why.
    """

    kind: StatusKind = "complete"
    position: int | None = None
    reason: str = ""
    box: Box | None = None

    def __str__(self) -> str:
        place = "" if self.position is None else f" at token {self.position}"
        return f"{self.kind}{place}" + (f": {self.reason}" if self.reason else "")


COMPLETE = Status()


@dataclass(frozen=True)
class Alternative:
    """Another token the model considered at one place."""

    text: str
    probability: float


@dataclass(frozen=True)
class Token:
    """One piece of the text: how sure the model was, what else it might be, where it was seen."""

    text: str
    probability: float
    alternatives: tuple[Alternative, ...] = ()
    box: Box | None = None


@dataclass(frozen=True)
class Reading:
    """One of the n best readings of a block."""

    text: str
    confidence: float
    written: str = ""  # by the model, where `text` is a tidier spelling


@dataclass(frozen=True)
class Difference:
    """A place where a reading, typeset, does not look like the picture; `text` is what was read there."""

    text: str
    box: Box


@dataclass(frozen=True)
class Check:
    """What came of typesetting a reading: how much it looks like the picture, from 0 to 1, and where it does not.

    `instead_of` is the reading that was believed before, where another one fits better.
    """

    likeness: float
    differences: tuple[Difference, ...] = ()
    instead_of: str = ""


@dataclass(frozen=True)
class Line:
    """One line of a block, where it stands, and how sure the model was of it."""

    text: str
    box: Box
    confidence: float


@dataclass(frozen=True, kw_only=True)
class Block:
    """One thing on a page: a formula, a word, a text, a heading, a picture with its caption, a form's fields.

    `written` is how the model wrote it, token by token, where `text` is a tidier spelling; `fields` holds the
    parsed JSON of tasks that have one; `level` the depth of a heading; `children` what is nested (captions, list
    items); `readings` the n best, best first, when more than one was asked for; `lines` the lines of a page's block;
    `source` where its words are from, if not from the picture alone: `text layer`, `picture and text layer`;
    `continued` says that it goes on from the page before; `check` what typesetting it showed, if that was asked for.
    """

    kind: str
    text: str = ""
    written: str = ""
    box: Box | None = None
    tokens: tuple[Token, ...] = ()
    fields: Json = None
    level: int = 0
    confidence: float | None = None
    children: tuple["Block", ...] = ()
    readings: tuple[Reading, ...] = ()
    lines: tuple[Line, ...] = ()
    source: str = ""
    continued: bool = False
    check: Check | None = None


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page in reading order; `number` counts from 1."""

    number: int
    width: int
    height: int
    blocks: tuple[Block, ...] = ()
    status: Status = COMPLETE

    @property
    def text(self) -> str:
        return join_blocks(self.blocks, [block.text for block in self.blocks])


@dataclass(frozen=True, kw_only=True)
class Document:
    """All pages of one source, and which model read them for which task."""

    pages: tuple[Page, ...]
    source: str = ""
    model: str = ""
    task: str = ""

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for page in self.pages for block in page.blocks)

    @property
    def text(self) -> str:
        return "\n\n".join(page.text for page in self.pages if page.text)

    @property
    def written(self) -> str:
        """The text as the model wrote it: what is compared with a label."""
        return join_blocks(self.blocks, [block.written or block.text for block in self.blocks])

    @property
    def status(self) -> Status:
        """The worst status among the pages."""
        kinds = [page.status for page in self.pages] or [Status("empty")]
        return min(kinds, key=lambda status: _WORST_FIRST.index(status.kind))

    @property
    def confidence(self) -> float | None:
        """The confidence of the least certain block; None when no block has one."""
        known = [block.confidence for block in self.blocks if block.confidence is not None]
        return min(known) if known else None

    def _repr_latex_(self) -> str | None:
        """Show formulas as mathematics in a notebook; None lets it fall back to HTML."""
        if not self.blocks or any(block.kind != "formula" for block in self.blocks):
            return None
        return "\n\n".join(f"$\\displaystyle {block.text}$" for block in self.blocks)

    def _repr_html_(self) -> str:
        """Show the result in a notebook, each token shaded by how unsure the model was."""
        return "\n".join(_page_html(page) for page in self.pages)


def join_blocks(blocks: Sequence[Block], texts: Sequence[str]) -> str:
    """Join what was made of blocks: lines below one another, anything else with a blank line between."""
    lines = all(block.kind == LINE for block in blocks)
    return ("\n" if lines else "\n\n").join(text for text in texts if text)


def to_dict(document: Document) -> dict[str, Json]:
    """Turn a Document into plain JSON values, the one shape that files, command line and HTTP share.

    What is unknown or does not apply is left out, so a key that is present carries information.
    """
    confidence = document.confidence
    summary: dict[str, Json] = {
        "source": document.source,
        "model": document.model,
        "task": document.task,
        "status": _plain(document.status),
        "text": document.text,
    }
    if confidence is not None:
        summary["confidence"] = _plain(confidence)
    return {**summary, "pages": [{"text": page.text, **_fields(page)} for page in document.pages]}


_Value = Page | Block | Line | Token | Alternative | Reading | Box | Status | Check | Difference


def _fields(value: _Value) -> dict[str, Json]:
    named = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    kept = {name: item for name, item in named.items() if item not in (None, (), "") and item is not False}
    if kept.get("level") == 0:
        del kept["level"]
    return {name: item if name == "fields" else _plain(item) for name, item in kept.items()}


def _plain(value: object) -> Json:
    if isinstance(value, _Value):
        return _fields(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    assert isinstance(value, str | int), f"no JSON form for {type(value).__name__}"
    return value


def _page_html(page: Page) -> str:
    note = (
        "" if page.status.kind == "complete" else f"<p><em>Page {page.number}: {html.escape(str(page.status))}</em></p>"
    )
    return note + "".join(f"<div>{part}</div>" for block in page.blocks for part in _block_html(block))


def _block_html(block: Block) -> Iterator[str]:
    source = "".join(_token_html(token) for token in block.tokens) or html.escape(block.text)
    if block.kind == "formula":
        yield f"$$ {html.escape(block.text)} $$"
    yield f"<code>{source}</code>"
    if block.confidence is not None:
        yield f"<small>confidence {block.confidence:.2f}</small>"


def _token_html(token: Token) -> str:
    doubt = max(0.0, min(1.0, 1.0 - token.probability))
    title = " or ".join(f"{other.text} {other.probability:.2f}" for other in token.alternatives)
    style = f"background:rgba(255,140,0,{doubt:.2f})"
    return f'<span style="{style}" title="{html.escape(title)}">{html.escape(token.text)}</span>'
