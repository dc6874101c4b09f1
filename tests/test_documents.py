"""The Document: what it says about itself, as JSON and in a notebook."""

import json
from dataclasses import FrozenInstanceError, replace

import pytest

from unrender.documents import Alternative, Block, Box, Document, Page, Reading, Status, Token, to_dict

TOKEN = Token("<", 0.75, (Alternative("(", 0.2),), Box(1, 2, 3.5, 4))
BLOCK = Block(kind="formula", text="a < b", tokens=(TOKEN,), confidence=0.5)
PAGE = Page(number=1, width=30, height=20, blocks=(BLOCK,))
DOCUMENT = Document(pages=(PAGE,), source="a.png", model="formula", task="formula")


def with_status(kind, **rest) -> Page:
    return replace(PAGE, status=Status(kind, **rest))


def test_text_joins_blocks_and_pages():
    two = replace(PAGE, blocks=(BLOCK, replace(BLOCK, text="c")))
    assert replace(DOCUMENT, pages=(two, PAGE)).text == "a < b\n\nc\n\na < b"


def test_the_worst_page_gives_the_status():
    pages = (PAGE, with_status("limit"), with_status("repetition", position=7))
    assert replace(DOCUMENT, pages=pages).status == Status("repetition", 7)
    assert replace(DOCUMENT, pages=()).status.kind == "empty"


def test_the_least_certain_block_gives_the_confidence():
    page = replace(PAGE, blocks=(BLOCK, replace(BLOCK, confidence=0.25), replace(BLOCK, confidence=None)))
    assert replace(DOCUMENT, pages=(page,)).confidence == 0.25
    assert replace(DOCUMENT, pages=()).confidence is None


def test_everything_is_frozen():
    with pytest.raises(FrozenInstanceError):
        DOCUMENT.source = "b.png"  # type: ignore[misc]


def test_json_holds_what_is_known_and_leaves_out_the_rest():
    assert to_dict(DOCUMENT) == {
        "source": "a.png",
        "model": "formula",
        "task": "formula",
        "status": {"kind": "complete"},
        "text": "a < b",
        "confidence": 0.5,
        "pages": [
            {
                "text": "a < b",
                "number": 1,
                "width": 30,
                "height": 20,
                "status": {"kind": "complete"},
                "blocks": [
                    {
                        "kind": "formula",
                        "text": "a < b",
                        "confidence": 0.5,
                        "tokens": [
                            {
                                "text": "<",
                                "probability": 0.75,
                                "alternatives": [{"text": "(", "probability": 0.2}],
                                "box": {"x0": 1, "y0": 2, "x1": 3.5, "y1": 4},
                            }
                        ],
                    }
                ],
            }
        ],
    }


def test_json_keeps_fields_readings_and_the_place_of_a_cut():
    block = replace(BLOCK, fields={"total": "3.50", "items": []}, readings=(Reading("a", 0.5),), level=2)
    page = replace(PAGE, blocks=(block,), status=Status("repetition", 0))
    value = json.loads(json.dumps(to_dict(replace(DOCUMENT, pages=(page,)))))
    [written] = value["pages"][0]["blocks"]
    assert written["fields"] == {"total": "3.50", "items": []}
    assert written["readings"] == [{"text": "a", "confidence": 0.5}]
    assert written["level"] == 2
    assert value["pages"][0]["status"] == {"kind": "repetition", "position": 0}


def test_a_notebook_shows_formulas_as_mathematics():
    assert DOCUMENT._repr_latex_() == r"$\displaystyle a < b$"
    text = replace(DOCUMENT, pages=(replace(PAGE, blocks=(replace(BLOCK, kind="text"),)),))
    assert text._repr_latex_() is None


def test_html_escapes_what_was_read():
    html = DOCUMENT._repr_html_()
    assert "a &lt; b" in html
    assert "a < b" not in html
    assert 'title="( 0.20"' in html
    assert (
        "page 1: failed: gone" in replace(DOCUMENT, pages=(with_status("failed", reason="gone"),))._repr_html_().lower()
    )
