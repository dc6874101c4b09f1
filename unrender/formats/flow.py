"""Paragraphs that go on from one page to the next, joined."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from unrender.documents import Block, Page

_CUT_WORD = re.compile(r"(?<=[^\W\d_])-$")


def flow(pages: Iterable[Page], source: str = "") -> Iterator[Page]:
    """Move what a page continues to the paragraph that it continues; each page comes when the next is known."""
    held: Page | None = None
    for page in (_named(page, source) for page in pages):
        if held is not None:
            held, page = _joined(held, page)
            yield held
        held = page
    if held is not None:
        yield held


def _named(page: Page, source: str) -> Page:
    """Say in its place that a page could not be read, without the name of the file."""
    if page.status.kind != "failed":
        return page
    status = replace(page.status, reason=page.status.reason.removeprefix(f"{source}: "))
    return replace(page, blocks=(Block(kind="page_header", text=f"page {page.number} {status}"),))


def _joined(before: Page, after: Page) -> tuple[Page, Page]:
    goes_on = next((index for index, block in enumerate(after.blocks) if block.continued), None)
    paragraphs = [index for index, block in enumerate(before.blocks) if block.kind == "text"]
    if goes_on is None or not paragraphs:
        return before, after
    last, rest = paragraphs[-1], after.blocks[goes_on]
    whole = _paragraph(before.blocks[last], rest)
    return (
        replace(before, blocks=(*before.blocks[:last], whole, *before.blocks[last + 1 :])),
        replace(after, blocks=(*after.blocks[:goes_on], *after.blocks[goes_on + 1 :])),
    )


def _paragraph(beginning: Block, rest: Block) -> Block:
    """Join two parts of a paragraph; a word that the end of the page cut in two is made whole."""
    text, cut = _CUT_WORD.subn("", beginning.text.rstrip())
    following = rest.text.lstrip()
    if not cut or not following[:1].islower():
        text, cut = beginning.text.rstrip(), 0
    return replace(beginning, text=text + ("" if cut else " ") + following)
